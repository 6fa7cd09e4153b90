"""Add in Kuniumi, in its four ways to run a function: `kuniumi_app.py serve --port N`."""

from kuniumi import App

app = App(name="Bench", version="1.0.0")


@app.function
async def AddAsync(x: int, y: int) -> int:
    """Adds two integers together, on the loop."""
    return x + y


@app.function(inline=True)
def AddInline(x: int, y: int) -> int:
    """Adds two integers together, between two steps of the loop."""
    return x + y


@app.function
def AddThread(x: int, y: int) -> int:
    """Adds two integers together, in a thread."""
    return x + y


@app.function(executor="processes")
def AddProcess(x: int, y: int) -> int:
    """Adds two integers together, in a process."""
    return x + y


if __name__ == "__main__":
    app.run()
