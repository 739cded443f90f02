"""The runner of simulated clusters: a whole, sealed record that says everywhere that nothing in it was measured."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from fireassay.errors import SpecError
from fireassay.frames.record_data import from_record
from fireassay.record.reader import open_record
from fireassay.record.seal import verify
from fireassay.runners.experiment.run import run
from fireassay.spec.sections.faults import Fault
from fireassay.spec.sections.workload import Workload
from fireassay.verdict.judge import judge
from tests.builders import replayed
from tests.simulated_made import experiment, record


def test_it_makes_a_sealed_record_with_a_row_per_step_and_rank(tmp_path: Path) -> None:
    path = run(experiment(levels=(1, 3), launches=2, steps=7, sweep=False), root=tmp_path)
    assert verify(path) == ()
    found = open_record(path)
    steps = found.table("steps")
    assert steps.height == 2 * 7 * (1 + 3)
    assert steps.equals(steps.sort("launch", "rank", "incarnation", "step"))
    assert found.table("communication").height == 2 * 7 * 3
    ends = steps.sort("launch", "rank", "step").with_columns(pl.col("begin_ns").shift(-1).over("launch", "rank").alias("next"))
    assert ends.filter(pl.col("next").is_not_null() & (pl.col("next") != pl.col("end_ns"))).height == 0


@pytest.mark.slow
def test_it_says_everywhere_that_it_is_simulated(tmp_path: Path) -> None:
    path = run(experiment(levels=(1, 2), launches=1, steps=3), root=tmp_path)
    found = open_record(path)
    words = "computed by a simulator, not measured"
    assert found.manifest["simulated"]["what"] == words
    assert found.manifest["simulated"]["serial"] == 0.05
    assert found.manifest["environment"]["before"]["simulated"] == words
    assert all(json.loads(row)["simulated"] == words for row in found.table("launches")["placement"])
    for table in ("steps", "communication", "collectives"):
        assert found.table(table)["method"].unique().to_list() == ["simulated"]


@pytest.mark.deep
def test_a_replay_of_it_stays_invalid(tmp_path: Path) -> None:
    source = run(experiment(levels=(1, 2), launches=1, steps=3), root=tmp_path)
    again = run(replayed(open_record(source).experiment, source), root=tmp_path)
    assert judge(from_record(open_record(again))).verdict.status == "INVALID"


@pytest.mark.deep
def test_the_same_seed_gives_the_same_times(tmp_path: Path) -> None:
    durations = []
    for root in ("a", "b"):
        steps = open_record(run(experiment(levels=(1, 2), launches=2, steps=3), root=tmp_path / root)).table("steps")
        durations.append(steps.sort("launch", "rank", "step").select(pl.col("end_ns") - pl.col("begin_ns"))["end_ns"].to_list())
    assert durations[0] == durations[1]


def test_sweeps_are_launches_of_their_own() -> None:
    """One for each count above one; never timed, without steps."""
    found = record(levels=(1, 2, 4), launches=2)
    sweeps = found.table("launches").filter(pl.col("role") == "sweep")
    assert sweeps["workers"].to_list() == [2, 4]
    assert found.table("steps").join(sweeps, on="launch", how="semi").height == 0
    assert set(found.table("collectives").filter(pl.col("step").is_null())["launch"]) == set(sweeps["launch"])
    assert record(levels=(1, 2), launches=1, sweep=False).table("launches")["role"].unique().to_list() == ["timed"]


def test_phases_and_items_add_up() -> None:
    """Phases to the step within rounding, items to one unit of work a step."""
    found = record()
    steps = found.table("steps")
    phases = pl.sum_horizontal("data_ns", "forward_ns", "backward_ns", "optimizer_ns")
    assert steps.select((pl.col("end_ns") - pl.col("begin_ns") - phases).abs().max()).item() <= 10
    work = steps.group_by("launch", "step").agg(pl.col("items").sum())["items"]
    assert work.to_list() == pytest.approx([1.0] * len(work))


@pytest.mark.slow
def test_large_launches_keep_the_calls_of_their_last_steps_only() -> None:
    """300 workers x 50 buckets are 15,000 calls a step, of which 20,000 rows hold one step."""
    calls = record(levels=(1, 300), launches=1, steps=2, buckets=50).table("collectives").filter(pl.col("step").is_not_null())
    assert calls["step"].unique().to_list() == [1]
    assert calls.height == 15_000


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nonsense=1",), "nonsense=1"),
        (("step_s=soon",), "step_s=soon"),
        (("step_s=1.0",), "no serial"),
        (("step_s=1.0", "serial=2.0", "alpha_s=0.0", "beta_s=0.0", "gradient=0.0"), "serial from 0 to 1"),
    ],
)
def test_a_cluster_that_makes_no_sense_is_told(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    asked = experiment().model_copy(update={"workload": Workload(runner="simulated", script="simulated", arguments=words)})
    with pytest.raises(SpecError, match=told):
        run(asked, root=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_it_has_no_faults(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="launches of the role fault"):
        run(experiment().model_copy(update={"faults": (Fault(),)}), root=tmp_path)
