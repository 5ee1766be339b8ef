"""Transitions as Parquet: `transitions-*`, the `screens-*` they refer to, and `grounding-*`, where things are on these.

    transitions   id, walk, step, sibling, before, action (JSON), after, changes [{key, before, after}]
    screens       screen, image (bytes as encoded), width_px, height_px, activity, tree (uiautomator's XML)
    grounding     screen, phrase, left, top, right, bottom, class, resource_id, clickable

`screen` is a digest of picture and tree, and a screen is written once. Boxes are pixels of the picture; right and
bottom are exclusive.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from rlfactory.emulators.device.device import Screen
from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.device.ui import to_xml
from rlfactory.emulators.transitions.explore import inside
from rlfactory.emulators.transitions.make import Transition

_CHANGE: Final = pa.struct([("key", pa.string()), ("before", pa.string()), ("after", pa.string())])
SCHEMAS: Final = {
    "transitions": pa.schema(
        [
            *(("id", pa.string()), ("walk", pa.int32()), ("step", pa.int32()), ("sibling", pa.int32())),
            *(("before", pa.string()), ("action", pa.string()), ("after", pa.string())),
            ("changes", pa.list_(_CHANGE)),
        ]
    ),
    "screens": pa.schema(
        [
            *(("screen", pa.string()), ("image", pa.binary()), ("width_px", pa.int32()), ("height_px", pa.int32())),
            *(("activity", pa.string()), ("tree", pa.string())),
        ]
    ),
    "grounding": pa.schema(
        [
            *(("screen", pa.string()), ("phrase", pa.string())),
            *((side, pa.int32()) for side in ("left", "top", "right", "bottom")),
            *(("class", pa.string()), ("resource_id", pa.string()), ("clickable", pa.bool_())),
        ]
    ),
}


class Shards:
    """Writes transitions to a folder, so many a file. Call `close` at the end."""

    def __init__(self, folder: Path, *, seed: int, rows: int = 2000) -> None:
        """Args: seed: part of the ids and of the files' names, so that several processes may write to one folder.

        Raises: OSError: the folder cannot be made. DeviceError: it holds files of this seed.
        """
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.glob(f"*-{seed}-*.parquet")):
            raise DeviceError(f"{folder} holds transitions of seed {seed}: take another --seed or another folder")
        self._folder, self._seed, self._rows = folder, seed, rows
        self._waiting: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
        self._seen: set[str] = set()
        self._before: tuple[Screen | None, str] = None, ""
        """Where the latest transition began, and its name: siblings begin there, too."""
        self._files = 0
        self.counts = dict.fromkeys(SCHEMAS, 0)

    def add(self, each: Transition) -> None:
        if each.before is not self._before[0]:
            self._before = each.before, self._screen(each.before)
        row = {
            "id": f"{self._seed}-{each.walk}-{each.step}-{each.sibling}",
            "walk": each.walk,
            "step": each.step,
            "sibling": each.sibling,
            "before": self._before[1],
            "action": json.dumps({"action": type(each.action).__name__, **asdict(each.action)}),
            "after": self._screen(each.after),
            "changes": [asdict(change) for change in each.changes],
        }
        self._waiting["transitions"].append(row)
        if len(self._waiting["transitions"]) >= self._rows:
            self.flush()

    def _screen(self, screen: Screen) -> str:
        assert screen.tree is not None
        assert screen.image is not None
        tree = to_xml(screen.tree)
        name = hashlib.blake2b(f"{screen.image.digest}{tree}".encode(), digest_size=16).hexdigest()
        if name not in self._seen:
            self._seen.add(name)
            self._waiting["screens"].append(
                {
                    "screen": name,
                    "image": screen.image.data,
                    "width_px": screen.image.width_px,
                    "height_px": screen.image.height_px,
                    "activity": screen.activity,
                    "tree": tree,
                }
            )
            self._waiting["grounding"] += [{"screen": name, **row} for row in grounding(screen)]
        return name

    def flush(self) -> None:
        """Write what waits, a file of each kind. Raises: OSError."""
        for name, rows in self._waiting.items():
            if rows:
                table = pa.Table.from_pylist(rows, schema=SCHEMAS[name])
                pq.write_table(table, self._folder / f"{name}-{self._seed}-{self._files:05d}.parquet")
                self.counts[name] += len(rows)
        self._waiting = {name: [] for name in SCHEMAS}
        self._files += 1

    def close(self) -> None:
        if self._waiting["transitions"]:
            self.flush()


def grounding(screen: Screen) -> list[dict[str, Any]]:
    """Return the named things of a screen and their boxes, in pixels of its picture."""
    assert screen.tree is not None
    assert screen.image is not None
    scale_x, scale_y = screen.image.width_px / screen.width_px, screen.image.height_px / screen.height_px
    rows = []
    for node in screen.tree.walk():
        box, phrase = inside(node, screen), node.text or node.description
        if box is None or not phrase:
            continue
        rows.append(
            {
                "phrase": phrase,
                "left": round(box.left * scale_x),
                "top": round(box.top * scale_y),
                "right": round(box.right * scale_x),
                "bottom": round(box.bottom * scale_y),
                "class": node.class_name,
                "resource_id": node.resource_id,
                "clickable": node.clickable,
            }
        )
    return rows
