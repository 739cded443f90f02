"""The page: one self-contained file, text from the record escaped, every number with its method behind a fold."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import get_args

from assay.estimates.estimate import Absent
from assay.reports import load_tables
from assay.reports.html import SIGNS, absent_everywhere, columns_of, render, spans
from assay.reports.view import SEVERITIES, STATUS_WORDS, View, build
from assay.verdict.hoefler_belli import Answer
from tests import builders

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
    assert not any(tag in ("script", "iframe", "object", "embed", "base") for tag, _ in found.tags)
    assert not any(name.startswith("on") for _, attrs in found.tags for name in attrs)
    targets = {attrs.get(name) for _, attrs in found.tags for name in ("src", "href", "xlink:href") if attrs.get(name)}
    assert all(target is not None and target.startswith(("#", "data:")) for target in targets)
    assert not re.search(r"url\(|@import", page)
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
    page = render(build(measured, replace(judged, verdict=verdict, results=results)))
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 8
    structure(page)


def test_every_status_is_a_word_beside_its_colour(page: str, view: View) -> None:
    answers = {answer.replace(" ", "-") for answer in get_args(Answer)}
    assert set(SIGNS) == {*STATUS_WORDS, *SEVERITIES, *answers}
    spans = re.findall(r'<span class="status ([\w-]+)[^"]*"><span aria-hidden="true">(.)</span>([^<]+)</span>', page)
    assert len(spans) == 1 + 12 + len(view.gates) + len(view.findings) + len(view.rules)
    assert all(word.replace(" ", "_") in (key.lower().replace("-", "_"), key) for key, _, word in spans)


def test_the_method_and_signature_of_every_number_are_behind_a_fold(page: str, view: View) -> None:
    measured = sum(cell.measured for row in view.metrics for cell in row.cells.values())
    assert page.count("<dt>signature</dt>") == measured
    assert page.count("<dt>method</dt>") == measured


def test_a_reason_shared_by_all_is_said_once(view: View, page: str) -> None:
    energy = view.metric("energy")
    assert energy is not None
    shown = absent_everywhere(energy)
    assert shown is not None
    assert page.count(shown.note) == 2  # among the primary numbers and among all metrics
    recovery = view.metric("recovery_time")
    assert recovery is not None
    assert absent_everywhere(recovery) is None


def test_the_whole_experiment_is_a_column_only_where_nothing_else_would_hold_it(view: View) -> None:
    only_whole = tuple(row for row in view.metrics if row.name == "serial_fraction")
    assert [head for _, head in columns_of(view, only_whole)] == ["whole experiment"]
    assert [head for _, head in columns_of(view, view.metrics)] == ["1 worker", "2 workers", "4 workers"]


def test_the_same_view_gives_the_same_page(view: View, page: str) -> None:
    assert render(view) == page


# ---- a load


def test_the_page_of_a_load_is_well_formed_with_its_sections(load: View) -> None:
    page = render(load)
    found = structure(page)
    ids = [attrs["id"] for _, attrs in found.tags if attrs.get("id")]
    assert len(ids) == len(set(ids))
    assert {"numbers", "pictures", "behind", "findings", "metrics", "launches"} <= set(ids)
    assert "Requests due" in page
    assert "Median step" not in page
    assert "worker" not in page.split('id="pictures"')[0].split("</style>")[1]


def test_heads_above_columns_span_them(load: View) -> None:
    (table,) = load_tables.numbers(load)
    over = spans(table.head)
    assert sum(one.span for one in over) == len(table.head)
    assert [one.above for one in over][:4] == ["", "Throughput", "Good", "TTFT"]


def test_other_tools_numbers_stand_in_a_fold_of_their_own(load: View) -> None:
    ours, _, theirs = render(load).partition("Other tools' definitions".replace("'", "&#39;"))
    if not theirs:
        ours, _, theirs = render(load).partition("Other tools' definitions")
    assert "ttft_vllm" in theirs
    assert "ttft_vllm" not in ours


def test_many_loads_do_not_make_wide_tables(scenarios: View) -> None:
    rows = scenarios.of_dimension("performance")
    assert [head for _, head in columns_of(scenarios, rows, "D(100,100)")] == ["1 in flight", "2 in flight", "4 in flight", "16 in flight"]


def test_what_a_server_wrote_is_text(hostile: View) -> None:
    page = render(hostile)
    structure(page)
    assert "<script" not in page
    assert "\x1b" not in page
    assert 'href="javascript' not in page
