"""`report.html`: one file that shows a run offline, in any browser, on any width.

The page is a Jinja2 template with the run's figures as one JSON block; its charts and replays are drawn by the plain
JavaScript in `templates/`, which needs nothing from a network. Screenshots are embedded once per content.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from rlfactory.envs.api.errors import TaskError
from rlfactory.trainer.record.pictures import Pictures, image_links
from rlfactory.trainer.record.runlog import (
    EpisodeRecord,
    RunLog,
    RunSummary,
    StepRecord,
    TurnRecord,
    replace_text,
)
from rlfactory.trainer.record.statistics import wilson_interval

TEMPLATES = Path(__file__).parent / "templates"
TokenText = Callable[[int], str]
LEAST_MS: Final = 0.05
"""A part of a step that took less did not happen."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportLimits:
    """How much of a long run one page holds."""

    episodes: int = 120
    image_bytes: int = 40_000_000
    """Of the embedded screenshots; further episodes are left out, and the page says so."""


def write_report(folder: Path, *, limits: ReportLimits | None = None) -> Path:
    """Write `report.html` into a run's folder and return its path.

    Raises:
        TaskError: the folder holds no run.
        OSError: the disk is full or not writable.
    """
    log = RunLog(folder)
    steps, summary = log.steps(), log.summary()
    chosen, pictures, total = choose_episodes(log, limits or ReportLimits())
    if not steps and not chosen and summary is None:
        raise TaskError(f"no run in {folder}: none of metrics.jsonl, episodes.jsonl, summary.json is there")
    page = render(folder, steps=steps, summary=summary, episodes=chosen, pictures=pictures, episodes_total=total)
    target = folder / "report.html"
    replace_text(target, page)
    return target


def render(
    folder: Path,
    *,
    steps: Sequence[StepRecord],
    summary: RunSummary | None,
    episodes: Sequence[EpisodeRecord],
    pictures: Pictures,
    episodes_total: int,
) -> str:
    """Return the page."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, duration=duration, number=number)
    config = folder / "config.yaml"
    evaluation = read_evaluation(folder)
    payload = {
        "steps": [step_row(step) for step in steps],
        "episodes": [episode_row(episode, token_text(folder)) for episode in episodes],
        "images": embedded_images(pictures, episodes),
    }
    return environment.get_template("report.html.jinja").render(
        name=folder.resolve().name,
        kind=f"Recipe {summary.recipe}" if summary else ("Evaluation" if evaluation else "Run"),
        has_steps=bool(steps),
        evaluation=evaluation,
        summary=summary,
        headline=headline(summary, steps),
        tiles=evaluation_tiles(evaluation) if evaluation else training_tiles(summary, steps),
        tasks=task_rows(summary, evaluation),
        regimes=evaluation["regimes"] if evaluation and "regimes" in evaluation else [],
        facts=facts(summary, evaluation, episodes),
        phases=shares(summary.phase_s if summary else {}),
        episodes_total=episodes_total,
        episodes_shown=len(episodes),
        config=config.read_text(encoding="utf-8") if config.exists() else "",
        payload=script_json(payload),
        css=(TEMPLATES / "report.css").read_text(encoding="utf-8"),
        scripts=[(TEMPLATES / name).read_text(encoding="utf-8") for name in ("charts.js", "replay.js", "report.js")],
    )


def script_json(value: object) -> str:
    """Return JSON that may stand inside a script element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


# --- which episodes ------------------------------------------------------------------------------------------------


def choose_episodes(log: RunLog, limits: ReportLimits) -> tuple[list[EpisodeRecord], Pictures, int]:
    """Return the episodes the page replays, spread evenly over phases and steps, their pictures, how many there are."""
    episodes = log.episodes()
    buckets: dict[tuple[str, int], list[EpisodeRecord]] = defaultdict(list)
    for episode in episodes:
        buckets[episode.phase, episode.step].append(episode)
    queue = [
        episode
        for rank in range(max((len(bucket) for bucket in buckets.values()), default=0))
        for bucket in buckets.values()
        for episode in bucket[rank : rank + 1]
    ][: limits.episodes]
    pictures = Pictures(log.folder, image_links(queue))
    chosen: set[str] = set()
    shown: set[str] = set()
    for episode in queue:
        more = shown | {link.digest for link in image_links([episode])}
        if pictures.size_bytes(more) > limits.image_bytes:
            break
        chosen.add(episode.id)
        shown = more
    return [episode for episode in episodes if episode.id in chosen], pictures, len(episodes)


def embedded_images(pictures: Pictures, episodes: Sequence[EpisodeRecord]) -> dict[str, dict[str, Any]]:
    """Return the screenshots by digest as data URIs; one that is gone from the disk is left out."""
    return {
        link.digest: {"uri": uri, "w": link.width_px, "h": link.height_px}
        for link in image_links(episodes)
        if (uri := pictures.uri(link.digest))
    }


# --- rows of the JSON block ----------------------------------------------------------------------------------------


def step_row(step: StepRecord) -> dict[str, Any]:
    row = asdict(step)
    del row["verl"]
    if step.eval_success is not None and step.eval_episodes:
        row["eval_band"] = wilson_interval(round(step.eval_success * step.eval_episodes), step.eval_episodes)
    return row


def episode_row(episode: EpisodeRecord, text_of: TokenText | None) -> dict[str, Any]:
    row = asdict(episode)
    row["turns"] = [turn_row(turn, text_of) for turn in episode.turns]
    row["final_image"] = episode.final_image and episode.final_image.digest
    return row


def turn_row(turn: TurnRecord, text_of: TokenText | None) -> dict[str, Any]:
    row = asdict(turn)
    row["image"] = turn.image and turn.image.digest
    row["tokens"] = [text_of(token_id) for token_id in turn.token_ids] if text_of else None
    return row


def token_text(folder: Path) -> TokenText | None:
    """Return how to spell one token of the run's tokenizer, None when it is not to be had."""
    files = [folder / name / "tokenizer.json" for name in ("policy", "model")]
    present = next((path for path in files if path.exists()), None)
    if present is None:
        return None
    try:
        from tokenizers import Tokenizer
    except ImportError:  # the base install has none; the page then shows whole turns
        return None
    tokenizer = Tokenizer.from_file(str(present))
    return lambda token_id: str(tokenizer.decode([token_id], skip_special_tokens=False))


# --- figures of the head -------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Headline:
    """Success on held-out episodes before and after RL, each with its 95 % interval."""

    start: float
    end: float | None
    """None: the run was stopped before."""
    start_band: tuple[float, float]
    end_band: tuple[float, float] | None
    episodes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Tile:
    label: str
    value: str
    note: str = ""
    bad: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskRow:
    name: str
    start: float | None
    end: float | None
    count: str = ""
    """Solved of played."""


def headline(summary: RunSummary | None, steps: Sequence[StepRecord]) -> Headline | None:
    """Return the headline of a run, from its steps when it was stopped before its summary."""
    measured = [step for step in steps if step.eval_success is not None]
    start = summary.eval_success_start if summary else None
    end = summary.eval_success_end if summary else None
    episodes = summary.eval_episodes if summary else 0
    if measured:
        start = measured[0].eval_success if start is None else start
        end = measured[-1].eval_success if end is None and len(measured) > 1 else end
        episodes = episodes or measured[-1].eval_episodes
    if start is None:
        return None
    start_band, end_band = (
        None if share is None else wilson_interval(round(share * episodes), episodes) for share in (start, end)
    )
    assert start_band is not None
    return Headline(start=start, end=end, start_band=start_band, end_band=end_band, episodes=episodes)


def training_tiles(summary: RunSummary | None, steps: Sequence[StepRecord]) -> list[Tile]:
    """Return the figures under the headline; what was not measured is left out."""
    if summary is None:
        done = [step for step in steps if step.step > 0]
        return [Tile(label="GRPO steps", value=str(len(done)))]
    env_share = summary.time_share.get("env")
    drift = summary.rollout_train_prob_diff_max
    trained = summary.steps > 0
    tiles = (
        Tile(label="Wall time", value=duration(summary.wall_s), note="evaluation included"),
        Tile(
            label="GRPO steps",
            value=str(summary.steps),
            note=f"{summary.episodes_per_step} episodes each" if trained else "",
        ),
        trained and Tile(label="A step takes", value=duration(summary.step_s_mean), note="mean"),
        env_share is not None and Tile(label="Environment", value=percent(env_share), note="of a step's time"),
        drift is not None
        and Tile(label="Token drift", value=f"{drift:.1e}", note="largest |p train − p rollout|", bad=drift > 2e-3),
        trained and Tile(label="Malformed", value=percent(summary.malformed_rate_end), note="of turns, at the end"),
        _infrastructure(summary.infra_dropped, summary.infra_retries),
        summary.parameters > 0 and Tile(label="Parameters", value=number(summary.parameters), note=_phones(summary)),
    )
    return [tile for tile in tiles if isinstance(tile, Tile)]


def _infrastructure(dropped: int, retried: int) -> Tile:
    return Tile(label="Infrastructure", value=f"{dropped} dropped", note=f"{retried} retried", bad=dropped > 0)


def _phones(summary: RunSummary) -> str:
    return f"phones over {summary.transport}" if summary.transport else "no phones"


def read_evaluation(folder: Path) -> dict[str, Any] | None:
    """Return what `rlfactory eval --out` wrote (`trainer.record.evaluate.Evaluation`), None in a training run."""
    path = folder / "evaluation.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def evaluation_tiles(evaluation: Mapping[str, Any]) -> list[Tile]:
    """Return the figures of an evaluation; what was not measured is left out, as a model's text where none wrote."""
    tiles = [Tile(label=f"pass@{k}", value=percent(share)) for k, share in evaluation["pass_at"].items()]
    tiles += [
        Tile(label=name.capitalize(), value=f"{value:.1f} ms", note="a step")
        for name, value in evaluation["step_ms"].items()
        if value >= LEAST_MS
    ]
    if evaluation.get("dialect"):
        tiles.append(Tile(label="Malformed", value=str(evaluation["malformed"]), note="turns"))
    return [*tiles, _infrastructure(evaluation["infra_dropped"], evaluation["infra_retries"])]


def facts(
    summary: RunSummary | None, evaluation: Mapping[str, Any] | None, episodes: Sequence[EpisodeRecord]
) -> dict[str, str]:
    """Return what the run was: names and values, those that are known."""
    if summary is not None:
        tasks = {"Tasks": ", ".join(summary.tasks)} if summary.tasks else {}
        known = {"Recipe": summary.recipe, "Seed": str(summary.seed), "Status": summary.status}
        return known | tasks | dict(summary.versions)
    if evaluation is None:
        return {}
    origin = next((each.origin for each in episodes if each.origin), None)
    screen_px = origin.screen_px if origin else (0, 0)
    found = {
        "Policy": evaluation["policy"],
        "Dialect": evaluation.get("dialect", ""),
        "Split": evaluation["split"],
        "Episodes": str(evaluation["episodes"]),
        "Attempts at each": str(evaluation["attempts"]),
        "Taken away": evaluation["ablation"] or "",
        "Perturbations": origin.perturb if origin else "",
        "Screen": "{}x{} px".format(*screen_px) if screen_px[0] else "",
        "Service": origin.build if origin else "",
        "Wall time": duration(evaluation["wall_s"]),
    }
    return {name: value for name, value in found.items() if value}


def task_rows(summary: RunSummary | None, evaluation: Mapping[str, Any] | None) -> list[TaskRow]:
    if summary is None:
        rows = evaluation["tasks"] if evaluation else []
        return [
            TaskRow(name=row["task"], start=None, end=row["success"], count=f"{row['successes']}/{row['episodes']}")
            for row in rows
        ]
    names = sorted({*summary.eval_by_task_start, *summary.eval_by_task_end})
    start, end = summary.eval_by_task_start, summary.eval_by_task_end
    return [TaskRow(name=name, start=start.get(name), end=end.get(name)) for name in names]


def shares(seconds: Mapping[str, float]) -> list[tuple[str, float, float]]:
    """Return (name, seconds, share of the sum) of what took time at all."""
    total = sum(seconds.values())
    return [(name, value, value / total) for name, value in seconds.items() if value > 0]


# --- how figures are written ---------------------------------------------------------------------------------------


def percent(share: float | None) -> str:
    if share is None:
        return "–"
    return f"{share * 100:.1f} %" if 0 < share < 0.0995 else f"{share * 100:.0f} %"


def duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest_s = divmod(round(seconds), 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {rest_s} s"


def number(value: float) -> str:
    """Write a count shortly: 950, 12.3 k, 1.1 M."""
    for limit, scale, unit in ((1e9, 1e9, " G"), (1e6, 1e6, " M"), (1e4, 1e3, " k")):
        if abs(value) >= limit:
            return f"{value / scale:.1f}{unit}"
    return f"{value:,.0f}"
