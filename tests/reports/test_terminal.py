"""The terminal report: plain ASCII without a terminal, within its width, every status a word."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from assay.reports.terminal import REPORT, render
from assay.reports.view import DIMENSION_TITLES, View, build
from assay.verdict.judge import judge
from assay.verdict.types import DIMENSIONS
from tests import builders


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_no_line_is_wider_than_asked(view: View, width: int) -> None:
    assert max(len(line) for line in render(view, width=width).splitlines()) <= width


@pytest.mark.parametrize("width", [40, 60, 77, 78, 100])
def test_no_word_of_the_vector_is_broken(view: View, width: int) -> None:
    vector = render(view, width=width).split("Four dimensions")[1].split("\n- ")[0]
    for row in view.vector:
        assert row.column.label in vector
        for dimension in DIMENSIONS:
            assert DIMENSION_TITLES[dimension] in vector
            assert row.cells[dimension].word in vector


def test_without_a_terminal_the_text_is_plain_ascii(view: View) -> None:
    text = REPORT.render(view)
    assert isinstance(text, str)
    assert text.isascii()
    assert "\x1b" not in text
    assert "?" not in text  # nothing was lost on the way to ASCII


def test_with_a_terminal_colour_repeats_the_words(view: View) -> None:
    text = render(view, colour=True)
    assert "\x1b[" in text
    assert "inconclusive" in text


def test_the_sentence_the_vector_the_gates_and_the_remedy_are_there(view: View) -> None:
    text = " ".join(render(view, width=120).split())
    assert "FAIL synthetic: on admissible numbers, something that was required does not hold" in text
    assert view.sentence in text
    assert "4 workers fail fail inconclusive pass" in text
    assert "1 and 2 workers, reliability: not measured, no fault launch at this worker count" in text
    assert "fail 4 workers efficiency 62 % [60, 65] < 70 %" in text
    assert "To do: scale the learning rate | warm up." in text
    assert "recommended 2 workers the largest admissible one" in text


def test_a_missing_number_says_why(view: View) -> None:
    text = " ".join(render(view).split())
    assert "Energy of a run, not measured: this machine has no energy counter (RAPL, NVML) (3 configurations)" in text


def test_configurations_that_do_not_fit_side_by_side_continue_below() -> None:
    measured = builders.measured(levels=(1, 2, 4, 8, 16, 32), launches=2, steps=12)
    text = render(build(measured, judge(measured)), width=80)
    assert all(f"{level} workers" in text for level in (2, 4, 8, 16, 32))
    assert text.count("Step time") == 2


@pytest.mark.parametrize("colour", [True, False])
def test_nothing_that_a_record_says_steers_the_terminal(view: View, colour: bool) -> None:
    evil = "x\x1b[2J\x1b]0;title\x07\x9b31m\u202ey"
    finding = replace(view.findings[0], evidence=evil, remedy=evil, configuration=evil, where=evil)
    hostile = replace(view, name=evil, sentence=evil, findings=(finding,))
    shown = render(hostile, colour=colour)
    assert not re.search("\x1b(?!\\[[0-9;]*m)|[\x07\x9b\u202e]", shown)  # colours only
    assert shown.count("[2J") == 5


def test_markup_in_a_name_is_text() -> None:
    measured = builders.measured(failed=True)
    view = build(measured, builders.judgement())
    assert "[0.939, 0.961]" in render(view)  # rich would read brackets as a style
