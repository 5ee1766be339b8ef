"""ATIF, the Agent Trajectory Interchange Format: a JSON file an episode, and the screenshots beside them.

Version 1.8 of the specification, https://github.com/harbor-framework/harbor/blob/main/rfcs/0001-trajectory-format.md.
The goal is the user's step; each turn is one step of the agent, whose observation holds what its calls answered and
the screen after them. What the specification has no field for is in `extra`.
"""

from __future__ import annotations

import json
import re
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from rlfactory.trainer.record.export.played import Played, about, media_type, shown_after
from rlfactory.trainer.record.runlog import EpisodeRecord, ImageLink, TurnRecord

SCHEMA: Final = "ATIF-v1.8"


def write_atif(played: Played, out: Path) -> None:
    """Write `out/<episode>.json` and `out/images/`. Raises: OSError."""
    (out / "images").mkdir(parents=True, exist_ok=True)
    for episode in played.episodes:
        name = re.sub(r"[^\w.-]", "_", episode.id)
        (out / f"{name}.json").write_text(json.dumps(_trajectory(played, episode, out)), encoding="utf-8")


def _trajectory(played: Played, episode: EpisodeRecord, out: Path) -> dict[str, Any]:
    first = _picture(played, episode.turns[0].image if episode.turns else episode.final_image, out)
    steps: list[dict[str, Any]] = [
        {"step_id": 1, "source": "user", "message": [{"type": "text", "text": episode.goal}, *first]}
    ]
    for number, (turn, after) in enumerate(zip(episode.turns, shown_after(episode), strict=False), 2):
        steps.append({"step_id": number, "source": "agent", **_turn(turn, _picture(played, after, out))})
    tokens = sum(len(turn.token_ids) for turn in episode.turns)
    agent: dict[str, Any] = {"name": "rlfactory", "version": version("rlfactory"), "model_name": played.agent}
    return {
        "schema_version": SCHEMA,
        "session_id": played.folder.resolve().name,
        "trajectory_id": episode.id,
        "agent": agent | ({"extra": {"dialect": played.dialect}} if played.dialect else {}),
        "steps": steps,
        "final_metrics": {"total_steps": len(steps)} | ({"total_completion_tokens": tokens} if tokens else {}),
        "extra": about(episode),
    }


def _turn(turn: TurnRecord, picture: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a step of the agent; `picture`: the screen after it, as content parts, or nothing."""
    results: list[dict[str, Any]] = [
        {"source_call_id": str(index), "content": call.text, "extra": {"status": call.status}}
        for index, call in enumerate(turn.calls)
    ]
    if turn.parse_error:
        results.append({"content": turn.parse_error, "extra": {"status": "malformed"}})
    if picture:
        results.append({"content": picture})
    step: dict[str, Any] = {
        "message": turn.model_text,
        "tool_calls": [
            {"tool_call_id": str(index), "function_name": call.name, "arguments": dict(call.arguments)}
            for index, call in enumerate(turn.calls)
        ],
        "observation": {"results": results},
        "llm_call_count": 1 if turn.model_text else 0,
        "extra": {"reward": turn.reward_total, "progress": turn.progress, "state_hash": turn.state_hash},
    }
    if turn.model_text and turn.thought:
        step["reasoning_content"] = turn.thought
    if turn.token_ids:
        step["metrics"] = {"completion_tokens": len(turn.token_ids), "completion_token_ids": list(turn.token_ids)}
        if turn.log_probs:
            step["metrics"]["logprobs"] = list(turn.log_probs)
    return step


def _picture(played: Played, link: ImageLink | None, out: Path) -> list[dict[str, Any]]:
    """Return a screenshot as content parts, copied beside the trajectories; nothing where there is none."""
    path = played.image(link)
    if path is None:
        return []
    target = out / "images" / path.name
    if not target.exists():
        shutil.copyfile(path, target)
    return [{"type": "image", "source": {"media_type": media_type(path), "path": f"images/{path.name}"}}]
