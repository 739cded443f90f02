"""The answer of a check: the first line is enough for a log, and nothing else is shown where nothing is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.reports.charts.model import Edge, intervals
from fireassay.reports.page import Page, Section
from fireassay.reports.pages.check import page
from fireassay.reports.writers import markdown
from fireassay.verdict.checking.check import check
from fireassay.verdict.checking.types import Check, CheckRow
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.types import Mismatch, Side
from tests.reports.pages.screens import EVIL, flat, harmless, parsed, plots, screen
from tests.verdict.sides import made, side

pytestmark = pytest.mark.slow

RECORDS = ("44a5ef", "my record")


def checked(seconds: float, *, session: str = "s", right: int | None = None, past: Sequence[Side] = (), **how: Any) -> Check:
    base = side("base", made(10.0, day=1, session="s", right=right))
    new = side("new", made(seconds, day=2, session=session, right=right))
    return check(compare((base, new), varying=("code",)), base, new, past=past, **how)


def shown(found: Check) -> Page:
    return page(found, RECORDS)


def test_a_pass_is_a_line_and_says_what_is_excluded() -> None:
    found = shown(checked(10.0, right=300))
    assert flat(found).startswith("PASS new against base: wall time of a run 0 % [0, 0] at workers=1; a regression of 3 % is excluded")
    assert "Quality is held" in flat(found)
    assert len(screen(found)) <= 5
    assert plots(found) == []
    assert parsed(found) == []


def test_a_regression_is_drawn_against_its_margin_and_has_a_command_that_explains_it() -> None:
    found = checked(11.0)
    (row,) = [row for row in found.rows if row.primary]
    (plot,) = plots(shown(found))
    assert screen(shown(found))[0].startswith("REGRESSION  new against base: wall time of a run +10 % ")
    value = plot.rows[0].number.value
    assert row.difference is not None
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(row.difference.value - 1.0)
    assert [edge.value for edge in plot.edges] == [0.0, row.margin]
    assert parsed(shown(found)) == [["assay", "compare", "44a5ef", "my record", "--full"]]
    changed = Mismatch(field="workload.script_sha256", kind="identity", values=("a", "b"), why="it is the code", declared=True)
    assert parsed(shown(replace(found, mismatches=(changed,)))) == [
        ["assay", "compare", "44a5ef", "my record", "--varying", "code", "--full"]
    ]


@pytest.mark.parametrize(("margin", "written"), [(-0.0291262135922, "margin −2.91 "), (0.125, "margin 12.5 "), (0.9995, "margin 99.95 ")])
def test_a_margin_is_written_as_given_or_with_three_digits(margin: float, written: str) -> None:
    """Where throughput regresses is 1 / 1.03 - 1, which nobody gave."""
    (plot,) = plots(shown(checked(11.0)))
    computed = intervals(name="p", title=plot.title, rows=plot.rows, stub=plot.stub, edges=(Edge(value=margin, text="margin"),))
    text = markdown.write(Page(title="", sections=(Section(key="p", title="", content=(computed,)),), full=True))
    assert written in text


def test_every_row_that_decides_has_a_tile() -> None:
    found = checked(11.0, right=300)
    answer = shown(found).answer
    assert answer is not None
    assert [tile.title for tile in answer.tiles] == ["Wall time of a run", "Quality"]
    assert answer.tiles[0].big == "+10 %"
    assert answer.tiles[0].text == "at workers=1, margin 3 %"


def test_two_days_that_decide_nothing_are_told_how_to_decide() -> None:
    found = shown(checked(10.5, session="t"))
    assert screen(found)[0].startswith("INCONCLUSIVE  new against base: ")
    assert "The records are from different sessions" in flat(found)
    assert parsed(found) == [["assay", "check", "my record", "--against", "44a5ef", "--confirm", "always"]]
    assert parsed(page(checked(10.5, session="t"))) == []  # without names that a command could use


APART = "wo estimators disagree on the sign, so it is not known: 10.00 s to 9.90 s over all launches together, +10 % "


def opposite(found: Check) -> Check:
    """The primary row's change of +10 %, beside values that fell."""

    def turned(row: CheckRow) -> CheckRow:
        if not row.primary:
            return row
        assert isinstance(row.baseline, Estimate)
        return replace(row, value=replace(row.baseline, value=9.9))

    return replace(found, rows=tuple(map(turned, found.rows)))


def test_estimators_that_point_opposite_ways_are_named_on_the_screen_and_beside_the_table_that_prints_both() -> None:
    agreeing = checked(11.0)
    found = page(opposite(agreeing))
    assert f"T{APART}" in flat(found)
    text = markdown.write(replace(found, full=True))
    assert f"Wall time of a run at workers=1: t{APART}" in text
    assert APART not in markdown.write(replace(page(agreeing), full=True))


def test_a_pass_leaves_estimators_that_point_opposite_ways_to_the_whole_page() -> None:
    """What it excludes does not depend on the sign."""
    found = page(replace(opposite(checked(11.0)), state="pass"))
    assert APART not in flat(found)
    assert f"Wall time of a run at workers=1: t{APART}" in markdown.write(replace(found, full=True))


ASSUMED = (
    "The records are from different sessions; without 5 comparable records in a history, a day-to-day deviation of {} is assumed; "
    "interleave both (--baseline-folder), or give --history."
)


@pytest.mark.parametrize(("seconds", "word"), [(10.5, "INCONCLUSIVE"), (20.0, "REGRESSION"), (5.0, "IMPROVEMENT")])
def test_two_days_say_what_was_assumed_of_them_and_what_shows_it(seconds: float, word: str) -> None:
    text = flat(shown(checked(seconds, session="t")))
    assert text.startswith(word)
    assert ASSUMED.format("15 %") in text


def test_a_pass_of_two_days_says_what_it_assumes_of_them() -> None:
    text = flat(shown(checked(10.0, session="t", days=0.005)))
    assert text.startswith("PASS new against base")
    assert ASSUMED.format("0.5 %") in text


def test_nothing_is_assumed_of_days_that_were_seen_or_of_launches_in_turn() -> None:
    assert "day-to-day" not in flat(shown(checked(11.0)))
    factors = (1.0, 1.01, 0.99, 1.02, 0.985)
    text = flat(shown(checked(10.2, session="t", past=[side(f"p{n}", made(10.0 * f, day=3 + n)) for n, f in enumerate(factors)])))
    assert "the intervals include the day-to-day deviation, " in text
    assert " over 5 records of the history." in text
    assert "is assumed" not in text


def test_the_margin_of_a_rate_is_below_zero() -> None:
    """A rate that falls by 1 - 1/1.03 is worse by the margin of 3 %."""
    found = checked(11.0)
    rows = tuple(replace(row, better="higher") for row in found.rows)
    (plot,) = plots(page(replace(found, rows=rows)))
    assert [edge.value for edge in plot.edges] == [pytest.approx(1.0 / 1.03 - 1.0), 0.0]


def test_a_condition_that_differs_forbids_a_check_and_shows_no_change() -> None:
    base, new = side("base", made(10.0, day=1, session="s")), side("new", made(11.0, day=2, session="s"))
    workload = new.measured.experiment.workload.model_copy(update={"arguments": ("--lr", "1")})
    other = replace(new, measured=replace(new.measured, experiment=new.measured.experiment.model_copy(update={"workload": workload})))
    found = shown(check(compare((base, other), varying=("code",)), base, other))
    assert screen(found)[0] == "NOT COMPARABLE  new against base: 1 condition differs"
    assert "workload.arguments (none) against --lr 1: arguments change what the program does" in flat(found)
    assert "%" not in flat(found)
    (words,) = parsed(found)
    assert words[-2:] == ["--varying", "workload.arguments"]


def test_exploratory_comes_first_and_no_name_steers_the_terminal() -> None:
    found = replace(checked(11.0), exploratory=True)
    assert screen(shown(found))[0].startswith("EXPLORATORY REGRESSION  ")
    rows = tuple(replace(row, title=EVIL, configuration=EVIL, sentence=EVIL) for row in found.rows)
    harmless(page(replace(found, record=EVIL, baseline=EVIL, rows=rows, notes=(EVIL,), gaps=(EVIL,)), (EVIL, EVIL)))
