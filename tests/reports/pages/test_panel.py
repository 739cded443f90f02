"""The panel: one page with the headline metrics, once by each condition that the record varies."""

from __future__ import annotations

import pytest

from fireassay.reports.charts.loads import conditions, panel_by
from fireassay.reports.metric_tables import PANEL
from fireassay.reports.view import View
from tests.reports.conftest import EVIL
from tests.reports.pages.test_record import structure
from tests.reports.written import written

pytestmark = pytest.mark.slow


def test_there_is_a_picture_for_each_condition_that_varies(load: View, scenarios: View) -> None:
    assert conditions(load) == ("engine", "load")
    assert conditions(scenarios) == ("scenario", "load")
    assert written(load, "html", page="panel").count("<figure") == 2


def test_eight_numbers_are_asked_for(load: View) -> None:
    rows = [row for _, row in load.shown_in(PANEL)]
    assert len(rows) == 8
    drawn = panel_by("engine", load)
    assert not drawn.missing
    assert len(drawn.panels) == sum(row.known for row in rows)
    assert drawn.title.startswith(f"{len(drawn.panels)} metrics")
    assert drawn.across == 2


def test_the_page_is_well_formed_and_loads_nothing(load: View) -> None:
    found = structure(written(load, "html", page="panel"))
    assert not any(tag in ("iframe", "img") for tag, _ in found.tags)
    ids = [attrs["id"] for _, attrs in found.tags if attrs.get("id")]
    assert len(ids) == len(set(ids))


def test_a_record_without_a_load_says_so(view: View) -> None:
    assert "This record holds no load." in written(view, "html", page="panel")


@pytest.mark.parametrize("by", ["engine", "scenario", "load"])
def test_names_from_a_record_are_text(hostile: View, by: str) -> None:
    drawn = panel_by(by, hostile)  # type: ignore[arg-type]
    assert not drawn.missing
    assert written(hostile, "html", page="panel").count("<script") == 1  # ours
    assert EVIL in hostile.columns[0].engine
