"""Runs, made up: a training of twenty steps with episodes that went well, badly, malformed and lost; an evaluation."""

from __future__ import annotations

import io
import json
import math
import random
from dataclasses import asdict, replace
from pathlib import Path

from PIL import Image, ImageDraw

from rlfactory.envs.api.types import EpisodeState, ImageFormat, ImageRef, ToolStatus
from rlfactory.trainer.record.evaluate import Evaluation, TaskResult
from rlfactory.trainer.record.regimes import Regime, RegimeResult
from rlfactory.trainer.record.runlog import (
    CallRecord,
    EpisodeRecord,
    ImageLink,
    RunLog,
    RunSummary,
    StepRecord,
    TurnRecord,
)

STEPS = 20
TASKS = ("settings.wifi_on", "settings.bluetooth_off", "tiny.badge")


def record_run(folder: Path) -> Path:
    """Write the run and return its folder. Episode 6 has a malformed turn, episode 9 was lost."""
    log = RunLog(folder)
    log.create()
    rng = random.Random(7)
    for step in range(STEPS + 1):
        log.add_step(step_record(step, rng))
    for index in range(24):
        log.add_episode(episode_record(log, index, rng))
    (log.folder / "config.yaml").write_text("recipe: tiny_phone\nseed: 1\nnote: </script><b>not markup</b>\n")
    log.write_summary(run_summary())
    return log.folder


def record_evaluation(folder: Path) -> Path:
    """Write an evaluation of the oracle, which writes no text, and return its folder. Its last episode has no phone."""
    log = RunLog(folder)
    log.create()
    rng = random.Random(8)
    for index in range(4):
        made = episode_record(log, index, rng)
        turns = tuple(
            replace(turn, context_text="", model_text="", token_ids=(), log_probs=(), loss_span=(0, 0), generate_s=0.0)
            for turn in made.turns
        )
        record = replace(made, turns=turns, phase="eval", step=0, row_tokens=0, advantage=None)
        if index == 3:
            turns = tuple(replace(turn, image=None) for turn in turns)
            record = replace(record, task="search_qa.founder_university", turns=turns, final_image=None)
        log.add_episode(record)
    result = Evaluation(
        policy="oracle",
        split="test",
        ablation=None,
        episodes=4,
        attempts=1,
        success=0.5,
        interval=(0.15, 0.85),
        pass_at={1: 0.5},
        regimes=(
            RegimeResult(regime=Regime.INSTANCES, templates=3, pairs=4, success=0.5, interval=(0.25, 0.75)),
            RegimeResult(regime=Regime.TEMPLATES, templates=1, pairs=1, success=1.0, interval=(1.0, 1.0)),
        ),
        tasks=tuple(
            TaskResult(task=task, episodes=4, successes=2, success=0.5, interval=(0.2, 0.8), turns=2.0, malformed=0)
            for task in ("compound.number_of_noted_person", "search_qa.founder_university", "settings.wifi_on")
        ),
        step_ms={"generate": 0.0, "act": 1.2, "settle": 0.0, "observe": 9.8, "judge": 0.4, "wire": 2.0},
        steps=8,
        malformed=0,
        infra_retries=0,
        infra_dropped=0,
        failures=(),
        wall_s=3.2,
    )
    (folder / "evaluation.json").write_text(json.dumps(asdict(result)))
    return folder


def step_record(step: int, rng: random.Random) -> StepRecord:
    level = 0.42 + 0.52 * (1 - math.exp(-step / 6))
    evaluated = step % 5 == 0
    return StepRecord(
        step=step,
        elapsed_s=20 + 8 * step,
        step_s=7.5,
        episodes=64,
        success=None if step == 0 else min(1.0, level + rng.uniform(-0.07, 0.05)),
        reward=None if step == 0 else level * 0.9 + rng.uniform(-0.05, 0.05),
        reward_parts={} if step == 0 else {"success": level, "progress": 0.5 + level / 2},
        turns=None if step == 0 else 3.4 - 0.05 * step,
        malformed=max(0.0, 0.05 - 0.003 * step),
        entropy=0.6 * math.exp(-step / 15),
        kl=0.0004 * step**1.3,
        prob_diff_max=1e-4 * rng.uniform(0.5, 2),
        eval_success=level if evaluated else None,
        eval_episodes=128 if evaluated else 0,
        time_s={"generate": 2.6, "env": 0.7 + rng.uniform(0, 0.2), "old_log_prob": 0.9, "ref": 0.8, "update": 2.2}
        | {"sync": 0.1, "other": 0.2},
    )


def screenshot(title: str, rng: random.Random) -> ImageRef:
    picture = Image.new("RGB", (252, 560), (250, 249, 253))
    draw = ImageDraw.Draw(picture)
    draw.text((16, 26), title, fill=(30, 30, 40))
    for row in range(7):
        top = 70 + row * 64
        draw.rounded_rectangle((12, top, 240, top + 52), 12, fill=(236, 238, 246))
        draw.ellipse((22, top + 12, 50, top + 40), fill=tuple(rng.randrange(90, 230) for _ in range(3)))
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=80)
    digest = f"{rng.getrandbits(128):032x}"
    return ImageRef(data=buffer.getvalue(), format=ImageFormat.JPEG, width_px=252, height_px=560, digest=digest)


def episode_record(log: RunLog, index: int, rng: random.Random) -> EpisodeRecord:
    success, lost = index % 3 != 0, index == 9
    images = [log.add_image(screenshot(f"Screen {index}.{turn}", rng)) for turn in range(3)]
    turns = tuple(turn_record(image, turn, rng, malformed=index == 6) for turn, image in enumerate(images[:2]))
    return EpisodeRecord(
        id=f"episode-{index}",
        phase="eval" if index % 2 else "train",
        step=5 * (index // 6),
        task=TASKS[index % 3],
        seed=1000 + index,
        split="validation" if index % 2 else "train",
        group=f"group-{index // 4}",
        goal="Turn Wi-Fi on, then come back to the home screen.",
        turns=turns,
        state=None if lost else EpisodeState.FINISHED,
        reward_total=0.9 if success else 0.2,
        reward_parts={"goal": 1.0 if success else 0.0, "progress": 0.2, "side_effects": -0.1},
        success=success and not lost,
        progress=1.0 if success else 0.5,
        side_effects=() if success else ("settings/system/screen_brightness: 102 -> 255",),
        final_image=images[2],
        advantage=0.7 if success else -0.7,
        row_tokens=480,
        malformed=1 if index == 6 else 0,
        infra_retries=1 if lost else 0,
        failure="DEVICE_LOST: phone sim-3 closed its socket" if lost else "",
        wall_s=1.4,
    )


def turn_record(image: ImageLink, turn: int, rng: random.Random, *, malformed: bool) -> TurnRecord:
    swipe = turn == 1
    points = ((0.5, 0.7), (0.5, 0.3)) if swipe else ((0.86, 0.16),)
    call = CallRecord(
        name="phone",
        arguments={"action": "swipe" if swipe else "tap", "x": 433, "y": 160},
        status=ToolStatus.OK,
        text="Done.",
        points=points,
    )
    token_ids = tuple(rng.randrange(100) for _ in range(6))
    return TurnRecord(
        image=image,
        context_text="<|im_start|>user\n<|image_pad|><|image_pad|><|image_pad|> Turn Wi-Fi on.<|im_end|>\n",
        model_text="tap <b> 433 160</b>",
        token_ids=token_ids,
        log_probs=tuple(-rng.random() for _ in token_ids),
        loss_span=(64 + turn * 90, 70 + turn * 90),
        calls=() if malformed else (call,),
        parse_error="no action found: expected tap, swipe, type, key or finish" if malformed else "",
        reward_total=0.1 * turn,
        progress=0.5 * turn,
        generate_s=0.21,
        env_s=0.02,
        act_s=0.001,
        settle_s=0.004,
        observe_s=0.011,
    )


def run_summary() -> RunSummary:
    return RunSummary(
        recipe="tiny_phone",
        seed=1,
        status="finished",
        eval_success_start=0.42,
        eval_success_end=0.922,
        eval_episodes=128,
        eval_by_task_start=dict(zip(TASKS, (0.5, 0.31, 0.45), strict=True)),
        eval_by_task_end=dict(zip(TASKS, (0.98, 0.84, 0.95), strict=True)),
        wall_s=312.4,
        phase_s={"service": 2.1, "demonstrations": 11.0, "warm_start": 38.2, "grpo": 254.6},
        steps=STEPS,
        episodes_per_step=64,
        step_s_mean=7.5,
        time_share={"env": 0.1, "generate": 0.35, "update": 0.3, "old_log_prob": 0.12, "ref": 0.1, "other": 0.03},
        rollout_train_prob_diff_max=1.9e-4,
        infra_retries=1,
        malformed_rate_end=0.004,
        parameters=1_120_000,
        tasks=TASKS,
        versions={"verl": "0.9.1", "torch": "2.11.0"},
    )
