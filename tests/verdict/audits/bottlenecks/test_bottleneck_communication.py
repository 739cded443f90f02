"""Exposed communication is told with what would be gained without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.frames.training.parallelism import Kind, Parallelism
from fireassay.verdict.audits.bottlenecks.bottleneck_communication import AUDIT, knob
from fireassay.verdict.judge import judge
from tests.builders import estimate
from tests.handmade import Handmade
from tests.metrics.straggling import Training, record

ONE = "workers=1"


def of(value: float, half: float = 0.0, unit: str = "s") -> dict[str, Estimate]:
    return {ONE: estimate(value, half, unit)}


def measured() -> Handmade:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    return made


def test_a_part_is_told_from_a_tenth_on_with_its_gain_and_its_knob() -> None:
    assert tuple(AUDIT.examine(measured().measured(), {"step_time": of(1.0), "comm_exposed": of(0.09)})) == ()
    (found,) = AUDIT.examine(measured().measured(), {"step_time": of(1.0), "comm_exposed": of(0.5)})
    assert (found.rule, found.severity, found.configuration) == (AUDIT.name, "note", ONE)
    assert "50 % of it; without it a step would be at most 2 times as fast" in found.evidence
    assert "assay tune" in found.remedy


def test_a_wide_interval_is_the_shares_too_and_the_seconds_are_not_rounded_by_it() -> None:
    """35.5 ms of 68 ms is 52%; rounded by its interval it read "40 ms [0, 160]" beside that, which is 59%."""
    wide = replace(estimate(0.0355, 0.1245, "s"), low=0.0)
    (found,) = AUDIT.examine(measured().measured(), {"step_time": of(0.068), "comm_exposed": {ONE: wide}})
    assert "takes 35.5 ms of every step, 52 % of it [0, 100]; without it" in found.evidence
    narrow = {"step_time": of(0.068), "comm_exposed": of(0.034, 0.0068)}
    assert "takes 34 ms of every step, 50 % of it [40, 60];" in next(iter(AUDIT.examine(measured().measured(), narrow))).evidence


def test_what_was_not_measured_is_no_bottleneck() -> None:
    absent = {ONE: Absent(reason="not_measured", detail="")}
    assert tuple(AUDIT.examine(measured().measured(), {"step_time": of(1.0), "comm_exposed": absent})) == ()
    assert tuple(AUDIT.examine(measured().measured(), {})) == ()


def test_what_is_waiting_is_taken_off_the_gain() -> None:
    """0.3 of 0.4 s exposed and 0.15 s waiting, of which 0.1 may have been hidden: without the other 0.25 s a step of 1 s is 1.33 times as
    fast.
    """
    results = {
        "step_time": of(1.0),
        "comm_exposed": of(0.3),
        "overlap": of(0.25, 0.0, "fraction"),
        "comm_wait": of(0.15),
        "comm_total": of(0.4),
    }
    (found,) = AUDIT.examine(measured().measured(), results)
    assert "(25% of all communication is hidden)" in found.evidence
    assert "30 % of it, of which 50.0 ms is waiting for slower ranks; without the rest a step would be at most 1.33" in found.evidence


def test_waiting_for_no_rank_in_particular_has_a_name_and_knobs_of_its_own() -> None:
    results = {"step_time": of(1.0), "comm_exposed": of(0.3), "comm_wait": of(0.25, 0.05), "comm_total": of(0.3)}
    (found,) = AUDIT.examine(measured().measured(), results)
    assert found.rule == "bottleneck_waiting"
    assert "250 ms of every step for the latest of them, 25 % of it, and no rank is consistently slow" in found.evidence
    assert "at most 1.333 times as fast [1.250, 1.429]" in found.evidence
    assert "a faster network does not help" in found.remedy


def test_waiting_that_computing_hides_is_not_taken_off() -> None:
    """0.2 s exposed, the transfer of the last bucket; 0.4 s of waiting lies under the backward pass: a faster network gains all of the
    0.2.
    """
    results = {"step_time": of(1.0), "comm_exposed": of(0.2), "comm_wait": of(0.4), "comm_total": of(0.6)}
    (found,) = AUDIT.examine(measured().measured(), results)
    assert (found.rule, "waiting" in found.evidence) == (AUDIT.name, False)
    assert "at most 1.25 times as fast" in found.evidence


@pytest.mark.slow
@pytest.mark.parametrize("leave_out", [(), ("collectives",)])
def test_what_is_waiting_for_a_slow_rank_is_told_once_and_not_as_communication(leave_out: tuple[str, ...]) -> None:
    """All wait for rank 1, 120 ms late in its backward pass of a step of 190 ms: a faster network would gain next to nothing."""
    late = record(Training(ranks=3, seed=3, late={(1, "backward"): 120.0}), launches=3, leave_out=leave_out)
    judged = judge(late.measured())
    rules = [found.rule for found in judged.verdict.findings if found.rule.startswith(("straggler", "bottleneck"))]
    assert rules == ["straggler"]
    assert judged.results["comm_exposed"]["workers=3"].value > 0.1 * judged.results["step_time"]["workers=3"].value  # type: ignore[union-attr]


@pytest.mark.slow
def test_communication_is_still_told_beside_a_slow_rank() -> None:
    """Short work between four transfers of 5 ms, and rank 0 late in loading: both are so."""
    work = {"data": 1.0, "forward": 5.0, "backward": 5.0, "optimizer": 1.0, "between": 0.5}
    made = record(Training(ranks=2, seed=3, late={(0, "data"): 20.0}, usual_ms=work), launches=3)
    rules = [found.rule for found in judge(made.measured()).verdict.findings if found.rule.startswith(("straggler", "bottleneck"))]
    assert sorted(set(rules) - {"bottleneck_data"}) == ["bottleneck_communication", "straggler"]


@pytest.mark.parametrize(
    ("kind", "evidence", "word"),
    [
        ("data", "DistributedDataParallel over 2 ranks", "bucket_cap_mb"),
        ("data", "collectives as large as the gradients in 8 of 8 steps", "DistributedDataParallel does both"),
        ("sharded", "FSDP over 2 ranks", "reshard_after_forward"),
        ("tensor", "DTensor", "sequence parallelism"),
        (None, "not known", "fewer and larger calls"),
    ],
)
def test_the_advice_is_of_the_parallelism_that_there_is(kind: Kind | None, evidence: str, word: str) -> None:
    said = knob(Parallelism(kind=kind, by="recognised", evidence=evidence))
    assert word in said
    assert ("bucket_cap_mb" in said) == (word == "bucket_cap_mb")
