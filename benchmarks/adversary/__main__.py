"""The red team: `python -m benchmarks.adversary [--json] [--only WORD]`.

Attacks a real service on loopback, one attack after the other, while 16 honest sessions play on. Each attack says what
has to hold. It counts as broken, too, if an honest episode was lost, if honest turns stood still, if the service's
memory grew by more than 200 MB or kept it for longer than 30 s, or if the service ended. All of it ends by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Final

import psycopg

from benchmarks.adversary import attacks as _attacks  # noqa: F401 - enters them into the list
from benchmarks.adversary.arena import Arena
from benchmarks.adversary.attack import ATTACKS, Attack, Broke, Skipped
from benchmarks.figures import percentile_ms
from benchmarks.postgres_server import Server, postgres, programs

MAX_GROWTH_MB: Final = 200.0
SHRINKS_IN_S: Final = 30.0
MAX_STANDSTILL_S: Final = 3.0
"""Of an honest turn, on a machine where turns are as quick as they can be."""
QUIET_S: Final = 5.0
BETWEEN_S: Final = 0.7
"""After each attack, quiet again: others may use the machine, and not evenly, so both kinds of time are mixed."""
MEMORY_LOOKS_S: Final = 0.1
ATTACKERS_NICE: Final = 10
"""Attackers have machines of their own: here, too, they shall not take processors from whom they attack."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What came of one attack."""

    attack: str
    held: bool
    words: str
    """What held, or what broke."""
    skipped: bool = False
    took_s: float = 0.0
    honest_lost: int = 0
    honest_p99_ms: float = 0.0
    growth_mb: float = 0.0
    lag_p99_ms: float = 0.0
    lag_max_ms: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    attacks: int
    broken: int
    honest_lost: int
    honest_p99_ratio: float
    """Of turns during attacks, over that of quiet ones."""
    growth_mb: float
    """The most under any attack."""
    lag_p99_ms: float
    """Of the service's event loop during attacks, by what it does itself."""
    lag_wall_p99_ms: float
    """The same with what its thread waited for a processor."""


async def carry_out(arena: Arena, attack: Attack) -> Outcome:
    """Attack, and look at what else it did. A service that broke is replaced."""
    arena.look_at_the_machine()
    before_mb, begun_s = arena.service.memory_mb(), time.monotonic()
    peak = [before_mb]
    watching = asyncio.create_task(_watch_memory(arena, peak))
    problem, words = "", ""
    try:
        async with asyncio.timeout(attack.limit_s * arena.slowness):
            words = await attack.deed(arena)
    except Skipped as reason:
        return Outcome(attack=attack.full_name, held=True, skipped=True, words=str(reason))
    except Broke as error:
        problem = str(error)
    except TimeoutError:
        problem = f"it did not end within {attack.limit_s * arena.slowness:.0f} s"
    except Exception as error:  # noqa: BLE001 - whatever an attacker meets with that is not planned is a break
        problem = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    await asyncio.sleep(0.3)  # what honest sessions have under way is told
    end_s = time.monotonic()
    lost = arena.seen.losses(begun_s, end_s)
    turns = arena.seen.latencies_s(begun_s, end_s)
    lags = arena.service.lags_s(begun_s, end_s)
    growth_mb = max(peak) - before_mb
    problem = problem or _beside(arena, lost, turns, growth_mb, await _shrunk(arena, before_mb))
    outcome = Outcome(
        attack=attack.full_name,
        held=not problem,
        words=problem or words,
        took_s=round(end_s - begun_s, 1),
        honest_lost=len(lost),
        honest_p99_ms=percentile_ms(turns, 0.99) if turns else 0.0,
        growth_mb=round(growth_mb, 1),
        lag_p99_ms=percentile_ms(lags, 0.99) if lags else 0.0,
        lag_max_ms=percentile_ms(lags, 1.0) if lags else 0.0,
    )
    if problem:
        await arena.restart()
    return outcome


def _beside(  # noqa: PLR0911
    arena: Arena, lost: Sequence[str], turns: Sequence[float], growth_mb: float, shrunk: bool
) -> str:
    """Return what went wrong beside what the attack checks itself; "" if nothing did."""
    if not arena.service.alive:
        return "the service ended"
    if lost:
        return f"{len(lost)} honest episodes lost: {lost[0][:100]}"
    if growth_mb > MAX_GROWTH_MB:
        return f"the service grew by {growth_mb:.0f} MB"
    if not shrunk:
        return f"the service kept {growth_mb:.0f} MB for more than {SHRINKS_IN_S:g} s"
    if not turns:
        return "the honest sessions stood still"
    if max(turns) > MAX_STANDSTILL_S * arena.slowness:
        return f"an honest turn took {max(turns):.1f} s"
    return ""


async def _watch_memory(arena: Arena, peak: list[float]) -> None:
    while True:
        with contextlib.suppress(Exception):
            peak.append(arena.service.memory_mb())
        await asyncio.sleep(MEMORY_LOOKS_S)


async def _shrunk(arena: Arena, before_mb: float) -> bool:
    """Wait until the service holds about what it did; tell whether it came to that in time."""
    end_s = time.monotonic() + SHRINKS_IN_S
    while arena.service.alive and arena.service.memory_mb() > before_mb + MAX_GROWTH_MB:
        if time.monotonic() > end_s:
            return False
        await asyncio.sleep(0.5)
    return True


async def main_async(
    chosen: Sequence[Attack], *, postgres_dsn: str, attackers_nice: int = 0
) -> tuple[Figures, list[Outcome]]:
    """Args: attackers_nice: by how much service and honest sessions go before this process."""
    outcomes: list[Outcome] = []
    async with Arena(postgres=postgres_dsn) as arena:
        os.nice(attackers_nice)
        quiet = await _quiet(arena, QUIET_S)
        spans: list[tuple[float, float]] = []
        lags: list[float] = []
        wall_lags: list[float] = []
        for attack in chosen:
            begun_s = time.monotonic()
            service = arena.service
            outcome = await carry_out(arena, attack)
            if not outcome.skipped:
                spans.append((begun_s, begun_s + outcome.took_s))
                if arena.service is service:
                    lags += service.lags_s(*spans[-1])
                    wall_lags += service.lags_s(*spans[-1], wall=True)
                else:
                    lags.append(outcome.lag_max_ms / 1000)
            outcomes.append(outcome)
            _tell(outcome, attack)
            quiet += await _quiet(arena, BETWEEN_S)
        turns = [took for span in spans for took in arena.seen.latencies_s(*span)]
    made = [each for each in outcomes if not each.skipped]
    figures = Figures(
        attacks=len(made),
        broken=sum(not each.held for each in made),
        honest_lost=sum(each.honest_lost for each in made),
        honest_p99_ratio=round(percentile_ms(turns, 0.99) / max(percentile_ms(quiet, 0.99), 0.001), 2)
        if turns
        else 0.0,
        growth_mb=max((each.growth_mb for each in made), default=0.0),
        lag_p99_ms=percentile_ms(lags, 0.99) if lags else 0.0,
        lag_wall_p99_ms=percentile_ms(wall_lags, 0.99) if wall_lags else 0.0,
    )
    return figures, outcomes


async def _quiet(arena: Arena, seconds: float) -> list[float]:
    """Let the honest sessions play alone for so long; return what their turns took."""
    begun_s = time.monotonic()
    await asyncio.sleep(seconds)
    return arena.seen.latencies_s(begun_s, time.monotonic())


def _database(server: Server) -> str:
    """Make a table and the role that reads it; return the reader's DSN."""
    with psycopg.connect(server.owner, autocommit=True) as connection:
        connection.execute("CREATE TABLE item (id int, name text)")
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute("GRANT SELECT ON item TO reader")
    return server.reader


def _tell(outcome: Outcome, attack: Attack) -> None:
    from rich.console import Console
    from rich.markup import escape

    sign = "[yellow]skipped[/]" if outcome.skipped else "[green]held[/]" if outcome.held else "[bold red]BROKE[/]"
    line = f"{sign} [bold]{outcome.attack}[/] ({outcome.took_s:g} s): {escape(outcome.words)}"
    if not outcome.held:
        line += f" [dim]must: {escape(attack.must)}[/]"
    Console(stderr=True, highlight=False).print(line, soft_wrap=True)


def show(figures: Figures, outcomes: Sequence[Outcome]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("attack", "", "s", "honest p99 ms", "growth MB", "lag p99 ms", "lag max ms"):
        table.add_column(name, justify="left" if name in ("attack", "") else "right")
    for each in outcomes:
        sign = "[yellow]skipped" if each.skipped else "[green]held" if each.held else "[bold red]BROKE"
        numbers = (each.took_s, each.honest_p99_ms, each.growth_mb, each.lag_p99_ms, each.lag_max_ms)
        table.add_row(each.attack, sign, *(f"{number:.1f}" for number in numbers))
    console = Console(highlight=False)
    console.print(table)
    console.print(
        f"{figures.attacks} attacks, [bold]{figures.broken} broken[/]; honest sessions lost {figures.honest_lost}, "
        f"p99 {figures.honest_p99_ratio:g} times the quiet one; growth at most {figures.growth_mb:g} MB; "
        f"lag p99 {figures.lag_p99_ms:g} ms ({figures.lag_wall_p99_ms:g} ms with the wait for a processor)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adversary", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="figures as one JSON object")
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD", help="attacks whose names hold one of these")
    parser.add_argument("--list", action="store_true", help="say what there is, and end")
    parser.add_argument("--details", default="", metavar="FILE", help="write what came of each attack there, as JSON")
    arguments = parser.parse_args()
    chosen = [each for each in ATTACKS if not arguments.only or any(word in each.full_name for word in arguments.only)]
    if arguments.list:
        for each in chosen:
            print(f"{each.full_name}: {each.what} Must: {each.must}.")
        return
    with ExitStack() as stack:
        dsn = _database(stack.enter_context(postgres())) if programs() is not None else ""
        figures, outcomes = asyncio.run(main_async(chosen, postgres_dsn=dsn, attackers_nice=ATTACKERS_NICE))
    if arguments.details:
        with open(arguments.details, "w") as file:  # noqa: PTH123
            json.dump([asdict(each) for each in outcomes], file, indent=1)
    if arguments.json:
        print(json.dumps(asdict(figures), indent=2))
    else:
        show(figures, outcomes)
    sys.exit(1 if figures.broken else 0)


if __name__ == "__main__":
    main()
