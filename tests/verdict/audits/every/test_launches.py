"""launches: too few, and those that did not end well, are named."""

from __future__ import annotations

import pytest

from fireassay.spec.sections.workload import Profile
from tests.verdict.claiming import NOTHING, claim, found, the_finding
from tests.verdict.making import good, judged, rules

pytestmark = pytest.mark.slow


def test_five_launches_are_enough() -> None:
    assert rules(judged(good(blocks=5))) == {}


def test_fewer_than_five_launches_are_a_warning_for_each_configuration() -> None:
    judgement = judged(good(blocks=4))
    assert rules(judgement) == {"few_launches": ["workers=1", "workers=2"]}
    assert {finding.severity for finding in judgement.verdict.findings} == {"warning"}
    assert judgement.verdict.status == "PASS"


def test_a_record_that_only_profiles_has_no_launches_too_few() -> None:
    made = good(blocks=1)
    made.experiment = made.experiment.model_copy(update={"profile": Profile(only=True)})
    made.rows["launches"] = [(*row[:7], "profile", *row[8:]) for row in made.rows["launches"]]
    assert "few_launches" not in rules(judged(made))


def test_a_failed_launch_is_named_with_its_reason_and_does_not_count() -> None:
    made = good()
    made.launch(workers=2, block=5, status="failed", reason="the script exited with 3")
    made.launch(workers=2, block=6, status="timeout", reason="no end after 60 s")
    judgement = judged(made)
    assert rules(judgement) == {"failed_launches": ["workers=2"]}
    (finding,) = judgement.verdict.findings
    assert finding.evidence == "2 launches did not succeed; the first (launch 10): the script exited with 3"
    assert judgement.verdict.status == "PASS"


def test_an_aborted_launch_was_tried_again_and_is_not_named() -> None:
    made = good()
    made.launch(workers=2, block=0, status="aborted", reason="interrupted")
    assert rules(judged(made)) == {}


def test_a_launch_that_was_never_started_is_named() -> None:
    made = good()
    made.launch(workers=1, block=5, status="skipped", reason="the experiment's time was over")
    assert rules(judged(made)) == {"failed_launches": ["workers=1"]}


def test_when_a_launch_of_five_failed_four_are_too_few() -> None:
    made = good()
    made.rows["launches"][3] = (*made.rows["launches"][3][:12], "failed", "exit 1", *made.rows["launches"][3][14:])
    assert rules(judged(made)) == {"few_launches": ["workers=2"], "failed_launches": ["workers=2"]}


def test_a_claim_with_five_launches_and_an_interval_is_clear() -> None:
    assert found(claim()) == {}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"launches": NOTHING, "trials": NOTHING}, "no number of launches is given"),
        ({"launches": NOTHING}, "500 trials inside a launch say nothing about the next launch"),
        ({"launches": 3, "planned_launches": 3}, "3 launches; a reliable interval needs 5"),
        ({"interval": NOTHING}, "no interval is given"),
        ({"interval": {"low": 5.8, "high": 6.2, "kind": "standard_deviation"}}, "a standard deviation is given, which is not an interval"),
        ({"interval": {"low": 5.8, "high": 6.2}}, "the kind of interval is not stated"),
    ],
)
def test_a_claim_without_launches_or_interval_has_too_little_evidence(change: dict[str, object], words: str) -> None:
    assert found(claim(change)) == {"evidence_insufficient": "warning"}
    assert words in the_finding(claim(change), "evidence_insufficient").evidence
