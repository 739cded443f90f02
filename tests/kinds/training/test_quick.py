"""One launch of each worker count is shown as it is: raw step times on one screen, no verdict, and a command that brings one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fireassay.reports.view import View
from fireassay.spec.experiment import Gates
from fireassay.verdict.judge import judge
from tests.handmade import Handmade
from tests.kinds.training.test_answer import ROWS, WIDTH, screen, viewed
from tests.verdict.making import good


def quick(**more: Any) -> Handmade:
    made = good(levels=(1, 2), blocks=1, **more)
    launches = made.experiment.launches.model_copy(update={"quick": True})
    made.experiment = made.experiment.model_copy(update={"launches": launches})
    return made


def alone(step_ms: list[float]) -> View:
    """One worker with these steps, none of which is warm-up."""
    made = Handmade(levels=(1,), blocks=1)
    made.experiment = quick().experiment.model_copy(update={"factor": made.experiment.factor})
    made.steps(made.launch(workers=1), rank=0, seconds=[value / 1e3 for value in step_ms], items=8)
    return viewed(made)


def test_the_screen_has_step_times_rates_and_the_way_to_a_verdict() -> None:
    lines = screen(replace(viewed(quick()), record="handmade-abc123"))
    assert lines[0] == "MEASURED  handmade: 2 workers look 1.80 times as fast as 1, in one launch each"
    assert len(lines) <= ROWS
    assert all(len(line) <= WIDTH for line in lines)
    at = next(index for index, line in enumerate(lines) if line.startswith("workers"))
    assert [line.split() for line in lines[at + 1 : at + 3]] == [
        ["1", "8", "1,000", "-", "-", "8.00"],
        ["2", "8", "556", "-", "-", "14.4"],  # 8 items in 1 / (0.9 x 2) s
    ]
    assert any("one launch: no interval and no verdict. For both:" in line for line in lines)
    assert "  assay run abc123" in lines
    assert not [line for line in lines if "[" in line], "no interval"


def test_percentiles_are_those_of_the_steps() -> None:
    times = [float(value) for value in np.random.default_rng(4).permutation(np.arange(100.0, 300.0))]
    row = next(line.split() for line in screen(alone(times)) if line.startswith("      1"))
    assert row[1] == "200"
    assert row[2:5] == [f"{np.quantile(times, share, method='inverted_cdf'):.0f}" for share in (0.5, 0.9, 0.99)]


def test_without_a_step_wall_times_come_and_no_speedup_is_told() -> None:
    view = viewed(quick(leave_out=("steps", "losses", "samples", "hashes", "scores")))
    lines = screen(replace(view, record="handmade-abc123"))
    assert lines[0] == "MEASURED  handmade: one launch of each worker count"
    assert any("wall time, ms" in line for line in lines)
    assert "  assay run abc123 --time wall" in lines


@pytest.mark.parametrize("gates", [Gates(deadline_s=1.0), Gates(required_workers=2, efficiency=1.2)])
def test_no_gate_is_judged(gates: Gates) -> None:
    assert judge(quick(gates=gates).measured()).verdict.status == "MEASURED"


def test_a_wrong_result_is_still_one() -> None:
    made = quick()
    rows = made.rows["fingerprints"]  # launch, rank, incarnation, step, what, value, text
    made.rows["fingerprints"] = [(*row[:6], "other") if row[4] == "parameter_hash" and row[1] == 1 else row for row in rows]
    view = viewed(made)
    assert view.status == "FAIL"
    assert screen(view)[0] == "FAIL  handmade: wrong result with 2 workers"
