"""The JSON report: strict, stable, documented; its shape changes only together with this test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fireassay.reports.documents import record as json_report
from fireassay.reports.view import View, build
from fireassay.verdict.judge import judge
from tests import builders


@pytest.fixture(scope="module")
def document(view: View) -> dict[str, Any]:
    """The report, parsed by a strict reader."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    loaded: dict[str, Any] = json.loads(json_report.render(view), parse_constant=refuse)
    return loaded


TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "object": (dict,),
    "list of objects": (list,),
    "list of numbers": (list,),
    "list of strings": (list,),
}


def allowed(kind: str) -> tuple[type, ...]:
    return tuple(found for part in kind.split(" or ") for found in TYPES[part])


def check(rows: tuple[json_report.Row, ...], found: dict[str, Any]) -> None:
    for key, kind, meaning in rows:
        if "only if" in meaning and key not in found:
            continue
        assert isinstance(found[key], allowed(kind)), (key, found[key])
    assert set(found) <= {key for key, _, _ in rows}


def test_the_document_has_exactly_the_documented_shape(document: dict[str, Any]) -> None:
    optional = {f"{key}[]" for key, _, meaning in json_report.FIELDS["(top)"] if "only if" in meaning}
    for name, rows in json_report.FIELDS.items():
        if name in optional:
            continue  # of other records: their own tests look at them
        if name == "(top)":
            check(rows, document)
        elif name.endswith("[]"):
            assert document[name.removesuffix("[]")], f"{name} is empty, so this test would see nothing"
            for item in document[name.removesuffix("[]")]:
                check(rows, item)
        else:
            check(rows, document[name])


def test_the_shape_is_frozen() -> None:
    """Whoever changes this list changes the contract: adding is allowed, removing needs assay-report/2."""
    assert json_report.SCHEMA == "assay-report/1"
    assert {name: [key for key, _, _ in rows] for name, rows in json_report.FIELDS.items()} == GOLDEN


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
        "collectives",
        "profiles",
        "layers",
        "spent",
        "pairs",
    ],
    "profiles[]": ["launch", "configuration", "status", "reason", "windows", "ranks", "nsys"],
    "layers[]": ["configuration", "layer", "state", "sentence"],
    "spent[]": ["configuration", "role", "launches", "rank_s", "shares"],
    "pairs[]": ["configuration", "hosts", "at_once", "classes", "refused", "sentences", "links"],
    "collectives[]": ["configuration", "group", "op", "place", "workers", "size", "bytes"],
    "record": ["id", "name", "created_utc", "assay_version", "state", "sealed", "seal"],
    "verdict": ["status", "sentence", "recommended", "asked"],
    "configurations[]": ["configuration", "workers", "base"],
    "dimensions[]": ["configuration", "dimension", "status", "sentence"],
    "metrics[]": [
        "metric",
        "configuration",
        "title",
        "dimension",
        "unit",
        "better",
        "formula",
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
        "reason",
        "detail",
    ],
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
    assert all(f"| `{key}` |" in page for rows in json_report.FIELDS.values() for key, _, _ in rows)


def test_a_record_of_one_launch_is_strict_json_too() -> None:
    measured = builders.measured(launches=1, levels=(1, 2), steps=6, failed=True)
    text = json_report.render(build(measured, judge(measured)))
    assert json.loads(text)["schema"] == "assay-report/1"
    assert "Infinity" not in text
    assert "NaN" not in text
