"""A gate takes a few lines: how much slower, over how many pairs, which slowdown they would miss, and what would decide."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import pytest

from fireassay import catalog
from fireassay.estimates.estimate import Estimate
from fireassay.reports.pages.gate import Measured, page
from fireassay.reports.writers import junit, markdown, terminal
from fireassay.stats.comparing.comparison import compare_paired
from fireassay.verdict.checking.types import Check, CheckRow, RowState, concluded

MAX_LINES = 25  # of Markdown
SCATTER = (0.99, 1.01, 1.0, 0.995, 1.005, 1.0)


def row(ratio: float, state: RowState, spread: float = 1.0, metric: str = "trial_time", **more: object) -> CheckRow:
    values = [ratio * math.exp(spread * math.log(scatter)) for scatter in SCATTER]
    value = Estimate(
        value=ratio,
        low=ratio,
        high=ratio,
        unit="s",
        confidence=0.95,
        n_launches=6,
        n_trials=6,
        launch_values=tuple(values),
        signature="",
        method="",
    )
    base = CheckRow(
        metric=metric,
        title="Time of a call",
        configuration="workers=1",
        state=state,
        decides=metric == "trial_time",
        primary=metric == "trial_time",
        better="lower",
        baseline=value,
        value=value,
        difference=compare_paired([1.0] * 6, values, 0.99),
        margin=0.05,
        sentence=f"Time of a call at workers=1: {state}",
    )
    return replace(base, **more)  # type: ignore[arg-type]


def gate(*rows: CheckRow, **more: object) -> Measured:
    found = concluded(Check(state="pass", design="in turn", record="the working tree", baseline="origin/main", rows=rows))
    base = Measured(
        base="origin/main",
        check=found,
        pairs=[6],
        seconds=24.0,
        margin=0.05,
        trees="0123456789 against the working tree",
        records=["records/gates/a", "records/gates/b"],
        more="assay gate origin/main --margin 5%",
        command=" -- python work.py",
    )
    return replace(base, **more)  # type: ignore[arg-type]


def text(told: Measured) -> str:
    assert terminal.WRITER.fit is not None
    return str(terminal.WRITER.fit(page(told), width=80, colour=False, plain=False))


def test_a_slowdown_is_one_line_with_its_interval_and_the_margin() -> None:
    told = gate(row(1.08, "regression"), pairs=[6, 6], seconds=61.0)
    lines = text(replace(told, check=replace(told.check, confirmation="confirmed"))).splitlines()
    assert lines[0].startswith("FAIL  8.0 % [")
    assert lines[0].endswith("] slower than origin/main, margin 5 %")
    assert lines[1].strip().startswith("in turn, 6 pairs, remeasured once, 1 min 1 s; smallest change these pairs")


def test_a_page_names_the_command() -> None:
    html = str(catalog.load("reports.writers", "html").write(page(gate(row(1.001, "pass")))))
    assert '<p class="eyebrow">python work.py</p>' in html
    assert "<title>python work.py" in html


def test_no_shown_change_is_no_slowdown() -> None:
    assert text(gate(row(1.001, "pass"))).startswith("PASS  +0.10 % [")
    assert "faster than origin/main" in text(gate(row(0.9, "improvement"))).splitlines()[0]
    assert text(gate(row(0.9, "improvement"))).startswith("IMPROVEMENT  10.0 % [")


def test_an_accepted_open_result_says_which_slowdown_would_have_passed() -> None:
    shown = text(gate(row(1.02, "inconclusive", spread=6.0, launches_needed=30), accepted=True))
    assert shown.startswith("INCONCLUSIVE, ACCEPTED  +2.0 % [")
    assert "a slowdown of up to " in " ".join(shown.split())
    assert "would have passed" in " ".join(shown.split())


def test_estimators_that_point_opposite_ways_are_named_on_the_screen_and_beside_the_table_that_prints_both() -> None:
    """+8.0 % from pair to pair, and 1 s to 0.99 s over all of them."""
    slower = row(1.08, "regression")
    assert isinstance(slower.value, Estimate)
    told = gate(replace(slower, baseline=replace(slower.value, value=1.0), value=replace(slower.value, value=0.99)))
    apart = "two estimators disagree on the sign, so it is not known: "
    assert apart in " ".join(text(told).split())
    assert f"Time of a call at workers=1: {apart}" in markdown.write(replace(page(told), full=True))
    assert apart not in text(gate(replace(slower, baseline=replace(slower.value, value=1.0))))


def test_an_open_result_names_the_pairs_that_would_decide() -> None:
    shown = text(gate(row(1.02, "inconclusive", spread=6.0, launches_needed=30)))
    assert "the margin of 5 % lies inside" in " ".join(shown.split())
    assert "assay gate origin/main --margin 5% --pairs 30 -- python work.py" in shown


def test_where_processor_time_is_sharper_it_is_shown_and_offered() -> None:
    shown = text(gate(row(1.02, "inconclusive", spread=30.0), row(1.08, "regression", metric="trial_cpu_time")))
    assert "processor    8.0 % [" in shown
    assert "assay gate origin/main --margin 5% --primary trial_cpu_time -- python work.py" in shown


def scaled(found: CheckRow, factor: float) -> CheckRow:
    """The row of a metric whose values are so many times as large."""
    assert isinstance(found.value, Estimate)
    assert isinstance(found.baseline, Estimate)
    return replace(found, value=replace(found.value, value=found.value.value * factor), baseline=replace(found.baseline, value=factor))


@pytest.mark.parametrize("needed", [None, 30])
@pytest.mark.parametrize(
    ("cpu", "offered"),
    [
        (row(1.1, "listed", spread=5.0, metric="trial_cpu_time"), True),  # [2.8, 17.3] against [-8, 13]: it decides, and is narrower
        (row(1.0, "listed", spread=5.5, metric="trial_cpu_time"), True),
        (row(1.0, "listed", spread=8.0, metric="trial_cpu_time"), False),  # as noisy
        (scaled(row(1.0, "listed", spread=1.0, metric="trial_cpu_time"), 0.2), False),  # it mostly waits
    ],
)
def test_processor_time_is_offered_before_pairs_and_margins_if_the_command_computes(
    cpu: CheckRow, offered: bool, needed: int | None
) -> None:
    shown = text(gate(row(1.02, "inconclusive", spread=8.0, launches_needed=needed), cpu))
    assert ("--primary trial_cpu_time" in shown) is offered
    assert ("--pairs 30" in shown) is (needed is not None and not offered)
    assert ("margin above" in shown) is (needed is None and not offered)


BUSY: Final = "other programs used up to 90 % of the processors"


@pytest.mark.parametrize(("share", "warnings", "offered"), [(0.33, [BUSY], True), (0.33, [], False), (0.1, [BUSY], False)])
def test_on_a_busy_machine_a_command_computes_that_had_a_third_of_its_time_on_a_processor(
    share: float, warnings: list[str], offered: bool
) -> None:
    cpu = scaled(row(1.01, "listed", spread=2.0, metric="trial_cpu_time"), share)
    shown = text(gate(row(1.03, "inconclusive", spread=8.0, launches_needed=877), cpu, warnings=warnings))
    assert ("--primary trial_cpu_time" in shown) is offered


def test_pairs_that_would_miss_a_doubling_are_given_no_digits() -> None:
    """They printed 155,211 %."""
    shown = " ".join(text(gate(row(1.02, "inconclusive", spread=300.0), pairs=[3])).split())
    assert "too few pairs to show even a doubling" in shown
    assert "smallest change" not in shown


def test_after_fewer_pairs_than_a_gate_makes_the_gate_is_offered_and_nothing_said_of_the_machine() -> None:
    shown = text(gate(row(1.02, "inconclusive", spread=30.0), pairs=[3]))
    assert "3 pairs are too few to say how many would decide" in " ".join(shown.split())
    assert "assay gate origin/main --margin 5% -- python work.py" in shown
    assert "quiet" not in shown


@pytest.mark.parametrize(("ratio", "better"), [(1.09, "lower"), (0.91, "higher")])
def test_an_advised_margin_lies_beyond_what_the_interval_still_holds(ratio: float, better: str) -> None:
    one = row(ratio, "inconclusive", spread=4.0, metric="trial_cpu_time", primary=True, decides=True, better=better)
    assert one.difference is not None
    worst = max(one.difference.high - 1.0, 1.0 - one.difference.low)
    shown = " ".join(text(gate(one)).split())
    assert float(shown.partition("a margin above ")[2].split()[0]) / 100.0 >= worst


def test_hours_of_pairs_are_not_the_first_advice() -> None:
    long = replace(gate(row(1.02, "inconclusive", spread=6.0, launches_needed=100)), seconds=600.0)
    shown = " ".join(text(long).split())
    assert "--pairs" not in shown
    assert "quiet this machine, or take a margin above" in shown
    assert "100 pairs would decide, about 2 h 46 min" in shown


def test_where_nothing_helps_no_command_is_offered() -> None:
    shown = text(gate(row(1.02, "inconclusive", spread=30.0)))
    assert "more pairs do not help" in shown
    assert "assay gate" not in shown


@pytest.mark.parametrize("state", ["pass", "regression", "inconclusive", "improvement"])
def test_the_comment_of_a_pull_request_is_short_and_junit_agrees(state: RowState) -> None:
    told = gate(
        row(1.02, state, spread=30.0, launches_needed=30),
        row(1.08, "listed", metric="trial_cpu_time"),
        warnings=["other programs used up to 90 % of the processors", "the clock was throttled", "the machine drifted"],
    )
    assert str(markdown.WRITER.write(page(told))).count("\n") <= MAX_LINES
    assert ('failures="1"' in str(junit.WRITER.write(page(told)))) == (state == "regression")
    assert all(len(line) <= 80 for line in text(told).splitlines() if not line.startswith("  assay"))
