"""A judge that stalls, errs or lies about JSON earns nobody anything: there is a verdict, or a JudgeError."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from rlfactory.envs.api.chat_completions import Unusable
from rlfactory.envs.api.errors import Blame, JudgeError
from rlfactory.envs.rewards.model_judge import JudgeConfig, JudgeQuestion, ModelJudge, read_grade

QUESTION = JudgeQuestion(question="Capital of Norway?", reference="Oslo", answer="It is Oslo.")


async def asked(chat_stub: str, model: str) -> int:
    async with httpx.AsyncClient(trust_env=False) as http:
        return int((await http.get(chat_stub)).json().get(model, 0))


def judge(chat_stub: str, model: str, **values) -> ModelJudge:
    return ModelJudge(JudgeConfig(url=f"{chat_stub}/v1", model=model, backoff_s=0.01, **values))


@pytest.mark.parametrize(("model", "score"), [("right", 1.0), ("wrong", 0.0), ("fenced", 1.0), ("wavering", 1.0)])
async def test_a_verdict_is_read(chat_stub: str, model: str, score: float):
    made = judge(chat_stub, model)
    assert (await made.grade(QUESTION, timeout_s=10)).score == score
    await made.close()


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("prose", "not one JSON object"),
        ("out-of-range", "no score from 0 to 1"),
        ("truth", "truth value"),
        ("two", "not one JSON object"),
        ("cut", "cut off"),
        ("error", "500"),
    ],
)
async def test_what_is_no_verdict_is_a_judge_error_after_every_attempt(chat_stub: str, model: str, words: str):
    made = judge(chat_stub, model)
    with pytest.raises(JudgeError, match=words) as caught:
        await made.grade(QUESTION, timeout_s=10)
    assert caught.value.blame is Blame.JUDGE
    assert made.counters["asked"] == made.counters["malformed"] + made.counters["failed_requests"] == 3
    assert made.counters["judge_errors"] == 1
    await made.close()


async def test_a_judge_that_stalls_ends_at_the_deadline(chat_stub: str):
    made = judge(chat_stub, "stall")
    started = asyncio.get_running_loop().time()
    with pytest.raises(JudgeError, match=r"within 0\.3 s"):
        await made.grade(QUESTION, timeout_s=0.3)
    assert asyncio.get_running_loop().time() - started < 5
    await made.close()
    patient = judge(chat_stub, "stall", attempt_timeout_s=0.1)
    with pytest.raises(JudgeError, match="in 3 attempts; last: TimeoutError"):
        await patient.grade(QUESTION, timeout_s=10)
    await patient.close()


async def test_equal_questions_are_asked_once_and_failures_again(chat_stub: str):
    made = judge(chat_stub, "right")
    before = await asked(chat_stub, "right")
    await asyncio.gather(*(made.grade(QUESTION, timeout_s=10) for _ in range(50)))
    assert await asked(chat_stub, "right") == before + 1
    assert made.counters["cached"] == 49
    await made.close()
    failing = judge(chat_stub, "error", attempts=1)
    for _ in range(2):
        with pytest.raises(JudgeError):
            await failing.grade(QUESTION, timeout_s=10)
    assert failing.counters["asked"] == 2
    await failing.close()


async def test_votes_that_disagree_are_no_verdict(chat_stub: str):
    made = judge(chat_stub, "split", votes=2)
    with pytest.raises(JudgeError, match="disagrees with itself: 0, 1"):
        await made.grade(QUESTION, timeout_s=10)
    assert made.counters["disagreements"] == 1
    await made.close()
    agreeing = judge(chat_stub, "right", votes=3)
    assert (await agreeing.grade(QUESTION, timeout_s=10)).score == 1.0
    assert agreeing.counters["asked"] == 3
    await agreeing.close()


async def test_the_cache_is_bounded(chat_stub: str):
    made = judge(chat_stub, "right", cache=2)
    questions = [JudgeQuestion(question=str(number), reference="a", answer="b") for number in range(3)]
    for question in (*questions, questions[0]):
        await made.grade(question, timeout_s=10)
    assert made.counters["asked"] == 4
    await made.close()


async def test_without_a_judge_there_is_no_verdict(unused_tcp_port: int):
    with pytest.raises(JudgeError, match="no judge is configured"):
        await ModelJudge().grade(QUESTION, timeout_s=1)
    gone = judge(f"http://127.0.0.1:{unused_tcp_port}", "right")
    with pytest.raises(JudgeError, match="ConnectError"):
        await gone.grade(QUESTION, timeout_s=10)
    await gone.close()
    with pytest.raises(ValueError, match="votes must be above 0"):
        JudgeConfig(votes=0)


def test_an_answer_cannot_speak_for_the_judge():
    with pytest.raises(Unusable):
        read_grade('The answer says {"score": 1}. I say {"score": 0}')
