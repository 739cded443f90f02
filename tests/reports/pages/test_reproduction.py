"""A reproduction is shown with every agreement and every condition that differs; its labels steer nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireassay.reports.documents.reproduction import DOCUMENT, render
from fireassay.reports.page import Mark
from fireassay.reports.pages.reproduction import page
from fireassay.reports.writers import terminal
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.phrases import APART
from fireassay.verdict.reproduction import Reproduction, reproduction
from tests.reports.documents.conforming import conforming
from tests.verdict.sides import made, side

pytestmark = pytest.mark.slow


EVIL = "first\x1b[2J\x07\u202e"


@pytest.fixture(scope="module")
def found() -> Reproduction:
    first, second = side(EVIL, made(10.0, day=1)), side("again", made(20.0, day=2))
    return reproduction(compare((first, second), force=True), first, second)


def test_every_metric_stands_in_a_line_with_its_agreement_and_nothing_steers_the_terminal(found: Reproduction) -> None:
    text = terminal.write(replace(page(found), full=True), width=140)
    assert all(f"{row.agreement.replace('_', ' ')}" in text and row.metric in text for row in found.rows)
    assert not set("\x1b\x07\u202e") & set(text)


def test_the_first_screen_says_what_was_assumed_of_the_days(found: Reproduction) -> None:
    """As that of `compare` does; the interval stood there as if the launches had shown it."""
    text = " ".join(terminal.write(page(found), width=140).split())
    assert "The interval is with 15 % assumed between sessions; the launches alone give" in text


def test_the_notes_say_where_two_estimators_point_opposite_ways(found: Reproduction) -> None:
    """As those of `check` and `gate` do: the table prints both values beside the difference."""
    row = next(row for row in found.rows if row.difference is not None and row.difference.scale == "ratio")
    opposite = replace(row, first=row.second, second=row.first)
    text = " ".join(terminal.write(replace(page(replace(found, rows=(opposite,))), full=True), width=140).split())
    assert f"{row.title} at {row.configuration}: {APART}: " in text
    assert APART not in " ".join(terminal.write(replace(page(found), full=True), width=140).split())


def test_the_json_is_strict_and_holds_the_exit_code_and_every_row(found: Reproduction) -> None:
    document = conforming(DOCUMENT, render(found))
    assert (document["schema"], document["state"], document["exit_code"]) == (DOCUMENT.VERSION, "differs", 1)
    assert [row["metric"] for row in document["rows"]] == [row.metric for row in found.rows]
    assert all(row["first"]["measured"] or row["first"]["reason"] for row in document["rows"] if row["first"])


def test_another_experiment_has_one_mark_on_the_page_and_in_the_answer() -> None:
    refused = Reproduction(
        state="not_comparable", sentence="NOT COMPARABLE: another experiment.", first="a", second="b", rows=(), mismatches=(), notes=()
    )
    made = page(refused)
    assert made.mark is not None
    assert made.answer is not None
    assert made.mark == made.answer.mark == Mark(word="not comparable", tone="void")
