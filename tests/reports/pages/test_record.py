"""The page of a record in every format: whole, escaped, with every number, reason, status and section that it promises."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from fireassay.estimates.estimate import Absent
from fireassay.kinds.serving import tables
from fireassay.reports.answering import TONES
from fireassay.reports.build_view import build
from fireassay.reports.page import one_line
from fireassay.reports.pages.record import ANSWERS, SEVERITIES, _columns, page
from fireassay.reports.view import View
from fireassay.reports.words import DIMENSION_TITLES, STATUS_WORDS
from fireassay.reports.words import SEVERITIES as EVERY_SEVERITY
from fireassay.reports.writers.markdown import plain
from fireassay.verdict.judge import judge
from fireassay.verdict.types import DIMENSIONS
from tests import builders
from tests.reports.written import written
from tests.tiers import some

pytestmark = pytest.mark.slow


VOID = {"meta", "link", "br", "hr", "img", "input"}
EVIL = "<script>alert('x')</script>"


class Structure(HTMLParser):
    """Collects tags, headings and ids, and fails on tags that are not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def structure(page: str) -> Structure:
    parser = Structure()
    parser.feed(page)
    assert parser.open == []
    return parser


def test_the_page_is_well_formed_and_small(page: str) -> None:
    found = structure(page)
    assert sum(tag == "h1" for tag, _ in found.tags) == 1
    ids = [attrs["id"] for _, attrs in found.tags if attrs.get("id")]
    assert len(ids) == len(set(ids))
    assert len(page.encode()) < 1_500_000


def test_the_page_loads_nothing_and_runs_nothing(page: str) -> None:
    found = structure(page)
    assert not any(tag in ("iframe", "object", "embed", "base") for tag, _ in found.tags)
    assert [attrs for tag, attrs in found.tags if tag == "script"] == [{}]  # ours, inside of the page
    assert not any(name.startswith("on") for _, attrs in found.tags for name in attrs)
    targets = {attrs.get(name) for _, attrs in found.tags for name in ("src", "href", "xlink:href") if attrs.get(name)}
    assert all(target is not None and target.startswith(("#", "data:")) for target in targets)
    assert not re.search(r"url\((?!#)|@import", page)
    assert "default-src 'none'" in page


def test_links_inside_the_page_lead_somewhere(page: str) -> None:
    found = structure(page)
    ids = {attrs.get("id") for _, attrs in found.tags}
    anchors = {attrs["href"] for tag, attrs in found.tags if tag == "a"}
    assert anchors
    assert all(anchor is not None and anchor.removeprefix("#") in ids for anchor in anchors)


def test_what_the_record_says_is_never_markup() -> None:
    measured = builders.measured(
        failed=True, launches=1, steps=6, environments={"before": {EVIL: {"host": EVIL, "packages": {EVIL: EVIL}}}, "after": {}}
    )
    experiment = measured.experiment.model_copy(
        update={"workload": measured.experiment.workload.model_copy(update={"script": EVIL, "work": EVIL})}
    )
    launches = measured.table("launches").with_columns(reason=builders.pl.lit(EVIL), configuration=builders.pl.lit(EVIL))
    measured = replace(
        measured,
        experiment=experiment,
        tables={**measured.tables, "launches": launches},
        manifest={**measured.manifest, "id": EVIL, "created_utc": EVIL, "assay_version": EVIL},
    )
    judged = builders.judgement()
    findings = tuple(replace(f, evidence=EVIL, remedy=EVIL, rule=EVIL) for f in judged.verdict.findings)
    verdict = replace(judged.verdict, sentence=EVIL, findings=findings)
    gone = Absent(reason="not_measured", detail=EVIL)
    results = {**judged.results, "energy": dict.fromkeys(judged.results["energy"], gone)}
    page = written(build(measured, replace(judged, verdict=verdict, results=results)), "html")
    assert page.count("<script") == 1  # ours
    assert page.count("&lt;script&gt;") >= 8
    structure(page)


def test_every_status_severity_and_answer_has_a_tone(view: View) -> None:
    assert set(TONES) == set(STATUS_WORDS)
    assert set(SEVERITIES) == set(EVERY_SEVERITY)
    assert {rule.answer for rule in view.rules} <= set(ANSWERS)


def test_every_status_is_a_word_beside_its_colour(page: str, view: View) -> None:
    spans = re.findall(r'<span class="st ([\w-]+)[^"]*"><span aria-hidden="true">(.)</span>([^<]+)</span>', page)
    words = [word for _, _, word in spans]
    assert words.count("fail") >= 1
    assert len(spans) >= 1 + len(view.dimensions) + len(view.rules)


def test_the_method_and_signature_of_every_number_are_behind_a_fold(page: str, view: View) -> None:
    measured = sum(cell.measured for row in view.metrics for cell in row.cells.values())
    signatures = re.findall(r'<details class="why"><summary>[^<]+</summary><span>[^<]+<code>([^<]+)</code></span></details>', page)
    assert len(signatures) == measured


def test_a_reason_shared_by_all_is_said_once(view: View, page: str) -> None:
    energy = view.metric("energy")
    assert energy is not None
    assert page.count(next(iter(energy.cells.values())).note) == 1


def test_the_whole_experiment_is_a_column_only_where_nothing_else_would_hold_it(view: View) -> None:
    only_whole = tuple(row for row in view.metrics if row.name == "serial_fraction")
    assert [head for _, head in _columns(view, only_whole, None)] == ["whole experiment"]
    assert [head for _, head in _columns(view, view.metrics, None)] == ["1 worker", "2 workers", "4 workers"]


def test_the_same_view_gives_the_same_page(view: View, page: str) -> None:
    assert written(view, "html") == page


# ---- in a terminal


@pytest.mark.parametrize("width", some([80, 60, 100, 120, 200]))
def test_no_line_is_wider_than_asked(view: View, load: View, scenarios: View, width: int) -> None:
    for one in (view, load, scenarios):
        assert max(len(line) for line in written(one, "terminal", width=width).splitlines()) <= width


@pytest.mark.parametrize("width", [60, 77, 100])
def test_no_word_of_the_vector_is_broken(view: View, width: int) -> None:
    vector = written(view, "terminal", width=width).split("Four dimensions")[1].split("\n- ")[0]
    for row in view.vector:
        assert row.column.label in vector
        for dimension in DIMENSIONS:
            assert all(word in vector for word in DIMENSION_TITLES[dimension].split())
            assert row.cells[dimension].word in vector


def test_without_a_terminal_the_text_is_plain_ascii(view: View, load: View) -> None:
    for one in (view, load):
        text = written(one, "terminal")
        assert text.isascii()
        assert "\x1b" not in text
    assert "?" not in written(view, "terminal").replace("Do more workers pay?", "").replace(
        "gives way?", ""
    )  # nothing was lost on the way to ASCII


def test_the_sentence_the_vector_the_gates_and_the_remedy_are_there(view: View) -> None:
    text = " ".join(written(view, "terminal", width=120).split())
    assert "FAIL synthetic: on admissible numbers, something that was required does not hold" in text
    assert view.sentence in text
    assert "4 workers fail fail inconclusive pass" in text
    assert "not measured 1 and 2 workers, reliability: no fault launch at this worker count" in text
    assert "fail efficiency (4 workers): 62 % [60, 65] < 70 %" in text
    assert "To do: scale the learning rate | warm up." in text
    assert "recommended (2 workers): the largest admissible one" in text
    assert "inconclusive" in written(view, "terminal", colour=True)


def test_a_missing_number_says_why(view: View) -> None:
    text = " ".join(written(view, "terminal").split())
    assert "Energy of a run, not measured: this machine has no energy counter (RAPL, NVML) (3 configurations)" in text


@pytest.mark.deep
def test_configurations_that_do_not_fit_side_by_side_continue_below() -> None:
    measured = builders.measured(levels=(1, 2, 4, 8, 16, 32), launches=2, steps=12)
    text = written(build(measured, judge(measured)), "terminal", width=80)
    assert all(f"{level} workers" in text for level in (2, 4, 8, 16, 32))
    assert len(re.findall(r"^ *Step time  +[\d(]", text, re.MULTILINE)) >= 3
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("colour", [True, False])
def test_nothing_that_a_record_says_steers_the_terminal(view: View, colour: bool) -> None:
    evil = "x\x1b[2J\x1b]0;title\x07\x9b31m\u202ey"
    finding = replace(view.findings[0], evidence=evil, remedy=evil, configuration=evil, where=evil)
    shown = written(replace(view, name=evil, sentence=evil, findings=(finding,)), "terminal", colour=colour)
    assert not re.search("\x1b(?!\\[[0-9;]*m)|[\x07\x9b\u202e]", shown)  # colours only
    assert shown.count("[2J") == 5


def test_markup_in_a_name_is_text(view: View) -> None:
    assert "[0.939, 0.961]" in written(view, "terminal")  # rich would read brackets as a style


# ---- as Markdown


def test_every_row_of_a_table_has_as_many_cells_as_its_head(view: View, load: View, scenarios: View) -> None:
    for one in (view, load, scenarios):
        for block in written(one, "markdown").split("\n\n"):
            if block.startswith("| "):
                assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1, block


def test_every_metric_gate_finding_and_launch_is_there(view: View) -> None:
    text = written(view, "markdown")
    assert all(plain(row.title) in text for row in view.metrics)
    assert all(plain(finding.remedy) in text for finding in view.findings)
    assert text.count("| timed |") == 16
    assert "| load.1min | 0.25 | 1.75 |" in text


def test_text_from_the_record_is_escaped() -> None:
    judged = builders.judgement()
    evil = "a | b <script>alert(1)</script> [x](http://evil) `c` *d*\n# e"
    judged = replace(judged, verdict=replace(judged.verdict, sentence=evil))
    text = written(build(builders.measured(), judged), "markdown")
    assert "<script>" not in text.replace("\\<script\\>", "")
    assert r"\[x\](http://evil)" in text
    assert "\n# e" not in text


def test_without_gates_and_findings_it_says_so() -> None:
    judged = builders.judgement()
    judged = replace(judged, verdict=replace(judged.verdict, gates=(), findings=()))
    text = written(build(builders.measured(), judged), "markdown")
    assert "No gate was requested." in text
    assert "None: every check passed." in text


# ---- as LaTeX


def test_braces_and_environments_are_balanced(view: View) -> None:
    text = written(view, "latex")
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    opened: list[str] = []
    for what, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        assert opened.pop() == name if what == "end" else not opened.append(name)  # type: ignore[func-returns-value]
    assert not opened
    for panel in text.split(r"\midrule")[1:]:
        rows = panel[: panel.index(r"\bottomrule")].strip().splitlines()
        assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) == 1
    assert text.isascii()


def test_a_command_from_the_record_stays_text(view: View) -> None:
    facts = tuple(replace(fact, text=r"\input{/etc/passwd} 50 % $x_1$ #1 ~ ^ & µs") for fact in view.conditions)
    text = written(replace(view, conditions=facts), "latex").replace(r"\allowbreak{}", "")
    assert r"\input" not in text
    assert r"\textbackslash{}input\{/etc/passwd\} 50 \% \$x\_1\$ \#1 \textasciitilde{} \textasciicircum{} \& $\mu$s" in text


# ---- a load


def test_the_page_of_a_load_is_well_formed_with_its_sections(load: View) -> None:
    page = written(load, "html")
    found = structure(page)
    ids = [attrs["id"] for _, attrs in found.tags if attrs.get("id")]
    assert len(ids) == len(set(ids))
    assert {"answer", "levels", "metrics-cost", "tails", "trust", "all", "made", "launch-0"} <= set(ids)
    assert "Requests due" in page
    assert "Median step" not in page
    assert "worker" not in page.split('id="tails"')[0].split("</style>")[1]


def test_the_sections_stand_in_the_order_of_the_page(load: View) -> None:
    assert [section.title for section in page(load).of_depth("front", "detail")] == [
        "Four dimensions",
        "Recommendation",
        "Gates",
        "a or b",
        "Numbers",
        "Behind the numbers",
        "Findings",
        "Correctness",
        "Performance",
        "Cost and energy",
        "Reliability",
        "Other tools' definitions of the same quantities",
        "Launches",
        "Environment",
        "Conditions",
    ]


def test_metrics_stand_by_engine_and_name_the_loads(load: View) -> None:
    body = written(load, "markdown").split("## Performance")[1].split("## Cost")[0]
    assert body.count("| Metric | 6 req/s | 12 req/s |") == 2
    assert "### a\n" in body
    assert "### b\n" in body


def test_launches_count_requests(load: View) -> None:
    assert "| Wall | Requests due | Answered | Failed | Begin (UTC) | Reason |" in written(load, "markdown")


def test_other_tools_numbers_stand_in_a_section_of_their_own(load: View) -> None:
    ours, _, theirs = written(load, "html").partition('id="table-tools-0"')
    assert "ttft_vllm" in theirs
    assert "ttft_vllm" not in ours


def test_many_loads_do_not_make_wide_tables(scenarios: View) -> None:
    rows = scenarios.of_dimension("performance")
    assert [head for _, head in _columns(scenarios, rows, "D(100,100)")] == ["1 in flight", "2 in flight", "4 in flight", "16 in flight"]


@pytest.mark.parametrize("width", [80, 100, 140])
def test_every_number_stands_on_one_line(load: View, width: int) -> None:
    text = written(load, "terminal", width=width)
    for table in tables.numbers(load):
        for row in table.rows:
            assert all(one_line(cell).replace("–", "-") in text for cell in row)


def test_a_finding_of_all_is_told_once(load: View) -> None:
    text = " ".join(written(load, "terminal").split())
    assert text.count("few_launches") == 1
    assert "few_launches (all 4 configurations)" in text


def test_reasons_are_grouped_by_dimension_and_status(load: View) -> None:
    (section,) = [one for one in page(load).sections if one.key == "vector"]
    (table,) = section.blocks
    found = [(item.where.rpartition(", ")[2], item.mark) for item in table.reasons]  # type: ignore[union-attr]
    assert len(found) == len(set(found))


@pytest.mark.parametrize("name", ["html", "markdown", "terminal"])
def test_what_a_server_wrote_is_text(hostile: View, name: str) -> None:
    text = written(hostile, name)
    assert text.replace("\\<script", "").count("<script") == (name == "html") or name == "terminal"  # ours
    assert "\x1b" not in text
    assert 'href="javascript' not in text
    if name == "html":
        structure(text)
