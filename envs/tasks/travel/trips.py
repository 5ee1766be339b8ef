"""The trips: what is asked for differs, the tools and the verdict are the same. The answer is a plan in JSON."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from rlfactory.envs.api.types import JSON, Split
from rlfactory.envs.rewards.rubric import PROGRESS, SUCCESS, Rubric
from rlfactory.envs.rewards.text import calls_part, format_part
from rlfactory.envs.tasks.task import Check, Outcome, Task
from rlfactory.envs.tasks.travel.market import FEATURES, Flight, Hotel, Market, draw_market
from rlfactory.envs.tasks.travel.plan import CHECKS, Request, best_plan, cost, read_plan, verify
from rlfactory.envs.tasks.travel.tools import market_tools
from rlfactory.envs.tasks.ui_driver import UiDriver
from rlfactory.envs.tools.tool import ToolFactory

MAX_DRAWS: Final = 400
FORM: Final = (
    'Finish with the plan as JSON: {"flights": [<flight numbers, in order>], "hotels": [<hotel names, in order>]}.'
)


@dataclass(frozen=True)
class Trip(Task):
    """A trip with its market. There is a plan that fits; the plan of someone who overlooks a wish does not."""

    suite = "travel"
    needs_device = False
    tools: ClassVar[tuple[str, ...]] = ("search_flights", "search_hotels", "get_weather", "finish")
    max_turns = 26
    cities: ClassVar[int]
    """To choose from or to visit."""
    any_city: ClassVar[bool] = False
    """One stop in whichever city fits; else the stops are the first cities in their order."""
    nights: ClassVar[tuple[tuple[int, int], ...]]
    """Least and most, for each stop; so are the next two."""
    first_day: ClassVar[tuple[int, int]]
    travellers: ClassVar[tuple[int, int]]
    first_days: ClassVar[int] = 1
    """On so many days the trip may begin."""
    rating: ClassVar[tuple[int, int] | None] = None
    """Tenths, least and beyond; None: no rating is asked for."""
    feature: ClassVar[bool] = False
    dry: ClassVar[bool] = False
    cheapest: ClassVar[bool] = False
    request: Request
    market: Market

    @classmethod
    def ask(cls, rng: random.Random, market: Market) -> Request:
        """Draw what is asked for, but the budget."""
        home, *others = market.cities
        nights = tuple(low if low == high else rng.randint(low, high) for low, high in cls.nights)
        first_day = rng.randint(*cls.first_day)
        return Request(
            home=home,
            stops=(tuple(others),) if cls.any_city else tuple((city,) for city in others[: len(nights)]),
            nights=nights,
            first_days=tuple(range(first_day, first_day + cls.first_days)),
            travellers=rng.randint(*cls.travellers),
            min_rating=rng.randrange(*cls.rating) / 10 if cls.rating else None,
            feature=rng.choice(FEATURES) if cls.feature else None,
            dry=cls.dry,
            cheapest=cls.cheapest,
        )

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Trip:
        for _ in range(MAX_DRAWS):
            market = draw_market(rng, split, cities=cls.cities)
            request = cls.ask(rng, market)
            fitting, careless = best_plan(request, market), best_plan(carelessly(request), market)
            if fitting is None or careless is None or cost(careless, request) == cost(fitting, request):
                continue
            budget = None if request.cheapest else cost(fitting, request) + rng.randrange(20)
            return cls(replace(request, budget=budget), market)
        raise AssertionError(f"no trip of {cls.name} in {MAX_DRAWS} draws")

    @property
    def goal(self) -> str:
        return f"{self.wish()} {FORM}"

    def wish(self) -> str:
        """Return the request in words."""
        request = self.request
        people = "one person" if request.travellers == 1 else f"{request.travellers} people"
        stays = ", then ".join(
            f"{nights} nights in {_any_of(cities)}"
            for cities, nights in zip(request.stops, request.nights, strict=True)
        )
        hotel = [f"rated {request.min_rating} or better"] if request.min_rating else []
        hotel += [f"with {request.feature}"] if request.feature else []
        sentences = [
            f"Plan a trip for {people} from {request.home} and back: {stays}.",
            f"Leave on day {_any_of(request.first_days)}; fly on the days that the nights ask for.",
            f"Hotels must be {' and '.join(hotel)}." if hotel else "",
            "There must be no rain or storm on any day of the stay, days of travel included." if request.dry else "",
            f"All together it may cost {request.budget} at most." if request.budget else "",
            "Choose the cheapest plan." if request.cheapest else "",
        ]
        return " ".join(sentence for sentence in sentences if sentence)

    def own_tools(self) -> Mapping[str, ToolFactory]:
        return market_tools(self.market)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        best = best_plan(self.request, self.market) if self.request.cheapest else None
        held = verify(
            read_plan(outcome.answer, self.market) if outcome.finished else None,
            self.request,
            self.market,
            best=cost(best, self.request) if best else None,
        )
        return tuple(Check(name=name, holds=held[name]) for name in CHECKS)

    def rubric(self) -> Rubric:
        return Rubric(parts=(SUCCESS, PROGRESS, format_part(0.0), calls_part(0.0)))

    async def solve(self, ui: UiDriver) -> None:
        """Ask the tools for all that the request may need, and plan with what they said."""
        plan = best_plan(self.request, await _learned(ui, self.request))
        assert plan is not None, "the market was drawn so that a plan fits"
        await ui.finish(answer=plan.as_answer())


def carelessly(request: Request) -> Request:
    """Return the request as someone reads it who overlooks weather, rating and features."""
    return replace(request, dry=False, min_rating=None, feature=None)


def _any_of(values: Sequence[object]) -> str:
    return " or ".join(map(str, values))


async def _learned(ui: UiDriver, request: Request) -> Market:
    """Return the part of the market that the tools tell of."""
    cities = sorted({city for stop in request.stops for city in stop})
    legs = _legs(request)
    calls: list[tuple[str, dict[str, JSON]]] = []
    for tool in ("get_weather", "search_hotels"):
        calls += [(tool, {"city": city}) for city in cities]
    calls += [("search_flights", {"origin": origin, "destination": to, "day": day}) for origin, to, day in legs]
    said: list[Any] = []
    for start in range(0, len(calls), 16):
        said += [json.loads(text) for text in await ui.call_all(*calls[start : start + 16])]
    forecasts, hotels, flights = said[: len(cities)], said[len(cities) : 2 * len(cities)], said[2 * len(cities) :]
    return Market(
        cities=(request.home, *cities),
        flights=tuple(Flight(**each) for offers in flights for each in offers),
        hotels=tuple(_hotel(each) for offers in hotels for each in offers),
        weather={
            city: {int(day.removeprefix("day ")): sky for day, sky in forecast.items()}
            for city, forecast in zip(cities, forecasts, strict=True)
        },
    )


def _hotel(value: dict[str, Any]) -> Hotel:
    return Hotel(**{**value, "features": tuple(value["features"]), "full_on": tuple(value["full_on"])})


def _legs(request: Request) -> list[tuple[str, str, int]]:
    """Return every flight that a plan could need: (origin, destination, day)."""
    legs: dict[tuple[str, str, int], None] = {}
    for first_day in request.first_days:
        day: int = first_day
        origins: tuple[str, ...] = (request.home,)
        for cities, nights in zip(request.stops, request.nights, strict=True):
            legs |= dict.fromkeys((origin, city, day) for origin in origins for city in cities)
            day, origins = day + nights, cities
        legs |= dict.fromkeys((origin, request.home, day) for origin in origins)
    return list(legs)


class Weekend(Trip):
    name = "travel.weekend"
    description = "A fixed city and day, a hotel with a feature, a budget"
    cities, nights, first_day, travellers = 2, ((2, 2),), (1, 8), (1, 3)
    feature = True


class DryCity(Trip):
    name = "travel.dry_city"
    description = "One of four cities, where it stays dry, within a budget"
    cities, nights, first_day, travellers = 4, ((2, 3),), (1, 7), (1, 2)
    any_city = dry = True


class DryDays(Trip):
    name = "travel.dry_days"
    description = "A fixed city on whichever days it stays dry, a rated hotel, a budget"
    cities, nights, first_day, travellers = 1, ((2, 2),), (1, 4), (1, 2)
    first_days, rating, dry = 4, (65, 85), True


class Cheapest(Trip):
    name = "travel.cheapest"
    description = "The cheapest of all plans with a rated hotel, over three cities"
    cities, nights, first_day, travellers = 3, ((1, 4),), (1, 6), (1, 3)
    any_city, rating, cheapest = True, (70, 90), True


class TwoStops(Trip):
    name = "travel.two_stops"
    description = "Two cities one after the other, hotels with a feature, a budget"
    splits: ClassVar[tuple[Split, ...]] = ("test",)
    cities, nights, first_day, travellers = 2, ((1, 3), (1, 3)), (1, 4), (1, 2)
    feature = True


TRAVEL_TASKS: Final[tuple[type[Trip], ...]] = (Weekend, DryCity, DryDays, Cheapest, TwoStops)
