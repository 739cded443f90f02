"""The answer of timed collectives: the bandwidth at the largest size, a table that fits, and what the engine does not offer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fireassay.estimates.format import GIGABYTES, show
from fireassay.kinds.collectives.judging import headline
from fireassay.kinds.collectives.show import answer, brief
from fireassay.reports.build_view import build
from fireassay.reports.page import Number, Table
from fireassay.reports.pages.record import page
from fireassay.reports.view import View
from fireassay.verdict.judge import judge
from tests.collectives_made import Made
from tests.reports.pages.screens import EVIL, flat, harmless, parsed, screen

pytestmark = pytest.mark.slow


def viewed(**made: Any) -> View:
    measured = Made(**made).measured()
    return replace(build(measured, judge(measured)), record="comm-20261126T000000Z-42a1bd")


def tables(view: View) -> list[Table]:
    return [block for section in brief(view) for block in section.blocks if isinstance(block, Table)]


def test_the_first_line_has_the_bus_bandwidth_at_the_largest_size() -> None:
    view = viewed(levels=(8,), sizes=("1K:256M",))
    bandwidth = view.estimate("busbw", "workers=8 op=all_reduce place=in bytes=268435456")
    assert bandwidth is not None
    assert flat(page(view)).startswith(f"MEASURED made: all_reduce, 8 workers: busbw {show(bandwidth, GIGABYTES).full} at 256 MiB ")
    assert "The data of all 600 timed calls were right to the last bit." in flat(page(view))


def test_at_most_eight_sizes_are_shown_with_the_smallest_and_the_largest() -> None:
    view = viewed(levels=(8,), sizes=("1K:256M",))
    (table,) = tables(view)
    assert len(table.rows) == 8
    assert [table.rows[place][0].text for place in (0, -1)] == ["1 KiB", "256 MiB"]  # type: ignore[union-attr]
    assert "busbw, GB/s" in " ".join(screen(page(view)))
    for row in table.rows:
        assert isinstance(row[1], Number)
        assert row[1].value in [view.value("collective_time", cell.name) for cell in view.collectives]


def test_many_operations_get_a_row_each_and_what_is_not_offered_its_reason() -> None:
    view = viewed(ops=("all_reduce", "all_to_all", "broadcast"), levels=(2, 3), sizes=("1K:1M",), unsupported={"all_to_all": "no support"})
    (table,) = tables(view)
    assert len(table.rows) == 4
    assert "not measured - all_to_all: gloo does not offer all_to_all: no support" in flat(page(view))


def test_two_operations_have_a_table_each_under_its_name() -> None:
    view = viewed(ops=("all_reduce", "broadcast"), levels=(2,), sizes=("1K:1M",))
    assert [table.title for table in tables(view)] == ["all_reduce, 2 workers (5 of 6 sizes)", "broadcast, 2 workers (5 of 6 sizes)"]
    screen(page(view))


def test_too_few_launches_are_told_how_to_get_enough() -> None:
    view = viewed(blocks=2, sizes=("1K:1M",))
    assert screen(page(view))[0].startswith("INCONCLUSIVE  made: all_reduce of 1 KiB on 2 workers, in place: 2 launches")
    assert parsed(page(view)) == [["assay", "run", "42a1bd", "--launches", "5"]]


def test_wrong_data_fail_in_the_first_line() -> None:
    view = viewed(sizes=("1K:1M",), wrong=lambda cell, launch, rank, call: (3, "3 of 256 elements differ") if call == 1 else (0, None))
    assert answer(view).mark.tone == "bad"
    assert screen(page(view))[0].startswith("FAIL  made: ")
    assert "busbw" not in answer(view).headline


def test_no_name_steers_the_terminal() -> None:
    view = viewed(sizes=("1K:1M",))
    harmless(page(replace(view, name=EVIL, sentence=EVIL)))


def test_the_headline_of_a_list_is_that_of_the_answer() -> None:
    measured = Made(levels=(2, 8), sizes=("1K:1M",)).measured()
    judgement = judge(measured)
    view = build(measured, judgement)
    bandwidth = view.estimate("busbw", "workers=8 op=all_reduce place=in bytes=1048576")
    assert bandwidth is not None
    told = headline(measured, judgement)
    assert told.startswith(show(bandwidth, GIGABYTES).text.removesuffix(" GB/s"))
    assert told.endswith("at 1 MiB with 8 workers")
