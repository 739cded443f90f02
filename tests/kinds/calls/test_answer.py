"""The answer of timed calls: the time of a call, and its caveats."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireassay.estimates.format import show
from fireassay.kinds.calls.show import brief
from fireassay.reports.build_view import build
from fireassay.reports.page import Number, Table
from fireassay.reports.pages.record import page
from fireassay.reports.view import View
from fireassay.verdict.judge import judge
from tests.handmade import Handmade
from tests.metrics.trials_made import timing
from tests.reports.pages.screens import EVIL, flat, harmless, screen

pytestmark = pytest.mark.slow


def viewed(launches: int, *, quick: bool = False) -> View:
    made: Handmade = timing(*[[2.0, v, v] for v in (1.0, 1.02, 0.98, 1.01, 0.99)[:launches]], warm_up=1)
    workload = made.experiment.workload.model_copy(update={"runner": "command"})
    counts = made.experiment.launches.model_copy(update={"quick": quick})
    made.experiment = made.experiment.model_copy(update={"workload": workload, "launches": counts})
    measured = made.measured()
    return build(measured, judge(measured))


def test_the_first_line_is_the_time_of_a_call() -> None:
    view = viewed(5)
    time = view.estimate("trial_time", view.base)
    assert time is not None
    assert screen(page(view))[0] == f"MEASURED  handmade: {show(time).full} a call"
    ((table,),) = [section.blocks for section in brief(view)]
    assert isinstance(table, Table)
    assert isinstance(table.rows[0][1], Number)
    assert table.rows[0][1].value == time
    assert "spread launches 980 ms to 1.02 s" in flat(page(view))


def test_one_launch_that_was_asked_for_shows_its_calls_and_the_way_to_a_verdict() -> None:
    view = viewed(1, quick=True)
    lines = screen(page(view))
    assert lines[0] == "MEASURED  handmade: one launch, its calls as they were"
    row = lines[next(index for index, line in enumerate(lines) if line.startswith("calls")) + 1].split()
    assert row == ["2", "1,000", "-", "-"]
    assert "one launch: no interval and no verdict. For both:" in flat(page(view))
    assert not [line for line in lines if "[" in line]


def test_too_few_launches_are_undecided() -> None:
    assert screen(page(viewed(2)))[0].startswith("INCONCLUSIVE  handmade: 1.01 s; 2 launches")


def test_no_name_steers_the_terminal() -> None:
    harmless(page(replace(viewed(5), name=EVIL, sentence=EVIL)))
