"""The status of a record: INVALID > FAIL > INCONCLUSIVE > PASS, and what may not change it."""

from __future__ import annotations

import random
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fireassay import catalog
from fireassay.errors import EnvironmentLacks
from fireassay.estimates.estimate import Estimate
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import ALL
from fireassay.metrics.results import values as needs
from fireassay.spec.experiment import Gates, Quality, Scaling
from fireassay.spec.experiment import Verdict as Requested
from fireassay.verdict.judge import Judgement, check, examine, examined, judge
from tests.handmade import Handmade
from tests.struck import struck
from tests.tiers import drawn
from tests.verdict.making import change, estimate, gate, good, judged, pick, rules, wrong

pytestmark = pytest.mark.slow


# ---- the order of precedence


def seed_mismatch(made: Handmade) -> Handmade:
    change(made, "fingerprints", 6, lambda row: f"{row[1]}" if row[4] == "parameter_hash" else row[6], workers=2)
    return made


def test_a_good_record_shows_a_gain_without_a_finding() -> None:
    judgement = judged(good())
    assert judgement.verdict.status == "GAIN"
    assert judgement.verdict.findings == ()
    assert pick(judgement, "recommended") == "workers=2"


def test_invalid_goes_before_fail() -> None:
    judgement = judged(seed_mismatch(good()), state="interrupted", sealed=False)
    assert wrong(judgement) == ["record_interrupted", "replica_seed_mismatch"]
    assert judgement.verdict.status == "INVALID"


def test_fail_goes_before_inconclusive() -> None:
    made = seed_mismatch(good(blocks=2))
    assert gate(judged(made), "quality", 2).status == "INCONCLUSIVE"
    assert judged(made).verdict.status == "FAIL"


def test_inconclusive_goes_before_pass() -> None:
    """Neither configuration is decided, so nothing can be recommended."""
    assert judged(good(blocks=2)).verdict.status == "INCONCLUSIVE"


def test_findings_stand_in_the_order_of_their_gravity() -> None:
    made = seed_mismatch(good(blocks=4, leave_out=("counters",)))
    severities = [finding.severity for finding in judged(made, state="failed").verdict.findings]
    assert severities == ["invalid", "fail", "warning", "warning", "note"]


@pytest.mark.parametrize(("state", "sealed"), [("interrupted", False), ("failed", True), ("complete", False)])
def test_nothing_is_recommended_from_an_inadmissible_record(state: str, sealed: bool) -> None:
    judgement = judged(good(prices=1.0, gates=Gates(deadline_s=100.0)), state=state, sealed=sealed)
    assert len(judgement.verdict.recommendations) == 4
    assert {found.configuration for found in judgement.verdict.recommendations} == {None}


def test_nothing_is_recommended_where_one_configuration_is_inadmissible() -> None:
    judgement = judged(good(scaling=Scaling(mode="weak"), leave_out=("samples",)))
    assert judgement.verdict.status == "INVALID"
    assert pick(judgement, "recommended") is None


# ---- what is required


@pytest.mark.parametrize(("efficiency", "expected"), [(0.9, "PASS"), (0.7, "INCONCLUSIVE"), (0.5, "FAIL")])
def test_what_is_required_decides_the_status(efficiency: float, expected: str) -> None:
    judgement = judged(good(efficiency={2: efficiency}, gates=Gates(required_workers=2)))
    assert judgement.verdict.status == expected
    assert pick(judgement, "recommended") == ("workers=2" if expected == "PASS" else "workers=1")


def test_without_a_requirement_the_base_is_no_gain() -> None:
    assert judged(good(efficiency={2: 0.5})).verdict.status == "NO_GAIN"


def test_a_requirement_passes_on_speed_where_no_score_was_named_and_the_sentence_says_so() -> None:
    judgement = judged(good(quality=None, gates=Gates(required_workers=2)))
    assert judgement.verdict.status == "PASS"
    assert "Not measured: correctness" in judgement.verdict.sentence


# ---- what was not measured


def test_without_a_named_score_speed_decides() -> None:
    judgement = judged(good(quality=None, prices=1.0))
    assert judgement.verdict.status == "GAIN"
    assert pick(judgement, "recommended") == "workers=2"
    assert "quality held" not in judgement.verdict.sentence


def test_a_wrong_result_fails_although_no_score_was_named() -> None:
    assert judged(seed_mismatch(good(quality=None))).verdict.status == "FAIL"


def test_a_record_without_any_launch_is_judged() -> None:
    judgement = judged(Handmade(levels=(1, 2, 4)))
    assert judgement.verdict.status == "INCONCLUSIVE"
    assert {result.status for result in judgement.verdict.gates} == {"NOT_MEASURED"}
    assert {r.status for row in judgement.verdict.dimensions.values() for r in row.values()} == {"NOT_MEASURED"}


def test_a_record_whose_launches_all_failed_is_judged() -> None:
    made = Handmade(levels=(1, 2), blocks=2, quality=Quality(), prices=1.0)
    for block in range(2):
        for workers in (1, 2):
            made.launch(workers=workers, block=block, status="failed", reason="exit 3")
    judgement = judged(made, state="failed")
    assert judgement.verdict.status == "INVALID"
    assert rules(judgement)["failed_launches"] == ["workers=1", "workers=2"]
    cost = judgement.results["cost_total"][ALL]
    assert isinstance(cost, Estimate)
    assert cost.value == pytest.approx((2 * 1 + 2 * 2) * 10.0 / 3600.0)  # failed time is paid for: 60 worker-seconds


def test_a_single_level_is_its_own_base() -> None:
    judgement = judged(good(levels=(4,)))
    assert judgement.verdict.status == "PASS"
    assert pick(judgement, "recommended") == "workers=4"
    assert "4 workers are the largest admissible worker count (the base)" in judgement.verdict.sentence


def test_speedups_may_be_relative_to_a_base_that_is_not_the_smallest_level() -> None:
    judgement = judged(good(levels=(1, 2, 4), scaling=Scaling(base=2)))
    assert estimate(judgement, "speedup", 2).value == 1.0
    assert judgement.verdict.dimensions["workers=2"]["performance"].sentence.startswith("the base: step time")
    # workers=1 takes 1 s, workers=2 1/1.8 s: a speedup of 1/1.8 on half of the workers is an efficiency of 1.11.
    assert estimate(judgement, "efficiency", 1).value == pytest.approx(2.0 / 1.8, rel=1e-3)


# ---- one question at a time


def test_one_audit_is_examined_with_the_metrics_that_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(
        "fireassay.metrics.results.values", lambda metric, data, results: read.append(metric.name) or needs(metric, data, results)
    )
    made = seed_mismatch(good())
    assert [finding.rule for finding in examine(made.measured(), "same_loss", "replicas")] == ["replica_seed_mismatch"]
    assert read == ["loss_deviation"]
    assert {result.gate for result in check(made.measured(), "efficiency")} == {"efficiency"}
    assert read == ["loss_deviation", "efficiency", "speedup"]


def test_one_audit_finds_what_the_verdict_lists() -> None:
    made = seed_mismatch(good())
    assert [finding for finding in judged(made).verdict.findings if finding.rule == "replica_seed_mismatch"] == list(
        examine(made.measured(), "replicas")
    )


def test_a_judgement_of_which_only_the_verdict_is_read_is_the_same() -> None:
    """What most tests look at (`tests/verdict/judging.py`) is what `judge` says."""
    made = seed_mismatch(good(prices=1.0))
    assert same(judged(made).whole, judge(made.measured()))


def test_an_audit_runs_once_per_record() -> None:
    measured, runs = good().measured(), []
    audit = replace(catalog.load("verdict.audits", "samples"), examine=lambda *_: runs.append(1) or ())
    assert examined(measured, audit) == examined(measured, audit) == ()
    assert runs == [1]


def test_an_unknown_audit_or_gate_is_refused_with_those_that_exist() -> None:
    for ask in (examine, check):
        with pytest.raises(EnvironmentLacks, match="no verdict.* plug-in named 'speed'.*quality"):
            ask(good().measured(), "speed")


def test_dimensions_that_nobody_requested_are_computed_when_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    made = good(prices=1.0)
    whole = judge(made.measured())
    made.experiment = made.experiment.model_copy(update={"verdict": Requested(only=("performance",))})
    told: list[tuple[int, int]] = []
    judgement = judge(made.measured(), lambda done, of: told.append((done, of)))
    assert told == [(done, len(told)) for done in range(1, len(told) + 1)]
    assert len(told) < len(whole.results)
    assert judgement.results == whole.results


# ---- what must not change a judgement


def same(one: Judgement, two: Judgement) -> bool:
    return one.results == two.results and one.verdict == two.verdict


@pytest.mark.deep
@settings(max_examples=4)
@given(st.integers(0, 2**32))
def test_the_order_of_the_rows_of_every_table_changes_nothing(seed: int) -> None:
    made = good(levels=(1, 2, 3), prices=0.5, gates=Gates(deadline_s=15.0))
    measured = made.measured()
    numbers = random.Random(seed)
    tables = {
        name: table[numbers.sample(range(table.height), table.height)] if table.height else table for name, table in measured.tables.items()
    }
    assert same(judge(measured), judge(replace(measured, tables=tables)))


@pytest.mark.deep
def test_the_order_of_rows_changes_nothing_in_a_fault_launch() -> None:
    measured = struck().measured()
    tables = {name: table.reverse() for name, table in measured.tables.items()}
    assert same(judge(measured), judge(replace(measured, tables=tables)))


def without(measured: RecordData, workers: int) -> RecordData:
    """The record of an experiment that never asked for this worker count."""
    gone = measured.table("launches").filter(pl.col("workers") == workers)["launch"].to_list()
    levels = tuple(level for level in measured.levels if level != workers)
    factor = measured.experiment.factor.model_copy(update={"levels": levels})
    tables = {name: table.filter(~pl.col("launch").is_in(gone)) for name, table in measured.tables.items()}
    return replace(measured, experiment=measured.experiment.model_copy(update={"factor": factor}), tables=tables)


@pytest.mark.deep
@settings(max_examples=5, suppress_health_check=[HealthCheck.too_slow])
@given(st.floats(0.05, 1.2), st.integers(0, 40), st.booleans())
def test_one_more_configuration_changes_no_gate_of_the_others(efficiency: float, right: int, agrees: bool) -> None:
    made = good(levels=(1, 2, 4), efficiency={4: efficiency}, right={4: right}, prices=0.5, gates=Gates(deadline_s=15.0))
    if not agrees:
        change(made, "fingerprints", 6, lambda row: f"{row[1]}" if row[4] == "parameter_hash" else row[6], workers=4)
    measured = made.measured()
    with_, alone = judge(measured), judge(without(measured, 4))
    others = [result for result in with_.verdict.gates if result.configuration != "workers=4"]
    assert others == list(alone.verdict.gates)
    for name in ("workers=1", "workers=2"):
        assert with_.verdict.dimensions[name] == alone.verdict.dimensions[name]


@pytest.mark.deep
@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.floats(0.05, 1.2), min_size=2, max_size=2), st.floats(0.05, 1.2), st.floats(0.05, 1.2))
def test_a_stricter_gate_never_recommends_more(efficiencies: list[float], one: float, two: float) -> None:
    loose, strict = sorted((one, two))
    asked = {2: efficiencies[0], 4: efficiencies[1]}
    picks = [
        pick(judged(good(levels=(1, 2, 4), efficiency=asked, gates=Gates(efficiency=least))), "recommended") for least in (loose, strict)
    ]
    names = [None, "workers=1", "workers=2", "workers=4"]
    assert names.index(picks[0]) >= names.index(picks[1])


@settings(max_examples=drawn(3, 6), suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 40), st.integers(0, 40), st.floats(0.5, 20.0))
def test_what_is_not_held_is_never_picked_whatever_its_speedup(two: int, four: int, speed: float) -> None:
    made = good(levels=(1, 2, 4), right={2: two, 4: four}, efficiency={2: speed, 4: speed}, prices=0.5)
    judgement = judged(made)
    for recommendation in judgement.verdict.recommendations:
        if recommendation.configuration is not None:
            workers = int(recommendation.configuration.removeprefix("workers="))
            assert gate(judgement, "quality", workers).status == "PASS"
