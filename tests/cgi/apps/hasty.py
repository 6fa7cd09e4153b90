"""An app that gives its callers little time and room, and says so in its own last line."""

from __future__ import annotations

from kuniumi import App, Context

app = App(name="Hasty", version="1.0.0")


@app.function
def Size(text: str) -> int:
    return len(text)


@app.function
def Variable(name: str, ctx: Context) -> str:
    return ctx.env.getenv(name)


if __name__ == "__main__":
    limits = ["--body-timeout", "0.3", "--max-body", "1K"]
    app.run(["--env", "A=b=c", "cgi", *limits])
