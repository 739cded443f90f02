"""The answer of a reproduction: the change that decides, drawn against no change, and what is exact in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.reports.pages.reproduction import page
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.reproduction import Reproduction, reproduction
from tests.reports.pages.screens import EVIL, flat, harmless, plots, screen
from tests.verdict.sides import made, side

pytestmark = pytest.mark.slow


def reproduced(seconds: float) -> Reproduction:
    first, second = side("first", made(10.0, day=1, right=300)), side("again", made(seconds, day=2, right=300))
    return reproduction(compare((first, second), force=True), first, second)


@pytest.mark.parametrize(("seconds", "word"), [(20.0, "DIFFERS"), (10.1, "REPRODUCED")])
def test_the_first_line_has_the_change_that_decides(seconds: float, word: str) -> None:
    found = reproduced(seconds)
    row = next(row for row in found.rows if row.decides and row.difference is not None)
    assert screen(page(found))[0].startswith(f"{word}  first again as again: wall time of a run ")
    (plot,) = plots(page(found))
    value = plot.rows[0].number.value
    assert row.difference is not None
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(row.difference.value - 1.0)
    assert "✓ quality accuracy held" in flat(page(found))


def test_the_deciding_change_has_the_first_tile_and_the_metrics_are_counted() -> None:
    answer = page(reproduced(20.0)).answer
    assert answer is not None
    first, *_, last = answer.tiles
    assert (first.title, first.mark.word, first.big) == ("Wall time of a run", "differs", "+100 %")
    assert last.mark.tone == "bad"
    assert sum(int(part.split()[0]) for part in last.text.split(", ")) == len(reproduced(20.0).rows)


def test_another_experiment_shows_no_number_and_no_name_steers_the_terminal() -> None:
    found = reproduced(20.0)
    refused = replace(found, state="not_comparable", rows=(), sentence="NOT COMPARABLE: this is not the same experiment: a (b against c).")
    assert screen(page(refused))[0] == "NOT COMPARABLE  first again as again: this is not the same experiment: a (b"
    assert plots(page(refused)) == []
    rows = tuple(replace(row, title=EVIL, sentence=EVIL) for row in found.rows)
    harmless(page(replace(found, first=EVIL, second=EVIL, rows=rows, notes=(EVIL,), sentence=EVIL)))
