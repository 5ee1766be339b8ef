"""A checkpoint as a policy: a Hugging Face directory on the CPU engine, prompted exactly as in training."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers.utils.logging import disable_progress_bar

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import ImageRef, SessionOptions
from rlfactory.trainer.cpu.engine import BatchingEngine, EngineConfig, Request, Sampling, TorchEngine
from rlfactory.trainer.dialects import get_dialect
from rlfactory.trainer.episode.context import RowBudget
from rlfactory.trainer.episode.conversation import EpisodeConversation, Sampled, TokenConversation
from rlfactory.trainer.episode.policies import DEFAULT_PATCHES, ModelPolicy, PolicyConfig
from rlfactory.trainer.episode.rollout import note_of, session_options
from rlfactory.trainer.run.settings import RolloutSettings, recipe_of, screen_of
from rlfactory.trainer.verl.chat import VerlChatTokens
from rlfactory.trainer.verl.images import picture

LARGE_ROW_TOKENS = 16_384
"""Of a checkpoint that did not come from a run of ours."""


class CheckpointPolicy(ModelPolicy):
    """Plays with a checkpoint. Where it lies in a run's folder, the run's recipe says how it is to be prompted."""

    def __init__(self, *, folder: Path, config: PolicyConfig) -> None:
        """Raises: TaskError: there is no model in the folder."""
        self._model_folder = folder / "policy" if (folder / "policy").is_dir() else folder
        if not (self._model_folder / "config.json").exists():
            raise TaskError(f"no checkpoint in {folder}: it has neither config.json nor policy/config.json")
        recipe = recipe_of(self._model_folder)
        settings = RolloutSettings.from_config(recipe.rlfactory) if recipe else None
        dialect = get_dialect(settings.dialect if settings else config.dialect)
        pixels = config.max_pixels or DEFAULT_PATCHES * dialect.multiple_px**2
        options = settings.options(dialect) if settings else session_options(dialect, SessionOptions(max_pixels=pixels))
        screen_px = screen_of(recipe) if recipe else None
        super().__init__(name=f"checkpoint:{folder}", dialect=dialect, options=options, screen_px=screen_px)
        self._temperature = config.temperature
        self._budget = RowBudget(
            prompt_tokens=recipe.data.max_prompt_length if recipe else LARGE_ROW_TOKENS // 2,
            response_tokens=recipe.data.max_response_length if recipe else LARGE_ROW_TOKENS // 2,
            turn_tokens=settings.turn_tokens if settings else config.max_tokens,
            told_tokens=settings.told_tokens if settings else None,
        )
        self._window = settings.window if settings else None
        self._engine: BatchingEngine | None = None
        self._chat: VerlChatTokens | None = None

    async def open(self) -> None:
        disable_progress_bar()  # there is one for the episodes
        rows = EngineConfig(max_row_tokens=self._budget.prompt_tokens + self._budget.response_tokens)
        engine = await asyncio.to_thread(TorchEngine.load, self._model_folder, rows)
        self._engine = BatchingEngine(engine)
        model_type = json.loads((self._model_folder / "config.json").read_text())["model_type"]
        self._chat = VerlChatTokens(engine.processor, model_type=model_type)

    async def close(self) -> None:
        self._engine = self._chat = None

    @property
    def engine(self) -> BatchingEngine:
        assert self._engine is not None, "open() comes first"
        return self._engine

    def begin(self, episode: str) -> EpisodeConversation:
        return EpisodeConversation(**self._parts(episode), window=self._window, note=note_of(self._dialect))

    def begin_row(self, session: str) -> TokenConversation:
        """Return an empty row for whoever keeps an episode's history itself."""
        return TokenConversation(**self._parts(session))

    def _parts(self, request_id: str) -> dict[str, Any]:
        assert self._chat is not None, "open() comes first"
        return {"generate": self._generate, "chat": self._chat, "budget": self._budget, "request_id": request_id}

    async def _generate(
        self,
        *,
        request_id: str,
        prompt_ids: Sequence[int],
        images: Sequence[ImageRef],
        max_tokens: int,
    ) -> Sampled:
        sampling = Sampling(temperature=self._temperature, max_tokens=max_tokens)
        request = Request(prompt_ids=prompt_ids, images=[picture(image) for image in images], sampling=sampling)
        answer = await self.engine.generate(request)
        return Sampled(token_ids=answer.token_ids, log_probs=answer.log_probs, complete=answer.stop == "end")
