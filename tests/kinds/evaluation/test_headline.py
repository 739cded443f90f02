"""Does a list name the side that decided, and how?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.verdict.headline import headline
from fireassay.verdict.judge import judge
from tests.answered import rows, scored


def side(lost: int) -> list[dict[str, object]]:
    return rows(["no"] * lost + ["yes"] * (270 - lost) + ["no"] * 30)


@pytest.mark.parametrize(
    ("sides", "said"),
    [
        ({"a": side(0), "b": side(30), "c": side(90), "d": side(2)}, "at answers=c, degraded"),  # the worst, and not the last
        ({"a": side(0), "b": side(3), "c": side(1)}, "at answers=b, held"),
        ({"a": side(0)}, "]"),
    ],
)
def test_the_worst_side_stands_for_the_record(sides: dict[str, list[dict[str, object]]], said: str, tmp_path: Path) -> None:
    measured = scored(tmp_path, sides, margin=0.05)
    told = headline(measured, judge(measured))
    assert told.startswith("Exact match 0.")
    assert told.endswith(said)


def test_a_cap_on_flips_that_failed_is_named(tmp_path: Path) -> None:
    before, after = ["yes"] * 300 + ["no"] * 100, ["no"] * 40 + ["yes"] * 300 + ["no"] * 60
    measured = scored(tmp_path, {"a": rows(before), "b": rows(after)}, margin=0.1, most_flips=0.05)
    assert headline(measured, judge(measured)) == "flips at answers=b"
