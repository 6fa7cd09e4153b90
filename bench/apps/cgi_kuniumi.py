"""Add in Kuniumi, started once per call by a web server."""

from kuniumi import App

app = App(name="Bench", version="1.0.0")


@app.function
def Add(x: int, y: int) -> int:
    """Adds two integers together."""
    return x + y


if __name__ == "__main__":
    app.run()
