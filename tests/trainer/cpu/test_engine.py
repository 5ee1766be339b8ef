"""Token truth of the CPU engine: what it reports is what the learner computes, for any row, image and batch."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("verl", reason="needs the train extra")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw
from transformers import AutoModelForImageTextToText, AutoProcessor

from rlfactory.envs.api.types import ImageFormat, ImageRef
from rlfactory.trainer.cpu.engine import (
    BatchingEngine,
    EngineConfig,
    Generation,
    Request,
    Sampling,
    TorchEngine,
    ban_tokens,
    banned_token_ids,
)
from rlfactory.trainer.cpu.rollout_server import CpuServer
from rlfactory.trainer.cpu.tiny_model import TinyModelConfig, save_tiny_model
from rlfactory.trainer.cpu.tokenizer import Corpus, build_tokenizer, fixed_phrases
from rlfactory.trainer.episode.context import Message, RowBudget
from rlfactory.trainer.episode.conversation import Sampled, TokenConversation
from rlfactory.trainer.verl.chat import VerlChatTokens
from rlfactory.trainer.verl.images import picture

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    phrases = fixed_phrases(['<tool_call>{"x": 1, "y": 2}</tool_call>'], ["You are a helpful assistant."])
    corpus = Corpus(phrases=phrases, texts=("Make sure that Wi-Fi is on.",) * 3, max_number=99)
    tokenizer = build_tokenizer(corpus, vocabulary=600)
    config = TinyModelConfig(hidden=32, layers=2, vision_hidden=16, vision_layers=2)
    save_tiny_model(folder, config, tokenizer, max_pixels=96 * 64)
    return folder


@pytest.fixture(scope="module")
def engine(model_folder: Path) -> TorchEngine:
    return TorchEngine.load(model_folder, EngineConfig(max_row_tokens=600))


@pytest.fixture(scope="module")
def learner(model_folder: Path) -> Any:
    """The model as verl's engine holds it: the same weights under the same ban."""
    model = AutoModelForImageTextToText.from_pretrained(model_folder, dtype=torch.float32).eval()
    processor = AutoProcessor.from_pretrained(model_folder)
    ban_tokens(model, banned_token_ids(model.config, len(processor.tokenizer)))
    return model, processor


def shot(seed: int) -> ImageRef:
    picture_ = Image.new("RGB", (64, 96), "white")
    ImageDraw.Draw(picture_).rectangle(
        (seed % 50, seed % 70, seed % 50 + 12, seed % 70 + 20), fill=(seed % 256, 80, 200)
    )
    buffer = io.BytesIO()
    picture_.save(buffer, "PNG")
    return ImageRef(data=buffer.getvalue(), format=ImageFormat.PNG, width_px=64, height_px=96, digest=f"shot{seed}")


def conversation(engine: TorchEngine, temperature: float, turn_tokens: int) -> TokenConversation:
    chat = VerlChatTokens(engine.processor, model_type="qwen3_vl")

    async def generate(*, request_id: str, prompt_ids: Any, images: Any, max_tokens: int) -> Sampled:
        sampling = Sampling(temperature=temperature, max_tokens=max_tokens)
        request = Request(prompt_ids=prompt_ids, images=[picture(image) for image in images], sampling=sampling)
        [answer] = engine.generate([request])
        return Sampled(token_ids=answer.token_ids, log_probs=answer.log_probs, complete=answer.stop == "end")

    budget = RowBudget(prompt_tokens=300, response_tokens=300, turn_tokens=turn_tokens)
    return TokenConversation(generate=generate, chat=chat, budget=budget, request_id="r")


def log_probs_of(learner: Any, ids: list[int], images: list[ImageRef]) -> Any:
    """Return the learner's log-prob of each token of a row given those before it, in one forward pass."""
    model, processor = learner
    done = processor.image_processor(images=[picture(image) for image in images], return_tensors="pt")
    row = torch.tensor([ids])
    with torch.no_grad():
        logits = model(
            input_ids=row,
            attention_mask=torch.ones_like(row),
            mm_token_type_ids=(row == model.config.image_token_id).long(),
            **done,
        ).logits
    return logits[0, :-1].log_softmax(-1).gather(1, row[0, 1:, None])[:, 0]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    goal=st.text(max_size=20),
    shots=st.lists(st.integers(0, 10_000), min_size=1, max_size=4),
    turn_tokens=st.integers(1, 12),
)
def test_a_rows_ids_masks_and_log_probs_are_the_engines(
    engine: TorchEngine, learner: Any, goal: str, shots: list[int], turn_tokens: int
) -> None:
    talk = conversation(engine, 1.0, turn_tokens)

    async def episode() -> list[tuple[int, ...]]:
        system = Message(role="system", text="You are a helpful assistant.")
        told = [system, Message(role="user", text=goal, image=shot(shots[0]))]
        replies = [await talk.reply(told)]
        for seed in shots[1:]:
            replies.append(await talk.reply([Message(role="user", text="", image=shot(seed))]))
        return [reply.token_ids for reply in replies]

    sampled = asyncio.run(episode())
    row = talk.trajectory
    assert [tuple(row.token_ids[start:end]) for start, end in row.sampled_spans] == sampled
    assert sum(row.mask) == sum(map(len, sampled))
    assert len(talk.images) == len(shots)
    theirs = log_probs_of(learner, row.token_ids, talk.images)
    for position, (mask, ours) in enumerate(zip(row.mask, row.log_probs, strict=True)):
        if mask:
            assert ours == pytest.approx(float(theirs[position - 1]), abs=2e-4)


def test_a_whole_conversation_encodes_as_the_models_own_template(engine: TorchEngine) -> None:
    chat = VerlChatTokens(engine.processor, model_type="qwen3_vl")
    history = [
        Message(role="system", text="You are a helpful assistant."),
        Message(role="user", text="Make sure that Wi-Fi is on.", image=shot(1)),
    ]
    added = [Message(role="user", text="again", image=shot(2))]
    answer = engine.tokenizer("I see.", add_special_tokens=False)["input_ids"] + [engine.tokenizer.eos_token_id]

    async def grow() -> list[int]:
        row = [*await chat.begin(history), *answer]
        return [*row, *await chat.follow([*history, Message(role="assistant", text="I see.")], added, row)]

    blocks = [
        {"role": "system", "content": history[0].text},
        {
            "role": "user",
            "content": [{"type": "image", "image": picture(shot(1))}, {"type": "text", "text": history[1].text}],
        },
        {"role": "assistant", "content": "I see."},
        {"role": "user", "content": [{"type": "image", "image": picture(shot(2))}, {"type": "text", "text": "again"}]},
    ]
    whole = engine.processor.apply_chat_template(blocks, tokenize=True, add_generation_prompt=True, return_dict=True)
    assert asyncio.run(grow()) == whole["input_ids"][0]


def requests(engine: TorchEngine, count: int, sampling: Sampling) -> list[Request]:
    text = "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>{}<|im_end|>\n<|im_start|>assistant\n"
    images = [picture(shot(seed)) for seed in range(count)]
    return [
        Request(
            prompt_ids=engine.processor(text=[text.format("look " * seed)], images=[image])["input_ids"][0],
            images=[image],
            sampling=sampling,
        )
        for seed, image in enumerate(images)
    ]


def test_a_batch_answers_as_each_alone(engine: TorchEngine) -> None:
    asked = requests(engine, 5, Sampling(temperature=0.0, max_tokens=10))
    together = engine.generate(asked)
    alone = [engine.generate([request])[0] for request in asked]
    assert [answer.token_ids for answer in together] == [answer.token_ids for answer in alone]
    for one, other in zip(together, alone, strict=True):
        assert one.log_probs == pytest.approx(other.log_probs, abs=1e-4)


def test_no_placeholder_is_ever_written(engine: TorchEngine) -> None:
    banned = set(banned_token_ids(engine.model.config, len(engine.tokenizer)))
    assert engine.tokenizer.convert_tokens_to_ids("<|image_pad|>") in banned
    answers = engine.generate(requests(engine, 16, Sampling(temperature=50.0, max_tokens=40)))
    written = {token for answer in answers for token in answer.token_ids}
    assert len(written) > 100
    assert not written & banned


def test_sampling_is_restricted_as_asked(engine: TorchEngine) -> None:
    greedy = engine.generate(requests(engine, 3, Sampling(temperature=0.0, max_tokens=8)))
    for narrow in (Sampling(top_k=1, max_tokens=8), Sampling(top_p=1e-6, max_tokens=8)):
        answers = engine.generate(requests(engine, 3, narrow))
        assert [answer.token_ids for answer in answers] == [answer.token_ids for answer in greedy]
        assert all(value == pytest.approx(0.0, abs=1e-5) for answer in answers for value in answer.log_probs)
    with pytest.raises(ValueError, match="bad sampling"):
        Sampling(temperature=-1)


def test_new_weights_change_the_answers_and_forget_what_was_seen(engine: TorchEngine, model_folder: Path) -> None:
    other = TorchEngine.load(model_folder, EngineConfig(max_row_tokens=600))
    asked = requests(other, 2, Sampling(temperature=0.0, max_tokens=6))
    before = other.generate(asked)
    saved = {name: value.clone() for name, value in other.model.state_dict().items()}
    other.load_weights((name, value + 0.3) for name, value in saved.items())
    changed = other.generate(asked)
    other.load_weights(saved.items())
    assert [answer.log_probs for answer in changed] != [answer.log_probs for answer in before]
    assert other.generate(asked) == before
    with pytest.raises(KeyError):
        other.load_weights([("no.such.weight", torch.zeros(1))])


async def test_many_ask_at_once_and_a_bad_request_fails_alone(engine: TorchEngine) -> None:
    batches: list[int] = []

    class Counting(TorchEngine):
        def generate(self, requests: Sequence[Request]) -> list[Generation]:
            batches.append(len(requests))
            return super().generate(requests)

    shared = BatchingEngine(Counting(engine.model, engine.processor, engine.config))
    asked = requests(engine, 6, Sampling(temperature=0.0, max_tokens=5))
    answers = await asyncio.gather(*(shared.generate(request) for request in asked))
    assert [answer.token_ids for answer in answers] == [answer.token_ids for answer in engine.generate(asked)]
    assert sum(batches) == 6
    assert len(batches) < 6
    too_long = Request(prompt_ids=[5] * 600, images=(), sampling=Sampling())
    with pytest.raises(ValueError, match="max_row_tokens is 600"):
        await shared.generate(too_long)
    unmatched = Request(prompt_ids=asked[0].prompt_ids, images=(), sampling=Sampling())
    with pytest.raises(ValueError, match="do not fit 0 images"):
        await shared.generate(unmatched)
    assert (await shared.generate(asked[0])).token_ids == answers[0].token_ids


async def test_a_server_that_is_paused_ends_its_turns_and_begins_none(model_folder: Path) -> None:
    """One policy writes a turn: verl pauses a server while weights are changed, and episodes go on beside that."""
    config = SimpleNamespace(response_length=32, prompt_length=300, max_num_seqs=4, seed=0)
    server = CpuServer(config, SimpleNamespace(local_path=str(model_folder)), 0)
    await server.set_global_steps(1)
    asked: dict[str, Any] = {"prompt_ids": [5, 6, 7], "sampling_params": {"max_tokens": 8}, "request_id": "r"}
    under_way = asyncio.create_task(server.generate(**asked))
    await asyncio.sleep(0)  # it was asked for, and is being written
    await server.abort_all_requests()
    waiting = asyncio.create_task(server.generate(**asked))
    await asyncio.sleep(0)
    await server.set_global_steps(2)
    assert (await under_way).extra_fields["global_steps"] == 1, "what was begun was ended by the policy that began it"
    assert not waiting.done()
    await server.resume_generation()
    assert (await waiting).extra_fields["global_steps"] == 2


def test_an_action_is_few_tokens(model_folder: Path) -> None:
    tokenizer = AutoProcessor.from_pretrained(model_folder).tokenizer
    action = '<tool_call>{"x": 73, "y": 8}</tool_call>'
    ids = tokenizer(action)["input_ids"]
    assert len(ids) == 5
    assert tokenizer.decode(ids) == action
    with pytest.raises(ValueError, match="vocabulary 100 is too small"):
        build_tokenizer(Corpus(phrases=(), texts=(), max_number=1), vocabulary=100)
