"""`rlfactory emulators up|ls|logs|screenshot|down` with phones in containers."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from rlfactory.processes.docker.engine import DockerEngine
from tests.commands import RLFACTORY, docker, rlfactory_json, run

pytestmark = pytest.mark.docker
SMALL = ("--width", "270", "--height", "600")


def emulators(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run(*RLFACTORY, "emulators", *arguments, timeout_s=100)


def listed(*arguments: str) -> list[dict[str, Any]]:
    phones: list[dict[str, Any]] = rlfactory_json("emulators", *arguments)["phones"]
    return phones


@pytest.fixture
def phones() -> Iterator[list[dict[str, Any]]]:
    """Three phones in two containers, taken down afterwards."""
    phones = listed("up", "--phones", "3", "--phones-per-container", "2", *SMALL)
    yield phones
    emulators("down", *{phone["container"] for phone in phones})


def test_phones_stand_until_they_are_taken_down(phones, tmp_path: Path, images: DockerEngine) -> None:
    serials = {phone["serial"] for phone in phones}
    assert len(serials) == 3
    assert len({phone["container"] for phone in phones}) == 2
    assert {phone["state"] for phone in phones} == {"running"}
    assert all(phone["memory_mb"] > 5 for phone in phones)
    assert serials <= {phone["serial"] for phone in listed("ls")}
    first = phones[0]
    assert emulators("logs", first["serial"]).stdout.strip().endswith("phones")
    picture = tmp_path / "screen.png"
    shot = emulators("screenshot", first["serial"], str(picture))
    assert shot.returncode == 0, shot.stderr
    with Image.open(picture) as image:
        assert image.size == (270, 600)
    bystander = listed("up", "--phones", "1", *SMALL)[0]
    assert images.reap() == [], "what stands is not reaped, though the command that started it has ended"
    gone = emulators("down", *{phone["container"] for phone in phones})
    assert gone.stdout == "removed 2 containers with their networks\n"
    left = {phone["serial"] for phone in listed("ls")}
    assert bystander["serial"] in left
    assert not serials & left - {bystander["serial"]}
    emulators("down", bystander["serial"])


def test_down_removes_nothing_that_is_not_ours() -> None:
    name = "bystander-of-the-tests"
    docker("rm", "--force", name)
    docker("run", "--detach", "--name", name, "--entrypoint", "sleep", "rlfactory-simulator", "300")
    try:
        assert emulators("down").returncode == 0
        assert docker("inspect", "--format", "{{.State.Running}}", name) == "true"
    finally:
        docker("rm", "--force", name)


def test_a_start_that_is_killed_leaves_nothing_after_the_next_one(images: DockerEngine) -> None:
    before = {cell.cell for cell in images.cells()}
    process = subprocess.Popen([*RLFACTORY, "emulators", "up", "--phones", "4", "--phones-per-container", "1", *SMALL])
    made: set[str] = set()
    while not made:  # the marker's timeout bounds it
        made = {cell.cell for cell in images.cells() if cell.name.startswith("rlfactory-starting-")} - before
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    phones = listed("up", "--phones", "1", *SMALL)
    left = {cell.cell for cell in images.cells()} - before
    assert not made & left
    emulators("down", phones[0]["container"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("up", "--image", "rlfactory-nothing"), "make image-nothing"),
        (("up", "--phones", "1000", "--phones-per-container", "1"), "need a network each"),
        (("logs", "nobody"), "no phone or container 'nobody'"),
        (("screenshot", "127.0.0.1:1"), "127.0.0.1:1"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(arguments: tuple[str, ...], words: str) -> None:
    done = emulators(*arguments)
    assert done.returncode == 1
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
