"""The answer of a training fits one screen, says the verdict first, and repeats the numbers of the record."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from fireassay.kinds.training.answer import answer, brief
from fireassay.reports.page import Plot, Sum, Table
from fireassay.reports.view import View, build
from fireassay.spec.experiment import Gates
from fireassay.verdict.judge import judge
from tests.handmade import Handmade
from tests.reports.written import written
from tests.verdict.making import good

ROWS, WIDTH = 30, 80


def viewed(made: Handmade) -> View:
    data = made.measured()
    return build(data, judge(data))


def screen(view: View, **more: Any) -> list[str]:
    return written(view, "terminal", full=False, width=WIDTH, **more).splitlines()


MADE = {
    "PASS": lambda: good(levels=(1, 2, 4)),
    "NO GAIN": lambda: good(levels=(1, 2, 4), efficiency={2: 0.4, 4: 0.3}),
    "INCONCLUSIVE": lambda: good(levels=(1, 2), efficiency={2: 0.7}),
    "FAIL": lambda: good(levels=(1, 2), efficiency={2: 0.4}, gates=Gates(required_workers=2)),
}


@cache
def shown(word: str) -> View:
    """Judged once: the answer only reads it."""
    return viewed(MADE[word]())


@pytest.mark.parametrize("word", MADE)
def test_every_status_fits_a_screen_and_says_itself_first(word: str) -> None:
    lines = screen(shown(word))
    assert lines[0].startswith(f"{word}  handmade: ")
    assert len(lines) <= ROWS
    assert all(len(line) <= WIDTH for line in lines if not line.startswith("  assay "))


def test_a_pass_says_what_to_use_and_how_much_faster_it_is() -> None:
    view = shown("PASS")
    said = answer(view)
    speedup = view.metric("speedup")
    assert speedup is not None
    assert said.headline == f"use 4 workers, {speedup.cells['workers=4'].full} times as fast as 1 worker"


def test_no_gain_names_the_counts_and_the_gate_that_they_miss() -> None:
    said = answer(shown("NO GAIN"))
    assert said.headline == "keep 1 worker; 2 and 4 workers miss the efficiency gate of 70 %"
    assert said.mark.word == "no gain"


def test_a_loss_of_quality_is_named_as_such() -> None:
    said = answer(viewed(good(levels=(1, 2), right={2: 10})))
    assert said.headline == "keep 1 worker; 2 workers do not hold accuracy"


def test_an_undecided_count_gets_a_command_that_decides_it() -> None:
    view = replace(shown("INCONCLUSIVE"), record="handmade-20261126T000000Z-77ab01")
    said = answer(view)
    assert said.headline == "keep 1 worker for now; 2 workers may or may not pass"
    assert said.next[0].command == "assay run 77ab01 --workers 1,2 --launches 10"


def test_the_levels_are_those_of_the_metrics_and_the_plot_those_of_the_gate() -> None:
    view = shown("NO GAIN")
    blocks = [block for section in brief(view) for block in section.blocks]
    levels = next(block for block in blocks if isinstance(block, Table))
    plot = next(block for block in blocks if isinstance(block, Plot))
    assert [row[1] for row in levels.rows] == [1, 2, 4]
    assert [row.number.value for row in plot.rows] == [view.estimate("efficiency", f"workers={p}") for p in (2, 4)]
    assert [edge.value for edge in plot.edges] == [view.efficiency_gate]


def test_why_not_faster_is_a_sum_of_the_first_count_that_misses_its_gate() -> None:
    view = shown("NO GAIN")
    why = next(block for section in brief(view) for block in section.blocks if isinstance(block, Sum))
    assert why.title.startswith("why not faster: 2 workers take ")
    assert why.parts[-1].text == "not explained"


def test_what_nobody_asked_for_is_not_listed_as_missing() -> None:
    view = shown("PASS")
    text = "\n".join(screen(view))
    assert "not measured" not in text
    assert "not asked: cost, reliability" in " ".join(text.split())


def test_a_terminal_without_unicode_gets_plain_signs() -> None:
    """The same lines, sign by sign; each has a plain form of the same width."""
    view = shown("NO GAIN")
    marks, plain = screen(view), screen(view, plain=True)
    assert "".join(plain).isascii()
    assert [len(line) for line in plain] == [len(line) for line in marks]
    assert [line[0] for line in plain if line[:1] in {"x", ">"}] == [
        {"✗": "x", "▸": ">"}[line[0]] for line in marks if line[:1] in {"✗", "▸"}
    ]


def test_more_than_eight_counts_keep_the_first_the_recommended_and_the_last() -> None:
    view = viewed(good(levels=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), blocks=3))
    levels = next(block for section in brief(view) for block in section.blocks if isinstance(block, Table))
    shown = [row[1] for row in levels.rows]
    assert len(shown) == 8
    assert {1, 10} <= set(shown)
    assert len(screen(view)) <= ROWS + 6
