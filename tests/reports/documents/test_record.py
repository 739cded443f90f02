"""The JSON report: strict, stable, documented; its shape changes only together with this test."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fireassay.reports.build_view import build
from fireassay.reports.documents import record as json_report
from fireassay.reports.view import View
from fireassay.verdict.judge import judge
from fireassay.verdict.types import Status
from tests import builders
from tests.reports.documents.conforming import conforming
from tests.steps_made import Answer, stepped


@pytest.fixture(scope="module")
def document(view: View) -> dict[str, Any]:
    return conforming(json_report.DOCUMENT, json_report.render(view))


@pytest.mark.slow
def test_no_list_of_a_training_record_is_empty(document: dict[str, Any]) -> None:
    """Otherwise the check against the declared shape would not cover it."""
    assert all(document[name.removesuffix("[]")] for name in GOLDEN if name.removesuffix("[]") in document)


def test_the_shape_is_frozen() -> None:
    """This list is the contract: adding is allowed, removing needs assay-report/2."""
    assert json_report.DOCUMENT.VERSION == "assay-report/1"
    fields = {name: [key for key, _, _ in rows] for name, rows in json_report.DOCUMENT.fields().items()}
    assert {name: keys for name, keys in fields.items() if not name.startswith("serving")} == GOLDEN


VALUE = [
    "measured",
    "value",
    "low",
    "high",
    "bounded",
    "confidence",
    "n_launches",
    "n_trials",
    "method",
    "signature",
    "launch_values",
    "dispersion",
    "reason",
    "detail",
]
GOLDEN = {
    "(top)": [
        "schema",
        "record",
        "verdict",
        "configurations",
        "dimensions",
        "metrics",
        "gates",
        "findings",
        "recommendations",
        "launches",
        "environment",
        "conditions",
        "serving",
        "layers",
        "spent",
        "collectives",
        "profiles",
        "pairs",
        "hosts",
        "steps",
        "knees",
        "choices",
        "images",
        "judgements",
        "subgroups",
    ],
    "profiles[]": ["launch", "configuration", "status", "reason", "windows", "ranks", "nsys", "imported", "notes"],
    "hosts[]": [
        "host",
        "ranks",
        "own_step_s",
        "processors",
        "received_per_s",
        "sent_per_s",
        "foreign",
        "steal",
        "throttled",
        "gpu_celsius",
        "probe_s",
        "joules",
        "clock_s",
        "clock_bound_s",
    ],
    "steps[]": [
        *("task", "engine", "steps", "sent", "enough", "score", "session_time_p50", "session_time_p95", "tokens_in", "tokens_out"),
        *("tokens_reasoning", "tool_share", "usd", "gain"),
    ],
    "knees[]": ["task", "engine", "what", "steps", "status", "margin", "confidence", "items", "sentence"],
    "choices[]": ["task", "configuration", "by", "score", "k", "chosen", "random", "own_best", "gain", "optimism", "items"],
    "images[]": ["configuration", "task", "item", "launch", "repetition", "outcome", "score", "image"],
    "images[].image": ["name", "sha256", "format", "bytes", "width", "height", "missing"],
    "judgements[]": ["task", "item", "repetition", "side", "against", "value", "reason"],
    "subgroups[]": ["group", "label", "side", "status", "change", "items"],
    "layers[]": ["configuration", "layer", "state", "sentence"],
    "spent[]": ["configuration", "role", "launches", "rank_s", "shares"],
    "pairs[]": ["configuration", "hosts", "at_once", "classes", "refused", "sentences", "links"],
    "pairs[].links[]": ["from", "to", "class", "latency", "bandwidth", "wrong"],
    "pairs[].links[].latency": VALUE,
    "collectives[]": ["configuration", "group", "op", "place", "workers", "size", "bytes"],
    "record": ["id", "name", "created_utc", "assay_version", "state", "sealed", "seal"],
    "verdict": ["status", "sentence", "recommended", "standing", "standing_reason", "asked"],
    "configurations[]": ["configuration", "workers", "base"],
    "dimensions[]": ["configuration", "dimension", "status", "sentence"],
    "metrics[]": ["metric", "configuration", "title", "dimension", "unit", "better", "formula", "standing", *VALUE],
    "metrics[].dispersion": ["count", "mean", "deviation", "min", "max", "variation"],
    "gates[]": ["gate", "configuration", "status", "sentence"],
    "findings[]": ["rule", "severity", "configuration", "evidence", "remedy"],
    "recommendations[]": ["goal", "configuration", "sentence"],
    "launches[]": [
        "launch",
        "configuration",
        "workers",
        "block",
        "order",
        "attempt",
        "role",
        "seed",
        "begin_utc",
        "status",
        "reason",
        "exit_code",
        "restarts",
        "wall_s",
        "steps",
        "step_s",
        "warmup_steps",
    ],
    "environment[]": ["fact", "before", "after", "changed"],
    "conditions[]": ["name", "text"],
}


def values(document: dict[str, Any], metric: str) -> dict[str, dict[str, Any]]:
    return {row["configuration"]: row for row in document["metrics"] if row["metric"] == metric}


def test_numbers_are_raw_in_the_records_unit(document: dict[str, Any]) -> None:
    step = values(document, "step_time")["workers=2"]
    assert (step["value"], step["unit"], step["bounded"]) == (0.055, "s", True)
    assert (step["low"], step["high"]) == (pytest.approx(0.053), pytest.approx(0.057))


@pytest.mark.parametrize(
    ("status", "standing", "why"),
    [("INVALID", "invalid", "client bound"), ("INCONCLUSIVE", "provisional", "undecided"), ("GAIN", None, None)],
)
def test_values_say_what_the_screen_says_of_them(view: View, status: Status, standing: str | None, why: str | None) -> None:
    found = replace(view.findings[0], severity="invalid", rule="client_bound")
    launches = tuple(replace(view.launches[0], role="timed", status="ok", configuration=column.key) for column in view.columns) * 5
    changed = replace(view, status=status, findings=(found,), launches=launches)
    shown = json.loads(json_report.render(changed))
    assert (shown["verdict"]["standing"], shown["verdict"]["standing_reason"]) == (standing, why)
    assert {row["standing"] for row in shown["metrics"]} == {standing}


def test_values_of_few_launches_are_provisional(view: View) -> None:
    launch = replace(view.launches[0], role="timed", status="ok")
    launches = tuple(replace(launch, configuration=column.key) for column in view.columns) * 3
    shown = json.loads(json_report.render(replace(view, status="GAIN", launches=launches)))
    assert (shown["verdict"]["standing"], shown["verdict"]["standing_reason"]) == ("provisional", "3 launches")


def test_an_unbounded_end_is_null_and_said(document: dict[str, Any]) -> None:
    ceiling = values(document, "amdahl_ceiling")["all"]
    assert (ceiling["value"], ceiling["low"], ceiling["high"], ceiling["bounded"]) == (5.9, 5.0, None, False)


def test_an_absent_value_has_a_reason_and_no_number(document: dict[str, Any]) -> None:
    energy = values(document, "energy")["workers=1"]
    assert (energy["measured"], energy["reason"]) == (False, "not_measured")
    assert not {"value", "low", "high"} & set(energy)


def test_the_reference_page_is_that_of_the_source(repository: Path) -> None:
    page = repository / "docs" / "reference" / "json.md"
    assert page.read_text(encoding="utf-8") == json_report.reference(), "run `make docs`"


def test_every_key_is_documented() -> None:
    page = json_report.reference()
    assert all(f"| `{key}` |" in page for rows in json_report.DOCUMENT.fields().values() for key, _, _ in rows)


@pytest.mark.slow
def test_a_record_of_one_launch_is_strict_json_too() -> None:
    measured = builders.measured(launches=1, levels=(1, 2), steps=6, failed=True)
    text = json_report.render(build(measured, judge(measured)))
    assert json.loads(text)["schema"] == "assay-report/1"
    assert "Infinity" not in text
    assert "NaN" not in text


def test_a_curve_over_steps_is_in_the_document() -> None:
    """One turn is right for half of 200 items, two for all: hand-made, so the keys are known."""
    answers: list[list[Answer]] = [[("7", 1.0) if item % 2 else ("8", 0.0), ("7", 1.0)] for item in range(200)]
    measured = stepped({"levels": (1, 2), "what": "turns"}, answers, margin=0.05)
    found = conforming(json_report.DOCUMENT, json_report.render(build(measured, judge(measured))))
    assert [(row["steps"], row["score"]["value"], row["enough"]) for row in found["steps"]] == [(1, 0.5, False), (2, 1.0, True)]
    assert (found["knees"][0]["steps"], found["knees"][0]["what"], found["knees"][0]["margin"]) == (2, "turns", 0.05)
    assert found["steps"][0]["usd"] == {
        "measured": False,
        "reason": "not_measured",
        "detail": "no price was given, or the cost of a launch is not known",
    }
