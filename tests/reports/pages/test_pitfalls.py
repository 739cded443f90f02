"""The sheet of pitfalls as text, JSON and Markdown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireassay.reports.documents.pitfalls import DOCUMENT, render
from fireassay.reports.page import Bullets, Page, Table
from fireassay.reports.pages import pitfalls
from fireassay.reports.pages.pitfalls import Sheet, of_claim
from fireassay.reports.writers import markdown, terminal
from fireassay.verdict.claims.claim import audit_claim
from tests.reports.documents.conforming import conforming
from tests.verdict.claiming import NOTHING, claim

EVIL = "8x \x1b[2J faster | <script>alert(1)</script> [bold]\n# heading"


def page(made: Sheet) -> Page:
    """All of it; `tests.reports.pages.test_audit_answer` tests what a terminal shows first."""
    return replace(pitfalls.page(made), full=True)


def sheet(text: str = "6 times as fast") -> Sheet:
    """A weak baseline, and nothing said about warm-up."""
    said = claim({"warm_up_excluded": NOTHING, "of": text}, baseline={"precision": text}, candidate={"precision": "fp16"})
    return of_claim(text, "a slide", audit_claim(said))


def test_text_has_the_sentence_each_state_and_what_to_measure() -> None:
    text = terminal.write(page(sheet()))
    for part in (
        "UNSOUND  6 times as fast\n",
        "Unsound as stated",
        "Fallen into (2)",
        "weak baseline: Is the baseline slower than it could be?",
        "invalid baseline_not_equally_optimised (speedup of 6 times as fast at workers=8)",
        "To do:",
        "Could not be examined (1)",
        "cold start in the numbers",
        "To measure in the same launches (1)",
        "- time of the strongest baseline",
        "measure them too: time of every step or",
    ):
        assert part in " ".join(text.split()) or part in text
    assert text.isascii()


@pytest.mark.parametrize("width", [40, 80, 140])
def test_text_fits_its_window(width: int) -> None:
    assert max(map(len, terminal.write(page(sheet()), width=width).splitlines())) <= width


def test_colour_repeats_what_words_say() -> None:
    assert "\x1b[" in terminal.write(page(sheet()), colour=True)
    assert "\x1b" not in terminal.write(page(sheet()))


def test_json_has_every_pitfall_with_its_findings_and_needs() -> None:
    document = conforming(DOCUMENT, render(sheet()))
    assert document["status"] == "unsound"
    first = document["pitfalls"][0]
    assert (first["pitfall"], first["state"]) == ("apples_to_oranges", "fallen into")
    assert first["findings"][0]["needs"] == ["same_conditions"]
    assert {p["state"] for p in document["pitfalls"]} == {"fallen into", "not examined", "clear"}
    assert [m["quantity"] for m in document["measure"]] == ["time of the strongest baseline in every launch"]
    assert [m["quantity"] for m in document["measure_if_unknown"]] == ["time of every step or request"]


def test_what_a_claim_says_steers_neither_a_terminal_nor_a_page() -> None:
    evil = sheet(EVIL)
    assert "\x1b[2J" not in terminal.write(page(evil), colour=True)
    assert "\\u001b" not in render(evil)
    text = markdown.write(page(evil))
    assert "<script>" not in text
    assert "\n# heading" not in text


def test_markdown_has_a_table_for_each_state() -> None:
    text = markdown.write(page(sheet()))
    for heading in ("## Fallen into", "## Could not be examined", "## Clear", "## To measure in the same launches"):
        assert heading in text


def test_a_page_lists_what_is_wrong_and_has_a_table_of_the_rest() -> None:
    """In a text each pitfall is a heading; in a page that was a card of one line for each of dozens."""
    sections = pitfalls.page(sheet()).of_role("question")
    assert [section.key for section in sections] == ["fallen-into", "measure", "not-examined", "clear"]
    (wrong,) = sections[0].blocks
    assert isinstance(wrong, Bullets)
    assert wrong.items[0].title == "apples to oranges"
    assert "weak baseline" in [item.title for item in wrong.items]
    names = [row[0] for section in sections[2:] for table in section.blocks if isinstance(table, Table) for row in table.rows]
    assert names == [pitfall.title for state in ("not examined", "clear") for pitfall in sheet().pitfalls if pitfall.state == state]
