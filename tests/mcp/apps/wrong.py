"""An app whose server says what no schema allows, so that tests see whether anybody notices."""

from __future__ import annotations

from kuniumi import App
from kuniumi.serve.mcp import desk

app = App(name="Wrong", version="1.0.0")


@app.function
def Add(x: int, y: int) -> int:
    """Adds two integers together."""
    return x + y


def _say_what_is_wrong(*_words: object) -> bytes:
    return b'{"resultType":"complete","content":[{"type":"text"}]}'


vars(desk)["write_tool_result"] = _say_what_is_wrong

if __name__ == "__main__":
    app.run()
