"""The client of chat completions, against an endpoint that behaves and misbehaves."""

from __future__ import annotations

import pytest

from rlfactory.envs.api.chat_completions import ChatClient, ChatConfig, Completion, NoCompletion, Refused, Unusable

QUESTION = [{"role": "user", "content": "what now?"}]


def client(url: str, model: str, **values) -> ChatClient:
    config = {"attempts": 3, "backoff_s": 0.01, "attempt_timeout_s": 1.5, **values}
    return ChatClient(ChatConfig(url=f"{url}/v1", model=model, **config))


def said(completion: Completion) -> str:
    return completion.text


@pytest.mark.parametrize("model", ["good", "text-parts", "flaky", "limited"])
async def test_answers_arrive_in_spite_of_passing_trouble(chat_stub: str, model: str):
    async with client(chat_stub, model) as chat:
        assert '"system_button"' in await chat.complete(QUESTION, said)


async def test_a_silent_model_said_nothing_and_a_cut_off_one_is_known(chat_stub: str):
    async with client(chat_stub, "silent") as silent, client(chat_stub, "cut") as cut:
        assert await silent.complete(QUESTION, lambda answer: answer) == Completion(text="", cut=False)
        assert await cut.complete(QUESTION, lambda answer: answer.cut)


@pytest.mark.parametrize("model", ["not-json", "no-choices", "huge", "hang-up", "stall", "error"])
async def test_no_answer_is_ever_invented(chat_stub: str, model: str):
    async with client(chat_stub, model) as chat:
        with pytest.raises(NoCompletion, match=r"no answer from .* in 3 attempts"):
            await chat.complete(QUESTION, said)
    assert chat.counters["asked"] == chat.counters["malformed"] + chat.counters["failed_requests"] == 3


async def test_an_answer_that_its_reader_cannot_use_is_asked_for_again(chat_stub: str):
    heard = []

    def read(completion: Completion) -> str:
        heard.append(completion.text)
        if len(heard) == 1:
            raise Unusable("not this one")
        return completion.text

    async with client(chat_stub, "split") as chat:
        assert await chat.complete(QUESTION, read) == heard[1] != heard[0]
        with pytest.raises(NoCompletion, match="last: never"):
            await chat.complete(QUESTION, lambda _: (_ for _ in ()).throw(Unusable("never")))


async def test_a_refusal_is_told_at_once(chat_stub: str):
    async with client(chat_stub, "refuse") as chat:
        with pytest.raises(Refused, match="refuses: HTTP 401: no such key"):
            await chat.complete(QUESTION, said)
    assert chat.counters["asked"] == 1


async def test_nobody_at_the_address_is_told_at_once(unused_tcp_port: int):
    async with client(f"http://127.0.0.1:{unused_tcp_port}", "m") as nobody:
        with pytest.raises(NoCompletion, match=r"is it started.*ConnectError"):
            await nobody.complete(QUESTION, said)
    assert nobody.counters["asked"] == 1


def test_a_key_is_never_shown():
    assert "s3cret" not in repr(ChatConfig(url="http://h/v1", model="m", key="s3cret"))
