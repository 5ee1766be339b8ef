"""A Docker engine with our images on it. Without one these tests skip, unless RLFACTORY_REQUIRE forbids it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rlfactory.processes.docker.engine import DockerEngine
from rlfactory.processes.errors import EngineError

IMAGES = ("simulator", "sandbox", "search", "egress", "envd")


@pytest.fixture(scope="session")
def images() -> Iterator[DockerEngine]:
    """The engine, known to have the images that any machine can build."""
    try:
        engine = DockerEngine()
    except EngineError as error:
        pytest.skip(str(error))
    with engine:
        for name in IMAGES:
            try:
                engine.require_image(f"rlfactory-{name}")
            except EngineError as error:
                pytest.skip(str(error))
        yield engine


@pytest.fixture(autouse=True)
def _needs_images(images: DockerEngine) -> None:
    """Every test here does."""
