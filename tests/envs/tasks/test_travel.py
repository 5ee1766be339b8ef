"""The suite travel: the oracle plans with what the tools say; plans that overlook a wish fail."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rlfactory.envs.api.types import JSON, ToolCall, ToolStatus
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import play
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.travel import TRAVEL_TASKS
from rlfactory.envs.tasks.travel.plan import best_plan, cost, read_plan, verify
from rlfactory.envs.tasks.travel.trips import Trip, carelessly

REGISTRY = TaskRegistry(TRAVEL_TASKS)
DRAWS = [(info.name, split, seed) for info in REGISTRY.infos() for split in info.splits for seed in range(6)]


def drawn(name: str, split, seed: int) -> Trip:
    task = REGISTRY.draw(name, seed=seed, split=split)
    assert isinstance(task, Trip)
    return task


async def test_the_oracle_plans_every_trip_with_what_the_tools_say(client: EnvClient):
    for name, split, seed in DRAWS:
        record = await play(client, name, seed=seed, split=split, registry=REGISTRY)
        assert record.stuck == ""
        assert record.reward.success, record.goal
        assert len(record.steps) <= 3


def test_the_plan_of_someone_careless_looks_right_and_fails():
    for name, split, seed in DRAWS:
        trip = drawn(name, split, seed)
        best = best_plan(trip.request, trip.market)
        careless = best_plan(carelessly(replace(trip.request, budget=None)), trip.market)
        assert best is not None
        assert careless is not None
        held = verify(careless, trip.request, trip.market, best=cost(best, trip.request))
        assert held["readable"] and held["route"] and held["days"] and held["seats"]
        assert not all(held.values())


def test_each_wish_is_verified_by_itself():
    trip = drawn("travel.dry_days", "train", 0)
    best = best_plan(trip.request, trip.market)
    assert best is not None
    spent = cost(best, trip.request)

    def failing(**changes) -> set[str]:
        held = verify(best, replace(trip.request, **changes), trip.market, best=spent)
        return {name for name, holds in held.items() if not holds}

    assert failing() == set()
    assert failing(budget=spent - 1) == {"budget"}
    assert failing(min_rating=10.0) == {"hotels"}
    assert failing(feature="helipad") == {"hotels"}
    assert failing(travellers=99, budget=None) == {"seats"}
    assert failing(first_days=(99,)) == {"days"}
    assert failing(home="Nowhere") == {"route"}
    assert failing(stops=(("Nowhere",),)) == {"route"}
    soaked = replace(trip.market, weather={city: dict.fromkeys(range(1, 20), "rain") for city in trip.market.cities})
    assert not verify(best, trip.request, soaked, best=spent)["weather"]
    full = replace(best, hotels=tuple(replace(hotel, full_on=tuple(range(1, 20))) for hotel in best.hotels))
    assert not verify(full, trip.request, trip.market, best=spent)["rooms"]
    assert not verify(best, replace(trip.request, cheapest=True), trip.market, best=spent - 1)["cheapest"]


@pytest.mark.parametrize(
    "answer",
    ["", "RF100", "```", "```json\n```",
     "[]", '{"flights": [], "hotels": []}', '{"flights": ["RF0"], "hotels": ["Ritz"]}', "[" * 100_000,
     '{"flights": [1], "hotels": [{}]}', '{"flights": "RF1", "hotels": "x"}', '{"flights": []}'],
)  # fmt: skip
def test_what_is_no_plan_holds_nothing(answer: str):
    trip = drawn("travel.weekend", "train", 0)
    held = verify(read_plan(answer, trip.market), trip.request, trip.market, best=None)
    assert not any(holds for name, holds in held.items() if name != "readable")


async def test_tools_say_what_is_wrong_and_a_bad_plan_earns_nothing(client: EnvClient):
    async with client.session("travel.weekend", seed=0, split="train") as session:
        home = drawn("travel.weekend", "train", 0).market.cities[0]
        asked: list[tuple[str, dict[str, JSON], str]] = [
            ("get_weather", {"city": "Paris"}, "no city 'Paris'; there are "),
            ("get_weather", {"town": home}, "unknown argument 'town'"),
            ("search_flights", {"origin": home, "destination": home, "day": 11}, "from 1 to 10"),
            ("search_flights", {"origin": home, "destination": home, "day": True}, "whole number"),
            ("search_hotels", {}, "'city' is missing"),
        ]
        calls = [ToolCall(id=str(n), name=name, arguments=values) for n, (name, values, _) in enumerate(asked)]
        refused = await session.step(calls)
        for result, (_, _, words) in zip(refused.results, asked, strict=True):
            assert result.status is ToolStatus.REJECTED
            assert words in result.text
        plan = json.dumps({"flights": ["RF1"], "hotels": []})
        ended = await session.step([ToolCall(id="0", name="finish", arguments={"answer": plan})])
        assert not ended.reward.success
        assert ended.reward.total == 0
        assert ended.reward.parts["format"] == 0.5


def test_splits_share_no_city():
    cities: dict[str, set[str]] = {split: set() for split in ("train", "validation", "test")}
    for name, split, seed in DRAWS:
        cities[split] |= set(drawn(name, split, seed).market.cities)
    assert not cities["train"] & cities["test"]
    assert not cities["validation"] & (cities["train"] | cities["test"])
