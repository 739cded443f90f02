"""The table after a block shows numbers of the record, with three digits, no mark and no status."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay import catalog
from fireassay.api.interim_analysis import after_block, blocks_done, table
from fireassay.estimates.estimate import Absent, Estimate
from fireassay.record.reader import open_record
from fireassay.runners.experiment.progress import RunProgress
from fireassay.spec.plan import plan
from tests.runners.making import kill_fault, planned, row


def estimate(value: float, low: float, high: float, unit: str) -> Estimate:
    return Estimate(value=value, low=low, high=high, unit=unit, confidence=0.95, n_launches=3, n_trials=9, method="", signature="")


RESULTS = {
    "speedup": {"workers=1": estimate(1.0, 1.0, 1.0, "ratio"), "workers=2": estimate(1.3512, 1.2349, 1.4781, "ratio")},
    "efficiency": {"workers=1": estimate(1.0, 1.0, 1.0, "fraction"), "workers=2": estimate(0.6756, 0.61745, 0.73905, "fraction")},
    "step_time": {"workers=1": estimate(0.26649, 0.2561, 0.2772, "s"), "workers=2": Absent(reason="not_measured", detail="it failed")},
}


def lines(done: int, results: object = RESULTS) -> list[str]:
    metrics = [catalog.load_all("metrics")[name] for name in ("speedup", "efficiency", "step_time")]
    return table(["workers=1", "workers=2"], metrics, results, done, 5).lines()  # type: ignore[arg-type]


def test_before_the_third_block_there_is_no_interval() -> None:
    assert lines(2) == [
        "provisional, 2 of 5 rounds, no interval yet, no verdict",
        "  workers  speedup  efficiency, %  step, ms",
        "        1        1            100       266",
        "        2     1.35           67.6         -",
    ]


def test_from_the_third_block_on_bounds_are_rounded_outwards() -> None:
    assert lines(3) == [
        "provisional, 3 of 5 rounds, no verdict",
        "  workers  speedup            efficiency, %      step, ms",
        "        1  1                  100                266 [256, 278]",
        "        2  1.35 [1.23, 1.48]  67.6 [61.7, 74.0]  -",
    ]


def test_names_that_are_no_levels_of_one_thing_stay_whole_and_cannot_steer_a_terminal() -> None:
    metric = catalog.load_all("metrics")["speedup"]
    made = table(["a concurrency=1", "b\x1b[31m\nrate=2"], [metric], {}, 1, 3)
    assert [row[0] for row in made.rows] == ["a concurrency=1", "b\N{REPLACEMENT CHARACTER}[31m rate=2"]


def test_a_unit_that_the_head_says_is_not_said_again() -> None:
    metrics = [catalog.load_all("metrics")[name] for name in ("output_throughput", "request_throughput", "ttft_p50")]
    values = {metric.name: {"rate=2": estimate(0.5, 0.4, 0.6, metric.unit)} for metric in metrics}
    heads = table(["rate=2"], metrics, values, 1, 3).heads
    assert heads == ("rate", "output tokens/s", "requests/s", "TTFT p50, ms")


def test_a_block_is_done_when_every_launch_of_it_has_ended() -> None:
    launches = (*(planned(slot=slot, block=slot // 2) for slot in range(4)), planned(slot=4, role="fault", fault=kill_fault()))
    told = [
        blocks_done(RunProgress(record=Path("x"), plan=launches, rows=rows, running=None, seconds_left=None))
        for rows in (
            (),
            (row(slot=0),),
            (row(slot=0), row("failed", slot=1)),
            (row(slot=0), row("contaminated", slot=1)),
            tuple(row(slot=slot) for slot in range(4)),
        )
    ]
    assert told == [0, 0, 1, 0, 2]


@pytest.mark.parametrize("name", ["good"])
def test_the_numbers_are_those_of_the_record(repository: Path, name: str) -> None:
    record = open_record(repository / "tests" / "records" / name)
    rows = tuple(record.table("launches").iter_rows(named=True))
    made = after_block(RunProgress(record=record.path, plan=plan(record.experiment), rows=rows, running=None, seconds_left=None))
    assert made is not None
    assert made.heads[:3] == ("workers", "speedup", "efficiency, %")
    assert [row[0] for row in made.rows] == [str(level) for level in record.experiment.factor.levels]
    assert all(float(row[1].partition(" ")[0]) > 0.0 for row in made.rows)
