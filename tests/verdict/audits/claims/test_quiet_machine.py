"""quiet_machine: whether others used the machines."""

from __future__ import annotations

import pytest

from tests.verdict.claiming import NOTHING, claim, found


@pytest.mark.parametrize(("said", "expected"), [(True, {}), (False, {"machine_shared": "warning"}), (NOTHING, {"machine_unsaid": "note"})])
def test_a_claim_says_whether_the_machine_was_its_own(said: object, expected: dict[str, str]) -> None:
    assert found(claim(claim={"exclusive": said})) == expected


def test_a_score_needs_no_quiet_machine() -> None:
    numbers = [{"metric": "accuracy", "value": 0.9, "run": "r"}]
    assert found(claim(numbers=numbers, claim={"exclusive": False})) == {}
