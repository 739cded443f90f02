"""A page as Markdown: up to its details, with every text escaped."""

from __future__ import annotations

from dataclasses import replace

from fireassay.reports.page import Section, Table, Words, heads
from fireassay.reports.writers.markdown import plain, write
from tests.reports.writers.small import DATA, PAGE


def test_everything_up_to_the_details_is_there() -> None:
    text = write(PAGE)
    for wanted in (
        ": FAIL\n",
        "\n> B is slower than A.\n",
        "| Step time | 100 ms \\[90, 110\\] | 50.0 ms \\[45.0, 55.0\\] |",
        "| Quality | not measured (no evaluation was recorded) |",
        "| Serial fraction | 2.00 % \\[1.80, 2.20\\], whole experiment |  |",
        "| 1 worker | FAIL: the losses differ |",
        "- **warning** **few\\_trials** (a) ",
        "To do: make more.",
        "  - c: three",
        "none: every audit passed",
        "```text\nline\n  indented\n```",
    ):
        assert wanted in text, wanted
    assert "All loads" not in text


def test_text_is_never_markup() -> None:
    text = write(PAGE)
    assert "<script>" not in text
    assert "[x](" not in text
    assert "\x1b" not in text
    assert plain("a|b\n`c`") == "a\\|b \\`c\\`"


def test_what_does_not_count_is_struck_and_what_decides_is_strong() -> None:
    table = Table(name="t", heads=heads("a", "b"), rows=((Words(text="x", strong=True), Words(text="y", below="z", tone="struck")),))
    assert "| **x** | ~~y z~~ |" in write(replace(PAGE, sections=(Section(key="t", title="T", content=(table,)),)))


def test_sections_for_a_paper_are_shown_where_there_are_no_others() -> None:
    assert write(replace(DATA, title="", sections=DATA.sections[-1:])) == "## Results\n\nIt is fast.\n"
