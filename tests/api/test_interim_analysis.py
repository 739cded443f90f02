"""A look makes the intervals that the report will make, and says whether all of them are narrow."""

from __future__ import annotations

import math
import textwrap
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest

import fireassay
from fireassay.api import experiment_run
from fireassay.api.interim_analysis import advice, analyse, disturbed, half_width, looks, primary_intervals, undecided, why_futile
from fireassay.clock import FakeClock
from fireassay.errors import WorkloadError
from fireassay.estimates.estimate import Estimate
from fireassay.frames.record_data import from_record
from fireassay.record import folder as record_folder
from fireassay.record.reader import open_record
from fireassay.record.seal import plan_signature
from fireassay.spec.experiment import Quality
from tests.handmade import Handmade
from tests.runners.making import experiment
from tests.verdict.making import good

QUICK = """
import time
time.sleep(0.01)
"""


def estimate(value: float, low: float, high: float) -> Estimate:
    return Estimate(value=value, low=low, high=high, unit="s", confidence=0.95, n_launches=5, n_trials=5, method="", signature="")


# ---- when ------------------------------------------------------------------------------------------------------------


def test_looks_are_at_5_8_12_18_27_as_in_methodology_3_1() -> None:
    assert list(islice(looks(experiment(launches={"per_configuration": 5, "precision": 0.1})), 6)) == [5, 8, 12, 18, 27, 41]


def test_launches_that_end_with_the_answer_are_looked_at_from_the_third_on() -> None:
    assert list(islice(looks(experiment(launches={"per_configuration": 3, "budget_s": 60})), 6)) == [3, 5, 8, 12, 18, 27]


def test_the_first_look_is_after_the_launches_that_were_asked_for_and_never_before_the_fifth() -> None:
    first = [next(looks(experiment(launches={"per_configuration": n, "precision": 0.1}))) for n in (1, 4, 5, 9, 30)]
    assert first == [5, 5, 5, 9, 30]


@pytest.mark.parametrize("first", [5, 6, 7, 10, 25, 100])
def test_between_two_looks_lie_half_as_many_launches_again(first: int) -> None:
    found = list(islice(looks(experiment(launches={"per_configuration": first, "precision": 0.1, "at_most": 500})), 8))
    assert all(later >= math.ceil(1.5 * earlier) for earlier, later in pairwise(found))


# ---- what ------------------------------------------------------------------------------------------------------------


def test_the_half_width_is_the_larger_side_as_a_fraction_of_the_value() -> None:
    assert half_width(estimate(10.0, 9.0, 10.5)) == pytest.approx(0.1)
    assert half_width(estimate(-10.0, -10.5, -9.0)) == pytest.approx(0.1)
    assert half_width(estimate(10.0, -math.inf, math.inf)) == math.inf
    assert half_width(estimate(3.0, 3.0, 3.0)) == 0.0
    assert half_width(estimate(0.0, -1.0, 1.0)) == math.inf


def names(made: Handmade) -> list[str]:
    return sorted(primary_intervals(made.measured()))


def test_primary_are_the_throughput_at_every_level_and_the_speedup_at_all_but_the_base() -> None:
    assert names(good(levels=(1, 2, 4))) == [
        "speedup at workers=2",
        "speedup at workers=4",
        "throughput at workers=1",
        "throughput at workers=2",
        "throughput at workers=4",
    ]


def test_without_items_the_step_time_decides_and_without_steps_the_wall_time() -> None:
    bare = Handmade(levels=(1,), blocks=5)
    for block in range(5):
        bare.launch(workers=1, block=block, wall_s=10.0 + block)
    assert names(bare) == ["wall_time at workers=1"]


def test_the_metric_that_the_experiment_names_decides() -> None:
    made = good()
    comparison = made.experiment.comparison.model_copy(update={"primary": "wall_time"})
    made.experiment = made.experiment.model_copy(update={"comparison": comparison})
    assert names(made) == ["speedup at workers=2", "wall_time at workers=1", "wall_time at workers=2"]


# ---- on a record that is being made --------------------------------------------------------------------------------------


def adaptive(folder: Path, source: str = QUICK, **changes: Any) -> Path:
    (folder / "train.py").write_text(textwrap.dedent(source))
    asked = experiment(factor={"levels": [1]}, **changes)
    return fireassay.run(asked, folder=folder, root=folder / "records").path


@pytest.mark.deep
def test_a_real_adaptive_run_says_which_look_ended_it_and_at_which_confidence(tmp_path: Path) -> None:
    """A launch that waits for a second varies by far less than the whole of its value, on a busy machine too: one look is enough."""
    waits = "import time\ntime.sleep(1.0)\n"
    record = open_record(adaptive(tmp_path, waits, launches={"per_configuration": 5, "precision": 0.99, "at_most": 8}))
    assert record.manifest["looks_ended"] == "precision"
    assert [look["blocks"] for look in record.manifest["looks"]] == [5]
    assert record.table("launches").height == 5
    measured = from_record(record)
    assert measured.confidence == 0.975
    found = primary_intervals(measured)["wall_time at workers=1"]
    assert record.manifest["looks"][0]["widths"] == {"wall_time at workers=1": half_width(found)}
    again = analyse(record.path, 5)
    assert again.enough
    assert again.sentence.startswith("after 5 rounds the only interval is wall_time at workers=1, ")
    assert again.sentence.endswith(" to either side at 97.5 % confidence; 99 % required: enough")


@pytest.mark.parametrize(
    ("made", "open_"),
    [
        (good(levels=(1, 2)), ()),
        (good(levels=(1, 2), efficiency={2: 0.4}), ()),
        (good(levels=(1, 2, 4), efficiency={2: 0.7, 4: 0.3}), ("workers=2",)),
        (good(levels=(1, 2), quality=Quality(margin=0.05)), ()),  # only more held-out examples decide
    ],
)
def test_undecided_is_what_more_launches_may_decide(made: Handmade, open_: tuple[str, ...]) -> None:
    assert undecided(made.measured()) == open_


@pytest.mark.deep
def test_a_script_without_a_step_ends_after_its_first_launch_unless_it_is_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "hello.py").write_text('"""Nothing."""\n', encoding="utf-8")
    asked = experiment(workload={"script": "hello.py"}, factor={"levels": [1, 2]}, launches={"per_configuration": 2})
    with pytest.raises(WorkloadError, match=r"hello\.py made no training step .*--time wall; .*--keep-going"):
        experiment_run.run(asked, folder=tmp_path, root=tmp_path / "early", stop_early=True)
    [path] = (tmp_path / "early").iterdir()
    assert open_record(path).table("launches").height == 1
    whole = experiment_run.run(asked, folder=tmp_path, root=tmp_path / "whole")
    assert open_record(whole).table("launches").height == 4


def test_a_score_that_was_never_given_is_named_with_those_that_were(tmp_path: Path) -> None:
    made = good(levels=(1, 2), quality=Quality(metric="f1", margin=0.1)).measured()
    assert why_futile(made).startswith("train.py never scored f1: it scores accuracy.")


def test_a_record_without_a_primary_number_is_never_enough(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError):
        adaptive(tmp_path, "raise SystemExit(1)", launches={"per_configuration": 5, "precision": 0.5})
    [path] = (tmp_path / "records").iterdir()
    found = analyse(path, 5)
    assert (found.enough, found.widths) == (False, {})
    assert found.sentence == "after 5 rounds: no primary number has been measured"


def test_a_launch_is_held_against_the_limits_while_its_record_is_being_written(tmp_path: Path) -> None:
    """A quota that stopped the processes for 3 of 10 seconds."""
    asked = experiment(noise={"most_throttled": 0.25})
    record = record_folder.create(tmp_path, asked, plan_signature(asked), clock=FakeClock())
    for at_s, value in ((0, 1.0), (10, 4.0)):
        record.writer(0).append("telemetry", (0, at_s * 10**9, "host", "cgroup", "throttled", value, "s", "counter"))
    record.writer(0).flush()
    said = "the control group's quota stopped the processes for 30 % of the launch (at most 25 %)"
    assert disturbed(record.path, 0) == said
    assert disturbed(record.path, 7) == ""
    record.finish("interrupted")


def test_the_advice_is_these_three() -> None:
    made = advice()
    assert (made.looks, made.analyse, made.disturbed) == (looks, analyse, disturbed)
