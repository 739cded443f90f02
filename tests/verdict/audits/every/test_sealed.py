"""sealed: only a complete, sealed record carries a verdict."""

from __future__ import annotations

import pytest

from tests.verdict.making import good, judged, rules

pytestmark = pytest.mark.slow


def test_a_complete_sealed_record_is_let_pass() -> None:
    assert rules(judged(good())) == {}


@pytest.mark.parametrize(
    ("state", "sealed", "rule", "remedy"),
    [
        ("interrupted", False, "record_interrupted", "`assay resume RECORD`"),
        ("complete", False, "record_unsealed", "`assay resume RECORD`"),
        ("failed", True, "record_failed", "run the experiment again"),
        ("running", False, "record_running", "wait until the experiment has ended"),
    ],
)
def test_every_other_record_is_invalid_with_its_remedy(state: str, sealed: bool, rule: str, remedy: str) -> None:
    judgement = judged(good(), state=state, sealed=sealed)
    assert rules(judgement) == {rule: [None]}
    (finding,) = judgement.verdict.findings
    assert finding.severity == "invalid"
    assert remedy in finding.remedy
    assert judgement.verdict.status == "INVALID"
    assert "INVALID, no number of this record may be quoted" in judgement.verdict.sentence


def test_the_reason_in_the_manifest_is_told() -> None:
    made = good()
    made.manifest["reason"] = "no launch of workers=2 succeeded"
    assert judged(made, state="failed").verdict.findings[0].evidence.endswith(": no launch of workers=2 succeeded")
