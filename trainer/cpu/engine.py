"""Generation with transformers on CPU: batches, KV cache, log-probs of the sampled tokens. No Ray, no verl.

`TorchEngine` answers a batch at a time; `BatchingEngine` lets many coroutines share one. The rollout server puts the
latter behind Ray; `rlfactory eval --policy checkpoint:PATH` uses it as it is.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from PIL import Image
from torch import Tensor

from rlfactory.trainer.cpu.backbone import SeeingBackbone, TextBackbone

BANNED_LOGIT = -1e4
"""Finite, so that p * log p is 0 and not NaN; exp of it is 0 in fp32."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """How tokens are drawn."""

    temperature: float = 1.0
    """0 is greedy; log-probs are then those at temperature 1."""
    top_p: float = 1.0
    top_k: int = -1
    """-1: all."""
    max_tokens: int = 64

    def __post_init__(self) -> None:
        if self.temperature < 0 or not 0 < self.top_p <= 1 or self.max_tokens < 1:
            raise ValueError(f"bad sampling parameters: {self}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    prompt_ids: Sequence[int]
    """Image placeholders expanded: one token per merged patch."""
    images: Sequence[Image.Image]
    """RGB, in the order of their placeholders."""
    sampling: Sampling


@dataclass(frozen=True, kw_only=True, slots=True)
class Generation:
    token_ids: list[int]
    """Ends with an end-of-turn token unless `stop` is "length"."""
    log_probs: list[float]
    """Of `token_ids`, under the distribution that they were sampled from (greedy: at temperature 1)."""
    stop: Literal["end", "length"]


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineConfig:
    max_batch: int = 32
    """Requests answered together; more wait."""
    max_row_tokens: int = 2048
    """Prompt and answer together; an answer ends there."""
    image_cache: int = 1024
    """Distinct images whose pixel values and embeddings are kept."""
    seed: int = 0


def banned_token_ids(hf_config: Any, vocabulary: int) -> list[int]:
    """Return the ids that must never be written: vision placeholders without an image, and padding of the matrix.

    A sampled placeholder would make the row claim an image that is not there. The same ids are banned in training
    (`ban_tokens` on the learner's model), so that both sides see one distribution.
    """
    names = ("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id")
    vision = [getattr(hf_config, name, None) for name in names]
    rows = hf_config.get_text_config().vocab_size
    return sorted({token for token in vision if token is not None} | set(range(vocabulary, rows)))


def ban_tokens(model: torch.nn.Module, banned: Sequence[int]) -> None:
    """Make the model itself give the banned tokens no probability, in whatever process it runs."""
    index = torch.tensor(banned, dtype=torch.long)
    head: Any = model.get_output_embeddings()  # type: ignore[operator]

    def without_banned(_module: torch.nn.Module, _inputs: Any, logits: Tensor) -> Tensor:
        return logits.index_fill(-1, index.to(logits.device), BANNED_LOGIT)

    head.register_forward_hook(without_banned)


class TorchEngine:
    """A Qwen, with or without sight, that answers batches of requests."""

    def __init__(self, model: Any, processor: Any, config: EngineConfig) -> None:
        """`processor`: of a model that sees; of one that reads only text, its tokenizer."""
        self.model = model.eval()
        self.processor = processor
        self.tokenizer = getattr(processor, "tokenizer", processor)
        self.config = config
        self._random = torch.Generator().manual_seed(config.seed)
        self._end_ids = _end_ids(model, self.tokenizer)
        sees = hasattr(model.config, "vision_config")
        self._backbone = SeeingBackbone(model, processor, config.image_cache) if sees else TextBackbone(model)
        ban_tokens(model, banned_token_ids(model.config, len(self.tokenizer)))

    @classmethod
    def load(cls, folder: Path, config: EngineConfig | None = None) -> TorchEngine:
        """Load a Hugging Face directory.

        Raises: OSError: there is no model in the folder.
        """
        from transformers import (
            AutoConfig,
            AutoModelForCausalLM,
            AutoModelForImageTextToText,
            AutoProcessor,
            AutoTokenizer,
        )

        sees = hasattr(AutoConfig.from_pretrained(folder), "vision_config")
        kind: Any = AutoModelForImageTextToText if sees else AutoModelForCausalLM
        processor: Any = (AutoProcessor if sees else AutoTokenizer).from_pretrained(folder)
        model = kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa")
        return cls(model, processor, config or EngineConfig())

    @torch.no_grad()
    def load_weights(self, named: Iterable[tuple[str, Tensor]]) -> None:
        """Replace parameters by name.

        Raises: KeyError: a name that the model does not have.
        """
        parameters = self.model.state_dict()
        for name, value in named:
            parameters[name].copy_(value)
        self._backbone.weights_changed()

    @torch.inference_mode()
    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Answer all requests together.

        Raises: ValueError: a prompt leaves no room for an answer, or its image tokens are not those of its images.
        """
        from transformers import DynamicCache

        batch = _Batch(requests, self._end_ids, self.config.max_row_tokens, self._random)
        input_ids, attention_mask = _left_padded(requests, self.tokenizer.pad_token_id)
        prompt = self._backbone.prompt(input_ids, attention_mask, [each for r in requests for each in r.images])
        inputs, positions, next_position = prompt.inputs, prompt.positions, prompt.next_position
        cache = DynamicCache(config=self.model.config.get_text_config())
        while True:
            hidden = self._backbone.language_model(
                **inputs,
                attention_mask=attention_mask,
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
            ).last_hidden_state
            tokens = batch.draw(self.model.lm_head(hidden[:, -1]).float())
            if batch.done:
                return batch.generations()
            inputs = {"inputs_embeds": self.model.get_input_embeddings()(tokens[:, None])}
            attention_mask = torch.cat([attention_mask, torch.ones_like(attention_mask[:, :1])], dim=1)
            positions = self._backbone.positions(next_position)
            next_position = next_position + 1


class _Batch:
    """The answers of a batch while they grow."""

    def __init__(
        self, requests: Sequence[Request], end_ids: frozenset[int], max_row_tokens: int, random: torch.Generator
    ) -> None:
        room = [max_row_tokens - len(request.prompt_ids) for request in requests]
        if min(room) < 1:
            longest = max(len(request.prompt_ids) for request in requests)
            raise ValueError(f"a prompt of {longest} tokens leaves no room: max_row_tokens is {max_row_tokens}")
        samplings = [request.sampling for request in requests]
        self._limits = [min(s.max_tokens, left) for s, left in zip(samplings, room, strict=True)]
        self._temperature = torch.tensor([s.temperature for s in samplings])[:, None]
        self._top_p = torch.tensor([s.top_p for s in samplings])[:, None]
        self._top_k = [s.top_k for s in samplings]
        self._end_ids = end_ids
        self._random = random
        self._tokens: list[list[int]] = [[] for _ in requests]
        self._log_probs: list[list[float]] = [[] for _ in requests]
        self._open = set(range(len(requests)))

    @property
    def done(self) -> bool:
        return not self._open

    def draw(self, logits: Tensor) -> Tensor:
        """Sample one token per row from logits [rows, vocabulary]; rows that are done get an unused one."""
        greedy = self._temperature == 0
        scores = self._restrict(logits / torch.where(greedy, torch.ones_like(self._temperature), self._temperature))
        log_probs = scores.log_softmax(dim=-1)
        sampled = torch.multinomial(log_probs.exp(), 1, generator=self._random)
        tokens = torch.where(greedy, log_probs.argmax(dim=-1, keepdim=True), sampled)
        chosen = log_probs.gather(1, tokens)
        for row in tuple(self._open):
            self._append(row, int(tokens[row]), float(chosen[row]))
        return tokens[:, 0]

    def generations(self) -> list[Generation]:
        return [
            Generation(token_ids=ids, log_probs=log_probs, stop="end" if ids[-1] in self._end_ids else "length")
            for ids, log_probs in zip(self._tokens, self._log_probs, strict=True)
        ]

    def _append(self, row: int, token: int, log_prob: float) -> None:
        self._tokens[row].append(token)
        self._log_probs[row].append(log_prob)
        if token in self._end_ids or len(self._tokens[row]) >= self._limits[row]:
            self._open.discard(row)

    def _restrict(self, scores: Tensor) -> Tensor:
        """Apply top-k, then top-p (nucleus), row by row where asked for."""
        for row, count in enumerate(self._top_k):
            if 0 < count < scores.shape[-1]:
                floor = scores[row].topk(count).values[-1]
                scores[row] = scores[row].masked_fill(scores[row] < floor, -torch.inf)
        if bool((self._top_p < 1).any()):
            ordered, order = scores.sort(dim=-1, descending=True)
            probabilities = ordered.softmax(dim=-1)
            outside = probabilities.cumsum(dim=-1) - probabilities > self._top_p
            scores = scores.scatter(1, order, ordered.masked_fill(outside, -torch.inf))
        return scores


class BatchingEngine:
    """Lets coroutines share an engine: whatever waits when a batch ends makes the next one."""

    def __init__(self, engine: TorchEngine) -> None:
        self.engine = engine
        self._waiting: deque[tuple[Request, asyncio.Future[Generation]]] = deque()
        self._worker: asyncio.Task[None] | None = None

    async def generate(self, request: Request) -> Generation:
        """Answer one request.

        Raises: ValueError: its prompt leaves no room for an answer.
        """
        if len(request.prompt_ids) >= self.engine.config.max_row_tokens:
            limit = self.engine.config.max_row_tokens
            raise ValueError(f"a prompt of {len(request.prompt_ids)} tokens leaves no room: max_row_tokens is {limit}")
        future: asyncio.Future[Generation] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await future

    async def settled(self) -> None:
        """Return when nothing waits for an answer."""
        while self._worker is not None and not self._worker.done():
            await asyncio.wait([self._worker])

    async def _work(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), self.engine.config.max_batch))]
            batch = [item for item in batch if not item[1].cancelled()]
            if batch:
                await self._answer(batch)

    async def _answer(self, batch: list[tuple[Request, asyncio.Future[Generation]]]) -> None:
        try:
            answers = await asyncio.to_thread(self.engine.generate, [request for request, _ in batch])
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to those who wait for it
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            if not future.done():
                future.set_result(answer)


def _left_padded(requests: Sequence[Request], pad_id: int) -> tuple[Tensor, Tensor]:
    """Return token ids and attention mask, both int64 [rows, longest]."""
    longest = max(len(request.prompt_ids) for request in requests)
    input_ids = torch.full((len(requests), longest), pad_id)
    attention_mask = torch.zeros_like(input_ids)
    for row, request in enumerate(requests):
        start = longest - len(request.prompt_ids)
        input_ids[row, start:] = torch.tensor(list(request.prompt_ids))
        attention_mask[row, start:] = 1
    return input_ids, attention_mask


def _end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    configured = model.generation_config.eos_token_id
    ids = configured if isinstance(configured, list) else [configured]
    return frozenset({*(token for token in ids if token is not None), tokenizer.eos_token_id})
