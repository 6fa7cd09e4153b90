"""The weather example: the plain REST tool protocol, as an agent would speak it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.examples.surfaces import cgi, post, shell
from tests.openapi.running import APPS

APP = APPS["weather"]
OSLO = {"location": "Oslo", "temperature": 5.0, "conditions": "Cloudy", "humidity": 78}


@pytest.fixture(params=["/weather", "/functions/Weather", "cgi"])
def ask(request: pytest.FixtureRequest, url: str) -> Any:
    """Ask for the weather at each of its addresses."""
    if request.param == "cgi":
        return lambda body: cgi(APP, "/weather", body)
    return lambda body: post(url, request.param, body)


@pytest.mark.parametrize("place", ["Oslo", "oslo", " OSLO "])
def test_a_known_place_has_content_for_a_model_and_data_for_a_program(ask: Any, place: str) -> None:
    status, answer = ask({"location": place})
    assert status == 200
    assert answer.keys() == {"content", "structuredContent", "isError"}
    assert answer["isError"] is False
    assert answer["structuredContent"] == OSLO
    (block,) = answer["content"]
    assert block["type"] == "text"
    assert json.loads(block["text"]) == OSLO


def test_an_unknown_place_is_an_error_that_the_model_can_read(ask: Any) -> None:
    status, answer = ask({"location": "Atlantis"})
    assert (status, answer) == (
        200,
        {
            "content": [{"type": "text", "text": '{"error":"Location not found: Atlantis"}'}],
            "isError": True,
        },
    )


@pytest.mark.parametrize("body", [{}, {"location": None}, {"place": "Oslo"}])
def test_wrong_arguments_are_an_error_that_names_them(ask: Any, body: Any) -> None:
    status, answer = ask(body)
    assert status == 200
    assert answer["isError"] is True
    assert "location" in answer["content"][0]["text"]


def test_what_is_no_request_at_all_is_told_by_the_status(url: str) -> None:
    assert post(url, "/weather", [1]) == (400, {"error": "Invalid JSON body"})
    assert post(url, "/nowhere", {})[0] == 404


def test_a_shell_gets_the_bare_report_or_the_error() -> None:
    assert shell(APP, "Weather", {"location": "Oslo"}) == (0, OSLO)
    assert shell(APP, "Weather", {"location": "Atlantis"}) == (
        1,
        {"error": "Location not found: Atlantis"},
    )
