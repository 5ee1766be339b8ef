"""Typed answers: every wording that a person would take for the answer is right, and nothing but these."""

from __future__ import annotations

import datetime
import time
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlfactory.envs.rewards.answers import (
    Answer,
    Choice,
    Date,
    Items,
    Name,
    Number,
    PhoneNumber,
    TimeOfDay,
    Year,
    unfenced,
)

THREE = Number(value=3, after=("files",))
LARGE = Number(value=4756)
HEIGHT = Number(value=Decimal("12.5"), unit="metres", after=("m", "metres"), within=Decimal("0.1"))
FOUNDED = Year(value=1436)
PHONE = PhoneNumber(number="415-555-0132")
DAY = Date(value=datetime.date(2023, 10, 9))
EVENING = TimeOfDay(hour=19, minute=5)
MORNING = TimeOfDay(hour=7, minute=0)
RIVER = Name(text="Drost", before=("the", "river", "the river"), after=("river",), what="name of the river")
NOTE = Name(text="book_list.md", also=("book_list",))
MILLS = Choice(text="Drost Mills", others=("Bral Pumps",), also=("Drost",), before=("the",))
LIST = Items(items=(Name(text="Ada"), Name(text="Bo"), Number(value=3)))
STEPS = Items(items=(Number(value=1), Number(value=2)), ordered=True)
EVERY = (THREE, LARGE, HEIGHT, FOUNDED, PHONE, DAY, EVENING, MORNING, RIVER, NOTE, MILLS, LIST, STEPS)

RIGHT: list[tuple[Answer, tuple[str, ...]]] = [
    (THREE, ("3", " 3.\n", "+3", "3.0", "**3**", '"3"', "`3`", "The answer is 3.", "Answer: 3", "There are 3 files")),
    (LARGE, ("4756", "4,756", "4 756", "4\u202f756", "4'756", "4_756", "4756.00")),
    (HEIGHT, ("12.5", "12.5 m", "12.5m", "12.45 metres", "12.6")),
    (FOUNDED, ("1436", "in 1436", "In the year 1436.", "It was in 1436", "the year 1436")),
    (
        PHONE,
        ("415-555-0132", "4155550132", "(415) 555-0132", "415.555.0132", "+1 415 555 0132", "415\u2011555\u20110132"),
    ),
    (
        DAY,
        ("2023-10-09", "9 October 2023", "October 9, 2023", "Oct 9 2023", "the 9th of October 2023", "On 9 Oct 2023."),
    ),
    (EVENING, ("19:05", "19.05", "19:05:00", "7:05 pm", "7:05 p.m.", "at 19:05", "19:05 h", "7:05PM")),
    (MORNING, ("07:00", "7:00", "7 am", "7:00 AM")),
    (RIVER, ("Drost", "drost", "the Drost", "the river Drost", "River Drost", "the Drost river", "It is the Drost.")),
    (NOTE, ("book_list.md", "Book_List.md", "book_list", "`book_list.md`", "\u201cbook_list.md\u201d")),
    (MILLS, ("Drost Mills", "the Drost Mills", "Drost")),
    (LIST, ("Ada, Bo, 3", "3; bo; ada", "Ada, Bo and 3", "- Ada\n- Bo\n- 3", '["Ada", "Bo", 3]', "Ada, Bo, and 3.")),
    (STEPS, ("1, 2", "1 and 2", "[1, 2]")),
]
WRONG: list[tuple[Answer, tuple[str, ...]]] = [
    (THREE, ("", "-3", "3%", "$3", "3 or 4", "33", "3 folders", "not 3", "3 3", "3.1", "no 3", "--3", "3 files or so")),
    (LARGE, ("4, 7, 5, 6", "4 7 5 6", "47,56", "4756-", "-4756", "4.756", "4756%", "0x1294", "4756 4756", "9" * 5_000)),
    (HEIGHT, ("12.5 km", "12.5 cm", "-12.5", "12,5", "12.7")),
    (FOUNDED, ("-1436", "1436 or 1437", "before 1436", "after 1436", "1,436", "1436 BC", "14361", "1436%")),
    (
        PHONE,
        ("415-555-0133", "415-555-01324", "5550132", "4, 1, 5, 5, 5, 5, 0, 1, 3, 2", "-4155550132", "24155550132"),
    ),
    (DAY, ("2023-10-10", "9 October", "9 October 2024", "10/9/2023", "10 or 9 October 2023", "October 2023")),
    (EVENING, ("07:05", "19:50", "19", "7:05", "7:05 am", "19:05 or 19:10", "-19:05", "1905", "19:05:30")),
    (MORNING, ("7", "07:00 pm", "19:00", "17 am")),
    (RIVER, ("", "the", "river", "Drost or Bral", "not Drost", "Drost, Bral", "Drostr", "the Bral river")),
    (NOTE, ("book_list.txt", "book_lists.md", "list.md", "booklist", "book_list.md or garden.md")),
    (MILLS, ("Bral Pumps", "Drost Mills or Bral Pumps", "Mills", "not Drost Mills", "Drost Pumps")),
    (LIST, ("Ada, Bo", "Ada, Bo, 3, 3", "Ada, Ada, 3", "Ada Bo 3", "Ada, Bo, -3", "[]", "{}", "")),
    (STEPS, ("2, 1", "1", "12", "1, 2, 3")),
]


@pytest.mark.parametrize(("answer", "said"), [(answer, each) for answer, given in RIGHT for each in given])
def test_what_a_person_takes_for_the_answer_is_right(answer: Answer, said: str) -> None:
    assert answer.accepts(said)


@pytest.mark.parametrize(("answer", "said"), [(answer, each) for answer, given in WRONG for each in given])
def test_what_says_something_else_is_wrong(answer: Answer, said: str) -> None:
    assert not answer.accepts(said)


@pytest.mark.parametrize("answer", EVERY)
def test_an_answer_states_its_form_and_accepts_what_it_says(answer: Answer) -> None:
    assert answer.form.startswith("Answer with ") and answer.form.endswith(".")
    assert answer.accepts(str(answer))


@settings(deadline=None)
@given(st.sampled_from(EVERY), st.text(max_size=40))
def test_any_text_is_judged(answer: Answer, text: str) -> None:
    assert isinstance(answer.accepts(text), bool)
    assert not answer.accepts(f"not {answer}")


def test_a_fence_is_taken_off() -> None:
    assert unfenced('```json\n{"a": 1}\n```\n') == unfenced('```\n{"a": 1}```') == '{"a": 1}'
    assert unfenced("```") == "```" and unfenced("a ``` b") == "a ``` b"


def test_a_long_answer_is_judged_in_no_time() -> None:
    begun_s = time.thread_time()
    for said in ("a" + " " * 3_990 + "b", "a" + " " * 1_990 + "b", "[" * 1_990, '"' * 2_000):
        assert not Items(items=(Name(text="a"), Name(text="b"))).accepts(said)
    assert time.thread_time() - begun_s < 0.1
