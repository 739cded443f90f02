"""deadline: the wall time of a run."""

from __future__ import annotations

import pytest

from fireassay.spec.experiment import Gates
from tests.verdict.making import gate, good, judged, pick

pytestmark = pytest.mark.slow


def test_without_a_deadline_there_is_no_gate() -> None:
    assert all(result.gate != "deadline" for result in judged(good()).verdict.gates)


@pytest.mark.parametrize(
    ("deadline", "one", "two"), [(21.0, "PASS", "PASS"), (20.0, "INCONCLUSIVE", "PASS"), (15.0, "FAIL", "PASS"), (13.0, "FAIL", "FAIL")]
)
def test_a_run_must_end_before_the_deadline(deadline: float, one: str, two: str) -> None:
    """Runs take 20 s and 20/sqrt(2) = 14.14 s, give or take one per cent."""
    judgement = judged(good(gates=Gates(deadline_s=deadline)))
    assert (gate(judgement, "deadline", 1).status, gate(judgement, "deadline", 2).status) == (one, two)


def test_the_base_is_held_to_the_deadline_like_any_other() -> None:
    judgement = judged(good(gates=Gates(deadline_s=15.0)))
    base = judgement.verdict.dimensions["workers=1"]["performance"]
    assert base.status == "FAIL"
    assert "misses the gate of at most 15 s" in base.sentence
    assert judgement.verdict.recommendations[0].configuration == "workers=2"


def test_the_largest_under_the_deadline_is_picked_and_none_where_none_is() -> None:
    assert pick(judged(good(gates=Gates(deadline_s=15.0))), "under deadline") == "workers=2"
    nobody = judged(good(gates=Gates(deadline_s=13.0)))
    assert pick(nobody, "under deadline") is None
    assert nobody.verdict.status == "FAIL"  # every configuration certainly misses what was asked
