"""A record without collectives or faults leaves out their folds: its empty frames must look as if they had been made."""

from __future__ import annotations

import polars as pl

from fireassay.frames.training import rank_time
from fireassay.frames.training.communication import step_communication
from fireassay.frames.training.communication.step_communication import waiting
from fireassay.frames.training.recovery import strikes
from tests.frames.training.test_rank_time import call, one
from tests.handmade import Handmade


def with_calls() -> Handmade:
    made = one(workers=2)
    for rank in (0, 1):
        made.steps(0, seconds=[1.0] * 3, start_s=1.0, rank=rank)
        call(made, rank, 0, 0, 1.2, 0.3)
    return made


def test_no_collectives_have_the_columns_of_some() -> None:
    some = with_calls().measured()
    assert some.table("collectives").height
    assert waiting(some.table("collectives")).schema == waiting(some.table("collectives").clear()).schema
    wanted = some.table("steps").select("launch", "step").unique()
    made = step_communication._of_steps(some.tables, some.rows_of, wanted)
    assert made.height
    assert made.schema == pl.Schema(step_communication._CALLS)


def test_no_failures_have_the_columns_of_some() -> None:
    made = one(workers=2)
    made.event(0, "worker_gone", 3.0, rank=1, incarnation=0)
    some = made.measured()
    found = rank_time._failures(some.table("events"), strikes(some))
    assert found.height == 1
    assert found.schema == pl.Schema(rank_time._FAILURES)
