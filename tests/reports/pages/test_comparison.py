"""Does every rendering show every verdict, say EXPLORATORY beside each, strike out what does not count, and escape what it was given?"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from fireassay.reports.charts.comparison import forest
from fireassay.reports.documents import comparison as document
from fireassay.reports.page import Number, Page
from fireassay.reports.pages import comparison
from fireassay.reports.pages.comparison_view import ComparisonView, build
from fireassay.reports.writers import html, markdown, terminal
from fireassay.reports.writers.support import svg
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.sessions import Days
from fireassay.verdict.comparison.types import Side
from tests.reports.documents.conforming import conforming
from tests.reports.pages.screens import flat
from tests.verdict.comparing import complete, relabelled, side, with_experiment

pytestmark = pytest.mark.slow


def page(view: ComparisonView) -> Page:
    """All of it; `tests.reports.pages.test_comparison_answer` tests what a terminal shows first."""
    return replace(comparison.page(view), full=True)


RENDERINGS: dict[str, Callable[[ComparisonView], str]] = {
    "terminal": lambda view: terminal.write(page(view)),
    "markdown": lambda view: markdown.write(page(view)),
    "html": lambda view: html.write(page(view)),
    "json": lambda view: document.render(view.comparison),
}
QUIET = Days(assumed=1e-6)  # sessions that do not differ
EVIL = "<script>alert(1)</script>|`x`"


@pytest.fixture(scope="module")
def plain() -> Side:
    return side("A", complete())


@pytest.fixture(scope="module")
def better() -> Side:
    return side("B", complete(efficiency={2: 0.99}))


@pytest.fixture(scope="module")
def decided(plain: Side, better: Side) -> ComparisonView:
    return build(compare([plain, better], days=QUIET), plain.judgement.metrics)


@pytest.fixture(scope="module")
def forced(plain: Side, better: Side) -> ComparisonView:
    other = with_experiment(better, "B", "workload.arguments", ("--lr", "1"))
    return build(compare([plain, other], force=True, days=QUIET), plain.judgement.metrics)


@pytest.fixture(scope="module")
def struck(plain: Side) -> ComparisonView:
    lost = side("B", complete(efficiency={2: 0.99}, right={2: 20}))
    return build(compare([plain, lost], days=QUIET), plain.judgement.metrics)


@pytest.fixture(scope="module")
def refused(plain: Side, better: Side) -> ComparisonView:
    other = with_experiment(better, "B", "workload.arguments", (EVIL,))
    return build(compare([plain, other], days=QUIET), plain.judgement.metrics)


@pytest.mark.parametrize("name", RENDERINGS)
def test_the_sentence_and_the_deciding_verdict_are_in_every_rendering(name: str, decided: ComparisonView) -> None:
    text = " ".join(RENDERINGS[name](decided).split())
    assert "faster" in text
    assert "detectable change" in text
    assert "Throughput" in text or name == "json"


@pytest.mark.parametrize("name", RENDERINGS)
def test_every_verdict_of_a_forced_comparison_has_its_mark(name: str, forced: ComparisonView) -> None:
    text = RENDERINGS[name](forced)
    if name == "json":
        assert [change for change in json.loads(text)["changes"] if change["exploratory"] is not True] == []
    shown = {"terminal": [r for r in forced.rows if r.shown or r.primary], "json": []}.get(name, list(forced.rows))
    assert text.count("EXPLORATORY") >= len(shown) + 2  # and in the heading and the sentence
    assert [row.word for row in forced.rows if "EXPLORATORY" not in row.word] == []


@pytest.mark.parametrize("name", RENDERINGS)
def test_a_comparison_that_was_not_forced_never_has_the_mark(name: str, decided: ComparisonView) -> None:
    assert "EXPLORATORY" not in RENDERINGS[name](decided)


@pytest.mark.parametrize("name", RENDERINGS)
def test_a_refusal_names_field_both_values_reason_and_override(name: str, refused: ComparisonView) -> None:
    text = " ".join(RENDERINGS[name](refused).split())
    for wanted in ("workload.arguments", "(none)", "alert(1)", "--varying workload.arguments", "--force"):
        assert wanted in text.replace("\\", ""), wanted


def test_another_script_and_another_commit_are_one_subject_named_code(refused: ComparisonView) -> None:
    (row,) = (row for row in refused.mismatches if row.standing == "refuses")
    rows = tuple(replace(row, field=field) for field in ("workload.script_sha256", "workload.git", "workload.arguments"))
    text = flat(comparison.page(replace(refused, mismatches=rows), ("a", "b"))).replace("\\", "")
    assert "--varying code --varying workload.arguments" in text
    assert text.count("--varying code") == 1


def test_numbers_that_do_not_count_are_struck_and_stay(struck: ComparisonView) -> None:
    assert "~~+10.0 % \\[7.5, 12.5\\]~~" in markdown.write(page(struck))
    assert re.search(r">\+10.0 %</del>\s*<span class=\"ci\">\[7.5, 12.5\]", html.write(page(struck)))
    assert "struck out" in terminal.write(page(struck))
    change = next(c for c in json.loads(document.render(struck.comparison))["changes"] if c["primary"])
    assert (change["outcome"], round(change["ratio"], 3)) == ("struck_out", 1.1)


@pytest.mark.parametrize("name", RENDERINGS)
def test_a_change_that_no_interval_bounds_is_shown_with_the_reason(name: str, plain: Side) -> None:
    one = side("B", complete(efficiency={2: 0.99}, right={2: 20}, blocks=1))
    text = RENDERINGS[name](build(compare([plain, one], force=True, days=QUIET), plain.judgement.metrics))
    assert "no interval" in text


def test_text_from_a_record_is_never_markup(refused: ComparisonView) -> None:
    assert html.write(page(refused)).count("<script") == 1  # ours
    assert "<script>" not in markdown.write(page(refused))
    assert "\\|\\`x\\`" in markdown.write(page(refused))


def test_the_terminal_without_colour_is_plain_ascii_of_the_asked_width(decided: ComparisonView, refused: ComparisonView) -> None:
    for view in (decided, refused):
        for width in (60, 100, 140):
            lines = terminal.write(page(view), width=width).splitlines()
            assert max(map(len, lines)) <= width
            assert all(line.isascii() for line in lines)
    assert "\x1b[" in terminal.write(page(decided), colour=True)


def test_no_name_and_no_note_of_a_record_steers_the_terminal(decided: ComparisonView) -> None:
    evil = "x\x1b[2J\x07\x9b31m\u202ey"
    hostile = replace(decided, sides=(evil, "B"), sentence=evil, notes=(evil,))
    for text in (terminal.write(page(hostile), colour=True), markdown.write(page(hostile))):
        assert not re.search("\x1b(?!\\[[0-9;]*m)|[\x07\x9b\u202e]", text)


def test_many_sides_stand_beside_one_another_each_against_the_first(plain: Side, better: Side) -> None:
    view = build(compare([plain, better, relabelled(plain, "C")], days=QUIET), plain.judgement.metrics)
    assert [(row.side, row.word) for row in view.overview] == [("A", ""), ("B", "faster"), ("C", "equivalent")]
    assert {"Throughput", "Step time", "Cost of a run", "Quality"} <= set(view.heads)
    for render in list(RENDERINGS.values())[:3]:
        assert "Side by side" in render(view)


def test_a_number_that_no_side_has_is_no_column(decided: ComparisonView) -> None:
    assert "Energy of a run" not in decided.heads


def test_the_json_has_the_declared_shape(decided: ComparisonView, forced: ComparisonView) -> None:
    parsed = conforming(document.DOCUMENT, document.render(forced.comparison))
    assert parsed["changes"]
    assert parsed["mismatches"]
    conforming(document.DOCUMENT, document.render(decided.comparison))
    assert document.DOCUMENT.VERSION in document.reference()


def test_the_forest_shows_the_band_of_equivalence_and_every_ratio_in_words(decided: ComparisonView, struck: ComparisonView) -> None:
    drawn = forest(decided)
    assert not drawn.missing
    assert any("within 3 %" in key.text for key in drawn.key)
    assert "Throughput of B against A at workers=2, between these two sessions: faster" in drawn.description
    picture = svg.picture(drawn)
    assert picture.svg.startswith("<svg")
    marked = forest(struck)
    assert not marked.missing
    assert any(key.text == "struck out" for key in marked.key)


def test_an_interval_that_goes_on_beyond_the_picture_has_a_pointed_end_there(decided: ComparisonView) -> None:
    """An interval to +140 % was drawn as one that ends at the edge, at 108 %."""

    def cut(high: float) -> bool:
        (row,) = [one for one in decided.rows if one.primary]
        wide = replace(row, change=replace(row.change, high=high))
        shown = replace(decided, rows=tuple(wide if one is row else one for one in decided.rows))
        return "Pointed ends are cut" in svg.picture(forest(shown)).caption

    assert not cut(1.9)
    assert cut(2.4)


def test_without_a_ratio_there_is_a_sentence_in_place_of_the_picture(refused: ComparisonView) -> None:
    assert forest(refused).missing


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        self.open += [tag] if tag not in ("meta", "link", "br") else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_runs_nothing_and_loads_nothing(decided: ComparisonView) -> None:
    text = html.write(page(decided))
    parser = _Page()
    parser.feed(re.sub(r"<(path|circle|rect)([^>]*)/>", r"<\1\2></\1>", text))
    assert parser.open == []
    assert not re.search(r'(src|href)="(?!data:,|#)', text)


def test_a_metric_that_only_one_side_measured_says_so(plain: Side) -> None:
    view = build(compare([plain, side("B", complete(prices=None))]), plain.judgement.metrics)
    row = next(row for row in view.rows if row.metric == "cost" and row.configuration == "workers=2")
    assert (row.word, row.effect, row.value.text) == ("not measured", None, "not measured")
    assert "not measured on B" in row.sentence


def test_two_values_that_are_said_to_differ_do_not_read_alike(decided: ComparisonView, plain: Side) -> None:
    """1.0004 and 1.0001 s, each +-0.1 s, surely different by pairs: 1,000 and 1,000 ms would contradict the verdict."""
    from fireassay.estimates.estimate import Estimate

    change = next(row.change for row in decided.rows if row.metric == "step_time" and row.change.outcome == "improved")
    assert isinstance(change.value, Estimate)
    near = [replace(change.value, value=one, low=one - 0.1, high=one + 0.1) for one in (1.0004, 1.0001)]
    for outcome, alike in (("improved", False), ("inconclusive", True)):
        close = replace(change, baseline=near[0], value=near[1], outcome=outcome)
        view = build(replace(decided.comparison, changes=(close,)), plain.judgement.metrics)
        assert (view.rows[0].baseline.text == view.rows[0].value.text) is alike


WORDS = ("poor", "moderate", "good", "excellent", "superlinear")


def test_an_efficiency_has_its_band_on_both_sides(decided: ComparisonView) -> None:
    rows = [row for row in decided.rows if row.metric == "efficiency"]
    table = comparison.changes("t", rows)
    extras = {cell.extra for row in table.rows for cell in row[3:5] if isinstance(cell, Number)}
    assert rows
    assert extras - {""} <= {f"{a} to {b}" if a != b else a for a in WORDS for b in WORDS}
    assert extras != {""}
