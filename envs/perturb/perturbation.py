"""What may happen to a phone while an agent uses it: seeded, scheduled, and no damage of the agent's.

A perturbation is a list of shell commands, drawn from the seed of the episode, for its start and for some of its turns.
Most are Android's own commands and work on any phone; windows of others need `disturb`, which simulated phones have.
"""

from __future__ import annotations

import fnmatch
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rlfactory.emulators.device.device import Device, DeviceInfo
from rlfactory.emulators.device.errors import CommandFailed
from rlfactory.emulators.device.state import DeviceState, diff
from rlfactory.envs.api.errors import TaskError, UnknownName

DEFAULT_STRENGTH: Final = 0.5
MAX_SPEC_CHARS: Final = 2_000
GOES_AFTER: Final = 2
FIRST_TURNS: Final = 6
"""Something happens after one of these, or several; oracles of one page have hardly more turns."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """What a perturbation is drawn from."""

    rng: random.Random
    strength: float
    """0..1: how often it happens, or how much it changes."""
    info: DeviceInfo | None
    """Of the phone; None in text-only tasks."""


Draw = Callable[[Scene], Sequence[str]]
"""Returns shell commands."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Perturbation:
    """One thing that may happen."""

    name: str
    what: str
    at_start: Draw | None = None
    """After the task's set-up."""
    at_turns: Draw | None = None
    """After some of the first turns."""
    and_then: Draw | None = None
    """`GOES_AFTER` turns after each of these."""
    about: tuple[str, ...] = ()
    """Keys of the phone's state that it changes: left out where the task is about one of them."""
    fails_calls: bool = False
    """In some of the first turns tools other than phone and finish do not answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What happens in one episode."""

    at_start: tuple[str, ...] = ()
    """Commands."""
    after_turn: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Commands by turn; the first turn is 1."""
    failing_turns: frozenset[int] = frozenset()


def parse(spec: str, known: Mapping[str, Perturbation]) -> dict[str, float]:
    """Return strengths by name of "popup,rotation:0.8"; "all" stands for each that is known.

    Raises: UnknownName: no such perturbation. TaskError: a strength that is no number from 0 to 1, or too long a text.
    """
    if len(spec) > MAX_SPEC_CHARS:
        raise TaskError(f"what happens to a phone is said in at most {MAX_SPEC_CHARS} characters, got {len(spec)}")
    strengths: dict[str, float] = {}
    for part in (part.strip() for part in spec.split(",") if part.strip()):
        name, colon, text = part.partition(":")
        try:
            strength = float(text) if colon else DEFAULT_STRENGTH
        except ValueError:
            strength = -1.0
        if not 0 <= strength <= 1:
            raise TaskError(f"the strength of a perturbation is a number from 0 to 1, as in {name}:0.5; got {text!r}")
        if name != "all" and name not in known:
            raise UnknownName.of("perturbation", name, (*known, "all"))
        strengths |= dict.fromkeys(known, strength) if name == "all" else {name: strength}
    return strengths


def plan(
    spec: str,
    key: str,
    known: Mapping[str, Perturbation],
    *,
    allowed: Sequence[str],
    info: DeviceInfo | None,
) -> Plan:
    """Draw what happens in an episode: the same for the same spec and key (task, seed, split), on every machine.

    Args:
        allowed: fnmatch patterns of the state that the task is about.
        info: of the phone; None in text-only tasks.

    Raises: see `parse`.
    """
    at_start: list[str] = []
    after_turn: dict[int, tuple[str, ...]] = {}
    failing: set[int] = set()
    for name, strength in parse(spec, known).items():
        perturbation, rng = known[name], random.Random(f"{key}/{name}")
        if info is None and not perturbation.fails_calls:
            continue
        if any(fnmatch.fnmatchcase(key, pattern) for key in perturbation.about for pattern in allowed):
            continue
        scene = Scene(rng=rng, strength=strength, info=info)
        if perturbation.at_start is not None:
            at_start += perturbation.at_start(scene)
        turns = rng.sample(range(1, FIRST_TURNS + 1), 1 + round(strength * 4))
        if perturbation.at_turns is not None:
            for turn in sorted(turns):
                after_turn[turn] = (*after_turn.get(turn, ()), *perturbation.at_turns(scene))
                if perturbation.and_then is not None:
                    later = turn + GOES_AFTER
                    after_turn[later] = (*after_turn.get(later, ()), *perturbation.and_then(scene))
        if perturbation.fails_calls:
            failing.update(turns)
    return Plan(at_start=tuple(at_start), after_turn=after_turn, failing_turns=frozenset(failing))


async def disturb(device: Device, commands: Sequence[str], *, timeout_s: float) -> tuple[DeviceState, DeviceState]:
    """Carry out what was planned; return the phone's state before and after. Raises: DeviceError."""
    before = await device.state(timeout_s=timeout_s)
    for command in commands:
        result = await device.shell(command, timeout_s=timeout_s)
        if result.exit_code:
            raise CommandFailed(command, result.exit_code, result.stderr or result.stdout)
    await device.settle(timeout_s=timeout_s)
    return before, await device.state(timeout_s=timeout_s)


def rebased(initial: DeviceState, before: DeviceState, after: DeviceState) -> DeviceState:
    """Return the state that an episode began in, as if what a perturbation did since had been so from the beginning."""
    changes = diff(before, after)
    kept = {key: value for key, value in initial.items() if all(change.key != key for change in changes)}
    return kept | {change.key: change.after for change in changes if change.after is not None} if changes else initial
