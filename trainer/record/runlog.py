"""The files of a run: what training writes and the report reads.

    runs/<name>/
      config.yaml           the recipe as composed, every key
      metrics.jsonl         one `StepRecord` a line: step 0 is the evaluation before RL, then one line per GRPO step
      episodes.jsonl        one `EpisodeRecord` a line: sampled training rollouts and sampled evaluation episodes
      images/<digest>.jpeg  the screenshots of those episodes, named by content
      model/                the policy RL starts from (a Hugging Face directory)
      checkpoints/          verl's own layout: global_step_N/, latest_checkpointed_iteration.txt
      policy/               the policy at the end (a Hugging Face directory; `checkpoint:runs/<name>/policy`)
      rollouts.jsonl        what is counted of every episode (`rlfactory.trainer.record.recorder.Outcome`)
      logs/                 what the children printed: envd.log, warm_start.log, grpo.log; verl's own metrics
      summary.json          one `RunSummary`, rewritten at the end of the run, also after Ctrl-C
    runs/latest -> <name>

Every file is plain JSON of the dataclasses below. Times are seconds, points are fractions of the screen's sides
(origin top left), and paths are relative to the run's folder. Readers must accept missing files: a run that was
stopped early has fewer of them.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

from rlfactory.envs.api.types import JSON, EpisodeState, ImageRef, Split, ToolStatus

RECORD_FORMAT: Final = 2
"""Of an `EpisodeRecord`. 1 had no states and no provenance: it is shown, and cannot be replayed."""

Phase = Literal["train", "eval"]
Point = tuple[float, float]
"""(x, y) as fractions of the screen's width and height, 0..1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageLink:
    """A screenshot in `images/`."""

    path: str
    digest: str
    width_px: int
    height_px: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CallRecord:
    """A tool call the model made, and what came of it."""

    name: str
    arguments: Mapping[str, JSON]
    status: ToolStatus | None = None
    """None when the episode was lost before the call was answered."""
    text: str = ""
    """What the tool answered."""
    points: tuple[Point, ...] = ()
    """Where a finger touched: one point for a tap, two for a swipe or drag, none for the rest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnRecord:
    """One turn: what the model was shown, what it wrote, what happened."""

    image: ImageLink | None
    """The screenshot the model saw before it wrote; None in text-only tasks."""
    context_text: str
    """The tokens since the model's last one, decoded: loss mask 0. The first turn's holds system prompt and goal."""
    model_text: str
    """The sampled tokens, decoded with special tokens: loss mask 1."""
    token_ids: tuple[int, ...]
    """The sampled tokens as the engine returned them."""
    log_probs: tuple[float, ...]
    """Of `token_ids`, under the distribution that was sampled from."""
    loss_span: tuple[int, int]
    """[start, end) of `token_ids` in their row (prompt included); `EpisodeRecord.row_tokens` is the longest row."""
    thought: str = ""
    calls: tuple[CallRecord, ...] = ()
    parse_error: str = ""
    """What was wrong with the text, as the model was told; "" when it was well formed."""
    reward_total: float = 0.0
    """The verdict after this turn."""
    progress: float = 0.0
    generate_s: float = 0.0
    env_s: float = 0.0
    """Seen by the client: the wire included."""
    act_s: float = 0.0
    settle_s: float = 0.0
    observe_s: float = 0.0
    state_hash: str = ""
    """Of the phone after this turn; "" in text-only tasks."""
    screen: str = ""
    """Digest of the screenshot after this turn, as the service sent it."""
    advantage: float | None = None
    """What the turn got for credit; None where its group was not recorded as a whole."""
    seal: str = ""
    """Digest of the calls: tells actions that were changed after they were recorded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """What an episode was made by: with the actions of its turns, all that playing it again takes."""

    build: str
    """Of the service: version and commit."""
    task_digest: str
    """Of the task's code."""
    perturb: str
    """Perturbations in force."""
    options: Mapping[str, JSON]
    """`SessionOptions` by name."""
    screen_px: tuple[int, int]
    """Of the phone; (0, 0) in text-only tasks."""
    state_hash: str
    screen: str
    """Digest of the first screenshot."""
    progress: float = 0.0
    """Of the verdict as the episode began."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeRecord:
    """One episode as it was played."""

    format: int = 1
    """`RECORD_FORMAT` of when it was written."""
    origin: Origin | None = None
    """None: recorded before there were replays, or dropped."""
    id: str
    phase: Phase
    step: int
    """GRPO step that the policy had reached (0: before RL)."""
    task: str
    seed: int
    split: Split
    group: str = ""
    """Equal for the siblings of one GRPO group."""
    goal: str
    turns: tuple[TurnRecord, ...]
    state: EpisodeState | None
    """None: the episode was dropped for a failure of infrastructure (then there is no reward)."""
    reward_total: float
    reward_parts: Mapping[str, float]
    success: bool
    progress: float = 0.0
    side_effects: tuple[str, ...] = ()
    final_image: ImageLink | None = None
    """The screen after the last turn."""
    advantage: float | None = None
    row_tokens: int = 0
    malformed: int = 0
    """Turns whose text was not a well-formed action."""
    infra_retries: int = 0
    failure: str = ""
    """Why it was dropped; "" otherwise."""
    wall_s: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class StepRecord:
    """One GRPO step; step 0 carries only the evaluation before RL."""

    step: int
    elapsed_s: float
    """Since the run began (set-up of the environment excluded)."""
    step_s: float = 0.0
    """Wall time of this step, without evaluation and checkpoint."""
    episodes: int = 0
    success: float | None = None
    """Share of this step's sampled training episodes that succeeded."""
    reward: float | None = None
    reward_parts: Mapping[str, float] = field(default_factory=dict)
    """Mean of each part of the reward, unweighted, over the training episodes whose task has it."""
    progress: float | None = None
    turns: float | None = None
    """Mean turns of an episode."""
    malformed: float = 0.0
    """Share of turns whose text was not a well-formed action."""
    tool_failures: float = 0.0
    """Calls that failed in the tool or ran out of time, for each turn."""
    by_task: Mapping[str, float] = field(default_factory=dict)
    """`success` of each task."""
    infra_retries: int = 0
    infra_dropped: int = 0
    entropy: float | None = None
    kl: float | None = None
    """Of the policy from the one RL started from (verl's k3 estimate, per token)."""
    prob_diff_max: float | None = None
    """verl's rollout_probs_diff_max: largest |p_train - p_rollout| of a sampled token."""
    eval_success: float | None = None
    """On held-out episodes, greedy, when this step was evaluated."""
    eval_episodes: int = 0
    eval_by_task: Mapping[str, float] = field(default_factory=dict)
    time_s: Mapping[str, float] = field(default_factory=dict)
    """Where `step_s` went: generate, env, old_log_prob, ref, update, sync, other."""
    verl: Mapping[str, float] = field(default_factory=dict)
    """Every metric verl logged, under its own names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSummary:
    """What came out of a run."""

    recipe: str
    seed: int
    status: Literal["finished", "stopped", "failed"]
    error: str = ""
    eval_success_start: float | None = None
    """On held-out episodes before RL, greedy."""
    eval_success_end: float | None = None
    eval_episodes: int = 0
    eval_by_task_start: Mapping[str, float] = field(default_factory=dict)
    eval_by_task_end: Mapping[str, float] = field(default_factory=dict)
    wall_s: float = 0.0
    """From the first phone's start to the last evaluation's end; of a resumed run, the sum over its processes."""
    phase_s: Mapping[str, float] = field(default_factory=dict)
    """`wall_s` by phase: service, demonstrations, warm_start, grpo (Ray's start and evaluations included)."""
    first_step_s: float | None = None
    """From the end of the warm start to the end of GRPO's first step, the first evaluation included."""
    steps: int = 0
    episodes_per_step: int = 0
    step_s_mean: float = 0.0
    time_share: Mapping[str, float] = field(default_factory=dict)
    """Mean shares of a GRPO step: env, generate, old_log_prob, ref, update, sync, other; they sum to 1."""
    rollout_train_prob_diff_max: float | None = None
    """The worst step's."""
    infra_retries: int = 0
    infra_dropped: int = 0
    malformed_rate_end: float = 0.0
    parameters: int = 0
    transport: str = "direct"
    """How the service reaches its phones: direct or adb; "" without phones."""
    tasks: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)


class RunLog:
    """Writes and reads one run's folder. Several processes may append: a record is one write of one line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.metrics_path = folder / "metrics.jsonl"
        self.episodes_path = folder / "episodes.jsonl"
        self.summary_path = folder / "summary.json"
        self.images = folder / "images"
        self.checkpoints = folder / "checkpoints"
        self.model = folder / "model"
        self.policy = folder / "policy"
        self.logs = folder / "logs"
        self._mistake = self.logs / "mistake.txt"

    def lesson_metrics(self, number: int) -> Path:
        """Return where verl writes the figures of one lesson of the warm start."""
        return self.logs / f"lesson-{number}.jsonl"

    def create(self) -> None:
        """Make the folders, and forget what `tell_mistake` was told before. Idempotent.

        Raises: OSError: the disk is full or not writable.
        """
        for path in (self.folder, self.images, self.checkpoints, self.logs):
            path.mkdir(parents=True, exist_ok=True)
        self._mistake.unlink(missing_ok=True)

    def add_step(self, record: StepRecord) -> None:
        append_line(self.metrics_path, asdict(record))

    def replace_steps(self, records: Iterable[StepRecord]) -> None:
        write_lines(self.metrics_path, [asdict(record) for record in records])

    def add_episode(self, record: EpisodeRecord) -> None:
        append_line(self.episodes_path, asdict(record))

    def replace_episodes(self, records: Iterable[EpisodeRecord]) -> None:
        write_lines(self.episodes_path, [asdict(record) for record in records])

    def add_image(self, image: ImageRef) -> ImageLink:
        """Store a screenshot once per content and return its link."""
        path = self.images / f"{image.digest}.{image.format.value}"
        if not path.exists():
            path.write_bytes(image.data)
        return ImageLink(
            path=str(path.relative_to(self.folder)),
            digest=image.digest,
            width_px=image.width_px,
            height_px=image.height_px,
        )

    def saved_step(self) -> int:
        """Return the step of the last checkpoint; 0 when there is none."""
        latest = self.checkpoints / "latest_checkpointed_iteration.txt"
        return int(latest.read_text()) if latest.exists() else 0

    def drop_checkpoints(self, *, keep: int | None) -> None:
        """Remove all but the last so many (None: none of them), and what is left of one that was being saved."""
        saved = self.saved_step()
        found = sorted((int(path.name.rpartition("_")[2]), path) for path in self.checkpoints.glob("global_step_*"))
        whole = [path for step, path in found if step <= saved]
        old = whole[:-keep] if keep else []
        for path in [*old, *(path for step, path in found if step > saved)]:
            shutil.rmtree(path)

    def tell_mistake(self, words: str) -> None:
        """Say, from whichever process, that the configuration is wrong: the run has to end."""
        replace_text(self._mistake, words)

    def mistake(self) -> str:
        """Return what `tell_mistake` was told, "" if nothing."""
        return self._mistake.read_text(encoding="utf-8") if self._mistake.exists() else ""

    def write_summary(self, summary: RunSummary) -> None:
        replace_text(self.summary_path, json.dumps(asdict(summary), indent=2) + "\n")

    def steps(self) -> list[StepRecord]:
        """Return the steps in order; of a step that was redone after a resume, the last record."""
        latest = {
            record.step: record for record in (restored(StepRecord, row) for row in read_lines(self.metrics_path))
        }
        return [latest[step] for step in sorted(latest)]

    def episodes(self) -> list[EpisodeRecord]:
        return [restored(EpisodeRecord, row) for row in read_lines(self.episodes_path)]

    def summary(self) -> RunSummary | None:
        if not self.summary_path.exists():
            return None
        return restored(RunSummary, json.loads(self.summary_path.read_text()))


def point_to_latest(folder: Path) -> None:
    """Make `<parent>/latest` lead to this run."""
    link = folder.parent / "latest"
    partial = folder.parent / f".latest-{os.getpid()}"
    partial.unlink(missing_ok=True)
    partial.symlink_to(folder.name, target_is_directory=True)
    partial.replace(link)


def write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    replace_text(path, "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))


def replace_text(path: Path, text: str) -> None:
    """Replace a file's content at one stroke."""
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def append_line(path: Path, row: dict[str, Any]) -> None:
    line = (json.dumps(row, separators=(",", ":")) + "\n").encode()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(handle, line)
    finally:
        os.close(handle)


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a file; a torn last line (the run was killed in mid-write) is skipped."""
    if not path.exists():
        return
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            continue


T = TypeVar("T")
_hints = cache(get_type_hints)


def restored(kind: type[T], row: Mapping[str, Any]) -> T:
    """Return the record of this type that a row was written from; keys that it does not know are left out."""
    hints = _hints(kind)  # type: ignore[arg-type]
    return kind(**{name: _restored(hints[name], value) for name, value in row.items() if name in hints})


def _restored(kind: Any, value: Any) -> Any:
    """Return a value of JSON as a field of this type has it."""
    inner = [each for each in get_args(kind) if each not in (NoneType, ...)]
    if value is None:
        return None
    if get_origin(kind) is UnionType:
        return _restored(inner[0], value)
    if get_origin(kind) is tuple:
        return tuple(_restored(inner[min(place, len(inner) - 1)], each) for place, each in enumerate(value))
    if is_dataclass(kind):
        return restored(kind, value)  # type: ignore[arg-type]
    return kind(value) if isinstance(kind, type) and issubclass(kind, StrEnum) else value
