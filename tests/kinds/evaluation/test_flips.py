"""Is a cap on changed items decided by bounds, and is the reference compared with itself?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.kinds.evaluation.gates import FLIPS
from tests.answered import rows, scored
from tests.verdict.judging import Asked

BEFORE = ["yes"] * 300 + ["no"] * 100


def swapped(count: int) -> list[str]:
    """As many items won as lost."""
    return ["no"] * count + ["yes"] * (300 - count) + ["yes"] * count + ["no"] * (100 - count)


@pytest.mark.parametrize(("each", "status"), [(4, "PASS"), (10, "INCONCLUSIVE"), (40, "FAIL")])
def test_an_equal_mean_hides_no_flips(each: int, status: str, tmp_path: Path) -> None:
    """8, 20 and 80 of 400 items against a cap of 5 %; the mean does not change."""
    measured = scored(tmp_path, {"a": rows(BEFORE), "b": rows(swapped(each))}, margin=0.1, most_flips=0.05)
    verdict = Asked(measured).verdict
    gates = {gate.gate: gate for gate in verdict.gates}
    assert (gates["held"].status, gates["flips"].status, verdict.status) == ("PASS", status, status)
    assert verdict.dimensions["answers=b"]["correctness"].status == status
    assert "of 400 items score otherwise, one-sided bounds, at most 5 % may" in gates["flips"].sentence


def test_without_a_cap_nothing_is_decided(tmp_path: Path) -> None:
    assert FLIPS.check(scored(tmp_path, {"a": rows(BEFORE), "b": rows(swapped(40))}, margin=0.1), {}) == ()


def test_the_reference_against_itself_is_named(tmp_path: Path) -> None:
    twice = [row for first, second in zip(rows(BEFORE), rows(swapped(10)), strict=True) for row in (first, second)]
    (result,) = FLIPS.check(scored(tmp_path, {"a": twice, "b": rows(BEFORE)}, margin=0.1, most_flips=0.5), {})
    assert result.sentence.endswith("at most 50 % may; the reference's own answers in 5 %")
