"""Is a degraded quality FAIL with exit code 1 for every kind of record, whatever else holds at other configurations?"""

from __future__ import annotations

import pytest

from fireassay.exit_codes import EXIT_OF_STATUS
from fireassay.kinds.serving import judging as serving
from fireassay.kinds.training import judging as training
from fireassay.verdict.judging import Evidence
from fireassay.verdict.types import GateResult, Recommendation, Status
from tests.verdict.making import good

STATUS_OF = {"training": training.status, "serving": serving.status}  # that of evaluations: tests/kinds/evaluation/test_judging.py
PICKED = (Recommendation(goal="recommended", configuration="workers=2", sentence=""),)


def gates(gate: str, *statuses: Status) -> tuple[GateResult, ...]:
    names = ("workers=1", "workers=2", "workers=4")
    return tuple(
        GateResult(gate=gate, configuration=name, status=status, sentence="") for name, status in zip(names, statuses, strict=True)
    )


@pytest.mark.parametrize("kind", STATUS_OF)
@pytest.mark.parametrize(
    ("gate", "last", "code"),
    [
        ("quality", "FAIL", 1),
        ("recovery", "FAIL", 1),
        ("quality", "PASS", 0),
        ("efficiency", "FAIL", 0),  # another count pays, or another load holds
    ],
)
def test_one_degraded_configuration_fails_the_record(kind: str, gate: str, last: Status, code: int) -> None:
    made = good(levels=(1, 2, 4)).measured()
    evidence = Evidence(data=made, results={}, findings=(), gates=gates(gate, "PASS", "PASS", last))
    assert EXIT_OF_STATUS[STATUS_OF[kind](evidence, PICKED)] == code
