"""Calls the weather through the client that was generated for it."""

from __future__ import annotations

import sys

from weather_client import Client  # type: ignore[import-not-found]
from weather_client.api.weather import functions_weather  # type: ignore[import-not-found]
from weather_client.models import FunctionsWeatherBody  # type: ignore[import-not-found]

client = Client(base_url=sys.argv[1])

found = functions_weather.sync(client=client, body=FunctionsWeatherBody(location="Oslo"))
assert found.is_error is False
assert found.structured_content.location == "Oslo"
assert found.structured_content.temperature == 5.0
assert found.content[0].type_ == "text"

unknown = functions_weather.sync(client=client, body=FunctionsWeatherBody(location="Atlantis"))
assert unknown.is_error is True
assert unknown.content[0]["text"] == '{"error":"Location not found: Atlantis"}'
