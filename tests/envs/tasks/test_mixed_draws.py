"""What the suite mixed is drawn from: goals tell no answer, splits share nothing, the directory can be searched."""

from __future__ import annotations

from random import Random
from typing import Any

from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.mixed import MIXED_TASKS
from rlfactory.envs.tasks.mixed.directory import SEED, Directory, DirectoryIndex, made_directory, town_query
from rlfactory.envs.tasks.mixed.people import TOWNS, TRADES
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.suites import default_registry

REGISTRY = TaskRegistry(MIXED_TASKS)
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


def test_goals_tell_no_answer_and_are_the_same_every_time():
    for task in MIXED_TASKS:
        for split in task.splits:
            for seed in range(20):
                one = REGISTRY.draw(task.name, seed=seed, split=split)
                assert one == REGISTRY.draw(task.name, seed=seed, split=split)
                for secret in secrets(one):
                    assert secret not in one.goal


def secrets(task: Any) -> list[str]:
    match task:
        case _ if hasattr(task, "clientele"):
            return [task.person.number, task.person.full_name]
        case _ if hasattr(task, "spending"):
            return [task.spending.total]
        case _ if hasattr(task, "ride"):
            return [task.ride.leaves.text]
        case _:
            return [task.entry.person.number, task.entry.opens.text, task.entry.address]


def test_the_directory_is_made_alike_and_splits_share_nothing():
    assert Directory(Random(SEED)).passages() == made_directory().passages()
    entries = made_directory().entries
    for pool in (TOWNS, TRADES):
        assert len({each for split in SPLITS for each in pool[split]}) == sum(len(pool[split]) for split in SPLITS)
    names = [entry.person.full_name for split in SPLITS for entry in entries[split]]
    numbers = [each for split in SPLITS for entry in entries[split] for each in (entry.person.number, entry.old_number)]
    assert len(set(names)) == len(names)
    assert len(set(numbers)) == len(numbers)


async def test_whoever_is_looked_for_is_among_three_passages():
    retriever = DirectoryIndex().retriever
    every = [entry for split in SPLITS for entry in made_directory().entries[split]]
    by_name = {passage.title: passage.title for passage in made_directory().passages()}
    by_town = {town_query(entry.person.full_name, entry.trade): entry.town for entry in every}
    for wanted in (by_name, by_town):
        found = await retriever.retrieve(list(wanted), top_k=3, timeout_s=30)
        titles = [{hit.passage.title for hit in hits} for hits in found]
        missed = [title for title, shown in zip(wanted.values(), titles, strict=True) if title not in shown]
        assert missed == []


def test_the_suite_is_offered():
    infos = default_registry().infos(suite="mixed")
    assert len(infos) == len(MIXED_TASKS) >= 6
    assert {info.name for info in infos if info.splits == ("test",)} == {"mixed.address_note", "mixed.train_to_person"}
