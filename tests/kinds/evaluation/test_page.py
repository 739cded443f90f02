"""Does every format show an evaluation, with texts from elsewhere escaped?"""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest

from fireassay import catalog
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.evaluation_rows import rows as evaluation_rows
from fireassay.reports.build_view import build
from fireassay.reports.evaluation_view import HeldRow
from fireassay.reports.page import Table
from fireassay.reports.pages.record import page
from fireassay.verdict.judge import judge
from tests.answered import rows, scored
from tests.reports.pages.screens import flat

HOSTILE = '<script>alert("x")</script>'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> object:
    a, b = rows(["yes"] * 200), rows([HOSTILE, *["yes"] * 199])
    measured = scored(tmp_path_factory.mktemp("page"), {"a": a, "b": b}, margin=0.05)
    return page(build(measured, judge(measured)))


def test_the_headline_says_held_and_the_margin(made: object) -> None:
    assert made.answer.headline.startswith("b: quality held: Exact match −0.50 points [−")  # type: ignore[attr-defined]
    assert made.answer.headline.endswith("], one-sided bounds, margin 5 points over 200 items")  # type: ignore[attr-defined]


def test_without_a_margin_the_first_screen_tells_the_change_and_asks_for_one(tmp_path: Path) -> None:
    lost = {name: rows(["no"] * count + ["yes"] * (200 - count)) for name, count in (("a", 0), ("b", 10), ("c", 40), ("d", 4), ("e", 6))}
    two = scored(tmp_path, {"a": lost["a"], "c": lost["c"]})
    answer = page(build(two, judge(two))).answer
    assert answer is not None
    assert answer.headline.startswith("c against a: Exact match −20.0 points [−2")
    assert answer.headline.endswith("], 200 items, 40 worse, 0 better")
    assert answer.evidence == "no margin was given: is that acceptable? --margin 0.02"
    several = scored(tmp_path / "several", lost)
    told = page(build(several, judge(several))).answer
    assert told is not None
    assert [part[:11] for part in told.headline.split("; ")] == ["c against a", "b against a", "e against a", "1 more chan"]


def test_a_screen_too_narrow_for_all_scores_counts_the_others(tmp_path: Path) -> None:
    asked = ["exact_match", "contains", "f1", "rouge_l", "meteor", "chrf"]
    measured = scored(tmp_path, {"a": rows(["yes"] * 40 + ["no"] * 10)}, metrics=asked)
    assert "more columns in a wider window)" in flat(page(build(measured, judge(measured))))


def test_the_screen_of_a_macro_f1_says_over_which_labels_it_is_the_mean(tmp_path: Path) -> None:
    """.667 over "yes" and "no"; scikit-learn's default, which counts "?" too, gives .444."""
    rights = ["yes"] * 20 + ["no"] * 20
    made = [{**row, "reference": right} for row, right in zip(rows([*["yes", "?"] * 10, *["no", "?"] * 10]), rights, strict=True)]
    one = scored(tmp_path / "one", {"a": made}, metrics=["f1_macro"])
    assert "Macro F1 over the labels 0.67 [" in flat(page(build(one, judge(one))))
    two = scored(tmp_path / "two", {"a": made, "b": made}, metrics=["f1_macro"])
    assert "Macro F1 over the labels" in flat(page(build(two, judge(two))))


@pytest.mark.parametrize("writer", ["html", "markdown", "terminal"])
def test_a_format_shows_the_decision(made: object, writer: str) -> None:
    text = catalog.load("reports.writers", writer).write(made)
    assert "held" in text
    assert HOSTILE not in text


def test_the_page_holds_the_item_that_flipped(made: object) -> None:
    text = catalog.load("reports.writers", "html").write(made)
    assert "&lt;script&gt;" in text
    assert "1 items changed" not in text


@pytest.mark.parametrize("writer", ["html", "markdown", "terminal"])
def test_a_format_shows_the_negative_control(made: object, writer: str) -> None:
    text = catalog.load("reports.writers", writer).write(replace(made, full=True))  # type: ignore[type-var]
    assert "would have been seen in" in " ".join(text.split())


@pytest.mark.parametrize("writer", ["html", "terminal"])
def test_flips_of_the_reference_against_itself_stand_beside_those_of_a_side(writer: str, tmp_path: Path) -> None:
    """Asked twice, the reference changes 40 of 200 answers; the other side gives its first answers, so that half as many pairs differ."""
    once, again = ["yes"] * 180 + ["no"] * 20, ["yes"] * 160 + ["no"] * 20 + ["yes"] * 20
    twice = [row for pair in zip(rows(once), rows(again), strict=True) for row in pair]
    measured = scored(tmp_path, {"a": twice, "b": rows(once)}, margin=0.2)
    (row,) = tables_of(measured)
    assert (row.flips.value, row.itself.value) == pytest.approx((0.1, 0.2))  # type: ignore[union-attr]
    text = catalog.load("reports.writers", writer).write(replace(page(build(measured, judge(measured))), full=True))
    told = "Answers that score otherwise than the reference's to the same item: 10.0 % [7.7, 13.0]; the reference's own when asked again: 20.0 % [15.4, 25.3]"
    assert told in " ".join(html.unescape(text).split())


def test_worse_within_the_margin_is_said_first(tmp_path: Path) -> None:
    before, after = rows(["yes"] * 900 + ["no"] * 100), rows(["no"] * 10 + ["yes"] * 890 + ["no"] * 100)
    measured = scored(tmp_path, {"a": before, "b": after}, margin=0.05)
    shown = page(build(measured, judge(measured)))
    assert shown.answer.headline.startswith("b: quality held (worse within the margin): Exact match −1.00 points")
    assert "held, worse within the margin" in catalog.load("reports.writers", "html").write(shown)


def test_an_open_decision_says_how_many_items_would_decide_it_and_shows_its_numbers(tmp_path: Path) -> None:
    """−1.3 points of 1,319 items against a margin of 2: (1.645 + 0.842)² · 0.0567 / 0.0071² = 6,900; Tango's bound lies further out."""
    before, after = ["yes"] * 939 + ["no"] * 380, ["no"] * 46 + ["yes"] * 922 + ["no"] * 351
    measured = scored(tmp_path, {"a": rows(before), "b": rows(after)}, margin=0.02)
    shown = page(build(measured, judge(measured)))
    assert shown.answer is not None
    assert shown.answer.next[0].reason == (
        "1,319 items now; about 7,100 items would show it held with 80 % probability if the true change is the one that was seen"
    )
    for writer in ("terminal", "markdown", "html"):
        text = catalog.load("reports.writers", writer).write(shown)
        assert "0.712" in text
        assert "all values provisional" in text


def test_of_several_degraded_sides_the_worst_is_the_headline(tmp_path: Path) -> None:
    """And of several that held, the one nearest to the margin."""
    lost = {
        name: rows(["no"] * count + ["yes"] * (900 - count) + ["no"] * 100) for name, count in (("a", 0), ("b", 100), ("c", 300), ("d", 5))
    }
    measured = scored(tmp_path, lost, margin=0.05)
    judgement = judge(measured)
    headline = page(build(measured, judgement)).answer.headline
    assert headline.startswith("c: quality degraded: Exact match −30.0 points")
    assert headline.endswith("; b too")
    correctness = page(build(measured, judgement)).answer.tiles[0]
    assert correctness.text.startswith("quality degraded: Exact match −30.0 points")
    assert "FAIL: c: quality degraded" in judgement.verdict.sentence
    close = scored(tmp_path / "held", {"a": lost["a"], "b": lost["d"], "c": rows(["no"] * 9 + ["yes"] * 891 + ["no"] * 100)}, margin=0.05)
    held = page(build(close, judge(close))).answer.headline
    assert held.startswith("c: quality held (worse within the margin): Exact match −0.90 points")
    assert held.endswith("; b too")


def test_a_cap_on_flips_that_is_missed_is_the_headline(tmp_path: Path) -> None:
    """40 items lost and 40 won of 400: held, but the cap of 5 % decides."""
    before, after = ["yes"] * 300 + ["no"] * 100, ["no"] * 40 + ["yes"] * 300 + ["no"] * 60
    measured = scored(tmp_path, {"a": rows(before), "b": rows(after)}, margin=0.1, most_flips=0.05)
    headline = page(build(measured, judge(measured))).answer.headline
    assert "FAIL" in headline or "score otherwise" in headline
    assert "quality held" not in headline


def tables_of(measured: RecordData) -> tuple[HeldRow, ...]:
    return evaluation_rows(measured, {name: name for name in measured.configurations}).held


def test_the_name_of_a_side_stays_as_it_is_written(made: object) -> None:
    text = catalog.load("reports.writers", "html").write(made)
    assert "B: quality held" not in text
    assert "b: quality held" in text
    assert ">A: " not in text


def test_a_side_with_one_item_says_why_in_a_sentence(tmp_path: Path) -> None:
    measured = scored(tmp_path, {"a": rows(["yes"])})
    sentence = judge(measured).verdict.sentence
    assert "Exact match: 1 scored item carries no interval; score at least 2" in sentence


def test_long_texts_open_and_many_items_are_counted(tmp_path: Path) -> None:
    a, b = rows(["yes"] * 300), rows(["word " * 200] * 300)
    measured = scored(tmp_path, {"a": a, "b": b}, margin=0.05)
    found = page(build(measured, judge(measured)))
    text = catalog.load("reports.writers", "html").write(found)
    assert "300 items changed, the 200 largest shown" in text
    assert "100 further changes are left out" in text
    assert text.count("<summary>more</summary>") == 200
    terminal = catalog.load("reports.writers", "terminal").write(replace(found, full=True))
    assert "190 more rows: --html" in " ".join(terminal.split())


def test_the_chart_of_changes_says_what_its_bounds_are(made: object) -> None:
    """Two one-sided bounds at 95 % are an interval at 90 %."""
    text = catalog.load("reports.writers", "html").write(made)
    assert "value and 90 % interval" in text
    assert "value and 95 % interval" in text  # of the scores


def test_long_labels_are_whole_and_tell_the_sides_apart(tmp_path: Path) -> None:
    label = "a label that goes on and on " * 3
    sides = {name: rows(["yes", "no"] * 20, lang=[label, "de"] * 20) for name in ("first", "second")}
    measured = scored(tmp_path, sides, fields={"groups": ["lang"]})
    text = catalog.load("reports.writers", "html").write(page(build(measured, judge(measured))))
    rows_of_charts = [re.sub("<.*?>", " ", row) for row in re.findall(r'<text class="row"[^>]*>(.*?)</text>', text)]
    assert any(row.startswith("a label") and ", second: " in row for row in rows_of_charts), rows_of_charts


def test_answers_that_begin_with_a_digit_are_texts(tmp_path: Path) -> None:
    measured = scored(tmp_path, {"a": rows(["7"] * 20, reference="7"), "b": rows(["8"] * 20, reference="7")})
    sections = page(build(measured, judge(measured))).sections
    table = next(block for section in sections for block in section.blocks if isinstance(block, Table) and block.name == "flips")
    assert [head.text for index, head in enumerate(table.heads) if table.numeric(index)] == ["Score"]
