"""Do values cross unchanged, as exact builtin types, and nothing else?"""

from __future__ import annotations

import datetime
import fractions
import json
import math
import sys
from collections import Counter, OrderedDict
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.quality.sandbox.inside.values import DEPTH, Untransferable, decode, encode, written

KEYS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary(), st.complex_numbers(allow_nan=False)
)
VALUES = st.recursive(
    KEYS,
    lambda inner: st.one_of(
        st.lists(inner),
        st.tuples(inner, inner),
        st.dictionaries(KEYS, inner),
        st.sets(KEYS),
        st.frozensets(KEYS),
        st.lists(inner).map(tuple),
    ),
    max_leaves=20,
)


def crossed(value: Any) -> Any:
    return decode(json.loads(written(encode(value))))


def types_of(value: Any) -> Any:
    if isinstance(value, dict):
        return [(types_of(key), types_of(part)) for key, part in value.items()]
    if isinstance(value, list | tuple):
        return (type(value), [types_of(part) for part in value])
    return type(value)


@given(VALUES)
def test_a_value_crosses_unchanged(value: Any) -> None:
    other = crossed(value)
    assert other == value
    assert types_of(other) == types_of(value)


STANDARD = st.one_of(
    st.fractions(),
    st.decimals(allow_nan=False),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.timedeltas(),
    st.tuples(st.fractions(), st.dates()),
)


@given(STANDARD)
def test_a_value_of_the_standard_library_crosses_unchanged(value: Any) -> None:
    other = crossed(value)
    assert (type(other), other) == (type(value), value)


@pytest.mark.parametrize(
    "told", [["q", 1, 0], ["q", "x"], ["D", "one"], ["y", 2026, 13, 1], ["Y"], ["e", "x"], ["T", 25, 0, 0, 0]], ids=lambda told: told[0]
)
def test_parts_of_no_such_value_are_refused(told: list[Any]) -> None:
    with pytest.raises(Untransferable):
        decode(told)


def test_a_class_that_calls_itself_a_fraction_crosses_as_one() -> None:
    class Fraction:
        numerator, denominator = 1, 2

        def __eq__(self, other: object) -> bool:
            return True

    Fraction.__module__, Fraction.__qualname__ = "fractions", "Fraction"
    assert crossed(Fraction()) == fractions.Fraction(1, 2)
    assert type(crossed(Fraction())) is fractions.Fraction


def test_a_time_with_a_zone_does_not_cross() -> None:
    with pytest.raises(Untransferable, match="datetime"):
        encode(datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))


@pytest.mark.parametrize("number", [-(2**53), 2**53 + 1, -0.0, 5e-324, 1.7976931348623157e308, math.inf, -math.inf])
def test_a_number_crosses_exactly(number: float) -> None:
    other = crossed(number)
    assert (type(other), other) == (type(number), number)
    assert math.copysign(1, other) == math.copysign(1, number)


def test_an_integer_of_any_length_crosses() -> None:
    """Python refuses to write more than 4300 decimal digits."""
    assert crossed(10**5000) == 10**5000


def test_what_equals_no_value_or_holds_state_crosses_too() -> None:
    assert math.isnan(crossed(math.nan))
    assert crossed(range(3, 9, 2)) == range(3, 9, 2)
    assert crossed(bytearray(b"x")) == bytearray(b"x")
    assert crossed('\ud800\n"\\') == '\ud800\n"\\'
    generated = crossed(n * n for n in range(3))
    assert generated != [0, 1, 4]
    assert list(generated) == [0, 1, 4]


class Pair(NamedTuple):
    a: int
    b: int


class Forged(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


@pytest.mark.parametrize(
    ("value", "base"),
    [
        (Forged(3), 3),
        (True, True),
        (Counter("aab"), {"a": 2, "b": 1}),
        (OrderedDict(a=1), {"a": 1}),
        (Pair(1, 2), (1, 2)),
        (type("Name", (str,), {"__str__": lambda _: "other"})("x"), "x"),
    ],
)
def test_a_subclass_crosses_as_the_value_of_its_base(value: Any, base: Any) -> None:
    other = crossed(value)
    assert type(other) is type(base)
    assert base == other


@pytest.mark.parametrize("value", [object(), len, type, sys, {"a": lambda: 0}, [object()]])
def test_what_is_no_builtin_value_does_not_cross(value: Any) -> None:
    with pytest.raises(Untransferable):
        encode(value)


def test_a_knot_does_not_cross() -> None:
    knot: list[Any] = []
    knot.append(knot)
    with pytest.raises(Untransferable, match=f"deeper than {DEPTH}"):
        encode(knot)


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"a": 1},
        [],
        [1],
        ["x"],
        ["i"],
        ["i", 5],
        ["i", "zz"],
        ["f", "one"],
        ["b", "0"],
        ["s", ["l"]],
        ["d", 1],
        ["d", [1]],
        ["d", [["l"], 1]],
        ["r", 1, 2, 0],
        ["r", "a"],
        ["c", "x", 1],
        ["l", ["__import__", "os"]],
    ],
)
def test_a_forged_message_is_no_value(told: Any) -> None:
    with pytest.raises(Untransferable):
        decode(told)


def test_a_message_nested_too_deeply_is_no_value() -> None:
    told: Any = 1
    for _ in range(DEPTH + 5):
        told = ["l", told]
    with pytest.raises(Untransferable):
        decode(told)
