"""What a traveller wants, what a plan is, and whether the one fits the other. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

from rlfactory.envs.rewards.answers import unfenced
from rlfactory.envs.tasks.travel.market import Flight, Hotel, Market

CHECKS: Final = ("readable", "route", "days", "seats", "rooms", "hotels", "weather", "budget", "cheapest")
"""Each is a sub-goal; what a request does not ask for holds for every readable plan."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is asked for."""

    home: str
    stops: tuple[tuple[str, ...], ...]
    """For each stop the cities that will do."""
    nights: tuple[int, ...]
    """At each stop."""
    first_days: tuple[int, ...]
    """Of departure; any will do."""
    travellers: int
    budget: int | None = None
    """For all flights and nights."""
    min_rating: float | None = None
    feature: str | None = None
    dry: bool = False
    """No rain and no storm on any day away, those of travel included."""
    cheapest: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Flights in order, one more than stops; hotels in order of the stops."""

    flights: tuple[Flight, ...]
    hotels: tuple[Hotel, ...]

    def as_answer(self) -> str:
        """Return the plan as an agent gives it."""
        return json.dumps(
            {"flights": [each.number for each in self.flights], "hotels": [each.name for each in self.hotels]}
        )


def read_plan(answer: str, market: Market) -> Plan | None:
    """Return the plan that an answer names, None if it names none, or what there is not; it may be fenced."""
    try:
        value = json.loads(unfenced(answer))
    except (ValueError, RecursionError):
        return None
    flights = {each.number: each for each in market.flights}
    hotels = {each.name: each for each in market.hotels}
    match value:
        case {"flights": list(numbers), "hotels": list(names), **rest} if not rest:
            pass
        case _:
            return None
    if not all(isinstance(each, str) for each in (*numbers, *names)):
        return None
    if not set(numbers) <= flights.keys() or not set(names) <= hotels.keys():
        return None
    return Plan(flights=tuple(flights[each] for each in numbers), hotels=tuple(hotels[each] for each in names))


def cost(plan: Plan, request: Request) -> int:
    """Return what flights and nights cost together."""
    nights = sum(hotel.price * count for hotel, count in zip(plan.hotels, request.nights, strict=True))
    return nights + request.travellers * sum(flight.price for flight in plan.flights)


def verify(plan: Plan | None, request: Request, market: Market, *, best: int | None) -> dict[str, bool]:
    """Return for each of `CHECKS` whether it holds. `best`: the cost of the cheapest plan."""
    if plan is None or len(plan.flights) != len(request.stops) + 1 or len(plan.hotels) != len(request.stops):
        return {name: name == "readable" and plan is not None for name in CHECKS}
    days, spent = _days(plan, request), cost(plan, request)
    stays = list(zip(plan.hotels, days, request.nights, strict=False))
    return {
        "readable": True,
        "route": _is_route(plan, request),
        "days": days[0] in request.first_days and [each.day for each in plan.flights] == days,
        "seats": all(each.seats >= request.travellers for each in plan.flights),
        "rooms": not any(set(hotel.full_on) & set(range(day, day + nights)) for hotel, day, nights in stays),
        "hotels": all(is_wanted(hotel, request) for hotel in plan.hotels),
        "weather": not request.dry
        or all(market.is_dry(hotel.city, range(day, day + nights + 1)) for hotel, day, nights in stays),
        "budget": request.budget is None or spent <= request.budget,
        "cheapest": not request.cheapest or spent == best,
    }


def _days(plan: Plan, request: Request) -> list[int]:
    """Return on which day each flight has to be, given that of the first."""
    days = [plan.flights[0].day]
    for nights in request.nights:
        days.append(days[-1] + nights)
    return days


def _is_route(plan: Plan, request: Request) -> bool:
    """Tell whether the flights lead from home over the hotels' cities, which will do, and back."""
    visited = [hotel.city for hotel in plan.hotels]
    legs = list(zip([request.home, *visited], [*visited, request.home], strict=True))
    return [(each.origin, each.destination) for each in plan.flights] == legs and all(
        city in cities for city, cities in zip(visited, request.stops, strict=True)
    )


def is_wanted(hotel: Hotel, request: Request) -> bool:
    """Tell whether rating and features are as asked."""
    rated = request.min_rating is None or hotel.rating >= request.min_rating
    return rated and (request.feature is None or request.feature in hotel.features)


def best_plan(request: Request, market: Market) -> Plan | None:
    """Return the cheapest plan that fits, None if none does. Of equal ones the first in the market's order."""
    fitting = (plan for plan in _candidates(request, market) if _fits(plan, request, market))
    return min(fitting, key=lambda plan: cost(plan, request), default=None)


def _fits(plan: Plan, request: Request, market: Market) -> bool:
    held: Mapping[str, bool] = verify(plan, request, market, best=None)
    return all(holds for name, holds in held.items() if name != "cheapest")


def _candidates(request: Request, market: Market) -> Iterator[Plan]:
    """Yield plans of the right shape: for each choice of day and cities the cheapest flights and each set of hotels."""
    for first_day, cities in product(request.first_days, product(*request.stops)):
        flights, day = [], first_day
        route = [request.home, *cities, request.home]
        for leg in range(len(route) - 1):
            offers = [
                each for each in market.flights_of(route[leg], route[leg + 1], day) if each.seats >= request.travellers
            ]
            if not offers:
                break
            flights.append(min(offers, key=lambda flight: flight.price))
            day += request.nights[leg] if leg < len(request.nights) else 0
        else:
            for hotels in product(*(market.hotels_in(city) for city in cities)):
                yield Plan(flights=tuple(flights), hotels=hotels)
