"""A page as HTML: whole, without a script, with every text escaped and every depth on it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from fireassay.reports.page import Page
from fireassay.reports.writers.html import SIGNS, write
from tests.reports.writers.small import DATA, PAGE

VOID = ("meta", "link", "br")


class Parsed(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(re.sub(r"<(path|circle|rect)([^>]*)/>", r"<\1\2></\1>", text))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        named = dict(attrs)
        self.ids += [named["id"] or ""] if "id" in named else []
        self.links += [named["href"] or ""] if tag == "a" else []
        self.open += [tag] if tag not in VOID else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("page", [PAGE, DATA])
def test_the_page_is_whole_runs_nothing_and_loads_nothing(page: Page) -> None:
    text = write(page)
    parsed = Parsed(text)
    assert parsed.open == []
    assert "script" not in parsed.tags
    assert not re.search(r'(src|href)="(?!data:,|#)', text)
    assert "default-src 'none'" in text
    assert len(set(parsed.ids)) == len(parsed.ids)
    assert {link.removeprefix("#") for link in parsed.links} <= set(parsed.ids)


def test_every_depth_is_shown_and_text_is_never_markup() -> None:
    text = write(PAGE)
    for wanted in (
        "Numbers",
        "Findings",
        "Conditions",
        "All loads",
        "&lt;script&gt;",
        "no data",
        "1 more",
        "step_time|k:5",
        "whole experiment",
    ):
        assert wanted in text, wanted
    assert "\x1b" not in text


def test_one_reason_for_a_whole_row_is_said_once() -> None:
    assert write(PAGE).count("no evaluation was recorded") == 1


def test_no_status_is_said_by_colour_alone() -> None:
    text = write(PAGE)
    assert f'<span class="status bad big"><span aria-hidden="true">{SIGNS["bad"]}</span>fail</span>' in text
    assert '<span class="status open"><span aria-hidden="true">!</span>warning</span>' in text
