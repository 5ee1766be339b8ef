"""Build the container images and say how large they are.

    python scripts/images.py [--json] [IMAGE...]

Without names: those that any machine can build. An image is a folder of containers/ with a Dockerfile; the context is
the repository. `docker build` works with the classic builder and with BuildKit.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.status import Status
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
CONTAINERS = ROOT / "containers"
BASE = "debian:bookworm-slim"
DEFAULT = ("simulator", "sandbox", "search", "egress", "envd")
HOST_CA = CONTAINERS / "host-ca.crt"
"""The authorities that this machine trusts, for pip behind a proxy; only stages that are not shipped see it."""
CA_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
TAIL_LINES = 40


@dataclass(frozen=True, kw_only=True)
class Built:
    """One image."""

    image: str
    tag: str
    mb: float
    """What its layers take, shared ones included, in 10^6 bytes."""
    seconds: float


class BuildFailed(Exception):
    """The last lines of the build."""


def known_images() -> list[str]:
    """Return the names that can be built here, those of a fresh `make images` first."""
    found = {path.parent.name for path in CONTAINERS.glob("*/Dockerfile")}
    return [name for name in DEFAULT if name in found] + sorted(found - set(DEFAULT))


def revision() -> str:
    """Return the commit that is built, marked when the tree differs from it."""
    head = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if head.returncode:
        return "unknown"
    changed = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=no"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return head.stdout.strip() + ("-dirty" if changed.stdout.strip() else "")


def build(name: str, *, version: str, arguments: Sequence[str] = (), console: Console) -> Built:
    """Build one image, showing its steps. Raises: BuildFailed."""
    tag = f"rlfactory-{name}:{version}"
    command = ["docker", "build", "--network", "host", "-f", str(CONTAINERS / name / "Dockerfile")]
    command += ["--build-arg", f"VERSION={version}", "--build-arg", f"REVISION={revision()}"]
    if os.environ.get("PIP_INDEX_URL"):
        command += ["--build-arg", "PIP_INDEX_URL"]
    for argument in arguments:
        command += ["--build-arg", argument]
    command += ["-t", tag, "-t", f"rlfactory-{name}:latest", str(ROOT)]
    started_s = time.monotonic()
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    assert process.stdout is not None
    with console.status(f"{name}: starting") as status:
        for line in process.stdout:
            tail.append(line.rstrip())
            show_step(status, name, line)
    if process.wait():
        raise BuildFailed("\n".join(tail))
    return Built(
        image=name, tag=tag, mb=round(image_bytes(tag) / 1e6, 1), seconds=round(time.monotonic() - started_s, 1)
    )


def show_step(status: Status, name: str, line: str) -> None:
    """Show where a build is: "Step 3/20 : RUN ..." of the classic builder, "#7 [stage 3/9] RUN ..." of BuildKit."""
    step = re.match(r"Step (\d+/\d+) : (.*)|#\d+ \[(?:\S+ )?(\d+/\d+)\] (.*)", line)
    if step:
        where, what = step[1] or step[3], step[2] or step[4]
        status.update(f"{name}: {where} {what[:60]}")


def image_bytes(tag: str) -> int:
    size = subprocess.run(
        ["docker", "image", "inspect", "--format", "{{.Size}}", tag], capture_output=True, text=True, check=True
    )
    return int(size.stdout)


def has_image(tag: str) -> bool:
    return subprocess.run(["docker", "image", "inspect", tag], capture_output=True, check=False).returncode == 0


@contextmanager
def host_authorities() -> Iterator[None]:
    """Lay this machine's bundle of authorities into the context for the block."""
    bundle = Path(os.environ.get("PIP_CERT") or CA_BUNDLE)
    if bundle.is_file():
        shutil.copyfile(bundle, HOST_CA)
    try:
        yield
    finally:
        HOST_CA.unlink(missing_ok=True)


def report(built: list[Built], console: Console) -> None:
    table = Table(title="Images", title_justify="left", header_style="bold", box=None, pad_edge=False)
    table.add_column("image", style="cyan")
    table.add_column("tag")
    table.add_column("size", justify="right")
    table.add_column("built in", justify="right")
    for each in built:
        table.add_row(each.image, each.tag, f"{each.mb:.0f} MB", f"{each.seconds:.0f} s")
    console.print(table)


def refuse(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 1


def main() -> int:
    """Build what the command line names; return the exit code."""
    parser = argparse.ArgumentParser(description="Build the container images.")
    parser.add_argument("images", nargs="*", metavar="IMAGE", help=f"of: {', '.join(known_images())}")
    parser.add_argument("--json", action="store_true", help="print the sizes as JSON")
    parser.add_argument("--build-arg", action="append", default=[], metavar="NAME=VALUE", help="of the Dockerfile")
    arguments = parser.parse_args()
    names = arguments.images or [name for name in DEFAULT if name in known_images()]
    if unknown := [name for name in names if name not in known_images()]:
        return refuse(f"no image {unknown[0]!r}; there are: {', '.join(known_images())}")
    if subprocess.run(["docker", "version"], capture_output=True, check=False).returncode:
        return refuse("no Docker engine answers; start it, or on Debian and Ubuntu: apt install docker.io")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    console = Console(highlight=False, stderr=arguments.json)
    built: list[Built] = []
    with host_authorities():
        for name in names:
            try:
                built.append(build(name, version=version, arguments=arguments.build_arg, console=console))
            except BuildFailed as failure:
                print(failure, file=sys.stderr)
                hint = "" if has_image(BASE) else f"; {BASE} is missing: make base-image, where it cannot be pulled"
                return refuse(f"image {name} could not be built, its last lines are above{hint}")
            console.print(f"built {built[-1].tag}: {built[-1].mb:.0f} MB in {built[-1].seconds:.0f} s")
    if arguments.json:
        print(json.dumps([asdict(each) for each in built], indent=2))
    else:
        report(built, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
