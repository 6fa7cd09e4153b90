"""Functions that use what they were given, and some that try for more."""

from __future__ import annotations

import os
import sys

from kuniumi import App, Context

app = App(name="Files", version="1.0.0", env={"OWN": "app"})


@app.function
def Read(path: str, ctx: Context) -> str:
    """Read a file."""
    return ctx.env.read_file(path).decode()


@app.function
async def Write(path: str, text: str, ctx: Context) -> list[str]:
    """Write a file, and list what is beside it."""
    ctx.env.write_file(path, text)
    ctx.env.chdir(str(ctx.env.path(path).parent))
    return ctx.env.list_files()


@app.function
def Where(ctx: Context, go: str = "") -> str:
    """Tell the working directory, and leave it."""
    before = ctx.env.cwd
    if go:
        ctx.env.chdir(go)
    return before


@app.function
def Variables(ctx: Context) -> dict[str, str]:
    """Give all variables."""
    return ctx.env.list_env()


@app.function
def Loaded(ctx: Context) -> list[str]:
    """Tell what is loaded of the environment, and of what it must not load."""
    names = [name for name in sys.modules if name.startswith("kuniumi.env")]
    return [*names, *({"asyncio", "fsspec", "ctypes"} & set(sys.modules)), ctx.env.getenv("OWN")]


@app.function
def Host() -> str:
    """Tell the host's working directory."""
    return os.getcwd()


if __name__ == "__main__":
    app.run()
