"""A page as HTML: whole, with no script but its own, every text escaped and every depth on it."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from fireassay.reports.page import Chart, Facts, Line, Mark, Next, Page, Prose, Section, Sum
from fireassay.reports.writers.html import SIGNS, write
from fireassay.reports.writers.support import grids
from tests.reports.writers.small import ABSENT, ANSWERED, DATA, PAGE, WHY

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
    assert text.count("<script") == 1
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
    assert f'<span class="st fail main"><span aria-hidden="true">{SIGNS["bad"]}</span>fail</span>' in text
    assert '<span class="st open"><span aria-hidden="true">!</span>warning</span>' in text


def test_the_policy_allows_the_pages_own_script_and_nothing_else() -> None:
    text = write(PAGE)
    script = text.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert f"script-src 'sha256-{digest}'" in policy[1]
    assert "unsafe" not in policy[1].replace("style-src 'unsafe-inline'", "")
    assert len(script.encode()) <= 7 * 1024


def test_numbers_carry_their_bounds_and_a_row_its_unit_once() -> None:
    text = write(PAGE)
    assert 'data-v="100" data-lo="90" data-hi="110"' in text  # 0.1 s, shown in ms
    assert re.search(r'Step time\s*<span class="unit">ms</span>', text)
    assert "100 ms" not in text.partition("<tbody>")[2].partition("</tbody>")[0]


def test_what_nothing_measured_is_listed_by_reason() -> None:
    listed = write(PAGE).partition('<div class="groups">')[2].partition("</div>")[0]
    assert "Quality" in listed
    assert ABSENT.detail in listed


def test_an_answer_comes_first_with_its_tiles_evidence_and_next_command() -> None:
    text = write(ANSWERED)
    order = [
        "Keep 1 worker",
        "<span>--workers</span> <span>1,2</span>",
        "Correctness",
        'id="sum-why"',
        "wanted",
        "What does each give?",
        "To quote",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert 'href="#levels"' in text
    assert 'id="level-2"' in text


def test_every_next_step_stands_on_the_page() -> None:
    """As in a terminal: the second of a failed score is the command for dependent items."""
    assert ANSWERED.answer is not None
    steps = (Next(reason="look at the items"), Next(reason="take the topic as the unit", command="assay score a b --cluster topic"))
    text = write(replace(ANSWERED, answer=replace(ANSWERED.answer, next=steps)))
    assert "<p>Look at the items.</p><p>Take the topic as the unit:</p>" in text
    assert "<span>--cluster</span> <span>topic</span>" in text


def test_the_sentence_instead_of_a_chart_takes_no_column() -> None:
    chart = next(block for section in ANSWERED.sections for block in section.blocks if isinstance(block, (Chart, Sum)))
    drawn = Section(key="drawn", title="", role="exhibit", content=(chart,))
    instead = Section(key="instead", title="", role="exhibit", content=(Prose(text="No load has both."),))
    assert 'class="two first n1"' in write(replace(ANSWERED, sections=(instead, drawn)))


def test_a_headline_begins_like_a_sentence_unless_it_begins_with_a_name() -> None:
    assert ANSWERED.answer is not None
    tile = replace(ANSWERED.answer.tiles[0], marks=(Mark(word="vllm, 8 in flight"),))
    named = replace(ANSWERED, answer=replace(ANSWERED.answer, headline="vllm over sglang: 5 % more", tiles=(tile,)))
    assert ">Keep 1 worker" in write(ANSWERED)
    assert ">vllm over sglang" in write(named)
    operation = replace(ANSWERED, answer=replace(ANSWERED.answer, headline="all_reduce, 2 workers: +5 %"))
    assert ">all_reduce, 2 workers: +5\u00a0%<" in write(operation)


def test_what_only_a_terminal_folds_is_no_part_of_a_page() -> None:
    """A page shows the tables of an answer once, in full, and has no use for --full."""
    assert ANSWERED.answer is not None
    brief = Section(key="brief-rows", title="", role="answer", content=(Facts(rows=(("only", "in a terminal"),)),))
    lines = (Line(label="doubts", text="few launches. 2 more: --full"), Line(label="performance", text="said by a tile"))
    answer = replace(ANSWERED.answer, lines=lines, record="77ab01, 5 launches; all: --full")
    text = write(replace(ANSWERED, answer=answer, sections=(brief, *ANSWERED.sections)))
    assert "few launches." in text
    assert "77ab01, 5 launches." in text
    assert [word for word in ("--full", "in a terminal", "said by a tile") if word in text] == []


def test_a_sums_parts_begin_where_the_one_before_ends_and_add_up_as_printed() -> None:
    first, second, third, rest, total = grids.beams(WHY)
    assert [beam.number for beam in (first, second, third, rest, total)] == ["267", "67", "+80", "+41", "= 188"]
    assert (first.left, second.left, total.left) == (0.0, 0.0, 0.0)
    assert third.left == pytest.approx(second.width)
    assert rest.left == pytest.approx(second.width + third.width)
    assert rest.left + rest.width == pytest.approx(total.width, rel=0.01)
