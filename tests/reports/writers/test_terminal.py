"""What a page looks like in a terminal, whatever it holds and however narrow the window is."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fireassay.reports.page import Page, Section, Table, heads, number
from fireassay.reports.writers.terminal import write
from tests.reports.writers.small import PAGE, estimate


def test_the_front_is_shown_with_every_number_its_interval_and_every_reason() -> None:
    text = write(PAGE, width=140)
    for wanted in (
        "FAIL  small",
        "a gate was missed",
        "  B is slower than A.",
        "Numbers ---",
        "100 ms        50.0 ms\n                [90, 110]   [45.0, 55.0]",
        "- Serial fraction: 2.00 % [1.80, 2.20]",
        "- Quality: no evaluation was recorded",
        "- a note",
        "- several: a: one; b: two; and 2 others",
        "To do: make more.",
        "none: every audit passed",
        "Intervals: 95 %.",
    ):
        assert wanted in text, wanted
    for deeper in ("Conditions", "All loads", "indented"):
        assert deeper not in text


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_without_colour_it_is_ascii_and_no_line_is_wider_than_the_window(width: int) -> None:
    lines = write(PAGE, width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert all(line.isascii() for line in lines)


def test_columns_that_do_not_fit_continue_in_a_table_that_repeats_the_names_of_the_rows() -> None:
    many = Table(
        name="many", heads=heads("Metric", *(f"{n} workers" for n in range(8))), rows=(("Step time", *(number(estimate(0.1)),) * 8),)
    )
    text = write(Page(title="x", sections=(Section(key="a", title="", content=(many,)),)), width=60)
    assert text.count("Step time") > 1
    assert all(f"{n} workers" in text for n in range(8))


def test_nothing_on_the_page_steers_the_terminal() -> None:
    assert not re.search("\x1b(?!\\[[0-9;]*m)|[\x07\x9b\u202e]", write(PAGE, colour=True))
    assert "\x1b[" in write(PAGE, colour=True)


def test_code_keeps_its_lines() -> None:
    shown = replace(PAGE, sections=tuple(replace(section, depth="front") for section in PAGE.sections))
    assert "line\n  indented\n" in write(shown)
