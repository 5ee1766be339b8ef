"""What screenshots cost the rollout: 256 episodes of 15 full-HD turns through real workers and real storage.

Two of our agent loop workers (Ray actors) hold the conversations of all episodes at once, with verl's tokens and
positions, and store their rows in TransferQueue. Only the engine and the service are missing: what the model writes is
fixed, and the screens are a simulated phone's, each made unique. Memory is the processes' share of the machine's (PSS).
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import psutil
import ray
import torch
import transfer_queue
from omegaconf import OmegaConf, open_dict
from verl.utils import tensordict_utils
from verl.workers.rollout.replica import TokenOutput

from rlfactory.emulators.device.device import ImageSpec
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource
from rlfactory.envs.api.types import ImageFormat, ImageRef, Reward
from rlfactory.trainer.cpu.tiny_model import TinyModelConfig, save_tiny_model
from rlfactory.trainer.cpu.tokenizer import Corpus, build_tokenizer
from rlfactory.trainer.episode.context import Message
from rlfactory.trainer.episode.episodes import row_of, spec_of
from rlfactory.trainer.episode.session import Clock
from rlfactory.trainer.run.recipe import compose_recipe
from rlfactory.trainer.verl.agent_loop import PhoneAgentLoop
from rlfactory.trainer.verl.workers import EpisodeWorker

EPISODES: Final = 256
TURNS: Final = 15
WORKERS: Final = 2
MAX_PIXELS: Final = 524_288
"""Of recipe qwen3_vl_4b."""
WRITTEN_TOKENS: Final = 60
TICK_S: Final = 0.005
"""Between two looks at a worker's event loop."""


class Walk(PhoneAgentLoop):
    """An episode whose model and phone are played by a script."""

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> list[Any]:
        screens, sides = shown(self._settings.run_folder)
        self.server_manager = Writer(self.tokenizer)
        spec = spec_of(row)
        talk = self._conversation(spec, sampling_params)
        for turn in range(TURNS):
            # Bytes after a picture's end are ignored: the same screen with another digest.
            data = screens[turn % len(screens)] + f"{spec.id}-{turn}".encode()
            digest = hashlib.blake2b(data, digest_size=16).hexdigest()
            image = ImageRef(data=data, format=ImageFormat.JPEG, width_px=sides[0], height_px=sides[1], digest=digest)
            await talk.reply([Message(role="user", text=f"turn {turn}", image=image)])
        begun = SimpleNamespace(state_hash="", progress=0.0)
        episode: Any = SimpleNamespace(spec=spec, goal="walk", begun=begun, turns=(), reward=Reward(), clock=Clock())
        return list(self._outputs(episode, talk))


class Writer:
    """Stands where verl's servers are: answers a second later, all that ask in a tenth of a second at once."""

    def __init__(self, tokenizer: Any) -> None:
        word = tokenizer.encode("x", add_special_tokens=False)[0]
        self._ids = [*[word] * (WRITTEN_TOKENS - 1), tokenizer.eos_token_id]

    async def generate(self, **_: Any) -> TokenOutput:
        await asyncio.sleep(1.0 + 0.1 - time.monotonic() % 0.1)
        steps = {"min_global_steps": 1, "max_global_steps": 1}
        return TokenOutput(token_ids=self._ids, log_probs=[-0.5] * len(self._ids), extra_fields=steps)


@cache
def shown(folder: str) -> tuple[list[bytes], tuple[int, int]]:
    """Return the screens that were saved, and their size."""
    width_px, height_px = json.loads(Path(folder, "sides.json").read_text())
    return [path.read_bytes() for path in sorted(Path(folder).glob("screen-*.jpeg"))], (width_px, height_px)


class WatchedWorker(EpisodeWorker):
    """A worker that knows for how long its event loop was held."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._held_s = self._lag_s = 0.0
        self._watching: asyncio.Task[None] | None = None

    async def generate_sequences(self, batch: Any) -> None:
        self._watching = self._watching or asyncio.create_task(self._watch())
        await super().generate_sequences(batch)

    async def figures(self) -> tuple[int, float, float]:
        """Return how many episodes are under way, and the longest hold in CPU time and by the clock, in seconds."""
        return len(self.background_tasks), self._held_s, self._lag_s

    async def _watch(self) -> None:
        while True:
            cpu_s, clock_s = time.thread_time(), time.perf_counter()
            await asyncio.sleep(TICK_S)
            self._held_s = max(self._held_s, time.thread_time() - cpu_s)
            self._lag_s = max(self._lag_s, time.perf_counter() - clock_s - TICK_S)


def measure(episodes: int = EPISODES) -> dict[str, Any]:
    """Play the episodes, and return the figures."""
    with tempfile.TemporaryDirectory(prefix="rlfactory-images-") as place:
        folder = Path(place)
        asyncio.run(screens(folder))
        config = recipe(folder)
        ray.init(num_cpus=8, include_dashboard=False, object_store_memory=200_000_000, log_to_driver=False)
        try:
            return _play(config, episodes)
        finally:
            ray.shutdown()


async def screens(folder: Path) -> None:
    """Save what a phone shows, as the service would send it."""
    source = DirectSource(PhoneConfig(width_px=1080, height_px=2400))
    device = await source.start()
    for number, package in enumerate(("settings", "contacts", "notes", "clock", "files")):
        await device.shell(f"monkey -p {package} 1", timeout_s=10)
        shown = await device.observe(ImageSpec(max_pixels=MAX_PIXELS, multiple_px=32), with_tree=False, timeout_s=10)
        assert shown.image is not None
        (folder / f"screen-{number}.jpeg").write_bytes(shown.image.data)
        (folder / "sides.json").write_text(json.dumps([shown.image.width_px, shown.image.height_px]))
    await source.close()


def recipe(folder: Path) -> Any:
    """Return the recipe of a model that sees, with a tiny model in its place."""
    tokenizer = build_tokenizer(Corpus(phrases=(), texts=("turn x",), max_number=99), vocabulary=400)
    save_tiny_model(folder / "model", TinyModelConfig(hidden=32, layers=1), tokenizer, max_pixels=MAX_PIXELS)
    loops = folder / "loops.yaml"
    loops.write_text(f"- {{name: phone, _target_: {__name__}.Walk}}\n")
    config = compose_recipe("qwen3_vl_4b", ["hardware=cpu", f"rlfactory.run_folder={folder}", "rlfactory.address=none"])
    with open_dict(config):
        config.actor_rollout_ref.model.path = str(folder / "model")
        config.actor_rollout_ref.rollout.agent.agent_loop_config_path = str(loops)
        config.transfer_queue.enable = True
    OmegaConf.resolve(config)
    return config


def _play(config: Any, episodes: int) -> dict[str, Any]:
    transfer_queue.init(config.transfer_queue)
    group = int(config.actor_rollout_ref.rollout.n)
    remote: Any = ray.remote(WatchedWorker)
    workers = [remote.remote(config, None, None, None) for _ in range(WORKERS)]
    ray.get([worker.figures.remote() for worker in workers])
    idle_gb = memory_gb()
    uids = itertools.cycle(range(WORKERS))
    for prompt in range(episodes // group):
        row = row_of(task="walk", seed=prompt, split="train", index=prompt, agent="phone")
        columns = {name: [value] for name, value in row.items()} | {"uid": [f"u{prompt}"]}
        batch = tensordict_utils.get_tensordict(columns)
        tensordict_utils.assign_non_tensor_data(batch, "global_steps", 1)
        ray.get(workers[next(uids)].generate_sequences.remote(batch))
    peak_gb, begun = idle_gb, time.monotonic()
    while True:
        time.sleep(0.5)
        peak_gb = max(peak_gb, memory_gb())
        told: Sequence[tuple[int, float, float]] = ray.get([worker.figures.remote() for worker in workers])
        if not any(under_way for under_way, _, _ in told):
            break
    rows = [key for key in transfer_queue.kv_list()["train"] if key.count("_") == 2]  # the others are prompts
    seen = transfer_queue.kv_batch_get(keys=rows[:1], partition_id="train", select_fields=["responses", "prompts"])
    tokens = sum(torch.as_tensor(seen[name][0]).numel() for name in ("prompts", "responses"))
    print(f"{len(rows)} rows of {tokens} tokens in {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return {
        "image_rows": len(rows),
        "image_row_tokens": tokens,
        "image_gb": round(peak_gb, 2),
        "image_idle_gb": round(idle_gb, 2),
        "loop_held_ms": round(1000 * max(held_s for _, held_s, _ in told), 1),
        "loop_lag_ms": round(1000 * max(lag_s for _, _, lag_s in told), 1),
    }


def memory_gb() -> float:
    """Return what workers and storage hold."""
    total = 0
    for process in psutil.process_iter(["cmdline"]):
        name = " ".join(process.info["cmdline"] or ())
        if name.startswith("ray::") and ("WatchedWorker" in name or "Storage" in name):
            total += process.memory_full_info().pss
    return total / 1e9
