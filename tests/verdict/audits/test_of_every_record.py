"""Audits that were made for training and look at loads too: each fires on a planted fault of a load, and is silent on a clean one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from fireassay import catalog
from fireassay.estimates.estimate import Estimate
from fireassay.frames.record_data import RecordData
from fireassay.kinds.serving import KIND as SERVING
from fireassay.metrics.results import LazyResults
from fireassay.spec.experiment import Quality
from fireassay.spec.sections.serving import Objectives
from fireassay.verdict.judge import examine
from fireassay.verdict.pitfalls import of_record
from tests.serving_made import ServingMade, simulated
from tests.verdict.judging import concluded
from tests.verdict.served import clean, found, rules

pytestmark = pytest.mark.slow
BOTH = (
    "contention",
    "launches",
    "looks",
    "sealed",
    "energy_readings",
    "instrument_errors",
    "cherry_picked",
    "construct_mismatch",
    "quality_unmeasured",
    "quality_loss",
    "percentile_trials",
    "silent_slo",
    "tail_blindness",
    "apples_to_oranges",
)


@pytest.fixture(scope="module")
def whole() -> RecordData:
    """Five launches, counters of a quiet machine."""
    made = simulated(rate=(8.0,), blocks=5, seed=1)
    quiet(made)
    return made.measured()


def quiet(made: ServingMade, **grown: float) -> None:
    """10 s of 2 processors: 12 s busy, 11.5 by the launch and 0.3 by assay."""
    usual = {
        ("cpu", "busy"): 12.0,
        ("cpu", "idle"): 8.0,
        ("cpu", "steal"): 0.0,
        ("launch", "cpu_time"): 11.5,
        ("coordinator", "cpu_time"): 0.3,
    }
    for number in range(len(made.rows["launches"])):
        for (device, counter), value in usual.items():
            made.reading(number, device, counter, 100.0, at_s=0.0)
            made.reading(number, device, counter, 100.0 + grown.get(counter, value), at_s=10.0)


@pytest.mark.parametrize("audit", BOTH)
def test_an_audit_of_every_record_is_silent_on_a_clean_load(audit: str, whole: RecordData) -> None:
    assert SERVING.concerns(catalog.load("verdict.audits", audit).about)
    assert found(audit, whole) == ()


def test_other_programs_on_the_machine_are_named() -> None:
    made = simulated(rate=(8.0,), blocks=3)
    quiet(made, busy=15.0)
    assert ("foreign_load", "warning") in rules("contention", made.measured())


def test_a_load_that_gets_slower_from_block_to_block_is_a_drift() -> None:
    """Ten blocks, each 5 % slower than the one before."""
    made = ServingMade(rate=(10.0,), blocks=10)
    for block in range(10):
        launch = made.launch(block=block)
        for place in range(20):
            made.request(launch, 0.1 * place, at_s=[0.1 * 1.05**block], tokens_out=1)
    quiet(made)
    (finding,) = found("contention", made.measured())
    assert finding.rule == "drift"
    assert finding.evidence.startswith("the answer times rose by")


def test_two_launches_are_few_and_a_failed_one_is_named() -> None:
    made = simulated(rate=(8.0,), blocks=2)
    made.launch(block=2, status="failed", reason="no request was answered: 12 refused")
    found_here = {one.rule: one for one in found("launches", made.measured())}
    assert sorted(found_here) == ["failed_launches", "few_launches"]
    assert "12 refused" in found_here["failed_launches"].evidence


def test_launches_of_the_plan_that_are_not_there_are_named() -> None:
    made = simulated(rate=(4.0, 8.0), blocks=3, seconds=4.0)
    gone = made.rows["launches"].pop()
    assert gone[3] == "rate=8"
    (finding,) = found("cherry_picked", made.measured())
    assert (finding.rule, finding.configuration) == ("launches_missing", "rate=8")


def test_an_interrupted_record_is_inadmissible() -> None:
    assert rules("sealed", replace(clean(), state="interrupted")) == [("record_interrupted", "invalid")]


def test_rows_that_the_writer_dropped_are_inadmissible() -> None:
    made = simulated(rate=(8.0,), blocks=3, seconds=4.0)
    made.event(1, "rows_dropped", 1.0, value=17.0, detail={"why": "disk full"})
    assert rules("instrument_errors", made.measured()) == [("rows_dropped", "invalid")]


def test_blocks_with_several_seeds_are_named() -> None:
    made = simulated(rate=(4.0, 8.0), blocks=3, seconds=4.0)
    made.rows["launches"][0] = (*made.rows["launches"][0][:8], 99, *made.rows["launches"][0][9:])
    assert rules("construct_mismatch", made.measured()) == [("seeds_differ", "warning")]


def test_a_load_that_asks_fewer_prompts_of_a_file_is_no_other_evaluation() -> None:
    assert found("construct_mismatch", simulated(rate=(1.0, 30.0), blocks=3, seconds=10.0, scored=0.9).measured()) == ()


def test_launches_on_other_hosts_are_named() -> None:
    made = simulated(rate=(4.0, 8.0), blocks=3, seconds=4.0)
    made.rows["launches"] = [(*row[:-1], f'{{"host": "{row[3]}"}}') for row in made.rows["launches"]]
    assert rules("apples_to_oranges", made.measured()) == [("placement_differs", "warning")]


def tail(heavy: int) -> RecordData:
    """100 requests of 0.1 s a launch, so many of them of 2 s."""
    made = ServingMade(rate=(10.0,), blocks=3)
    for block in range(3):
        launch = made.launch(block=block)
        for place in range(100):
            made.request(launch, 0.1 * place, at_s=[2.0 if place < heavy else 0.1], tokens_out=1)
    return made.measured()


def test_a_tail_that_holds_a_fifth_of_the_time_is_named() -> None:
    """1 x 2 / (2 + 9.9) = 17 %; 2 x 2 / (4 + 9.8) = 29 %."""
    assert found("tail_blindness", tail(1)) == ()
    (finding,) = found("tail_blindness", tail(2))
    assert finding.evidence.endswith("the median says little about what users wait for")


def test_a_percentile_on_too_few_requests_is_inadmissible() -> None:
    value = Estimate(value=1.0, low=0.9, high=1.1, unit="s", confidence=0.95, n_launches=3, n_trials=300, method="", signature="")
    assert rules("percentile_trials", clean(), {"ttft_p99": {"rate=8": value}}) == [("too_few_trials", "invalid")]
    assert rules("percentile_trials", clean(), {"ttft_p99": {"rate=8": replace(value, n_trials=400)}}) == []
    assert rules("percentile_trials", clean(), {"e2e_p95": {"rate=8": replace(value, n_trials=71)}}) == [("too_few_trials", "invalid")]


def test_no_percentile_of_our_own_stands_on_too_few_requests() -> None:
    measured = simulated(rate=(2.0, 8.0, 32.0), blocks=5, slots=64, seed=4).measured()
    results = LazyResults(measured)
    assert found("percentile_trials", measured, results) == ()
    assert any(isinstance(value, Estimate) for name in ("tpot_p95", "ttft_p95", "e2e_p95") for value in results[name].values())


def test_a_throughput_that_broke_the_objectives_is_said_with_its_goodput() -> None:
    findings = examine(simulated(rate=(60.0,), blocks=3, seconds=10.0).measured(), "silent_slo")
    (finding,) = [one for one in findings if one.rule == "objectives_broken"]
    assert finding.severity == "note"
    assert "while the objectives were broken" in finding.evidence
    assert "of which goodput is" in finding.evidence


def test_without_objectives_none_can_be_broken() -> None:
    measured = simulated(rate=(8.0,), objectives=Objectives(), blocks=1, seconds=2.0).measured()
    assert catalog.load("verdict.audits", "silent_slo").blind(measured, {}) == "no objective was set (serving.objectives)"
    assert catalog.load("verdict.audits", "silent_slo").blind(clean(), {}) is None


def test_a_load_at_which_answers_are_worse_is_named_with_what_to_look_at() -> None:
    """100 prompts, all right at 1/s; at 2/s every third is wrong."""
    made = ServingMade(rate=(1.0, 2.0), blocks=5, quality=Quality(metric="exact_match", margin=0.05), seconds=100.0)
    for block in range(5):
        for name in made.names:
            launch = made.launch(name, block=block)
            for place in range(100):
                wrong = name == "rate=2" and place % 3 == 0
                made.request(launch, float(place), text="41" if wrong else "42", expected="42", example=str(place), replica=place % 2)
    judgement = concluded(made.measured())
    (finding,) = [one for one in judgement.verdict.findings if one.rule == "quality_degraded"]
    assert finding.configuration == "rate=2"
    assert finding.remedy.startswith("examine the answers at this load")
    assert judgement.verdict.dimensions["rate=2"]["correctness"].status == "FAIL"


def test_pitfalls_of_a_load_are_those_of_loads(whole: RecordData) -> None:
    listed = {pitfall.name for pitfall in of_record(whole)}
    audits: dict[str, Any] = catalog.load_all("verdict.audits")
    assert listed == {name for name, audit in audits.items() if SERVING.concerns(audit.about)}
    assert {"ledger", "send_lag", "contention"} <= listed
    assert not {"replicas", "same_loss", "warm_up", "samples"} & listed


def test_a_clean_load_fell_into_no_pitfall(whole: RecordData) -> None:
    states = {pitfall.name: pitfall.state for pitfall in of_record(whole)}
    assert [name for name, state in states.items() if state == "fallen into"] == []
    assert states["ledger"] == "clear"
    assert states["cross_talk"] == "not examined"


def test_energy_windows_that_are_too_short_are_named() -> None:
    made = simulated(rate=(8.0,), blocks=3, seconds=4.0)  # launches of 18 s
    made.reading(0, "rapl:package-0", "sensor_period", 1.0)
    assert rules("energy_readings", made.measured()) == [("energy_window_short", "warning")]
    fine = simulated(rate=(8.0,), blocks=3, seconds=4.0)
    fine.reading(0, "rapl:package-0", "sensor_period", 0.1)
    assert found("energy_readings", fine.measured()) == ()


def test_looks_that_ended_early_are_named() -> None:
    made = simulated(rate=(8.0,), blocks=3, seconds=4.0)
    made.manifest |= {"looks": [{"confidence": 0.98, "sentence": "not yet"}], "looks_ended": "at_most"}
    assert rules("looks", made.measured()) == [("looks", "note"), ("precision_not_reached", "warning")]


def test_the_measured_part_alone_is_looked_at() -> None:
    """Warm-up requests may be as slow as they like."""
    slow = clean()
    warm = pl.col("phase") == "warm_up"
    rows = slow.tables["requests"].with_columns(done_ns=pl.when(warm).then(pl.col("done_ns") + 10**12).otherwise(pl.col("done_ns")))
    assert found("tail_blindness", replace(slow, tables={**slow.tables, "requests": rows})) == ()
