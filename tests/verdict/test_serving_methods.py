"""The twelve rules and the fields of an artifact, of a load."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fireassay.frames.record_data import RecordData
from fireassay.verdict.artifact import artifact
from fireassay.verdict.hoefler_belli import Rule, checklist
from tests.serving_made import ServingMade, simulated
from tests.verdict.judging import concluded

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def load() -> RecordData:
    made = simulated(rate=(4.0, 8.0), blocks=5, seconds=10.0, seed=2)
    made.manifest["environment"]["before"] = {"cpu": {"model": "EPYC"}, "engines": {"server": {"path": "/version", "said": "{}"}}}
    return made.measured()


def rules(measured: RecordData) -> dict[int, Rule]:
    return {rule.number: rule for rule in checklist(measured, concluded(measured))}


def test_all_twelve_are_answered_and_what_is_not_kept_says_what_to_do(load: RecordData) -> None:
    found = rules(load)
    assert list(found) == list(range(1, 13))
    assert all(bool(rule.remedy) == (rule.answer in ("in part", "not kept")) for rule in found.values())


def test_a_load_reports_no_speedup_and_no_ratio(load: RecordData) -> None:
    assert [rules(load)[number].answer for number in (1, 4)] == ["not applicable", "not applicable"]


def test_percentiles_are_never_averaged(load: RecordData) -> None:
    assert "percentiles are never averaged" in rules(load)[3].evidence


def test_launches_are_counted_by_load_and_not_by_replicas(load: RecordData) -> None:
    assert rules(load)[7].evidence.startswith("configurations are compared within randomised rounds, at least 5 launches each")
    few = simulated(rate=(4.0, 8.0), blocks=3, seconds=4.0).measured()
    assert rules(few)[7].answer == "not kept"


def test_tails_beside_the_median_keep_the_rule_on_statistics(load: RecordData) -> None:
    assert rules(load)[8].answer == "kept"
    nothing = ServingMade(rate=(4.0,), blocks=1)
    nothing.launch()
    assert rules(nothing.measured())[8].evidence == "no latency was measured"


def test_factors_need_a_digest_of_what_was_sent_and_engines_that_say_what_they_are(load: RecordData) -> None:
    assert rules(load)[9].answer == "kept"

    def with_manifest(**changed: Any) -> RecordData:
        return replace(load, manifest={**load.manifest, **changed})

    assert rules(with_manifest(schedules={}))[9].evidence.endswith("the traffic sent has no digest")
    silent = {"before": {"cpu": {"model": "EPYC"}, "engines": {"server": {"absent": "says nothing"}}}, "after": {}}
    assert rules(with_manifest(environment=silent))[9].answer == "in part"


def test_times_run_from_when_a_request_was_due(load: RecordData) -> None:
    assert rules(load)[10].evidence.startswith("a request's time runs from its due time")


def test_the_artifact_says_what_the_load_was(load: RecordData) -> None:
    fields = {field.name: field.text for field in artifact(load)}
    assert fields["Settings"] == (
        "chat with tiny; lengths D(100,100); poisson arrivals for 10 s after 2 s; loads 4, 8; temperature 0; prompts synthetic"
    )
    assert "a separate load from fresh client processes" in fields["Error bars"]
    assert fields["Run time"] == "24 s per launch"
