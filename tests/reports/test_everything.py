"""`--full` is everything: what an HTML page shows, the terminal and Markdown show too, and the other way round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.reports.build_view import build
from fireassay.reports.page import Chart, Number, Section, Sum, Table
from fireassay.reports.pages.record import page
from fireassay.reports.view import View
from fireassay.reports.writers import html
from fireassay.verdict.judge import judge
from tests.builders import measured
from tests.reports.written import written
from tests.statuses import RECORDS
from tests.tiers import some

pytestmark = pytest.mark.slow

Viewed = Callable[[tuple[str, str]], View]

KEYS = [
    ("training", ""),
    ("load", "PASS"),
    ("answers", "FAIL"),
    ("collectives", "MEASURED"),
    ("timing", "MEASURED"),
    ("network", "MEASURED"),
    ("fleet", "FAIL"),
]


@pytest.fixture(scope="module")
def viewed(tmp_path_factory: pytest.TempPathFactory) -> Viewed:
    """The view of a record of `KEYS`, made once."""

    @cache
    def made_once(key: tuple[str, str]) -> View:
        made = RECORDS[key](tmp_path_factory.mktemp("record")) if key in RECORDS else measured()  # the latter with a fault
        return build(made, judge(made))

    return made_once


def numbers(sections: Iterable[Section]) -> Iterator[str]:
    """Every number of tables, charts and sums, as it is printed."""
    for block in (block for section in sections for block in section.blocks):
        if isinstance(block, Table):
            cells = (cell for row in block.rows for cell in row)
            yield from (cell.shown.text for cell in cells if isinstance(cell, Number) and isinstance(cell.value, Estimate))
        elif isinstance(block, Chart) and not block.courses:
            yield from (reading.text for reading in block.readings)
            yield from (row.number.shown.text for row in block.rows if row.number.shown.measured)
        elif isinstance(block, Sum):
            yield block.title


def flat(text: str) -> str:
    return " ".join(text.replace("\\", "").replace("−", "-").replace("µ", "u").split())


@pytest.mark.parametrize("writer", ["terminal", "markdown"])
@pytest.mark.parametrize("key", some(KEYS, 2), ids=lambda key: key[0])
def test_every_number_of_the_html_page_is_in_the_full_text(key: tuple[str, str], writer: str, viewed: Viewed) -> None:
    view = viewed(key)
    made = page(view)
    shown = {flat(number) for number in numbers((*html._first(made), *html._sections(made)))}
    text = flat(written(view, writer, **({"width": 200} if writer == "terminal" else {})))
    assert shown
    assert sorted(number for number in shown if number.partition(" ")[0] not in text) == []  # a unit may be in the head


@pytest.mark.parametrize("key", some(KEYS, 2), ids=lambda key: key[0])
@pytest.mark.deep
def test_every_number_of_the_full_text_is_on_the_html_page(key: tuple[str, str], viewed: Viewed) -> None:
    made = page(viewed(key))
    there = set(numbers((*html._first(made), *html._sections(made))))
    assert sorted(set(numbers(made.whole)) - there) == []


@pytest.mark.parametrize("key", some(KEYS, 2), ids=lambda key: key[0])
def test_the_full_text_keeps_to_eighty_columns(key: tuple[str, str], viewed: Viewed) -> None:
    lines = written(viewed(key), "terminal", width=80).splitlines()
    assert [line for line in lines if len(line) > 80] == []


def test_the_phases_of_each_rank_have_their_moments_and_only_percentiles_that_the_steps_carry(viewed: Viewed) -> None:
    view = viewed(("training", ""))
    one, table = [
        block
        for section in page(view).whole
        for block in section.blocks
        if isinstance(block, Table) and block.name.startswith("rank-phases")
    ]
    assert (one.title, {row[0] for row in one.rows}, one.rows[0][2]) == ("Phases of each rank, ms, 1 worker", {0}, 200)
    assert [head.text for head in table.heads] == ["rank", "phase", "steps", "mean", "deviation", "min", "max", "p50", "p95"]
    assert {row[0] for row in table.rows} == {0, 1, 2, 3}
    assert table.rows[0][2] == 200  # 5 launches of 40 steps: 2 lie beyond p99
