"""The written results hold admissible numbers only, and say what they lack."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireassay.reports.build_view import build
from fireassay.reports.page import Prose, Section, Table, one_line
from fireassay.reports.pages.results import results
from fireassay.reports.view import View
from tests.reports.written import written
from tests.verdict.making import good, judged

pytestmark = pytest.mark.slow


def sections_of(view: View) -> dict[str, Section]:
    return {section.title: section for section in results(view) if section.blocks}


def text(section: Section) -> str:
    return " ".join(block.text.replace("\n", " ") for block in section.blocks if isinstance(block, Prose))


def names(section: Section) -> list[str]:
    """Of the rows of its table."""
    return [one_line(row[0]) for block in section.blocks if isinstance(block, Table) for row in block.rows]


def made(**asked: object) -> View:
    record = good(**asked)  # type: ignore[arg-type]
    return build(record.measured(), judged(record))


def test_system_workload_method_results_correctness_cost_reliability_and_limits_are_told() -> None:
    assert list(sections_of(made(prices=2.0))) == [
        "Workload",
        "Method",
        "Results",
        "Correctness",
        "Cost and energy",
        "Reliability",
        "Limits",
    ]


def test_the_numbers_stand_with_their_intervals() -> None:
    found = sections_of(made())["Results"]
    view = made()
    speedup = view.metric("speedup")
    assert speedup is not None
    assert speedup.cells["workers=2"].full in text(found)
    assert names(found) == ["1 worker", "2 workers"]


def test_no_number_of_a_configuration_with_lost_quality_is_written() -> None:
    view = made(right={2: 20})
    found = sections_of(view)["Results"]
    speedup = view.metric("speedup")
    assert speedup is not None
    assert speedup.cells["workers=2"].text not in text(found).split("no number is reported")[0]
    assert "2 workers: no number is reported, because its correctness is fail" in text(found)
    assert names(found) == ["1 worker"]


def test_nothing_of_an_invalid_record_is_written() -> None:
    view = replace(made(), status="INVALID")
    (section,) = results(view)
    assert section.title == "Results"
    assert names(section) == []
    assert text(section).startswith("No number of this record may be reported")


def test_what_was_not_measured_is_a_limit() -> None:
    limits = text(sections_of(made())["Limits"])
    assert "Not measured, at least in part: cost and energy, reliability." in limits


def test_as_markdown_every_section_has_its_heading_and_nothing_is_markup(view: View) -> None:
    facts = tuple(replace(fact, text="<b>[x](y)</b>") for fact in view.conditions)
    written_ = written(replace(view, conditions=facts), "markdown", page="results")
    assert [line[3:] for line in written_.splitlines() if line.startswith("## ")] == list(sections_of(view))
    assert "<b>" not in written_.replace("\\<b\\>", "")
    assert r"\[x\]" in written_
