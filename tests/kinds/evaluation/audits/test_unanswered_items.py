"""Does an evaluation with failures say how many, and when they are too many?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.kinds.evaluation.audits.unanswered_items import AUDIT
from tests.answered import rows, scored


@pytest.mark.parametrize(("missing", "severity"), [(1, "warning"), (2, "warning"), (3, "invalid")])
def test_more_failures_than_allowed_are_invalid(missing: int, severity: str, tmp_path: Path) -> None:
    answers = [None] * missing + ["yes"] * (200 - missing)
    (finding,) = AUDIT.examine(scored(tmp_path, {"a": rows(answers)}), {})
    assert finding.severity == severity
    assert f"{missing} of 200 items were not answered" in finding.evidence


def test_the_limit_is_the_experiments(tmp_path: Path) -> None:
    measured = scored(tmp_path, {"a": rows([None] * 40 + ["yes"] * 60)}, most_failed=0.5)
    (finding,) = AUDIT.examine(measured, {})
    assert finding.severity == "warning"


def test_without_failures_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert list(AUDIT.examine(scored(tmp_path, {"a": rows(["yes", "no"])}), {})) == []
