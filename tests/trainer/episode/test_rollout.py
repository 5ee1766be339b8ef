"""Episodes over a real service: what the model is told, what it learns from, and who is to blame when things break."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rlfactory.emulators.pool import PoolConfig
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource
from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import MAX_CALLS, EpisodeState, ImageRef, SessionOptions
from rlfactory.envs.client import EnvClient
from rlfactory.envs.service.server import EnvServer, ServerConfig, serving
from rlfactory.trainer.dialects import get_dialect
from rlfactory.trainer.episode.context import Message, RowBudget
from rlfactory.trainer.episode.conversation import Sampled, TokenConversation
from rlfactory.trainer.episode.rollout import Dropped, Episode, RolloutConfig, converse, play, session_options
from rlfactory.trainer.episode.session import EpisodeSpec, RecordedSession
from rlfactory.trainer.record.recorder import Recorder, read_outcomes
from rlfactory.trainer.record.runlog import RunLog

DIALECT = get_dialect("qwen3_vl")
SPEC = EpisodeSpec(id="e1", task="tiny.dialog", seed=0, split="train", group="g1")
FINISH = '<tool_call>\n{"name": "mobile_use", "arguments": {"action": "terminate", "status": "success"}}\n</tool_call>'
TAP = '<tool_call>\n{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [500, 20]}}\n</tool_call>'


class Letters:
    """A chat template in which a token is a character."""

    async def begin(self, messages: Sequence[Message]) -> list[int]:
        return self._encode(messages)

    async def follow(self, history: Sequence[Message], added: Sequence[Message], row: Sequence[int]) -> list[int]:
        return self._encode(added)

    def decode(self, token_ids: Sequence[int], *, special: bool) -> str:
        return "".join(map(chr, token_ids))

    def shortened(self, text: str, max_tokens: int) -> str:
        return text[:max_tokens]

    def _encode(self, messages: Sequence[Message]) -> list[int]:
        return [ord(letter) for message in messages for letter in f"[{message.role}]{message.text}\n"]


@dataclass
class Script:
    """An engine that says what it is told to, and keeps what it was asked."""

    lines: Sequence[str | Exception]
    asked: list[str] = field(default_factory=list)
    images: list[int] = field(default_factory=list)

    async def __call__(
        self, *, request_id: str, prompt_ids: Sequence[int], images: Sequence[ImageRef], max_tokens: int
    ) -> Sampled:
        self.asked.append("".join(map(chr, prompt_ids)))
        self.images.append(len(images))
        line = self.lines[min(len(self.asked), len(self.lines)) - 1]
        if isinstance(line, Exception):
            raise line
        ids = [ord(letter) for letter in line[:max_tokens]]
        return Sampled(token_ids=ids, log_probs=[-0.1] * len(ids), complete=len(line) <= max_tokens)


@asynccontextmanager
async def phones(count: int = 1) -> AsyncIterator[tuple[EnvServer, EnvClient]]:
    source = DirectSource(PhoneConfig(width_px=480, height_px=800))
    async with (
        serving(ServerConfig(), phones=source, pool=PoolConfig(phones=count)) as server,
        EnvClient(server.address) as client,
    ):
        yield server, client


async def run(
    client: EnvClient,
    script: Script,
    *,
    spec: EpisodeSpec = SPEC,
    prompt_tokens: int = 8000,
    response_tokens: int = 5000,
    turn_tokens: int = 400,
    config: RolloutConfig | None = None,
) -> tuple[Episode, TokenConversation] | Dropped:
    budget = RowBudget(prompt_tokens=prompt_tokens, response_tokens=response_tokens, turn_tokens=turn_tokens)
    options = session_options(DIALECT, SessionOptions(max_pixels=40_000))

    def open_session(wanted: EpisodeSpec) -> Any:
        return client.session(wanted.task, seed=wanted.seed, split=wanted.split, options=options)

    config = config or RolloutConfig()

    async def player(session: RecordedSession) -> TokenConversation:
        conversation = TokenConversation(generate=script, chat=Letters(), budget=budget, request_id=spec.id)
        return await converse(session, conversation, DIALECT, generate_timeout_s=config.generate_timeout_s)

    return await play(spec, player, open_session=open_session, config=config)


async def test_a_model_that_calls_too_often_is_told_so_and_cannot_void_its_episode() -> None:
    script = Script([TAP * (MAX_CALLS + 1), FINISH])
    async with phones() as (_, client):
        played = await run(client, script, turn_tokens=20_000, response_tokens=50_000, prompt_tokens=20_000)
    assert not isinstance(played, Dropped)
    episode, _ = played
    assert (episode.malformed, episode.state, len(episode.turns)) == (1, EpisodeState.FINISHED, 2)
    assert f"{MAX_CALLS + 1} calls; at most {MAX_CALLS}" in script.asked[1]


async def test_a_row_is_what_the_engine_was_asked_and_what_it_said(tmp_path: Path) -> None:
    script = Script([TAP, "I am not sure.", FINISH])
    async with phones() as (_, client):
        played = await run(client, script)
    assert not isinstance(played, Dropped)
    episode, conversation = played
    row = conversation.trajectory
    text = "".join(map(chr, row.token_ids))
    assert text == script.asked[-1] + FINISH
    assert all(text.startswith(asked) for asked in script.asked)
    assert script.images == [1, 2, 3] == [len(conversation.images[: n + 1]) for n in range(3)]
    learnt = "".join(chr(token) for token, mask in zip(row.token_ids, row.mask, strict=True) if mask)
    assert learnt == TAP + "I am not sure." + FINISH
    assert "malformed: no <tool_call> in your message" in script.asked[2]
    assert (episode.malformed, episode.state, episode.reward.success) == (1, EpisodeState.FINISHED, False)

    log = RunLog(tmp_path / "run")
    log.create()
    Recorder(log).add(episode, phase="train", step=4, in_full=True)
    [record] = log.episodes()
    assert [text[start:end] for start, end in (turn.loss_span for turn in record.turns)] == [
        TAP,
        "I am not sure.",
        FINISH,
    ]
    assert record.turns[0].calls[0].points[0] == pytest.approx((0.5, 0.02), abs=0.002)
    assert (record.turns[1].parse_error != "", record.malformed, record.row_tokens) == (True, 1, len(text))
    assert all((log.folder / turn.image.path).exists() for turn in record.turns if turn.image)
    [counted] = read_outcomes(log.folder)
    assert (counted.turns, counted.malformed, counted.success, counted.dropped) == (3, 1, False, False)


async def test_a_message_that_was_cut_off_is_malformed_and_a_full_row_ends_the_episode() -> None:
    async with phones() as (_, client):
        cut = await run(client, Script([TAP]), turn_tokens=20)
        row = 3 * len(TAP) - 4  # a third turn would have to be cut off 4 tokens before its end, if anything were told
        full = await run(client, Script([TAP]), response_tokens=row, turn_tokens=len(TAP))
    assert not isinstance(cut, Dropped) and not isinstance(full, Dropped)
    assert "cut off after 20 tokens" in cut[0].turns[0].parse_error
    assert cut[0].state is EpisodeState.TRUNCATED
    assert (full[0].state, full[0].reward.success, full[0].malformed) == (EpisodeState.TRUNCATED, False, 0)
    assert all(turn.reply.complete for turn in full[0].turns), "nothing cut off by the row's end is learnt"


async def test_a_failing_engine_makes_the_episode_void_and_a_fresh_session_saves_it() -> None:
    async with phones() as (_, client):
        saved = await run(client, Script([TAP, ConnectionError("engine gone"), FINISH]))
        lost = await run(client, Script([RuntimeError("no memory")]), config=RolloutConfig(infra_retries=1))
    assert not isinstance(saved, Dropped)
    assert (saved[0].infra_retries, len(saved[0].turns)) == (1, 1)
    assert isinstance(lost, Dropped)
    assert lost.failure == "ENGINE: RuntimeError: no memory"
    assert lost.infra_retries == 1


async def test_a_hanging_engine_ends_at_its_deadline() -> None:
    class Hanging(Script):
        async def __call__(self, **_: Any) -> Sampled:
            await asyncio.Event().wait()
            raise AssertionError

    async with phones() as (_, client):
        lost = await run(client, Hanging([]), config=RolloutConfig(generate_timeout_s=0.05, infra_retries=0))
        free = (await client.status()).sessions
    assert isinstance(lost, Dropped)
    assert lost.failure.startswith("DEADLINE: generate took longer than 0.05 s")
    assert free == 0


async def test_what_hangs_costs_its_episode_and_not_the_batch() -> None:
    """Attempts share the episode's time, and one that took long is not made again."""

    class Hanging(Script):
        async def __call__(self, **asked: Any) -> Sampled:
            self.asked.append("")
            await asyncio.Event().wait()
            raise AssertionError

    async with phones() as (_, client):
        slow, impatient = Hanging([]), Hanging([])
        hung = await run(client, slow, config=RolloutConfig(generate_timeout_s=0.3, retry_within_s=0.2))
        late = await run(client, impatient, config=RolloutConfig(generate_timeout_s=0.3, episode_timeout_s=0.5))
    assert isinstance(hung, Dropped) and isinstance(late, Dropped)
    assert (len(slow.asked), hung.infra_retries) == (1, 0)
    assert late.failure == "DEADLINE: the episode took longer than 0.5 s"
    assert len(impatient.asked) <= 2


async def test_a_prompt_that_is_too_long_is_a_mistake_of_the_configuration() -> None:
    async with phones() as (_, client):
        with pytest.raises(TaskError, match=r"the prompt has \d+ tokens, and 10 are budgeted: raise data.max_prompt"):
            await run(client, Script([TAP]), prompt_tokens=10)


async def test_a_phone_that_dies_is_retried_and_a_service_that_dies_drops_the_episode(tmp_path: Path) -> None:
    class LosesItsPhone(Script):
        async def __call__(self, **asked: Any) -> Sampled:
            answer = await super().__call__(**asked)
            if len(self.asked) == 1:
                for session in server.manager.phone_holders().values():
                    await server.manager.close(session, why="its phone died")
            return answer

    async with phones(2) as (server, client):
        survived = await run(client, LosesItsPhone([TAP, FINISH]))
        assert not isinstance(survived, Dropped)
        assert survived[0].infra_retries == 1
        await server.stop()
        lost = await run(client, Script([FINISH]), config=RolloutConfig(infra_retries=1, reset_timeout_s=2))
    assert isinstance(lost, Dropped)
    log = RunLog(tmp_path / "run")
    log.create()
    Recorder(log).add(lost, phase="train", step=1, in_full=True)
    [counted] = read_outcomes(log.folder)
    assert (counted.dropped, counted.success, counted.reward) == (True, False, 0.0)
    assert log.episodes() == []
    failure = json.loads((log.folder / "rollouts.jsonl").read_text())["failure"]
    assert failure.startswith("DEADLINE: reset")  # the client would have asked again for longer than this rollout waits
