"""What a heartbeat says of the progress is the progress."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fireassay.runners.experiment.progress import LaunchProgress, LoadProgress, RunProgress, as_json, from_json
from fireassay.spec.plan import plan
from tests.runners.making import experiment, row

PLAN = plan(experiment())
LOAD = LoadProgress(
    state="load", into_s=1.0, left_s=2.0, due=3, sent=3, done=2, ok=1, failed={"timeout": 1}, in_flight=1, tokens=9, offered=None,
    ttft_ms={"p50": 1.5}, tpot_ms={}, e2e_ms={}, lag_p99_ms=None,
)  # fmt: skip
RUNNING = LaunchProgress(number=1, planned=PLAN[1], elapsed_s=2.5, steps=7, steps_per_s=3.0, ranks=2)


@pytest.mark.parametrize("running", [None, RUNNING, replace(RUNNING, load=LOAD)])
def test_it_is_read_back_as_it_was(running: LaunchProgress | None) -> None:
    rows = (row(slot=0), row("failed", slot=1), row("aborted", slot=2))
    told = RunProgress(record=Path("r"), plan=PLAN, rows=rows, running=running, seconds_left=4.0, label="a", waiting="Slurm: Pending")
    beat = json.loads(json.dumps(as_json(told)))
    assert from_json(beat, Path("r"), PLAN, rows) == told
    assert (beat["done"], beat["failed"], beat["planned"]) == (2, 1, 4)


@pytest.mark.parametrize(
    "damage",
    [
        {"running": {"planned": 99}},
        {"running": 1},
        {"seconds_left": "soon"},
        {"running": {"planned": 1, "number": 1, "elapsed_s": "soon", "load": None}},
        {"running": {"planned": 1, "number": 1, "elapsed_s": 1.0, "load": {"state": "load"}}},
        {"waiting": {}},
    ],
)
def test_a_damaged_one_is_refused(damage: dict[str, object]) -> None:
    beat = as_json(RunProgress(record=Path("r"), plan=PLAN, rows=(), running=None, seconds_left=None))
    with pytest.raises((LookupError, TypeError, ValueError)):
        from_json({**beat, **damage}, Path("r"), PLAN, ())
