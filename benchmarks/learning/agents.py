"""Two agents from PyPI, as they come, that play behind the gateway; and whether their rows hold what the engine did.

The model is a tiny one that was taught, without any prompt of theirs, to write one of a few messages: calls, answers
and nonsense. So the agents go on for several turns, and meet what they have to complain of.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, Final

import torch
import uvicorn
from qwen_agent.agents import FnCallAgent
from qwen_agent.tools.base import BaseTool
from smolagents import OpenAIModel, ToolCallingAgent, tool

from rlfactory.trainer.cpu.engine import BatchingEngine, Generation, Request, TorchEngine
from rlfactory.trainer.cpu.tiny_model import TinyModelConfig, save_tiny_model
from rlfactory.trainer.cpu.tokenizer import TURN_END, TURN_START, Corpus, build_tokenizer
from rlfactory.trainer.dialects import get_dialect
from rlfactory.trainer.episode.policies import PolicyConfig
from rlfactory.trainer.verl.credit import sampled_spans
from rlfactory.trainer.verl.gateway import Ended, Gateway, open_gateway

GOAL: Final = "Which animal has Ada?"
CALL: Final = '<tool_call>\n{"name": "animal_of", "arguments": {"name": "Ada"}}\n</tool_call>'
FINAL: Final = '<tool_call>\n{"name": "final_answer", "arguments": {"answer": "fox"}}\n</tool_call>'
MESSAGES: Final = (CALL, CALL, CALL, FINAL, "a fox", "<tool_call>\n{")
AT_ONCE: Final = 4
"""Agents."""


class AnimalOf(BaseTool):  # type: ignore[misc]
    """qwen-agent's tool."""

    name = "animal_of"
    description = "The animal of somebody."
    parameters: ClassVar = [{"name": "name", "type": "string", "description": "whose", "required": True}]

    def call(self, params: Any, **_: Any) -> str:
        return f"{self._verify_json_format_args(params)['name']} has a fox"


@tool  # type: ignore[untyped-decorator]
def animal_of(name: str) -> str:
    """The animal of somebody.

    Args:
        name: whose
    """
    return f"{name} has a fox"


def ask_qwen_agent(url: str, session: str) -> str:
    """Its own prompt tells of tools, its own parser reads calls, and it asks for streams."""
    llm = {"model": "tiny", "model_server": f"{url}/v1", "api_key": session, "model_type": "oai"}
    agent = FnCallAgent(llm=llm, function_list=[AnimalOf()])
    *_, last = agent.run([{"role": "user", "content": GOAL}])
    return str(last[-1]["content"])


def ask_smolagents(url: str, session: str) -> str:
    """It sends tools and texts to stop at, and writes its past anew with every call."""
    llm = OpenAIModel(model_id="tiny", api_base=f"{url}/v1", api_key=session)
    agent = ToolCallingAgent(tools=[animal_of], model=llm, max_steps=4, verbosity_level=0)
    return str(agent.run(GOAL))


AGENTS: Final = (ask_qwen_agent, ask_smolagents)


class Watched:
    """Stands before an engine, and keeps what it was asked and answered."""

    def __init__(self, engine: BatchingEngine) -> None:
        self.engine: TorchEngine = engine.engine
        self.script: list[str] = []
        """What is said next instead of what is sampled."""
        self.turns: Counter[Any] = Counter()
        """(ids of the prompt, ids sampled, log-probs)"""
        self._sample = self.engine.generate
        self.engine.generate = self._generate  # type: ignore[method-assign]

    def _generate(self, requests: Sequence[Request]) -> list[Generation]:
        answers = [self._scripted() for _ in requests] if self.script else self._sample(requests)
        for request, answer in zip(requests, answers, strict=True):
            self.turns[tuple(request.prompt_ids), tuple(answer.token_ids), tuple(answer.log_probs)] += 1
        return answers

    def _scripted(self) -> Generation:
        said = self.engine.tokenizer.encode(self.script.pop(0) + TURN_END, add_special_tokens=False)
        return Generation(token_ids=said, log_probs=[-0.25] * len(said), stop="end")

    def drift(self, ends: Sequence[Ended]) -> int:
        """Return how many turns stand in rows otherwise than the engine had them, are missing there, or made up."""
        return (self.turns - turns_of(ends)).total() + (turns_of(ends) - self.turns).total()


def turns_of(ends: Sequence[Ended]) -> Counter[Any]:
    """Return each turn that the learner is to learn from, with all that stands before it in its row."""
    turns: Counter[Any] = Counter()
    for row in (row for each in ends for row in each.rows):
        for start, end in sampled_spans(row.response_mask):
            before = (*row.prompt_ids, *row.response_ids[:start])
            turns[before, tuple(row.response_ids[start:end]), tuple(row.response_log_probs[start:end])] += 1
    return turns


def tiny_model(folder: Path, *, taught: int) -> Path:
    """Make a model; `taught`: steps in which it learns to write one of `MESSAGES`."""
    phrases = tuple(dict.fromkeys(MESSAGES))
    tokenizer = build_tokenizer(Corpus(phrases=phrases, texts=(GOAL,), max_number=9), vocabulary=320)
    sides = TinyModelConfig(hidden=32, layers=1, vision_layers=0, max_positions=16384)
    save_tiny_model(folder, sides, tokenizer, max_pixels=None)
    if taught:
        _teach(folder, steps=taught)
    return folder


def _teach(folder: Path, *, steps: int) -> None:
    engine = TorchEngine.load(folder)
    model, tokenizer = engine.model.train(), engine.tokenizer
    start = tokenizer.encode(f"{GOAL}{TURN_END}\n{TURN_START}assistant\n", add_special_tokens=False)
    rows = [[*start, *tokenizer.encode(f"{each}{TURN_END}", add_special_tokens=False)] for each in MESSAGES]
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(steps):
        ids = torch.tensor([rows[step % len(rows)]])
        labels = ids.clone()
        labels[:, : len(start)] = -100
        optimiser.zero_grad()
        model(input_ids=ids, labels=labels).loss.backward()
        optimiser.step()
    model.save_pretrained(folder)


@asynccontextmanager
async def gateway(model: Path, out: Path | None = None) -> AsyncIterator[tuple[Gateway, str, Watched]]:
    """Serve a model; yield its gateway, where that listens, and what is known of its engine."""
    config = PolicyConfig(dialect="qwen3", temperature=1.0, max_tokens=24)
    opened = await open_gateway(model, dialect=get_dialect("qwen3"), config=config, out=out)
    server = uvicorn.Server(uvicorn.Config(opened.app, log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield opened, f"http://127.0.0.1:{listener.getsockname()[1]}", Watched(opened.engine)
        finally:
            server.should_exit = True
            await serving


async def measure(folder: Path, *, calls: int) -> dict[str, Any]:
    """Let both agents play until they have made so many calls between them; compare the rows with the engine's word."""
    logging.getLogger("qwen_agent_logger").setLevel(logging.ERROR)
    async with gateway(tiny_model(folder, taught=120)) as (opened, url, watched):
        ends: list[Ended] = []
        made: Counter[str] = Counter()
        gave_up: Counter[str] = Counter()

        async def play(agent: Any) -> None:
            while made.total() < calls:
                session = opened.begin()
                try:
                    await asyncio.to_thread(agent, url, session)
                except Exception as error:  # nonsense may be too much for an agent; its calls count
                    if not opened.session(session).calls:
                        raise
                    gave_up[type(error).__name__] += 1
                ends.append(opened.end(session, 0.0))
                made[agent.__name__] += ends[-1].calls

        await asyncio.gather(*(play(AGENTS[number % 2]) for number in range(AT_ONCE)))
        rows = [row for each in ends for row in each.rows]
        return {
            "gateway_drift": watched.drift(ends),
            "gateway_calls": dict(made),
            "gateway_gave_up": dict(gave_up),
            "gateway_rows": len(rows),
            "gateway_longest_row_turns": max(len(sampled_spans(row.response_mask)) for row in rows),
        }
