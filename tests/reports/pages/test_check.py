"""A check is shown without harm, whatever the labels hold, and every document is well-formed."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.reports.documents.check import DOCUMENT, reference, render
from fireassay.reports.page import Page, Table
from fireassay.reports.pages import check as checks
from fireassay.reports.pages import history
from fireassay.reports.writers import html, junit, markdown, terminal
from fireassay.verdict.checking.check import check
from fireassay.verdict.checking.history import histories, in_order, worth_showing
from fireassay.verdict.checking.types import STATES, Check
from fireassay.verdict.comparison.compare import compare
from tests.reports.documents.conforming import conforming
from tests.verdict.sides import made, side

pytestmark = pytest.mark.slow


NASTY = 'x]]>&<script>"\x00\x1b[31m|*`\ud800\u202e'


def page(found: Check) -> Page:
    """All of it; `tests.reports.pages.test_check_answer` tests what a log shows first."""
    return replace(checks.page(found), full=True)


def regression(label: str = "new") -> Check:
    base, new = side("base", made(10.0, day=1, session="s")), side(label, made(11.0, day=2, session="s"))
    return check(compare((base, new), varying=("code",)), base, new)


@pytest.mark.slow
@given(st.text(max_size=40))
def test_junit_is_well_formed_for_any_text(label: str) -> None:
    found = replace(regression_once(), record=label, sentence=f"REGRESSION: {label}")
    found = replace(found, rows=tuple(replace(row, metric=label, sentence=label) for row in found.rows))
    root = ElementTree.fromstring(junit.write(page(found)).encode())
    assert root.get("failures") == "1"
    json.loads(render(found).encode("utf-8", "replace"))


_ONCE: list[Check] = []


def regression_once() -> Check:
    if not _ONCE:
        _ONCE.append(regression())
    return _ONCE[0]


@pytest.mark.parametrize(
    ("state", "failures", "errors", "skipped"),
    [
        ("pass", 0, 0, 0),
        ("improvement", 0, 0, 0),
        ("regression", 1, 0, 0),
        ("inconclusive", 0, 0, 1),
        ("nothing_measured", 0, 1, 0),
        ("not_comparable", 0, 1, 0),
    ],
)
def test_each_state_maps_to_one_outcome_of_junit(state: str, failures: int, errors: int, skipped: int) -> None:
    empty = replace(regression_once(), rows=(), state=state)  # type: ignore[arg-type]
    root = ElementTree.fromstring(junit.write(page(empty)))
    assert [root.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["1", str(failures), str(errors), str(skipped)]
    assert state in STATES


def test_a_metric_that_only_is_listed_is_skipped_and_the_one_that_decides_fails() -> None:
    root = ElementTree.fromstring(junit.write(page(regression_once())))
    outcomes = {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}
    assert outcomes["wall_time at workers=1"] == ["failure"]
    assert outcomes["quality at workers=1"] == ["skipped"]


def test_the_table_has_no_row_without_a_number_that_nobody_asked_for() -> None:
    """A line below it says that no score was named."""
    tables = [block for section in page(regression_once()).sections for block in section.blocks if isinstance(block, Table)]
    named = [row[0] for table in tables if table.name == "changes" for row in table.rows]
    assert "wall_time" in named
    assert "quality" not in named


def test_a_metric_that_decides_nothing_fails_no_junit_file() -> None:
    found = regression_once()
    rows = tuple(replace(row, decides=False, primary=False) for row in found.rows)
    suite = ElementTree.fromstring(junit.write(page(replace(found, state="pass", rows=rows))))
    assert suite.get("failures") == "0"
    skipped = suite.find("testcase[@name='wall_time at workers=1']/skipped")
    assert skipped is not None
    assert (skipped.get("message") or "").startswith("regression, which decides nothing: ")


def test_text_and_markdown_name_both_records_and_what_the_star_means() -> None:
    rows = tuple(replace(row, decides=False) for row in regression_once().rows)
    found = replace(regression_once(), rows=rows)
    assert terminal.write(page(found)).splitlines()[0] == "REGRESSION  new against base"
    assert "- *: decides nothing; only the primary metric and quality do" in terminal.write(page(found))
    assert "new against base" in markdown.write(page(found))
    assert "decides nothing" not in terminal.write(page(regression_once()))


def test_exploratory_stands_beside_every_verdict_of_every_rendering() -> None:
    found = replace(regression_once(), exploratory=True)
    rows = [row for row in found.rows if row.state != "listed"]
    assert rows
    assert terminal.write(page(found)).count("EXPLORATORY regression") == len(rows)
    assert markdown.write(page(found)).startswith("# new against base: EXPLORATORY REGRESSION\n")
    assert markdown.write(page(found)).count("| EXPLORATORY regression |") == len(rows)
    assert all(row["sentence"].startswith("EXPLORATORY ") for row in json.loads(render(found))["rows"])
    failures = ElementTree.fromstring(junit.write(page(found))).iter("failure")
    assert [(one.get("message") or "").split()[0] for one in failures] == ["EXPLORATORY"] * len(rows)


def test_json_has_the_declared_shape() -> None:
    conforming(DOCUMENT, render(regression_once()))
    assert all(f"`{state}`" in reference() for state in STATES)


def test_nothing_steers_a_terminal_or_becomes_markup() -> None:
    found = replace(regression_once(), sentence=NASTY, notes=(NASTY,))
    assert "\x1b" not in terminal.write(page(found))
    assert "\x00" not in terminal.write(page(found))
    assert "<script>" not in markdown.write(page(found))
    assert "\x1b" not in junit.write(page(found))


@pytest.mark.slow
@pytest.mark.deep
def test_the_page_of_a_history_escapes_labels_and_marks_the_change() -> None:
    factors = (1.0, 1.01, 0.99, 1.02, 0.985, 1.005, 0.995, 1.012, 0.991, 1.003, 1.008, 0.994, 1.2, 1.21, 1.19)
    sides = in_order([side(f"<b>{d}</b>&", made(10.0 * f, day=d)) for d, f in enumerate(factors, start=1)])
    found = histories(sides, list(worth_showing(sides[-1], "wall_time")))
    shown = history.page(found, "<i>title</i>")
    text = html.write(shown)
    assert "<b>" not in text
    assert "<i>" not in text
    assert "&lt;b&gt;1&lt;/b&gt;&amp;" in text
    assert "rose by" in text
    assert "at record 13 of 15" in " ".join(terminal.write(shown).split())
    assert text.count("<svg") >= len(found)
