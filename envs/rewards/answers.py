"""Typed answers: what format a goal states, and whether an answer given in text is the one wanted, compared by value.

What a person would take for the same answer counts, and nothing but that: case, white space, quotation marks, a full
stop, a lead-in ("The answer is"), the words that stand around a thing in a sentence ("in 1436", "the river Drost"). A
sign, a unit of something else, a second value or a guess beside it makes another answer.
"""

from __future__ import annotations

import datetime
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

MAX_CHARS: Final = 2_000
"""Longer answers are no answers of these types."""
_ALIKE: Final = str.maketrans(dict.fromkeys("\u00a0\u2009\u202f", " ") | dict.fromkeys("‘’", "'"))
_ALIKE.update(str.maketrans(dict.fromkeys("“”", '"') | dict.fromkeys("‐‑‒–—−", "-")))
_WRAPPERS: Final = ("**", "*", "__", "`", '"', "'")
"""Quotation marks, and Markdown's emphasis."""
_LEAD_IN: Final = re.compile(
    r"(?:(?:(?:the|my|your) )?(?:final )?(?:answer|result|number|name|time|date|year)(?: is| was|:)"
    r"|(?:it|that|this)(?: is|'s| was)|there (?:is|are|were)):? "
)
_FENCE: Final = "```"


def unfenced(text: str) -> str:
    """Return a text without the Markdown fence around all of it, and white space around it."""
    text = text.strip()
    if len(text) < 2 * len(_FENCE) or not (text.startswith(_FENCE) and text.endswith(_FENCE)):
        return text
    return re.sub(r"^\w+", "", text[len(_FENCE) : -len(_FENCE)]).strip()


def plain(text: str) -> str:
    """Return an answer in lower case, on one line, without quotation marks around it and the full stop at its end."""
    said = " ".join(text.translate(_ALIKE).casefold().split())
    before = ""
    while said != before:
        before = said
        said = said.removesuffix(".").strip()
        for mark in _WRAPPERS:
            if len(said) > 2 * len(mark) and said.startswith(mark) and said.endswith(mark):
                said = said[len(mark) : -len(mark)].strip()
    return said


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer(ABC):
    """The answer that is wanted. `str` of it is one that is right."""

    before: tuple[str, ...] = ()
    """Words that may stand before it: "in the year", "the river"."""
    after: tuple[str, ...] = ()
    """Words that may stand behind it: a unit, "river"."""

    @property
    @abstractmethod
    def form(self) -> str:
        """How it has to be given, as a sentence for the goal."""

    @abstractmethod
    def __str__(self) -> str: ...

    @abstractmethod
    def _is(self, said: str) -> bool:
        """Tell whether this is the answer, given as by `plain` and without the words around it."""

    def accepts(self, given: str) -> bool:
        """Tell whether an answer, as an agent gave it, is the one wanted."""
        if len(given) > MAX_CHARS:
            return False
        said = plain(given)
        lead_in = _LEAD_IN.match(said)
        starts = (said, plain(said[lead_in.end() :])) if lead_in else (said,)
        return any(self._is(each) for start in starts for each in self._bare(start))

    def _bare(self, said: str) -> Iterable[str]:
        """Yield what is left of an answer without some of the words that may stand around it."""
        for word in ("", *self.before):
            if said.startswith(f"{word} ".lstrip()):
                rest = said[len(word) :].strip()
                yield rest
                for unit in self.after:
                    if re.search(rf"[\s\d]{re.escape(unit)}$", rest):
                        yield rest[: -len(unit)].strip()


_GROUPED: Final = re.compile(
    r"[+-]?(?:\d+|\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+|\d{1,3}(?:'\d{3})+|\d{1,3}(?:_\d{3})+)(?:\.\d*)?"
)


def read_number(text: str) -> Decimal | None:
    """Return the number that a text is, its digits perhaps in groups of three; None if it is none, or several."""
    return Decimal(re.sub(r"[,' _]", "", text)) if _GROUPED.fullmatch(text) else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Number(Answer):
    """A number, in the unit that the goal names."""

    value: Decimal | int
    within: Decimal = Decimal(0)
    """So far off is near enough."""
    unit: str = ""
    """As the goal calls it; `after` has its spellings."""

    @property
    def form(self) -> str:
        return f"Answer with the number{f' of {self.unit}' if self.unit else ''} alone, in digits."

    def __str__(self) -> str:
        return str(self.value)

    def _is(self, said: str) -> bool:
        number = read_number(said)
        return number is not None and abs(number - self.value) <= self.within


@dataclass(frozen=True, kw_only=True, slots=True)
class Year(Answer):
    """A year of four digits."""

    before: tuple[str, ...] = ("in", "in the year", "in the year of", "the year", "year")
    value: int

    @property
    def form(self) -> str:
        return "Answer with the year alone, in digits."

    def __str__(self) -> str:
        return str(self.value)

    def _is(self, said: str) -> bool:
        return said == str(self.value)


@dataclass(frozen=True, kw_only=True, slots=True)
class PhoneNumber(Answer):
    """A phone number; how its digits are grouped does not matter, and the country's code 1 may be left out."""

    number: str
    """As "415-555-0132"."""

    @property
    def form(self) -> str:
        return "Answer with the phone number alone."

    def __str__(self) -> str:
        return self.number

    def _is(self, said: str) -> bool:
        digits = "".join(re.findall(r"\d", said)) if re.fullmatch(r"\+?[\d(][\d ().\-/]*", said) else ""
        wanted = "".join(re.findall(r"\d", self.number))
        return digits in (wanted, f"1{wanted}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Date(Answer):
    """A day of the calendar."""

    value: datetime.date

    @property
    def form(self) -> str:
        return "Answer with the date alone, as YYYY-MM-DD."

    def __str__(self) -> str:
        return self.value.isoformat()

    def _is(self, said: str) -> bool:
        said = re.sub(r"(?<=\d)(?:st|nd|rd|th)\b|\b(?:the|on|of)\b|,", " ", said)
        return " ".join(said.split()) in {
            " ".join(self.value.strftime(form).casefold().split())
            for month in ("%B", "%b")
            for day in (str(self.value.day), "%d")
            for form in ("%Y-%m-%d", f"{day} {month} %Y", f"{month} {day} %Y")
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeOfDay(Answer):
    """An hour and a minute."""

    before: tuple[str, ...] = ("at",)
    after: tuple[str, ...] = ("h", "o'clock", "hours")
    hour: int
    minute: int

    @property
    def form(self) -> str:
        return "Answer with the time alone, as HH:MM."

    def __str__(self) -> str:
        return f"{self.hour:02d}:{self.minute:02d}"

    def _is(self, said: str) -> bool:
        found = re.fullmatch(r"(\d{1,2})(?:[:.](\d\d)(?::00)?)? ?(?:([ap])\.?m)?", said)
        if found is None or not (found[2] or found[3]):
            return False
        hour = int(found[1])
        if found[3]:
            if not 1 <= hour <= 12:
                return False
            hour = hour % 12 + 12 * (found[3] == "p")
        return (hour, int(found[2] or 0)) == (self.hour, self.minute)


@dataclass(frozen=True, kw_only=True, slots=True)
class Name(Answer):
    """What something or somebody is called."""

    text: str
    also: tuple[str, ...] = ()
    """Other ways to say it."""
    what: str = "name"
    """As the goal calls it."""

    @property
    def form(self) -> str:
        return f"Answer with the {self.what} alone."

    def __str__(self) -> str:
        return self.text

    def _is(self, said: str) -> bool:
        return _spelled(said) in {_spelled(plain(each)) for each in (self.text, *self.also)}


def _spelled(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice(Name):
    """One of several that the goal lists."""

    others: tuple[str, ...]

    @property
    def form(self) -> str:
        return f"Answer with one of these alone: {', '.join(sorted((self.text, *self.others)))}."


@dataclass(frozen=True, kw_only=True, slots=True)
class Items(Answer):
    """Several answers, each once; unless `ordered`, in any order."""

    items: Sequence[Answer]
    ordered: bool = False

    @property
    def form(self) -> str:
        return "Answer with a list, its items separated by commas" + (", in order." if self.ordered else ".")

    def __str__(self) -> str:
        return ", ".join(map(str, self.items))

    def accepts(self, given: str) -> bool:
        """Tell whether a list with commas, "and" or line breaks between its items, or of JSON, is the one wanted."""
        said = _listed(given) if len(given) <= MAX_CHARS else []
        if len(said) != len(self.items):
            return False
        wanted = list(self.items)
        for each in said:
            fits = next((item for item in wanted[: 1 if self.ordered else None] if item.accepts(each)), None)
            if fits is None:
                return False
            wanted.remove(fits)
        return True

    def _is(self, said: str) -> bool:
        return self.accepts(said)


def _listed(given: str) -> list[str]:
    text = unfenced(given)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        parts = re.split(r"[,;\n]\s*(?:and\s)?|(?<!\s)\s+and\s+", text.strip().removesuffix("."))
        return [part for each in parts if (part := re.sub(r"^(?:[-*•]|\d+[.)])\s+", "", each.strip()))]
    return [str(each) for each in value] if isinstance(value, list) else [text]
