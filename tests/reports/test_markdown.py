"""The Markdown report: whole tables, and nothing from the record is markup."""

from __future__ import annotations

import re
from dataclasses import replace

from assay.reports.markdown import render
from assay.reports.markup import plain
from assay.reports.view import View, build
from tests import builders


def test_every_table_row_has_as_many_cells_as_its_head(view: View) -> None:
    for block in render(view).split("\n\n"):
        if block.startswith("| "):
            cells = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
            assert len(cells) == 1, block


def test_every_metric_gate_finding_and_launch_is_there(view: View) -> None:
    text = render(view)
    assert all(plain(row.title) in text for row in view.metrics)
    assert all(plain(finding.remedy) in text for finding in view.findings)
    assert text.count("| timed |") == 16
    assert "| load.1min | 0.25 | 1.75 |" in text


def test_text_from_the_record_is_escaped() -> None:
    judged = builders.judgement()
    evil = "a | b <script>alert(1)</script> [x](http://evil) `c` *d*\n# e"
    judged = replace(judged, verdict=replace(judged.verdict, sentence=evil))
    text = render(build(builders.measured(), judged))
    assert "<script>" not in text.replace("\\<script\\>", "")
    assert r"\[x\](http://evil)" in text
    assert "\n# e" not in text


def test_without_gates_and_findings_it_says_so() -> None:
    judged = builders.judgement()
    judged = replace(judged, verdict=replace(judged.verdict, gates=(), findings=()))
    text = render(build(builders.measured(), judged))
    assert "None were asked for." in text
    assert "None: every audit passed." in text
