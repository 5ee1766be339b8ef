"""When two results are the same, as a task declares it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlfactory.envs.tools.sql.compare import Comparison, difference
from rlfactory.envs.tools.sql.rows import BLOB_MARK, Rows, plain

MULTISET = Comparison()
ORDERED = Comparison(rows="ordered")
SET = Comparison(rows="set")
PERMUTED = Comparison(columns="permutation")


def rows(*values: tuple[object, ...], truncated: bool = False) -> Rows:
    width = len(values[0]) if values else 1
    return Rows(
        columns=tuple(f"c{index}" for index in range(width)),
        rows=tuple(tuple(map(plain, row)) for row in values),
        truncated=truncated,
    )


@pytest.mark.parametrize(
    ("got", "wanted", "comparison", "words"),
    [
        (rows((1, "a"), (2, "b")), rows((2, "b"), (1, "a")), MULTISET, ""),
        (rows((1, "a"), (2, "b")), rows((2, "b"), (1, "a")), ORDERED, "the rows are right, their order is not"),
        (rows((1,), (1,), (2,)), rows((1,), (2,), (2,)), MULTISET, "the values differ"),
        (rows((1,), (1,), (2,)), rows((1,), (2,)), MULTISET, "3 rows, 2 wanted"),
        (rows((1,), (1,), (2,)), rows((1,), (2,)), SET, ""),
        (rows((1,), (3,)), rows((1,), (2,)), SET, "the values differ"),
        (rows((1, 2)), rows((1,)), MULTISET, "2 columns, 1 wanted"),
        (rows(("a", 1), ("b", 2)), rows((1, "a"), (2, "b")), MULTISET, "the values differ"),
        (rows(("a", 1), ("b", 2)), rows((1, "a"), (2, "b")), PERMUTED, ""),
        (rows((1, 2), (2, 1), (3, 3)), rows((2, 1), (1, 2), (3, 4)), PERMUTED, "the values differ"),
        (rows((1, 2), (2, 3), (3, 1)), rows((2, 1), (3, 2), (1, 3)), PERMUTED, ""),
        (rows((1.0,)), rows((1,)), MULTISET, ""),
        (rows((0.1 + 0.2,)), rows((0.3,)), MULTISET, ""),
        (rows((0.31,)), rows((0.3,)), MULTISET, "the values differ"),
        (rows((10**12,)), rows((10**12 + 1,)), MULTISET, "the values differ"),
        (rows(("1",)), rows((1,)), MULTISET, "the values differ"),
        (rows(("A",)), rows(("a",)), MULTISET, "the values differ"),
        (rows((None,)), rows((0,)), MULTISET, "the values differ"),
        (rows((None,)), rows((None,)), MULTISET, ""),
        (rows((float("nan"),)), rows((float("nan"),)), MULTISET, ""),
        (rows((b"ab",)), rows(("x'6162'",)), MULTISET, "the values differ"),
        (rows((b"ab",)), rows((b"ab",)), MULTISET, ""),
        (rows((1,), truncated=True), rows((1,)), MULTISET, "more than 1 rows, or too many bytes"),
        (rows(), rows(), MULTISET, ""),
        (rows(), rows((1,)), MULTISET, "0 rows, 1 wanted"),
    ],
)
def test_what_is_the_same(got, wanted, comparison, words):
    assert difference(got, wanted, comparison) == words


def test_rows_that_differ_in_noise_are_paired_each_with_its_own():
    noisy = rows((1.0000001, 5.0), (1.0, 4.0))
    assert difference(noisy, rows((1.0, 5.0), (1.0000001, 4.0)), MULTISET) == ""
    assert difference(noisy, rows((1.0, 5.0), (1.0000001, 5.0)), MULTISET) == "the values differ"


def test_a_comparison_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="no such comparison: rows 'sorted'"):
        Comparison(rows="sorted")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="tolerances"):
        Comparison(relative_tolerance=-1)


def test_bytes_are_no_text():
    assert str(plain(b"a")).startswith(BLOB_MARK)


VALUES = st.none() | st.integers(-3, 3) | st.floats(-2, 2) | st.text("ab", max_size=2) | st.binary(max_size=1)
TABLES = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[VALUES] * width), min_size=1, max_size=6))


@settings(deadline=None)
@given(TABLES, st.randoms(use_true_random=False))
def test_shuffled_rows_and_columns_are_found_again(table, random):
    shuffled = random.sample(table, len(table))
    order = random.sample(range(len(table[0])), len(table[0]))
    turned = rows(*(tuple(row[index] for index in order) for row in shuffled))
    assert difference(rows(*shuffled), rows(*table), MULTISET) == ""
    assert difference(turned, rows(*table), PERMUTED) == ""
    assert difference(rows(*table), rows(*table), ORDERED) == ""


@settings(deadline=None)
@given(TABLES, st.data())
def test_one_changed_value_is_noticed(table, data):
    line = data.draw(st.integers(0, len(table) - 1))
    column = data.draw(st.integers(0, len(table[0]) - 1))
    changed = [list(row) for row in table]
    changed[line][column] = "something else"
    assert difference(rows(*map(tuple, changed)), rows(*table), PERMUTED) == "the values differ"
