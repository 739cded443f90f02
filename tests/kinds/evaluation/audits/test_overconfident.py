"""Is a bin of choices named whose confidence its right answers contradict, and none that they confirm?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.audits.overconfident import AUDIT
from fireassay.kinds.evaluation.calibrated import of_record
from tests.answered import choices


def rated(folder: Path, sure: float, right: int, of: int) -> RecordData:
    """So many items of two choices, all chosen with one confidence, of which some are right."""
    return choices(folder, {"a": [(sure, index < right) for index in range(of)]})


def test_a_bin_that_its_answers_contradict_is_named(tmp_path: Path) -> None:
    (finding,) = AUDIT.examine(rated(tmp_path, 0.9, 50, 100), {})
    assert finding.severity == "note"
    assert "100 choices with a mean confidence of 0.900 are right in 0.500 [0.40" in finding.evidence


def test_a_bin_that_its_answers_confirm_is_not(tmp_path: Path) -> None:
    assert list(AUDIT.examine(rated(tmp_path, 0.9, 90, 100), {})) == []


def test_the_brier_score_is_the_mean_square(tmp_path: Path) -> None:
    measured = rated(tmp_path, 0.9, 50, 100)
    value = of_record(measured)["brier_score"].compute(measured, {})["answers=a"]
    assert value.value == pytest.approx(0.5 * 0.01 + 0.5 * 0.81)  # type: ignore[union-attr]
