"""Is an engine only named where engines were compared?  What is named: tests/runners/evaluating/test_forcing.py."""

from __future__ import annotations

from pathlib import Path

from fireassay.kinds.evaluation.audits.corrupt_engine import AUDIT, REMEDIES, SEVERITIES
from tests.answered import rows, scored


def test_answers_that_nobody_scored_again_name_no_engine(tmp_path: Path) -> None:
    assert list(AUDIT.examine(scored(tmp_path, {"a": rows(["yes", "no"])}), {})) == []


def test_whatever_is_found_has_a_remedy() -> None:
    assert set(SEVERITIES) == set(REMEDIES)
