"""Whatever a web server tells, in process: one well-formed answer, and no more read than was told."""

from __future__ import annotations

import io
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from kuniumi import App
from kuniumi.serve.cgi import handle

app = App(name="Anything", version="1.0.0")


@app.function
def Echo(text: str = "") -> str:
    return text


@app.function(path="/echo")
def Other() -> int:
    return 1


HEAD = re.compile(rb"Status: [2-5]\d\d [\w' ]+\r\n(?:[A-Z][a-zA-Z-]+: [ -~]+\r\n)*\r\n")
words = st.text(max_size=12) | st.binary(max_size=8).map(lambda raw: raw.decode("utf-8", "replace"))
paths = st.sampled_from(["/Echo", "/functions/Echo", "/echo", "/", "/openapi.json", "/functions"])
variables = st.fixed_dictionaries(
    {"GATEWAY_INTERFACE": st.just("CGI/1.1")},
    optional={
        "REQUEST_METHOD": st.sampled_from(["GET", "HEAD", "POST", "OPTIONS", "PUT"]) | words,
        "PATH_INFO": paths | words,
        "SCRIPT_NAME": st.sampled_from(["", "/", "/cgi-bin/app.py"]) | words,
        "REQUEST_URI": st.sampled_from(["/a%2Fb", "/cgi-bin/app.py/functions%2fEcho"]) | words,
        "CONTENT_TYPE": st.sampled_from(["application/json", "text/plain"]) | words,
        "CONTENT_LENGTH": st.integers(-5, 40).map(str) | words,
        "HTTP_ACCEPT": st.sampled_from(["text/event-stream;q=x", "application/json;q=0"]) | words,
        "HTTP_ORIGIN": words,
        "HTTP_HOST": words,
        "HTTP_TRANSFER_ENCODING": words,
        "HTTP_ACCESS_CONTROL_REQUEST_METHOD": words,
    },
)


@settings(max_examples=500, deadline=None)
@given(variables, st.binary(max_size=30) | st.sampled_from([b"{}", b'{"text":"\\r\\nX: y"}']))
def test_there_is_one_well_formed_answer(told: dict[str, str], body: bytes) -> None:
    stdin = io.BytesIO(body)
    answer = handle(app.service, told, stdin)
    head = HEAD.match(answer)
    assert head is not None, answer
    assert not answer.startswith(b"Status: 5")
    length = re.search(rb"Content-Length: (\d+)\r\n", head.group())
    sent = len(answer) - head.end()
    assert sent == (int(length.group(1)) if length and told.get("REQUEST_METHOD") != "HEAD" else 0)
    announced = told.get("CONTENT_LENGTH", "")
    if announced.isascii() and announced.isdigit():
        assert stdin.tell() <= int(announced)
