"""A page as Markdown: an answer of at most sixty lines, or all up to the details, with every text escaped."""

from __future__ import annotations

from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from fireassay.estimates.format import Scale, show
from fireassay.reports.build_view import build
from fireassay.reports.charts.model import Edge, Interval, intervals
from fireassay.reports.page import Answer, Bullet, Bullets, Line, Mark, Next, Number, Page, Part, Section, Sum, Table, Words, heads, number
from fireassay.reports.view import View
from fireassay.reports.writers.markdown import LINES, plain, write
from fireassay.verdict.judge import judge
from tests.collectives_made import Made
from tests.reports.writers.small import DATA, EVIL, PAGE, estimate
from tests.reports.written import written
from tests.verdict.making import good

FULL = replace(PAGE, full=True)


def test_everything_up_to_the_details_is_there() -> None:
    text = write(FULL)
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
    text = write(FULL)
    assert "<script>" not in text
    assert "[x](" not in text
    assert "\x1b" not in text
    assert plain("a|b\n`c`") == "a\\|b \\`c\\`"


def test_what_does_not_count_is_struck_and_what_decides_is_strong() -> None:
    table = Table(name="t", heads=heads("a", "b"), rows=((Words(text="x", strong=True), Words(text="y", below="z", tone="struck")),))
    assert "| **x** | ~~y z~~ |" in write(replace(PAGE, sections=(Section(key="t", title="T", content=(table,)),)))


def test_sections_for_a_paper_are_shown_where_there_are_no_others() -> None:
    assert write(replace(DATA, title="", sections=DATA.sections[-1:])) == "## Results\n\nIt is fast.\n"


# ---- a comment on a pull request -------------------------------------------------------------------------------------


def sized(value: float) -> Number:
    return Number(shown=show(estimate(value), Scale(factor=1000.0, after=" ms")))


LEVELS = Table(
    name="levels",
    heads=heads("", "workers", "step, ms"),
    rows=((Mark(word="recommended", tone="gain"), 1, number(estimate(0.1), bare=True)), (Mark(word=EVIL, tone="bad"), 2, EVIL)),
    stub=2,
)
EFFICIENCY = intervals(
    name="efficiency",
    title="efficiency, %",
    stub="workers",
    rows=(Interval(name="2", number=number(estimate(0.5, "fraction")), mark=Mark(word="misses", tone="bad")),),
    edges=(Edge(value=0.7, text="gate"),),
)
WHY = Sum(
    name="why",
    title="why not faster",
    unit="ms",
    start=Part(text="ideal", number=sized(0.05)),
    parts=(Part(text="waiting", number=sized(0.02)), Part(text="not explained", number=sized(0.01))),
    total=Part(text="step", number=sized(0.08)),
)
ANSWERED = replace(
    PAGE,
    title="digits",
    answer=Answer(
        mark=Mark(word="no gain", tone="gain"),
        headline="keep 1 worker",
        evidence=f"2 are slower {EVIL}",
        lines=(Line(label="correctness", text="held", mark=Mark(word="pass", tone="good")), Line(label="doubts", text="none")),
        next=(Next(reason="find the serial work:", command="assay profile 77ab01 --workers 2"),),
        record="77ab01, 5 launches a level",
    ),
    sections=(*PAGE.sections, *(Section(key=b.name, title="", role="answer", content=(b,)) for b in (LEVELS, EFFICIENCY, WHY))),
)


def test_the_answer_stands_alone_in_the_order_of_every_format() -> None:
    assert [line for line in write(ANSWERED).splitlines() if line and EVIL[:6] not in line] == [
        "### ▸ NO GAIN digits: keep 1 worker",
        "|  | workers | step, ms |",
        "|---|---|---|",
        "| ▸ | 1 | 100 \\[90, 110\\] |",
        "|  | workers | efficiency, %; gate 70 |",
        "|---|---|---|",
        "| ✗ | 2 | 50.0 \\[45.0, 55.0\\] |",
        "**why not faster**",
        "| part | ms | interval |",
        "|---|---|---|",
        "| waiting | 20.0 | \\[18.0, 22.0\\] |",
        "| not explained | 10.0 | \\[9.0, 11.0\\] |",
        "- **correctness** ✓ held",
        "- **doubts** none",
        "**Next:** find the serial work:",
        "```sh",
        "assay profile 77ab01 --workers 2",
        "```",
        "*77ab01, 5 launches a level*",
    ]


def test_full_shows_the_sections_instead_of_the_answer() -> None:
    text = write(replace(ANSWERED, full=True))
    assert "## Findings" in text
    assert "keep 1 worker" not in text


def tokens(text: str) -> list[str]:
    """What GitHub's dialect makes of it: HTML is allowed, so that text which became markup would show."""
    return [token.type for token in MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough").parse(text)]


def inline(text: str) -> set[str]:
    parsed = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough").parse(text)
    return {child.type for token in parsed for child in token.children or ()}


@pytest.mark.parametrize("page", [ANSWERED, PAGE, FULL], ids=["answer", "short", "full"])
def test_it_parses_as_tables_and_text_only(page: Page) -> None:
    text = write(page)
    assert tokens(text).count("table_open") == sum(line.startswith("|---") for line in text.splitlines())
    assert not {"html_block"} & set(tokens(text))
    assert inline(text) <= {"text", "strong_open", "strong_close", "em_open", "em_close", "s_open", "s_close", "softbreak", "code_inline"}


@pytest.mark.parametrize("rows", [0, 1, 40, 60, 500])
@pytest.mark.parametrize("items", [0, 1, 70])
def test_a_page_without_an_answer_is_cut_at_a_row_or_an_item_and_says_so(rows: int, items: int) -> None:
    table = Table(name="t", heads=heads("a"), rows=(("x",),) * rows)
    bullets = Bullets(items=(Bullet(text="one"),) * items)
    sections = tuple(Section(key=b.__class__.__name__, title="T", content=(b,)) for b in (table, bullets))
    page = replace(PAGE, sections=sections)
    text, whole = write(page), write(replace(page, full=True))
    assert text.count("\n") <= LINES
    left = whole.count("\n") - text.count("\n")
    assert ("more lines with `--full`" in text) == (left > 0)
    assert text.rstrip().endswith("Intervals: 95 %.")
    assert tokens(text).count("table_open") == (rows > 0 and "| x |" in text)
    assert "## T\n\n*" not in text  # no heading of nothing


@pytest.mark.slow
@pytest.mark.parametrize("name", ["training", "good", "no gain", "load", "scenarios", "hostile", "collectives"])
@pytest.mark.deep
def test_every_kind_answers_in_sixty_lines(name: str, view: View, load: View, scenarios: View, hostile: View) -> None:
    def of(data: Made) -> View:
        measured = data.measured()
        return build(measured, judge(measured))

    views = {
        "training": lambda: view,
        "good": lambda: of(good(levels=(1, 2, 4, 8))),  # type: ignore[arg-type]
        "no gain": lambda: of(good(levels=(1, 2, 4), efficiency={2: 0.4, 4: 0.3})),  # type: ignore[arg-type]
        "load": lambda: load,
        "scenarios": lambda: scenarios,
        "hostile": lambda: hostile,
        "collectives": lambda: of(Made(ops=("all_reduce", "all_gather"), levels=(2, 4), sizes=("1K:16M",))),
    }
    text = written(views[name](), "markdown", full=False)
    assert text.count("\n") <= LINES
    assert tokens(text).count("table_open") == sum(line.startswith("|---") for line in text.splitlines())
    assert not {"html_block", "html_inline", "link_open", "image"} & (set(tokens(text)) | inline(text))
