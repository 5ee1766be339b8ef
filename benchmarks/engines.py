"""Do vLLM, transformers and our own engine compute one model, and how fast: `python -m benchmarks.engines [--json]`.

Our engine writes answers to prompts with 0, 1 and 2 images; vLLM and transformers, on the device and in the type asked
for, give the same tokens their log-probs, all under the ban of vision tokens that training has. Needs vLLM: its CPU
build (make setup ENGINE=vllm), or a GPU and its usual one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

# Read when vLLM and torch are imported: our code patches the model, so it must live in this process.
os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
if "cuda" not in sys.argv:
    os.environ.setdefault("TORCH_COMPILE_DISABLE", "1")

import torch
from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor

from rlfactory.trainer.cpu.engine import EngineConfig, Request, Sampling, TorchEngine, ban_tokens, banned_token_ids
from rlfactory.trainer.cpu.tiny_model import TinyModelConfig, save_tiny_model
from rlfactory.trainer.cpu.tokenizer import Corpus, build_tokenizer

ANSWER_TOKENS = 16
MAX_TOKENS = 1024
BATCHES = {"cpu": (1, 16), "cuda": (1, 16, 64, 256)}
IMAGE_COUNTS = (0, 1, 2)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scored:
    """A prompt with images and an answer, and what the engines make of the answer."""

    images: int
    tokens: int
    vllm_engine: float
    """Largest difference of a token's log-prob between vLLM and our engine, which is in fp32 on the CPU."""
    vllm_engine_prob: float
    """The same in probability."""
    vllm_transformers: float
    """The same between vLLM and transformers, on one device in one type."""
    vllm_transformers_prob: float
    """The same in probability."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Speed:
    """Of vLLM, a request having an image and 32 new tokens."""

    batch: int
    new_tokens_per_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """What all engines get."""

    unexpanded: list[int]
    """Ids with one placeholder an image, as vLLM takes them."""
    prompt: list[int]
    """Ids with one placeholder a merged patch."""
    images: list[Image.Image]
    answer: list[int]
    log_probs: list[float]
    """By our engine."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=tuple(BATCHES), default="cpu")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--model", type=Path, help="a Qwen-VL's folder; by default a tiny one is made")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = arguments.model or make_model(Path(made))
        figures = measure(folder, device=arguments.device, dtype=arguments.dtype)
    if arguments.json:
        print(json.dumps(figures))
        return
    for part in (*figures.pop("agreement"), *figures.pop("speed"), figures):
        print("  ".join(f"{name} {value}" for name, value in part.items()))


def make_model(folder: Path) -> Path:
    """Write an untrained Qwen3-VL of a million parameters."""
    corpus = Corpus(phrases=("You are a helpful assistant.",), texts=("What is on this screen?",) * 3, max_number=99)
    save_tiny_model(folder, TinyModelConfig(), build_tokenizer(corpus, vocabulary=600), max_pixels=24576)
    return folder


def measure(folder: Path, *, device: str, dtype: str) -> dict[str, Any]:
    """Return agreement and speed of the model in the folder, with what they were measured on."""
    rows = answered(folder)
    theirs = [transformers_log_probs(folder, row, device=device, dtype=dtype) for row in rows]
    started = time.perf_counter()
    llm = start_vllm(folder, dtype)
    start_s = time.perf_counter() - started
    scored = [
        compare(row, vllm_log_probs(llm, row), other, images=count)
        for row, other, count in zip(rows, theirs, IMAGE_COUNTS, strict=True)
    ]
    return {
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "dtype": dtype,
        "torch": torch.__version__,
        "vllm": sys.modules["vllm"].__version__,
        "start_s": round(start_s, 1),
        "agreement": [asdict(each) for each in scored],
        "speed": [asdict(speed(llm, rows[1], batch)) for batch in BATCHES[device]],
    }


def answered(folder: Path) -> list[Row]:
    """Return a row for each number of images, the answers sampled by our engine."""
    engine = TorchEngine.load(folder, EngineConfig(max_row_tokens=MAX_TOKENS))
    noise = Image.frombytes("RGB", (112, 112), random.Random(0).randbytes(112 * 112 * 3))
    pictures = [noise, Image.new("RGB", (140, 112), "red")]
    rows = []
    for count in IMAGE_COUNTS:
        content = [*[{"type": "image"}] * count, {"type": "text", "text": "What is on this screen?"}]
        chat = [{"role": "user", "content": content}]
        text = engine.processor.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
        images = pictures[:count]
        prompt = engine.processor(text=[text], images=images or None)["input_ids"][0]
        sampling = Sampling(max_tokens=ANSWER_TOKENS)
        [answer] = engine.generate([Request(prompt_ids=prompt, images=images, sampling=sampling)])
        rows.append(
            Row(
                unexpanded=engine.tokenizer(text, add_special_tokens=False)["input_ids"],
                prompt=list(prompt),
                images=images,
                answer=answer.token_ids,
                log_probs=answer.log_probs,
            )
        )
    return rows


def transformers_log_probs(folder: Path, row: Row, *, device: str, dtype: str) -> list[float]:
    """Return the log-probs of the answer by one forward pass, as the learner computes them."""
    model: Any = AutoModelForImageTextToText.from_pretrained(
        folder, dtype=getattr(torch, dtype), attn_implementation="sdpa"
    )
    model = model.to(device).eval()
    processor: Any = AutoProcessor.from_pretrained(folder)
    ban_tokens(model, banned_token_ids(model.config, len(processor.tokenizer)))
    seen = processor.image_processor(images=row.images, return_tensors="pt").to(device) if row.images else {}
    ids = torch.tensor([row.prompt + row.answer], device=device)
    with torch.no_grad():
        logits = model(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            mm_token_type_ids=(ids == model.config.image_token_id).long(),
            **seen,
        ).logits
    log_probs = logits[0, :-1].float().log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
    return [float(each) for each in log_probs[-len(row.answer) :]]


def start_vllm(folder: Path, dtype: str) -> Any:
    """Return vLLM's engine with verl's own ban of vision tokens and of rows without a token."""
    from verl.workers.rollout.vllm_rollout.utils import monkey_patch_compute_logits
    from vllm import LLM

    llm: Any = LLM(
        model=str(folder),
        dtype=dtype,
        max_model_len=MAX_TOKENS,
        max_num_seqs=256,
        enforce_eager=True,
        enable_prefix_caching=False,
        kv_cache_memory_bytes=1 << 28,
        skip_mm_profiling=True,
        limit_mm_per_prompt={"image": max(IMAGE_COUNTS), "video": 0},
    )
    vocabulary = len(llm.get_tokenizer())
    banned = [token for token in banned_token_ids(llm.model_config.hf_config, vocabulary) if token < vocabulary]
    llm.apply_model(lambda model: monkey_patch_compute_logits(model, vocabulary, banned))
    return llm


def vllm_request(row: Row, answer: Sequence[int] = ()) -> dict[str, Any]:
    request: dict[str, Any] = {"prompt_token_ids": [*row.unexpanded, *answer]}
    return request | ({"multi_modal_data": {"image": row.images}} if row.images else {})


def vllm_log_probs(llm: Any, row: Row) -> list[float]:
    """Return the log-probs of the answer, which vLLM gets as part of the prompt."""
    from vllm import SamplingParams

    asked = SamplingParams(max_tokens=1, prompt_logprobs=0)
    [output] = llm.generate([vllm_request(row, row.answer)], asked, use_tqdm=False)
    if list(output.prompt_token_ids) != row.prompt + row.answer:
        raise ValueError("vLLM expands the images of a prompt differently")
    last = output.prompt_logprobs[-len(row.answer) :]
    return [chances[token].logprob for token, chances in zip(row.answer, last, strict=True)]


def compare(row: Row, vllm: Sequence[float], transformers: Sequence[float], *, images: int) -> Scored:
    """Return the largest differences."""
    ours, theirs, learners = (torch.tensor(list(each)) for each in (row.log_probs, vllm, transformers))
    return Scored(
        images=images,
        tokens=len(row.prompt) + len(row.answer),
        vllm_engine=float((theirs - ours).abs().max()),
        vllm_engine_prob=float((theirs.exp() - ours.exp()).abs().max()),
        vllm_transformers=float((theirs - learners).abs().max()),
        vllm_transformers_prob=float((theirs.exp() - learners.exp()).abs().max()),
    )


def speed(llm: Any, row: Row, batch: int) -> Speed:
    """Return what vLLM writes in a second, the second of two equal batches."""
    from vllm import SamplingParams

    asked = SamplingParams(max_tokens=32, logprobs=0, ignore_eos=True)
    for _ in range(2):
        started = time.perf_counter()
        outputs = llm.generate([vllm_request(row) for _ in range(batch)], asked, use_tqdm=False)
        took_s = time.perf_counter() - started
    written = sum(len(output.outputs[0].token_ids) for output in outputs)
    return Speed(batch=batch, new_tokens_per_s=round(written / took_s, 1))


if __name__ == "__main__":
    main()
