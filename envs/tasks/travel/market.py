"""What there is to book: flights, hotels and the forecast of one small world, drawn for each episode."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from typing import Any, Final

from rlfactory.envs.api.types import Split

DAYS: Final = range(1, 11)
SKIES: Final = ("sunny", "cloudy", "rain", "storm")
WET: Final = frozenset({"rain", "storm"})
FEATURES: Final = ("breakfast", "pool", "desk", "parking", "sea view")
CITIES: Final[Mapping[Split, Sequence[str]]] = {
    "train": (
        *("Alder", "Brook", "Corin", "Dalmar", "Elmstead", "Farrow", "Granby"),
        *("Hollin", "Ister", "Jarrow", "Kelso", "Lorne", "Marden"),
    ),
    "validation": ("Norwell", "Ostby", "Padua", "Quill", "Rosmar", "Selby", "Tarn", "Ulver"),
    "test": ("Varga", "Wexley", "Yarrow", "Zennor", "Arden", "Bexhill", "Calder", "Durnes"),
}
"""No city of one split is in another."""
HOTEL_NAMES: Final = ("Anchor", "Bell", "Crown", "Dove", "Elm", "Fountain", "Globe", "Harbour")
HOTELS_A_CITY: Final = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Flight:
    number: str
    origin: str
    destination: str
    day: int
    departs: str
    arrives: str
    price: int
    """Of one seat."""
    seats: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Hotel:
    name: str
    city: str
    price: int
    """Of one night, for everybody."""
    rating: float
    features: tuple[str, ...]
    full_on: tuple[int, ...]
    """Nights (by the day they begin) without a free room."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Market:
    """All that can be booked, and the forecast by city and day."""

    cities: tuple[str, ...]
    """The first is home."""
    flights: tuple[Flight, ...]
    hotels: tuple[Hotel, ...]
    weather: Mapping[str, Mapping[int, str]]

    def flights_of(self, origin: str, destination: str, day: int) -> list[Flight]:
        return [
            each for each in self.flights if (each.origin, each.destination, each.day) == (origin, destination, day)
        ]

    def hotels_in(self, city: str) -> list[Hotel]:
        return [each for each in self.hotels if each.city == city]

    def is_dry(self, city: str, days: Iterable[int]) -> bool:
        return not any(self.weather[city].get(day, "rain") in WET for day in days)


def draw_market(rng: random.Random, split: Split, *, cities: int) -> Market:
    """Draw a world with home and so many cities to visit."""
    names = tuple(rng.sample(CITIES[split], cities + 1))
    numbers = iter(rng.sample(range(100, 1000), 900))
    flights = tuple(
        _flight(rng, f"RF{next(numbers)}", origin, destination, day)
        for origin, destination in permutations(names, 2)
        for day in DAYS
        for _ in range(rng.choice((1, 2, 2)))
    )[:900]
    return Market(
        cities=names,
        flights=flights,
        hotels=tuple(hotel for city in names[1:] for hotel in _hotels(rng, city)),
        weather={city: {day: rng.choices(SKIES, (4, 3, 2, 1))[0] for day in DAYS} for city in names},
    )


def _flight(rng: random.Random, number: str, origin: str, destination: str, day: int) -> Flight:
    start, minutes = rng.randrange(6 * 60, 20 * 60, 5), rng.randrange(50, 180, 5)
    return Flight(
        number=number,
        origin=origin,
        destination=destination,
        day=day,
        departs=_clock(start),
        arrives=_clock(start + minutes),
        price=rng.randrange(40, 260),
        seats=rng.randint(1, 6),
    )


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _hotels(rng: random.Random, city: str) -> list[Hotel]:
    return [
        Hotel(
            name=f"{name} {city}",
            city=city,
            price=rng.randrange(45, 220),
            rating=rng.randrange(60, 98) / 10,
            features=tuple(sorted(rng.sample(FEATURES, rng.randint(1, 4)))),
            full_on=tuple(sorted(rng.sample(DAYS, rng.randint(0, 2)))),
        )
        for name in rng.sample(HOTEL_NAMES, HOTELS_A_CITY)
    ]


def told(thing: Flight | Hotel) -> dict[str, Any]:
    """Return a thing as the tools tell of it."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(thing).items()}
