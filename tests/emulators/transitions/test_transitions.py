"""Siblings begin alike, equal seeds give equal rows, and boxes lie where things are drawn."""

from __future__ import annotations

import io
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.transitions.shards import SCHEMAS, Shards
from tests.commands import RLFACTORY, run


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shards")
    asked = ("--count", "30", "--shard", "20", "--width", "270", "--height", "600")
    for name in ("a", "b"):
        result = run(*RLFACTORY, "transitions", str(folder / name), *asked)
        assert result.returncode == 0, result.stderr
        assert "30 transitions" in result.stdout
    return folder


def test_what_is_there_is_not_written_over(shards: Path) -> None:
    with pytest.raises(DeviceError, match="holds transitions of seed 0: take another --seed or another folder"):
        Shards(shards / "a", seed=0)
    assert Shards(shards / "a", seed=1).counts["transitions"] == 0


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    files = sorted(folder.glob(f"{name}-*.parquet"))
    assert len(files) == 2
    assert all(pq.read_schema(file).equals(SCHEMAS[name]) for file in files)
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def test_siblings_begin_in_one_state_and_rows_are_the_same_for_the_same_seed(shards: Path) -> None:
    made = rows(shards / "a", "transitions")
    assert made == rows(shards / "b", "transitions")
    begins: dict[object, set[object]] = defaultdict(set)
    for row in made:
        begins[row["walk"], row["step"]].add(row["before"])
    assert {len(screens) for screens in begins.values()} == {1}
    assert len({row["after"] for row in made}) > len(begins)
    assert any(row["changes"] for row in made)
    screens = {row["screen"] for row in rows(shards / "a", "screens")}
    assert {row[end] for row in made for end in ("before", "after")} == screens
    assert all("action" in json.loads(row["action"]) for row in made)


def test_boxes_are_pixels_of_the_picture_and_something_is_drawn_in_them(shards: Path) -> None:
    pictures = {
        row["screen"]: np.asarray(Image.open(io.BytesIO(row["image"])).convert("L"))
        for row in rows(shards / "a", "screens")
    }
    boxes = rows(shards / "a", "grounding")
    drawn = 0
    for row in boxes:
        picture_HW = pictures[row["screen"]]  # noqa: N806
        left, top, right, bottom = (row[side] for side in ("left", "top", "right", "bottom"))
        assert 0 <= left < right <= picture_HW.shape[1]
        assert 0 <= top < bottom <= picture_HW.shape[0]
        drawn += int(np.ptp(picture_HW[top:bottom, left:right]) > 20)
    assert drawn / len(boxes) > 0.9
