"""Whether verdicts can be trusted: `python -m benchmarks.trust [--json] [--only CHECK,...] [--sample N] [--part K/N]`.

Each check (`--list`) tries many cases whose right verdict is known beforehand. Exits 1 if any check does not hold.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Final

from rich.console import Console

from benchmarks.trust.check import Figure, Size
from benchmarks.trust.registry import CHECKS

MAX_SHOWN: Final = 10
"""Faults of one check that are listed."""


def part(text: str) -> tuple[int, int]:
    """Return index and number of "2/4". Raises: ValueError."""
    index, number = (int(word) for word in text.split("/"))
    if not 1 <= index <= number:
        raise ValueError(text)
    return index - 1, number


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trust", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="figures as one JSON object")
    parser.add_argument("--only", default="", metavar="CHECK,...", help="run these checks alone")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="about so many cases a check; 0: all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--part", type=part, default=(0, 1), metavar="K/N", help="the K-th of N parts of the cases")
    parser.add_argument("--list", action="store_true", help="say what there is, and end")
    arguments = parser.parse_args()
    if arguments.list:
        for check in CHECKS:
            print(f"{check.name}: {check.what}")
        return
    wanted = {name for name in arguments.only.split(",") if name} or {check.name for check in CHECKS}
    unknown = wanted - {check.name for check in CHECKS}
    if unknown:
        known = ", ".join(check.name for check in CHECKS)
        parser.error(f"no check {', '.join(sorted(unknown))}; there are: {known}")
    console = Console(stderr=True, highlight=False)
    size = Size(sample=arguments.sample, seed=arguments.seed, part=arguments.part[0], parts=arguments.part[1])
    figures: dict[str, Figure] = {}
    faulty = False
    for check in CHECKS:
        if check.name not in wanted:
            continue
        begun_s = time.perf_counter()
        with console.status(f"{check.name}: {check.what}"):
            finding = check.run(size)
        for name, value in finding.figures.items():
            figures[name] = figures.get(name, 0) + value
        faulty = faulty or bool(finding.faults)
        sign = "[bold red]does not hold[/]" if finding.faults else "[green]holds[/]"
        told = ", ".join(f"{name} {value}" for name, value in finding.figures.items())
        console.print(f"{check.name} {sign} ({time.perf_counter() - begun_s:.0f} s): {told}")
        for fault in finding.faults[:MAX_SHOWN]:
            console.print(f"  {fault}", markup=False)
        if len(finding.faults) > MAX_SHOWN:
            console.print(f"  and {len(finding.faults) - MAX_SHOWN} more")
    if arguments.json:
        print(json.dumps(figures, indent=2))
    sys.exit(1 if faulty else 0)


if __name__ == "__main__":
    main()
