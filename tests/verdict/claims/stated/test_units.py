"""Units of claims: what is understood, and which two can be compared."""

from __future__ import annotations

import pytest

from fireassay.verdict.claims.stated.units import convertible, difference, parse


@pytest.mark.parametrize(
    ("text", "kind", "factor"),
    [
        ("s", "time", 1.0),
        ("ms", "time", 1e-3),
        ("µs", "time", 1e-6),
        ("minutes", "time", 60.0),
        ("hours", "time", 3600.0),
        ("GPU-hours", "worker time", 3600.0),
        ("node hours", "worker time", 3600.0),
        ("s/it", "time", 1.0),
        ("tokens/s", "rate", 1.0),
        ("tok/s", "rate", 1.0),
        ("out tok/s", "rate", 1.0),
        ("ktokens/s", "rate", 1e3),
        ("tokens per second", "rate", 1.0),
        ("req/min", "rate", 1 / 60),
        ("qps", "rate", 1.0),
        ("GB/s", "rate", 1e9),
        ("Gbit/s", "rate", 1.25e8),
        ("GiB/s", "rate", 2.0**30),
        ("TFLOP/s", "rate", 1e12),
        ("TFLOPS", "rate", 1e12),
        ("tokens/s/GPU", "rate", 1.0),
        ("%", "percent", 1.0),
        ("x", "ratio", 1.0),
        ("ratio", "ratio", 1.0),
        ("points", "points", 1.0),
        ("J/token", "energy", 1.0),
        ("kWh", "energy", 3.6e6),
        ("W", "power", 1.0),
        ("USD", "money", 1.0),
        ("USD/million tokens", "money", 1e-6),
        ("$/M tokens", "money", 1e-6),
        ("frobs", None, 1.0),
        ("", "ratio", 1.0),
    ],
)
def test_a_unit_is_a_kind_with_a_factor(text: str, kind: str | None, factor: float) -> None:
    unit = parse(text)
    assert unit.kind == kind
    assert unit.factor == pytest.approx(factor)


def test_a_unit_says_what_it_counts_per_what_and_which_tokens() -> None:
    unit = parse("output tokens/s/GPU")
    assert (unit.noun, unit.per, unit.part) == ("token", "worker", "output")
    assert parse("total tokens/s").part == parse("input + output tokens/s").part == "total"
    assert parse("tokens/s per user").per == "user"
    assert parse("samples/s").noun == parse("images/s").noun == "item"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("ms", "s", True),
        ("tokens/s", "ktok/s", True),
        ("GB/s", "Gbit/s", True),
        ("images/s", "samples/s", True),
        ("tokens/s", "requests/s", False),
        ("tokens/s", "tokens/s/GPU", False),
        ("output tokens/s", "total tokens/s", False),
        ("s", "tokens/s", False),
    ],
)
def test_units_compare_where_they_measure_the_same(one: str, other: str, same: bool) -> None:
    assert convertible(parse(one), parse(other)) is same
    assert (difference(parse(one), parse(other)) is None) is same


def test_an_unknown_unit_is_held_against_nothing() -> None:
    assert difference(parse("frobs"), parse("s")) is None
    assert not convertible(parse("frobs"), parse("frobs"))
    assert parse(None).kind is None
