"""A record's list of pitfalls: fallen into, clear, could not be examined."""

from __future__ import annotations

import pytest

from fireassay import catalog
from fireassay.frames.record_data import from_record
from fireassay.kinds.training import KIND as TRAINING
from fireassay.record.reader import open_record
from fireassay.spec.experiment import Scaling
from fireassay.verdict.pitfalls import OF_TIMINGS, Pitfall, of_record
from tests.handmade import Handmade
from tests.metrics.trials_made import timing
from tests.records.make import HERE, TRAINERS
from tests.tiers import some
from tests.verdict.making import good
from tests.verdict.test_broken_trainers import FAULTS, stored

pytestmark = pytest.mark.slow


def pitfalls(made: Handmade) -> dict[str, Pitfall]:
    return {pitfall.name: pitfall for pitfall in of_record(made.measured())}


def test_a_good_record_fell_into_none_and_every_audit_of_records_is_listed_once() -> None:
    found = of_record(good().measured())
    assert [pitfall.name for pitfall in found if pitfall.state == "fallen into"] == []
    audits = catalog.load_all("verdict.audits")
    of_records = {name for name, audit in audits.items() if TRAINING.concerns(audit.about)}
    assert sorted(pitfall.name for pitfall in found) == sorted(of_records)


def test_what_a_record_cannot_fall_into_is_not_listed() -> None:
    assert not {"ratio_summary", "extrapolation", "absolute_base", "quiet_machine"} & set(pitfalls(good()))


def test_the_gravest_stand_first_and_the_clear_ones_last() -> None:
    made = good(blocks=4, scaling=Scaling(mode="strong"))
    made.rows["steps"] = [(*row[:12], 8.0, *row[13:]) for row in made.rows["steps"]]  # the batch grows with the workers
    made.rows["samples"] = []
    found = of_record(made.measured())
    assert [pitfall.name for pitfall in found[:2]] == ["scaling_mode", "launches"]
    assert [pitfall.state for pitfall in found] == sorted((p.state for p in found), key=["fallen into", "not examined", "clear"].index)


def test_a_record_without_counters_could_not_be_examined_for_contention() -> None:
    """The note of the audit itself says so."""
    contention = pitfalls(good(leave_out=("counters",)))["contention"]
    assert contention.state == "not examined"
    assert contention.reason


def test_what_could_not_be_examined_has_its_reason_and_the_others_have_none() -> None:
    for pitfall in pitfalls(good(leave_out=("scores", "steps", "counters"))).values():
        assert bool(pitfall.reason) is (pitfall.state == "not examined"), pitfall


@pytest.mark.parametrize("name", some(sorted(TRAINERS), 2))
def test_the_stored_records_collect_no_further_alarms(name: str) -> None:
    """Three launches of 15 steps on a busy machine: few launches and foreign load are true; the fault is named; nothing else."""
    judgement = stored(name)
    expected = {*FAULTS.get(name, []), "few_launches", "quality_degraded"}
    warned = {f.rule for f in judgement.verdict.findings if f.severity != "note"}
    machine = {
        f.rule for f in catalog.load("verdict.audits", "contention").examine(from_record(open_record(HERE / name)), judgement.results)
    }
    assert warned - machine <= expected


def test_a_timing_is_not_asked_for_steps_and_quality() -> None:
    found = pitfalls(timing([1.0, 1.0], [1.1, 1.1], [1.0, 1.0]))
    assert set(found) == OF_TIMINGS
    assert not any("probe" in pitfall.reason or "quality" in pitfall.reason for pitfall in found.values())
