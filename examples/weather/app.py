"""A weather tool in the plain REST tool protocol: POST /weather, and read `isError` first.

Every answer has status 200 and the shape {"content": […], "structuredContent": …, "isError": …}:
`content` for a model to read, `structuredContent` for a program, `isError` to tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from kuniumi import App, FunctionError

app = App(name="Weather", version="1.0.0", envelope="bare", http_format="tool-result")


@dataclass
class Report:
    """What the weather is like somewhere."""

    location: str
    temperature: float
    conditions: str
    humidity: int


_REPORTS = {
    report.location.casefold(): report
    for report in (
        Report("Oslo", 5.0, "Cloudy", 78),
        Report("Kyoto", 18.5, "Clear", 55),
        Report("Nairobi", 24.0, "Sunny", 40),
    )
}


@app.function(path="/weather")
def Weather(
    location: Annotated[str, Meta(description="Name of the city", examples=["Oslo"])],
) -> Report:
    """Tells the weather in a city.

    Returns:
        The weather there
    """
    report = _REPORTS.get(location.strip().casefold())
    if report is None:
        raise FunctionError(f"Location not found: {location}", status=404)
    return report


if __name__ == "__main__":
    app.run()
