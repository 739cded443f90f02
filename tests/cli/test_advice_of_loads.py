"""Looks at the intervals of a load: of its own metrics, those that a load has not are left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.api.experiment_run import earlier_record, foreseen
from fireassay.api.interim_analysis import analyse, primary_intervals
from fireassay.cli.support.dry_run import text
from tests.serving_made import seal, simulated

pytestmark = pytest.mark.slow


def test_goodput_is_primary_at_every_load() -> None:
    measured = simulated(rate=(4.0, 8.0), blocks=3, seconds=4.0).measured()
    assert sorted(primary_intervals(measured)) == ["goodput at rate=4", "goodput at rate=8"]


def test_without_objectives_tokens_are() -> None:
    measured = simulated(rate=(4.0,), blocks=3, seconds=4.0, objectives={}).measured()
    assert list(primary_intervals(measured)) == ["output_throughput at rate=4"]


def test_a_look_at_a_record_of_a_load_tells_its_widths(tmp_path: Path) -> None:
    made = simulated(rate=(4.0,), blocks=5, seconds=4.0)
    experiment = made.experiment
    made.experiment = experiment.model_copy(update={"launches": experiment.launches.model_copy(update={"precision": 0.5})})
    found = analyse(seal(made.measured(), tmp_path), 5)
    assert list(found.widths) == ["goodput at rate=4"]
    assert found.sentence.startswith("after 5 rounds the only interval is goodput at rate=4")


def test_a_dry_run_tells_the_time_of_the_load_and_what_it_will_show(tmp_path: Path) -> None:
    """2 loads x 3 launches x (2 + 20) s = 132 s."""
    experiment = simulated(rate=(4.0, 8.0), blocks=3, seconds=20.0).experiment
    shown = text(experiment, foreseen(experiment, tmp_path), tmp_path)
    assert "2 min 12 s of load" in shown
    assert "p99 at rate=8: about 480 requests" in shown


def test_an_earlier_record_of_the_same_load_is_found_at_other_rates_and_not_of_another_load(tmp_path: Path) -> None:
    seal(simulated(rate=(4.0,), blocks=1, seconds=2.0).measured(), tmp_path)
    same = simulated(rate=(8.0,), blocks=1, seconds=2.0).experiment
    other = simulated(rate=(4.0,), blocks=1, seconds=2.0, scenarios=("D(200,100)",)).experiment
    assert earlier_record(same, tmp_path) is not None
    assert earlier_record(other, tmp_path) is None
