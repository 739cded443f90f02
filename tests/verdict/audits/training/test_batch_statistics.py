"""batch_statistics: a drift that nobody makes up for, in standard deviations."""

from __future__ import annotations

import json

import pytest

from fireassay.verdict.audits.training.batch_statistics import AUDIT
from tests.handmade import Handmade


def found(ranks: list[list[float]], *, sent: float | None = 0.0, then: list[list[float]] | None = None) -> list[tuple[str, str]]:
    """The sketches of ranks after 8 steps, and after 16."""
    made = Handmade(levels=(1, 2), blocks=1)
    number = made.launch(workers=2)
    for rank in range(2):
        if sent is not None:
            made.fingerprint(number, "buffers_broadcast", sent, rank=rank)
        for step, sketches in ((8, ranks), (16, then)):
            if sketches is not None:
                row = (number, rank, 0, step, "batch_statistics", float(len(sketches[rank])), json.dumps(sketches[rank]))
                made.rows["fingerprints"].append(row)
    return [(one.severity, one.evidence) for one in AUDIT.examine(made.measured(), {})]


def test_the_drift_is_the_root_mean_square_in_standard_deviations() -> None:
    ((severity, evidence),) = found([[0.0, 0.0], [0.3, 0.4]])  # sqrt((0.09 + 0.16) / 2)
    assert severity == "warning"
    assert "by 0.35 standard deviations after 8 steps of launch 0" in evidence


@pytest.mark.parametrize(("apart", "expected"), [(2e-3, ["warning"]), (5e-4, ["note"]), (1e-6, [])])
def test_a_small_drift_is_a_note_and_rounding_nothing(apart: float, expected: list[str]) -> None:
    assert [severity for severity, _ in found([[0.0], [apart]])] == expected


def test_who_sends_them_or_makes_them_equal_in_the_end_has_none() -> None:
    assert found([[0.0], [0.5]], sent=1.0) == []
    assert found([[0.0], [0.5]], sent=None) == [], "not known"
    assert found([[0.0], [0.5]], then=[[0.2], [0.2]]) == []
