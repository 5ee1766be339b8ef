"""A log of Inspect (inspect_ai): `run.eval`, opened by `inspect view` and by `inspect_ai.log.read_eval_log`.

The file is a zip of JSON: `header.json`, a sample an episode, and `summaries.json` for lists of them. Attempts at one
(task, seed) are its epochs. A sample carries each screenshot once, as an attachment that its messages refer to.
"""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZipFile

from rlfactory.trainer.record.export.played import Epochs, Played, about, media_type, shown_after
from rlfactory.trainer.record.runlog import EpisodeRecord, ImageLink, TurnRecord

LOG_VERSION: Final = 2
SCORES: Final = ("success", "reward", "progress")
FAILED: Final = {"timeout": "timeout", "rejected": "parsing"}
"""What Inspect calls the failure of a call, by our status; others are "unknown"."""


def write_inspect(played: Played, out: Path) -> None:
    """Write `out/run.eval`. Raises: OSError."""
    out.mkdir(parents=True, exist_ok=True)
    epochs, summaries, build = Epochs(), [], ""
    with ZipFile(out / "run.eval", "w", ZIP_DEFLATED) as file:
        for episode in played.episodes:
            name, epoch = epochs.next(episode)
            sample = _sample(played, episode) | {"id": name, "epoch": epoch}
            file.writestr(f"samples/{name}_epoch_{epoch}.json", json.dumps(sample))
            kept = ("id", "epoch", "input", "target", "scores", "total_time")
            summaries.append({key: sample[key] for key in kept} | {"completed": True})
            build = build or (episode.origin.build if episode.origin else "")
        file.writestr("summaries.json", json.dumps(summaries))
        file.writestr("header.json", json.dumps(_header(played, summaries, build)))


def _header(played: Played, summaries: list[dict[str, Any]], build: str) -> dict[str, Any]:
    name = played.folder.resolve().name
    recorded = datetime.fromtimestamp((played.folder / "episodes.jsonl").stat().st_mtime, UTC)
    ids = list(dict.fromkeys(each["id"] for each in summaries))
    scores = [
        {
            "name": score,
            "scorer": score,
            "scored_samples": len(summaries),
            "metrics": {"mean": {"name": "mean", "value": fmean(each["scores"][score]["value"] for each in summaries)}},
        }
        for score in SCORES
    ]
    return {
        "version": LOG_VERSION,
        "status": "success",
        "eval": {
            "eval_id": name,
            "run_id": name,
            "created": recorded.isoformat(timespec="seconds"),
            "task": f"rlfactory/{name}",
            "task_id": name,
            "dataset": {"name": name, "samples": len(ids), "sample_ids": ids},
            "model": f"rlfactory/{played.agent}",
            "config": {"epochs": max(each["epoch"] for each in summaries)},
            "packages": {"rlfactory": version("rlfactory")},
            "metadata": {"build": build, "dialect": played.dialect},
        },
        "plan": {"name": "plan", "steps": [{"solver": played.agent, "params": {}}]},
        "results": {"total_samples": len(summaries), "completed_samples": len(summaries), "scores": scores},
    }


def _sample(played: Played, episode: EpisodeRecord) -> dict[str, Any]:
    attachments: dict[str, str] = {}

    def picture(link: ImageLink | None) -> list[dict[str, Any]]:
        path = played.image(link)
        if link is None or path is None:
            return []
        if link.digest not in attachments:
            data = base64.b64encode(path.read_bytes()).decode()
            attachments[link.digest] = f"data:{media_type(path)};base64,{data}"
        return [{"type": "image", "image": f"attachment://{link.digest}"}]

    first = picture(episode.turns[0].image if episode.turns else episode.final_image)
    messages: list[dict[str, Any]] = [{"role": "user", "content": [_text(episode.goal), *first]}]
    for number, (turn, after) in enumerate(zip(episode.turns, shown_after(episode), strict=False), 1):
        messages += _messages(turn, number, picture(after), played.agent)
    values = (float(episode.success), episode.reward_total, episode.progress)
    return {
        "input": episode.goal,
        "target": "",
        "messages": messages,
        "scores": {name: {"value": value} for name, value in zip(SCORES, values, strict=True)},
        "metadata": {"episode": episode.id, **about(episode)},
        "attachments": attachments,
        "total_time": episode.wall_s,
    }


def _messages(turn: TurnRecord, number: int, picture: list[dict[str, Any]], agent: str) -> list[dict[str, Any]]:
    """Return what was said in a turn; `picture`: the screen after it, as content, or nothing."""
    ids = [f"{number}-{index}" for index in range(len(turn.calls))]
    messages: list[dict[str, Any]] = [
        {
            "role": "assistant",
            "content": turn.model_text,
            "model": agent,
            "tool_calls": [
                {"id": name, "function": call.name, "arguments": dict(call.arguments), "type": "function"}
                for name, call in zip(ids, turn.calls, strict=True)
            ],
        }
    ]
    for name, call in zip(ids, turn.calls, strict=True):
        answer: dict[str, Any] = {"role": "tool", "tool_call_id": name, "function": call.name, "content": call.text}
        if call.status not in (None, "ok"):
            answer["error"] = {"type": FAILED.get(call.status, "unknown"), "message": call.text}
        messages.append(answer)
    told = [_text(turn.parse_error)] if turn.parse_error else []
    if told or picture:
        messages.append({"role": "user", "content": [*told, *picture]})
    return messages


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
