"""Is another result than one worker's found wrong, unless the program repeats nothing?"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs_made import WRITES, correctness, judged

pytestmark = pytest.mark.slow


def test_another_result_is_wrong_whatever_the_speed(tmp_path: Path) -> None:
    judgement = judged(tmp_path, WRITES, "{workers}", "{out}", program={"result": ["{out}/out"]})
    assert judgement.verdict.status == "FAIL"
    (finding,) = [finding for finding in judgement.verdict.findings if finding.severity == "fail"]
    assert finding.rule == "result_differs"
    assert "in 3 of 3 rounds" in finding.evidence


def test_a_base_that_does_not_repeat_itself_decides_nothing(tmp_path: Path) -> None:
    judgement = judged(tmp_path, WRITES, "{launch}", "{out}", program={"result": ["{out}/out"]})
    assert correctness(judgement)[0] == "NOT_MEASURED"
    assert {f.rule for f in judgement.verdict.findings if f.severity == "warning"} >= {"result_not_repeatable"}
    assert judgement.verdict.status != "FAIL"
