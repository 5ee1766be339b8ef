"""The page of a suite's tasks, made from the templates themselves.

python -m rlfactory.envs.tasks.catalog docs/tasks.md           # write the page
python -m rlfactory.envs.tasks.catalog docs/tasks.md --check   # exit 1 if it is not what would be written
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.phone import PHONE_TASKS
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.task import Task

INTRODUCTION = """\
# Tasks of the phone suite

Made by `python -m rlfactory.envs.tasks.catalog docs/tasks.md`; do not edit.

A task is a template whose parameters are drawn from its seed. Names, numbers, times, texts and wordings of the train,
validation and test splits have nothing in common, and some templates are in the test split only.

- **Success** needs all three: every sub-goal holds, the agent ended the episode by `finish` with status `success`, and
  nothing else changed. What changed beyond the task is named in `side_effects`: another contact deleted, another file
  renamed, another switch flipped. Opening apps and looking around changes nothing. Other spellings that a person would
  take (case, spaces, how a number is grouped) are as good; one alarm more or another ringtone is not.
- **Progress** is the share of sub-goals that hold now.
- **Answers** have the form that the goal states and are compared by value ([Rewards](rewards.md#typed-answers)).
- What has to be on, or off, may be so already: the agent has to see that, do nothing, and `finish`.
- **Worlds**: density, size of text, theme, and what else is on the phone depend on the seed, so where things are has to
  be seen. A seed of 2^32 and more is the goal of its lower half in another world.
- **Turns** is the limit; the oracle of each template needs fewer, by taps and typing only.

Splits: T train, V validation, E test.
"""

LETTERS: dict[Split, str] = {"train": "T", "validation": "V", "test": "E"}
EXAMPLE_SEED = 1


def page(tasks: Iterable[type[Task]]) -> str:
    """Return the page as Markdown, one table an area."""
    lines = [INTRODUCTION]
    ordered = sorted(tasks, key=lambda task: task.name)
    lines.append(f"There are {len(ordered)} templates.\n")
    for area, members in groupby(ordered, key=_area):
        lines.append(f"## {area.capitalize()}\n")
        lines.append("| task | what | splits | turns | a goal |")
        lines.append("| --- | --- | --- | ---: | --- |")
        lines.extend(_row(task) for task in members)
        lines.append("")
    return "\n".join(lines)


def _area(task: type[Task]) -> str:
    return task.name.partition(".")[0]


def _row(task: type[Task]) -> str:
    drawn = TaskRegistry([task]).draw(task.name, seed=EXAMPLE_SEED, split=task.splits[0])
    letters = " ".join(LETTERS[each] for each in task.splits)
    goal = drawn.goal.replace("|", chr(92) + "|")
    return f"| `{task.name}` | {task.description} | {letters} | {task.max_turns} | {goal} |"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m rlfactory.envs.tasks.catalog", description="Write the page of the tasks."
    )
    parser.add_argument("path", type=Path, help="the Markdown file")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the file is stale")
    options = parser.parse_args(arguments)
    wanted = page(PHONE_TASKS)
    if options.check:
        stale = not options.path.is_file() or options.path.read_text(encoding="utf-8") != wanted
        if stale:
            sys.stderr.write(f"{options.path} is stale; run: python -m rlfactory.envs.tasks.catalog {options.path}\n")
        return int(stale)
    options.path.parent.mkdir(parents=True, exist_ok=True)
    options.path.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
