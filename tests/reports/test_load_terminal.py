"""A load in a terminal: within the width, no word cut, shared things once, every configuration with its numbers."""

from __future__ import annotations

import pytest

from assay.reports import load_tables
from assay.reports.grouping import Told
from assay.reports.load_terminal import reasons, said, where
from assay.reports.terminal import REPORT, render
from assay.reports.view import View


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_no_line_is_wider_than_asked(load: View, scenarios: View, width: int) -> None:
    for view in (load, scenarios):
        assert max(len(line) for line in render(view, width=width).splitlines()) <= width


@pytest.mark.parametrize("width", [80, 100, 140])
def test_every_number_stands_on_one_line(load: View, width: int) -> None:
    text = render(load, width=width)
    for table in load_tables.numbers(load):
        for row in table.rows:
            for cell in row:
                assert f"{cell.text} {cell.below}".strip().replace("–", "-") in text


def test_no_head_is_cut(load: View) -> None:
    assert "..." not in render(load, width=80).split("Numbers")[1].split("Gates")[0]


def test_without_a_terminal_the_text_is_plain_ascii(load: View) -> None:
    text = REPORT.render(load)
    assert isinstance(text, str)
    assert text.isascii()


def test_a_finding_of_all_is_told_once(load: View) -> None:
    text = " ".join(render(load).split())
    assert text.count("few_launches") == 1
    assert "few_launches (all 4 configurations)" in text


def test_reasons_are_grouped_by_dimension_and_status(load: View) -> None:
    found = [(dimension, status) for _, dimension, status, _ in reasons(load)]
    assert len(found) == len(set(found))


def test_of_many_sentences_the_first_stand_and_the_rest_are_counted() -> None:
    told = [Told(where=f"at {place}", sentence=f"s{place}") for place in range(5)]
    assert said(told) == "at 0: s0; at 1: s1; and 3 others"
    assert where(told) == ""
    assert (said(told[:1]), where(told[:1])) == ("s0", "at 0")


def test_what_a_server_wrote_does_not_steer_the_terminal(hostile: View) -> None:
    assert "\x1b" not in render(hostile)
    coloured = render(hostile, colour=True)
    assert "\x1b[31m|" not in coloured
