"""verl's agent loop: plays one episode over gRPC and hands its row to the learner.

Named in `trainer/configs/agent_loops.yaml`; everything it needs stands under `rlfactory` in the recipe.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import sys
import weakref
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.tracing import export_traces
from rlfactory.envs.api.types import ImageRef
from rlfactory.envs.client import ClientConfig, EnvClient
from rlfactory.trainer.dialects import get_dialect
from rlfactory.trainer.episode.context import RowBudget
from rlfactory.trainer.episode.conversation import EpisodeConversation, Sampled, TokenConversation
from rlfactory.trainer.episode.episodes import spec_of
from rlfactory.trainer.episode.rollout import Dropped, Episode, OpenSession, converse, note_of, play
from rlfactory.trainer.episode.session import EpisodeSpec, RecordedSession
from rlfactory.trainer.record.recorder import Recorder
from rlfactory.trainer.record.runlog import Phase, RunLog
from rlfactory.trainer.run.settings import RolloutSettings
from rlfactory.trainer.verl.chat import VerlChatTokens
from rlfactory.trainer.verl.credit import FIELD, turn_facts
from rlfactory.trainer.verl.images import Screenshot

_CLIENTS: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Future[EnvClient]] = weakref.WeakKeyDictionary()
"""verl makes a new agent loop for every episode, in one event loop per worker process; they share a connection."""
_PHONES: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Places] = weakref.WeakKeyDictionary()
"""As many as this worker's episodes may use at once. Who waits here, has no deadline yet."""
_DOORS: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = weakref.WeakKeyDictionary()


class Places:
    """Holds back who would be one too many, of as many as may be at once just now."""

    def __init__(self) -> None:
        self._taken = 0
        self._left = asyncio.Event()

    @asynccontextmanager
    async def one(self, most: Callable[[], int]) -> AsyncIterator[None]:
        """Take a place for the block. Args: most: may return another number each time that a place is left."""
        while self._taken >= most():
            self._left.clear()
            await self._left.wait()
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1
            self._left.set()


class PhoneAgentLoop(AgentLoopBase):  # type: ignore[misc]
    """Plays an episode through the environment service."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)  # `workers.EpisodeWorker` gives a processor that makes no pixels
        self._settings = RolloutSettings.from_config(self.config.rlfactory)
        _export_traces(self._settings.otlp_endpoint)
        self._dialect = get_dialect(self._settings.dialect)
        self._chat = VerlChatTokens(
            self.processor or self.tokenizer, model_type="", builder=self.continuous_token_builder
        )
        self._budget = RowBudget(
            prompt_tokens=self.rollout_config.prompt_length,
            response_tokens=self.rollout_config.response_length,
            turn_tokens=self._settings.turn_tokens,
            told_tokens=self._settings.told_tokens,
        )
        self._judged = judged(self.config.reward)
        self._ban = self._banned_bias() if self.processor and self.rollout_config.name == "vllm" else {}
        self._steps: dict[str, Any] = {}
        """verl's, of the episode: the versions of the policy that wrote its first turn and its last."""
        self._versions: list[int | None] = []
        """Of the policy, by turn."""
        self._log = RunLog(Path(self._settings.run_folder))

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> list[AgentLoopOutput]:
        """Return the episode's rows, the last with its score; none when it was dropped.

        Raises: TaskError: the configuration is wrong, so no episode will ever be played; the run's folder is told.
        """
        spec = spec_of(row)
        client = await _client(self._settings)

        async def player(session: RecordedSession) -> EpisodeConversation:
            conversation = self._conversation(spec, sampling_params)
            limit_s = self._settings.rollout.generate_timeout_s
            return await converse(session, conversation, self._dialect, generate_timeout_s=limit_s)

        try:
            places = _PHONES.setdefault(asyncio.get_running_loop(), Places())
            async with places.one(lambda: phones_of(self.config, of_all_nodes=client.phones)):
                played = await play(spec, player, open_session=self._opener(client), config=self._settings.rollout)
        except TaskError as error:
            self._log.tell_mistake(str(error))  # verl would only log it, and go on without the episode's group
            raise
        episode = played if isinstance(played, Dropped) else played[0]
        self._record(episode, row)
        return [] if isinstance(played, Dropped) else self._outputs(*played)

    def _opener(self, client: EnvClient) -> OpenSession:
        options = self._settings.options(self._dialect)

        def open_session(spec: EpisodeSpec) -> Any:
            return client.session(spec.task, seed=spec.seed, split=spec.split, options=options)

        return open_session

    def _conversation(self, spec: EpisodeSpec, sampling_params: dict[str, Any]) -> EpisodeConversation:
        self._steps, self._versions = {}, []  # not those of an attempt that failed

        async def generate(
            *, request_id: str, prompt_ids: Sequence[int], images: Sequence[ImageRef], max_tokens: int
        ) -> Sampled:
            output = await self.server_manager.generate(
                request_id=request_id,
                prompt_ids=list(prompt_ids),
                image_data=[Screenshot(image) for image in images] or None,
                sampling_params={**sampling_params, **self._ban, "max_tokens": max_tokens},
            )
            await one_by_one()
            self._versions.append(output.extra_fields.get("max_global_steps"))
            self._steps = self._steps or dict(output.extra_fields)
            self._steps["max_global_steps"] = self._versions[-1]
            complete = bool(output.token_ids) and output.token_ids[-1] == self.tokenizer.eos_token_id
            return Sampled(token_ids=output.token_ids, log_probs=output.log_probs or (), complete=complete)

        return EpisodeConversation(
            generate=generate,
            chat=self._chat,
            budget=self._budget,
            request_id=spec.id,
            window=self._settings.window,
            note=note_of(self._dialect),
        )

    def _outputs(self, episode: Episode, conversation: EpisodeConversation) -> list[AgentLoopOutput]:
        rows = zip(conversation.rows, conversation.first_turns, strict=True)
        return [self._output(episode, row, first=first) for row, first in rows]

    def _output(self, episode: Episode, row: TokenConversation, *, first: int) -> AgentLoopOutput:
        trajectory = row.trajectory
        # The last screenshot was never shown to the model; the images of the row are those of its placeholders.
        images = [Screenshot(image) for image in row.images]
        reward = episode.reward
        return AgentLoopOutput(
            prompt_ids=trajectory.prompt_ids,
            response_ids=trajectory.response_ids,
            response_mask=trajectory.response_mask,
            response_logprobs=trajectory.response_log_probs,
            multi_modal_data={"images": images} if images else None,
            # verl's reward loop asks its judge only for what has no score yet; the judge is told the environment's.
            reward_score=None if self._judged else reward.total,
            num_turns=len(episode.turns),
            metrics=AgentLoopMetrics(
                generate_sequences=_seconds(episode.clock.generate), tool_calls=_seconds(episode.clock.env)
            ),
            extra_fields={
                **self._steps,
                "turn_scores": [turn.result.reward.total for turn in episode.turns],
                "tool_rewards": [],
                "task": episode.spec.task,
                "goal": episode.goal,
                FIELD: turn_facts(episode, first=first),
                "policy_versions": self._versions[first : first + len(trajectory.sampled_spans)],
                # Not "acc": of that verl's validation takes every dropped episode for a failure.
                "reward_extra_info": {"success": float(reward.success), "progress": reward.progress},
                "environment": {"total": reward.total, "success": reward.success, "parts": dict(reward.parts)},
            },
        )

    def _record(self, episode: Episode | Dropped, row: dict[str, Any]) -> None:
        validating = row["split"] != "train"
        phase: Phase = "eval" if validating else "train"
        every = self._settings.record_every_eval if validating else self._settings.record_every_train
        in_full = every > 0 and int(row["index"]) % every == 0
        recorder = Recorder(self._log)
        recorder.add(episode, phase=phase, step=int(row["global_steps"]), in_full=in_full)

    def _banned_bias(self) -> dict[str, Any]:
        """Keep vLLM from writing vision placeholders, which would claim images that are not there."""
        tokens = ("<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>")
        return {"logit_bias": {self.tokenizer.convert_tokens_to_ids(token): -100.0 for token in tokens}}


def phones_of(config: Any, *, of_all_nodes: int = 0) -> int:
    """Return how many phones each of verl's workers may use just now; without a service of ours, or phones, any number.

    Where more episodes are under way than there are phones, they would wait for one until their deadline for it.

    Args: of_all_nodes: phones that serve just now, where they are on nodes of a cluster that come and go.
    """
    service = config.rlfactory.service
    phones = (of_all_nodes if service.ray else service.phones) if service and service.phones else 0
    return max(1, phones // config.actor_rollout_ref.rollout.agent.num_workers) if phones else sys.maxsize


def judged(reward: Any) -> bool:
    """Tell whether a judge of verl's gives the rewards: a reward model, or a function that is called with episodes."""
    return bool(reward.reward_model.enable or reward.custom_reward_function.path)


@functools.cache
def _export_traces(endpoint: str) -> None:
    """Export this process's traces, once: verl makes a loop for every episode."""
    if endpoint:
        atexit.register(export_traces(endpoint, service="rlfactory-trainer"))


def _seconds(spans: Sequence[tuple[float, float]]) -> float:
    return sum(end - start for start, end in spans)


async def one_by_one() -> None:
    """Go on one episode at a time: engines answer dozens at once, and their milliseconds would hold the event loop."""
    async with _DOORS.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
        await asyncio.sleep(0)


async def _client(settings: RolloutSettings) -> EnvClient:
    """Return the connection of this event loop, opened by whoever asks first."""
    loop = asyncio.get_running_loop()
    if loop not in _CLIENTS:
        client = EnvClient(settings.address, config=ClientConfig(), trust=settings.trust.load())
        _CLIENTS[loop] = asyncio.ensure_future(client.__aenter__())
    try:
        return await asyncio.shield(_CLIENTS[loop])
    except Exception:
        _CLIENTS.pop(loop, None)  # the next episode tries again
        raise
