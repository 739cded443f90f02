"""A load in Markdown: the tables of the page, all metrics by engine, and text from servers that is only text."""

from __future__ import annotations

from assay.reports.markdown import render
from assay.reports.view import View


def sections(text: str) -> list[str]:
    return [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]


def test_the_sections_stand_in_the_order_of_the_page(load: View) -> None:
    assert sections(render(load)) == [
        "Four dimensions",
        "Numbers",
        "Behind the numbers",
        "Gates",
        "Findings",
        "Recommendation",
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
    body = render(load).split("## Performance")[1].split("## Cost")[0]
    assert body.count("| Metric | 6 req/s | 12 req/s |") == 2
    assert "### a\n" in body
    assert "### b\n" in body


def test_every_row_has_as_many_cells_as_its_head(load: View, scenarios: View) -> None:
    for view in (load, scenarios):
        for block in render(view).split("\n\n"):
            lines = [line for line in block.splitlines() if line.startswith("|")]
            assert len({line.replace("\\|", "").count("|") for line in lines}) <= 1


def test_launches_count_requests(load: View) -> None:
    assert "| Launch | Configuration | Block | Role | Status | Wall | Requests due | Answered | Failed | Reason |" in render(load)


def test_what_a_server_wrote_is_escaped(hostile: View) -> None:
    text = render(hostile)
    assert "<script" not in text.replace("\\<script", "")
    assert "[x](" not in text
    assert "\x1b" not in text
