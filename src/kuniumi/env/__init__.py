"""The virtual environment: what of the outside world a function may see."""
