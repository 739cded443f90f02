"""The JSON of a load: strict, in the declared shape, and absent from other reports."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fireassay.reports.documents import record as json_report
from fireassay.reports.view import View
from tests.reports.documents.conforming import conforming

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def document(load: View) -> dict[str, Any]:
    return conforming(json_report.DOCUMENT, json_report.render(load))


def test_no_part_but_agreement_is_empty(document: dict[str, Any]) -> None:
    """Otherwise the check against the declared shape would not cover it."""
    assert [name for name, part in document["serving"].items() if not part] == ["agreement"]


def test_the_shape_is_frozen() -> None:
    """Adding is allowed, removing needs assay-report/2."""
    fields = json_report.DOCUMENT.fields()
    assert {name: [key for key, _, _ in rows] for name, rows in fields.items() if name.startswith("serving")} == {
        "serving": ["load", "loads", "curves", "timelines", "failures", "replicas", "agreement", "launches"],
        "serving.loads[]": ["configuration", "engine", "scenario", "load"],
        "serving.curves[]": ["configuration", "latency", "requests", "points"],
        "serving.timelines[]": ["launch", "configuration", "role", "window_s", "bins", "spans"],
        "serving.timelines[].bins[]": ["begin_s", "end_s", "due", "ok", "met", "failed", "ttft_s"],
        "serving.timelines[].spans[]": ["kind", "what", "begin_s", "end_s"],
        "serving.failures[]": ["configuration", "status", "requests"],
        "serving.replicas[]": ["engine", "replica", "sent", "answered", "ttft_s", "readings"],
        "serving.agreement[]": ["configuration", "shown", "possible", "prompts", "answers", "differing", "where"],
        "serving.launches[]": ["launch", "due", "answered"],
    }


def test_numbers_are_those_of_the_series(load: View, document: dict[str, Any]) -> None:
    assert load.serving is not None
    section = document["serving"]
    assert section["load"] == "rate"
    assert [(one["engine"], one["load"]) for one in section["loads"]] == [("a", 6.0), ("a", 12.0), ("b", 6.0), ("b", 12.0)]
    assert sum(one["due"] for one in section["launches"]) == load.serving.requests.filter(phase="main").height + (
        load.serving.requests.filter(phase="warm_up").height
    )
    fault = section["timelines"][0]
    assert fault["role"] == "fault"
    assert [span["kind"] for span in fault["spans"]] == ["fault", "down"]


def test_a_report_on_training_has_no_such_key(view: View) -> None:
    assert "serving" not in json.loads(json_report.render(view))


def test_what_a_server_wrote_stays_text(hostile: View) -> None:
    json.loads(json_report.render(hostile))  # strict, whatever stands in it
