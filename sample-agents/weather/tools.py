"""The weather from an offline almanac: the usual weather of a few cities, always the same."""

from pydantic import BaseModel

from agentctl import ToolContext, tool

ALMANAC = {
    "berlin": (14, "cloudy"),
    "cairo": (31, "sunny"),
    "lima": (19, "misty"),
    "london": (12, "rainy"),
    "nairobi": (24, "sunny"),
    "new york": (16, "windy"),
    "oslo": (7, "snowy"),
    "paris": (15, "cloudy"),
    "sydney": (22, "sunny"),
    "tokyo": (17, "rainy"),
}


class Question(BaseModel):
    question: str


class City(BaseModel):
    city: str


class Weather(BaseModel):
    city: str
    celsius: int
    sky: str


@tool
async def get_weather(ctx: ToolContext[Question, City], city: str | None = None) -> Weather:
    """Weather for a city."""
    if city is None and ctx.resume_data is not None:
        city = ctx.resume_data.city
    if city is None:
        return ctx.suspend(Question(question="Which city?"))
    name = city.strip().lower()
    if name not in ALMANAC:
        raise LookupError(f"the almanac has no {city}; it has {', '.join(ALMANAC)}")
    celsius, sky = ALMANAC[name]
    return Weather(city=city.strip(), celsius=celsius, sky=sky)
