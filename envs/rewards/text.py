"""Rules for answers in text: pure functions from an answer to a score in 0..1, and parts of a rubric made of them."""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from rlfactory.envs.api.types import JSON, ToolStatus
from rlfactory.envs.rewards.rubric import Part, Verdict

_ARTICLES: Final = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


def normalize(text: str) -> str:
    """Return the text without case, punctuation, articles and surplus white space, as SQuAD and Search-R1 compare."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, golds: Collection[str]) -> float:
    """Return 1 if the normalised answer is one of the normalised golds, else 0; an empty answer is never right."""
    said = normalize(answer)
    return float(bool(said) and said in {normalize(gold) for gold in golds})


def f1(answer: str, golds: Collection[str]) -> float:
    """Return the best harmonic mean of precision and recall of words, over the golds."""
    said = Counter(normalize(answer).split())
    return max((_f1(said, Counter(normalize(gold).split())) for gold in golds), default=0.0)


def _f1(said: Counter[str], gold: Counter[str]) -> float:
    shared = (said & gold).total()
    return 2 * shared / (said.total() + gold.total()) if shared else 0.0


def matches(answer: str, pattern: re.Pattern[str]) -> float:
    """Return 1 if the whole answer, white space around it aside, matches."""
    return float(pattern.fullmatch(answer.strip()) is not None)


class JsonShape:
    """Answers that are JSON of a schema (draft 2020-12)."""

    def __init__(self, schema: Mapping[str, JSON]) -> None:
        """Raises: ValueError: the schema is none."""
        from jsonschema import Draft202012Validator, SchemaError

        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            raise ValueError(f"not a JSON schema: {error.message}") from None
        self._validator = Draft202012Validator(schema)

    def score(self, answer: str) -> float:
        """Return 1 if the answer is JSON that the schema allows."""
        try:
            value = json.loads(answer)
        except (ValueError, RecursionError):
            return 0.0
        return float(self._validator.is_valid(value))


# --- parts of a rubric -----------------------------------------------------------------------------------------------


def answer_part(name: str, weight: float, score: Callable[[str], float]) -> Part:
    """Return a part that scores the final answer; 0 until the agent has finished."""
    return Part(
        name=name,
        weight=weight,
        score=lambda verdict: score(verdict.outcome.answer) if verdict.outcome.finished else 0.0,
    )


def verified_part(name: str, weight: float) -> Part:
    """Return a part that `Task.verify` has found out under this name; 0 until it has."""
    return Part(name=name, weight=weight, score=lambda verdict: verdict.outcome.scores.get(name, 0.0))


def format_part(weight: float) -> Part:
    """Return the share of turns that were well-formed: at least one call, none of them rejected."""
    return Part(name="format", weight=weight, score=well_formed_share)


def calls_part(weight: float) -> Part:
    """Return the share of calls that tools answered: a process reward for using them rightly."""
    return Part(name="calls_ok", weight=weight, score=_ok_share)


def turns_penalty(weight: float, *, free: int, limit: int) -> Part:
    """Return what grows from 0 (at `free` turns) to 1 (at `limit`). Raises: ValueError: the weight is no penalty."""
    return _penalty("turns", weight, free, limit, lambda verdict: verdict.outcome.turns)


def length_penalty(weight: float, *, free: int, limit: int) -> Part:
    """Return what grows from 0 to 1 as the answer grows from `free` to `limit` characters."""
    return _penalty("length", weight, free, limit, lambda verdict: len(verdict.outcome.answer))


def _penalty(name: str, weight: float, free: int, limit: int, measure: Callable[[Verdict], int]) -> Part:
    if weight > 0 or not free < limit:
        raise ValueError(f"a penalty has a weight below 0, and free < limit; got {weight}, {free}, {limit}")
    return Part(
        name=name,
        weight=weight,
        score=lambda verdict: min(1.0, max(0.0, (measure(verdict) - free) / (limit - free))),
    )


def well_formed_share(verdict: Verdict) -> float:
    """Return the share of turns so far with calls of which none was rejected; 0 before the first."""
    outcome = verdict.outcome
    acted = {each.turn for each in outcome.calls}
    rejected = {each.turn for each in outcome.calls if each.result.status is ToolStatus.REJECTED}
    return len(acted - rejected) / outcome.turns if outcome.turns else 0.0


def _ok_share(verdict: Verdict) -> float:
    calls = verdict.outcome.calls
    return sum(each.result.status is ToolStatus.OK for each in calls) / len(calls) if calls else 0.0


@dataclass(frozen=True)
class SearchR1Reward:
    """What Search-R1 pays for an answer that is right: less where a turn was malformed. A wrong one earns nothing."""

    is_right: Callable[[str], bool]
    bad_format: float = 0.8

    @cached_property
    def part(self) -> Part:
        return Part(name="search_r1", weight=1.0, score=self.score)

    def score(self, verdict: Verdict) -> float:
        """Return 1, 0.8 or 0."""
        outcome = verdict.outcome
        if not outcome.finished or not self.is_right(outcome.answer):
            return 0.0
        return 1.0 if well_formed_share(verdict) == 1.0 else self.bad_format
