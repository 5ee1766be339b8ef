"""The tools of a traveller: flights, hotels and the forecast of the episode's world. They answer in JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from rlfactory.envs.api.types import JSON, ToolSchema
from rlfactory.envs.tasks.travel.market import DAYS, Market, told
from rlfactory.envs.tools.arguments import object_schema, read_text, refuse_unknown
from rlfactory.envs.tools.tool import CallContext, Rejected, Tool, ToolContext, ToolFactory

MAX_NAME_CHARS: Final = 60
_CITY: Final[dict[str, JSON]] = {"type": "string", "maxLength": MAX_NAME_CHARS}
_DAY: Final[dict[str, JSON]] = {"type": "integer", "minimum": DAYS[0], "maximum": DAYS[-1]}


def _schema(name: str, description: str, **properties: JSON) -> ToolSchema:
    return object_schema(name, description, properties, required=list(properties))


FLIGHTS: Final = _schema(
    "search_flights",
    "List the flights of a day: number, times, price of a seat, free seats.",
    origin=_CITY,
    destination=_CITY,
    day=_DAY,
)
HOTELS: Final = _schema(
    "search_hotels",
    "List the hotels of a city: price of a night for everybody, rating, features, nights that are full.",
    city=_CITY,
)
WEATHER: Final = _schema("get_weather", "Tell the forecast of a city for each day.", city=_CITY)


class Lookup(Tool):
    """Answers from the market. It has no state, so forks share it."""

    lives_on = True
    acts_outside = False

    def __init__(self, schema: ToolSchema, market: Market, answer: Callable[[Mapping[str, Any]], Any]) -> None:
        self.schema = schema
        self._market = market
        self._answer = answer
        self._names = [str(name) for name in _properties(schema)]

    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        refuse_unknown(arguments, self._names)
        return json.dumps(self._answer({name: self._read(arguments, name) for name in self._names}))

    def _read(self, arguments: Mapping[str, JSON], name: str) -> str | int:
        if name == "day":
            day = arguments.get("day")
            if not isinstance(day, int) or isinstance(day, bool) or day not in DAYS:
                raise Rejected(f"'day' is {day!r}; it must be a whole number from {DAYS[0]} to {DAYS[-1]}")
            return day
        city = read_text(arguments, name, max_chars=MAX_NAME_CHARS)
        if city not in self._market.cities:
            raise Rejected(f"no city {city!r}; there are {', '.join(self._market.cities)}")
        return city

    def fork(self, context: ToolContext) -> Lookup:
        return self


def _properties(schema: ToolSchema) -> dict[str, JSON]:
    properties = schema.parameters["properties"]
    assert isinstance(properties, dict)
    return properties


def market_tools(market: Market) -> dict[str, ToolFactory]:
    """Return the three tools over a market."""
    tools = (
        Lookup(
            FLIGHTS,
            market,
            lambda asked: [
                told(each) for each in market.flights_of(asked["origin"], asked["destination"], asked["day"])
            ],
        ),
        Lookup(HOTELS, market, lambda asked: [told(each) for each in market.hotels_in(asked["city"])]),
        Lookup(
            WEATHER, market, lambda asked: {f"day {day}": sky for day, sky in market.weather[asked["city"]].items()}
        ),
    )
    return {tool.schema.name: lambda context, tool=tool: tool for tool in tools}  # type: ignore[misc]
