"""The results section as Markdown: every section, and nothing from the record is markup."""

from __future__ import annotations

from dataclasses import replace

from assay.reports.prose import results_section
from assay.reports.results import REPORT, render
from assay.reports.view import View


def test_every_section_has_its_heading_and_the_table_its_caption(view: View) -> None:
    text = render(view)
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == [section.title for section in results_section(view)]
    assert "\nTable: " in text


def test_text_from_the_record_is_escaped(view: View) -> None:
    facts = tuple(replace(fact, text="<b>[x](y)</b>") for fact in view.conditions)
    text = render(replace(view, conditions=facts))
    assert "<b>" not in text.replace("\\<b\\>", "")
    assert r"\[x\]" in text


def test_it_does_not_overwrite_the_markdown_report() -> None:
    assert REPORT.suffix == "-results.md"
