"""The written results hold admissible numbers only, and say what they lack."""

from __future__ import annotations

from dataclasses import replace

from assay.reports.prose import Section, results_section
from assay.reports.view import View, build
from tests.verdict.making import good, judged


def written(view: View) -> dict[str, Section]:
    return {section.title: section for section in results_section(view)}


def made(**asked: object) -> View:
    record = good(**asked)  # type: ignore[arg-type]
    return build(record.measured(), judged(record))


def test_system_workload_method_results_correctness_cost_reliability_and_limits_are_told() -> None:
    assert list(written(made(prices=2.0))) == ["Workload", "Method", "Results", "Correctness", "Cost and energy", "Reliability", "Limits"]


def test_the_numbers_stand_with_their_intervals() -> None:
    results = written(made())["Results"]
    view = made()
    speedup = view.metric("speedup")
    assert speedup is not None
    assert speedup.cells["workers=2"].full in " ".join(results.sentences)
    assert results.table is not None
    assert [row[0] for row in results.table.rows] == ["1 worker", "2 workers"]


def test_no_number_of_a_configuration_with_lost_quality_is_written() -> None:
    view = made(right={2: 20})
    results = written(view)["Results"]
    speedup = view.metric("speedup")
    assert speedup is not None
    assert speedup.cells["workers=2"].text not in " ".join(results.sentences).split("no number is reported")[0]
    assert "2 workers: no number is reported, for its correctness is fail" in " ".join(results.sentences)
    assert results.table is not None
    assert [row[0] for row in results.table.rows] == ["1 worker"]


def test_nothing_of_an_invalid_record_is_written() -> None:
    view = replace(made(), status="INVALID")
    sections = results_section(view)
    assert [section.title for section in sections] == ["Results"]
    assert sections[0].table is None
    assert sections[0].sentences[0].startswith("No number of this record may be reported")


def test_what_was_not_measured_is_a_limit() -> None:
    limits = " ".join(written(made())["Limits"].sentences)
    assert "Not measured, at least in part: cost and energy, reliability." in limits
