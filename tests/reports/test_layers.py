"""The four layers of a training's correctness are in every report that a person or a program reads."""

from __future__ import annotations

import json

import pytest

from fireassay.frames.record_data import from_record
from fireassay.record.reader import open_record
from fireassay.reports.build_view import build
from fireassay.reports.documents.record import DOCUMENT
from fireassay.reports.view import View
from fireassay.verdict.judge import judge
from tests.records.make import HERE
from tests.reports.written import content, written

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def view() -> View:
    measured = from_record(open_record(HERE / "seed_mismatch"))
    return build(measured, judge(measured))


def test_the_view_has_four_layers_for_each_count_of_several_workers(view: View) -> None:
    assert [(row.label, row.layer, row.state) for row in view.layers] == [
        ("2 workers", "ledger", "pass"),
        ("2 workers", "gradient", "not run"),
        ("2 workers", "hashes", "fail"),
        ("2 workers", "trajectory", "advice"),
    ]


def test_json_has_them_as_its_reference_says(view: View) -> None:
    rows = json.loads(content(view, "json"))["layers"]
    assert [row["state"] for row in rows] == ["pass", "not run", "fail", "advice"]
    assert all(list(row) == [name for name, _, _ in DOCUMENT.fields()["layers[]"]] for row in rows)


@pytest.mark.parametrize("name", ["markdown", "html", "terminal"])
def test_people_read_them_too(name: str, view: View) -> None:
    text = written(view, name).replace("\\_", "_")
    title = "Is the result still right?" if name == "html" else "Correctness by layer"
    assert title in text
    assert "replica_seed_mismatch" in text.split(title)[1]
    assert "B, gradient of one step" in text
