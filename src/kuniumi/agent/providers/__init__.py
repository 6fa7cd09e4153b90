"""How each provider of models wants answers and tools; one module a provider, loaded when asked."""
