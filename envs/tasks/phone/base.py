"""What the tasks of the phone suite share: wordings per split, drawing, and running setup commands."""

from __future__ import annotations

import random
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Final, Self, TypeVar

from rlfactory.emulators.device.device import Device
from rlfactory.emulators.device.errors import CommandFailed
from rlfactory.emulators.device.state import DeviceState
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.phone.look import Look
from rlfactory.envs.tasks.table import frozen, read_table, read_tables
from rlfactory.envs.tasks.task import Check, Outcome, Task
from rlfactory.envs.tasks.ui_driver import UiDriver

T = TypeVar("T")
ALREADY_SO: Final = 0.46
"""How often what has to be on, or off, is so from the start; then to finish is the job."""

Pool = Mapping[Split, Sequence[T]]
"""Values to draw from, by split; disjoint, so that nothing of the test split is seen in training."""


_TABLE: Final[Mapping[str, Mapping[Split, Sequence[str]]]] = read_table(__file__, "pools.yaml")


def _on_occasions(wordings: Iterable[str], split: Split) -> Iterator[str]:
    """Yield each wording; one that begins with an occasion, with each of its split."""
    for wording in wordings:
        occasions = _TABLE["occasions"][split] if "{occasion}" in wording else ("",)
        yield from (wording.replace("{occasion}", occasion) for occasion in occasions)


@dataclass(frozen=True, kw_only=True)
class Want:
    """One exact change that a task asks for; `wants.py` has those there are."""

    name: str
    """In words, as a fact that holds afterwards."""
    keys: tuple[str, ...]
    """fnmatch patterns of the state keys it is about."""
    holds: Callable[[DeviceState, DeviceState], bool]
    """(before, now): whether just this change was made to these keys."""


def setting_is(key: str, *values: str, name: str = "", beside: Sequence[str] = ()) -> Want:
    """A setting has one of these values; those `beside` it say the same in another way, and may say what they like."""
    wanted = f"{key.rpartition('/')[2]} is {' or '.join(values)}"
    return Want(name=name or wanted, keys=(key, *beside), holds=lambda before, after: after.get(key) in values)


@dataclass(frozen=True, kw_only=True)
class PhoneTask(Task):
    """A template whose goal is one of its split's wordings, filled in with its parameters."""

    max_turns: ClassVar[int] = 18
    templates: ClassVar[Mapping[str, Mapping[str, Any]]] = read_tables(__file__, "templates")
    """Of the suite, by name: what each is in one line, its turns where it needs more than its kind, and by split how
    its goal is worded (it has the splits that it has wordings for); or what has to be so in the end, and `splits` where
    it is not in all. A class of such a name has them from there."""
    wordings: ClassVar[Pool[str]]
    """Format strings over the names of the fields."""

    wording: str
    look: Look = field(default_factory=Look)

    def __init_subclass__(cls) -> None:
        row = dict(cls.templates.get(cls.__dict__.get("name", ""), {}))
        if not row:
            return
        if state := row.pop("state", ""):
            splits = row.pop("splits", _TABLE["state_wordings"])
            row["wordings"] = {
                split: [wording.replace("{state}", state) for wording in _TABLE["state_wordings"][split]]
                for split in splits
            }
        row["wordings"] = {split: list(_on_occasions(each, split)) for split, each in row["wordings"].items()}
        for key, value in frozen(row).items():
            setattr(cls, key, value)
        cls.splits = tuple(row["wordings"])

    @property
    def goal(self) -> str:
        return self.wording.format(**vars(self))

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        drawn = cls.draw(rng, split)
        wording = pick(rng, cls.wordings, split)
        return cls(wording=wording, **drawn, **cls.draw_rest(rng, split), **cls.draw_world(rng))

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        """Return the template's fields by name."""
        return {}

    @classmethod
    def draw_rest(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        """Return those that are drawn after the wording: the order of draws fixes what a seed stands for."""
        return {}

    @classmethod
    def draw_world(cls, rng: random.Random) -> dict[str, Any]:
        """Return those that the goal does not tell: the same goal is asked for in many worlds."""
        return {"look": Look.draw(rng)}

    def elsewhere(self, rng: random.Random) -> Self:
        return replace(self, **self.draw_world(rng), **self.redraw(rng))

    def redraw(self, rng: random.Random) -> dict[str, Any]:
        """Return other values of what was drawn with the goal and is told by a look alone: an answer, a note's text."""
        return {}

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await run(device, self.look.commands(device.info, self.apps), timeout_s=timeout_s)

    @property
    def is_so_already(self) -> bool:
        """Nothing has to be done, and to say so by `finish` is the job."""
        return False

    def wants(self) -> Sequence[Want]:
        """Return the exact changes that the task asks for; all else has to stay as it was."""
        return ()

    def sub_goals(self, outcome: Outcome) -> dict[str, bool]:
        """Return what else is asked for (an answer) in words, and whether it holds."""
        return {}

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        wanted = {want.name: want.holds(outcome.initial, outcome.state) for want in self._wants}
        return tuple(Check(name=name, holds=holds) for name, holds in {**wanted, **self.sub_goals(outcome)}.items())

    @cached_property
    def _wants(self) -> Sequence[Want]:
        return self.wants()

    @abstractmethod
    async def perform(self, ui: UiDriver) -> str | None:
        """Do what the goal asks for, and return the answer where it asks for one."""

    async def solve(self, ui: UiDriver) -> None:
        await ui.finish(answer=await self.perform(ui) or "")

    def allowed(self) -> Sequence[str]:
        return tuple(key for want in self._wants for key in want.keys)


@dataclass(frozen=True, kw_only=True)
class StateTask(PhoneTask):
    """Something has to be so in the end, and may be so already: then to finish is the job, and only a look tells."""

    already: bool = False

    @property
    def is_so_already(self) -> bool:
        return self.already

    @classmethod
    def draw_world(cls, rng: random.Random) -> dict[str, Any]:
        return {**super().draw_world(rng), "already": rng.random() < ALREADY_SO}


async def run(device: Device, commands: Iterable[str], *, timeout_s: float) -> str:
    """Run shell commands one after the other and return what they print.

    Raises: CommandFailed: one of them exited non-zero; those after it did not run.
    """
    line = " && ".join(commands)
    result = await device.shell(line, timeout_s=timeout_s)
    if result.exit_code != 0:
        raise CommandFailed(line, result.exit_code, result.stderr or result.stdout)
    return result.stdout


def first_state(rng: random.Random, wanted: bool) -> bool:
    """Draw how something starts that has to be on, or off, in the end."""
    return wanted is (rng.random() < ALREADY_SO)


def pick(rng: random.Random, pool: Pool[T], split: Split) -> T:
    return rng.choice(pool[split])


def sample(rng: random.Random, pool: Pool[T], split: Split, count: int) -> tuple[T, ...]:
    """Draw different values."""
    return tuple(rng.sample(pool[split], count))


def literal(key: str) -> str:
    """Return the fnmatch pattern that matches exactly this key."""
    return re.sub(r"([\[*?])", r"[\1]", key)
