"""Parquet: `episodes.parquet`, a row an episode, opened by pyarrow, and by `datasets` with its pictures decoded.

A row holds each of its screenshots once, in `images`; `turns[i].image` is the place there of what was seen before the
turn (-1 if nothing was), `final_image` that of the last screen. Arguments of calls and parts of rewards are JSON.
"""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rlfactory.envs.api.errors import TaskError
from rlfactory.trainer.record.export.played import Played, about
from rlfactory.trainer.record.runlog import EpisodeRecord, ImageLink, TurnRecord

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_ROWS: Final = 32
"""Episodes that are held in memory and written together."""


def write_parquet(played: Played, out: Path) -> None:
    """Write `out/episodes.parquet`. Raises: OSError. TaskError: pyarrow is not installed."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise TaskError(f"--format parquet needs {error.name}: install rlfactory[records]") from None

    schema = _schema()
    features = {field.name: _feature(field.type) for field in schema}
    schema = schema.with_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    out.mkdir(parents=True, exist_ok=True)
    rows = (_row(played, episode) for episode in played.episodes)
    with pq.ParquetWriter(out / "episodes.parquet", schema, compression="zstd") as writer:
        while group := list(islice(rows, GROUP_ROWS)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))


def _schema() -> pa.Schema:
    import pyarrow as pa

    text, whole, real = pa.string(), pa.int32(), pa.float64()
    call = pa.struct([(name, text) for name in ("name", "arguments", "status", "text")])
    turn = pa.struct(
        [
            *((name, text) for name in ("context_text", "model_text", "thought", "parse_error", "state_hash")),
            ("calls", pa.list_(call)),
            *(("token_ids", pa.list_(whole)), ("log_probs", pa.list_(pa.float32()))),
            *(("reward", real), ("progress", real), ("image", whole)),
        ]
    )
    image = pa.struct([("bytes", pa.binary()), ("path", text)])
    return pa.schema(
        [
            *((name, text) for name in ("episode", "agent", "dialect", "goal", "task", "split", "phase", "group")),
            *((name, text) for name in ("state", "build", "task_digest", "perturb", "reward_parts")),
            *((name, whole) for name in ("training_step", "malformed_turns", "final_image")),
            *(("seed", pa.int64()), ("success", pa.bool_()), ("side_effects", pa.list_(text))),
            *((name, real) for name in ("reward", "progress", "advantage", "wall_s")),
            *(("turns", pa.list_(turn)), ("images", pa.list_(image))),
        ]
    )


def _feature(kind: pa.DataType) -> dict[str, Any]:
    """Return a type as `datasets` writes it into the metadata of Parquet files."""
    import pyarrow as pa

    if pa.types.is_list(kind):
        return {"_type": "List", "feature": _feature(kind.value_type)}
    if pa.types.is_struct(kind):
        fields = {field.name: _feature(field.type) for field in kind}
        return {"_type": "Image"} if fields.keys() == {"bytes", "path"} else fields
    return {"_type": "Value", "dtype": {"double": "float64", "float": "float32"}.get(str(kind), str(kind))}


def _row(played: Played, episode: EpisodeRecord) -> dict[str, Any]:
    images: list[dict[str, Any]] = []
    places: dict[str, int] = {}

    def place(link: ImageLink | None) -> int:
        path = played.image(link)
        if link is None or path is None:
            return -1
        if link.digest not in places:
            places[link.digest] = len(images)
            images.append({"bytes": path.read_bytes(), "path": path.name})
        return places[link.digest]

    facts = {**about(episode), "reward_parts": json.dumps(dict(episode.reward_parts))}
    return {
        **facts,
        "episode": episode.id,
        "agent": played.agent,
        "dialect": played.dialect,
        "goal": episode.goal,
        "advantage": episode.advantage,
        "wall_s": episode.wall_s,
        "turns": [_turn(turn, place(turn.image)) for turn in episode.turns],
        "final_image": place(episode.final_image),
        "images": images,
    }


def _turn(turn: TurnRecord, image: int) -> dict[str, Any]:
    return {
        "context_text": turn.context_text,
        "model_text": turn.model_text,
        "thought": turn.thought,
        "calls": [
            {"name": call.name, "arguments": json.dumps(call.arguments), "status": call.status, "text": call.text}
            for call in turn.calls
        ],
        "parse_error": turn.parse_error,
        "reward": turn.reward_total,
        "progress": turn.progress,
        "image": image,
        "token_ids": turn.token_ids,
        "log_probs": turn.log_probs,
        "state_hash": turn.state_hash,
    }
