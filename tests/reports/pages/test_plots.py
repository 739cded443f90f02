"""The plots of genai-bench's presets: which are drawn, over what, and what is left out."""

from __future__ import annotations

import pytest

from fireassay.reports.charts.model import Point
from fireassay.reports.charts.plots import preset
from fireassay.reports.metric_tables import PLOTS
from fireassay.reports.view import View
from tests.reports.conftest import EVIL
from tests.reports.pages.test_record import structure
from tests.reports.written import written

pytestmark = pytest.mark.slow


def test_a_preset_draws_what_was_measured_over_a_throughput_or_the_load(load: View) -> None:
    drawn = preset(load, "simple_2x2")
    assert [panel.title.partition(",")[0] for panel in drawn.panels] == [
        "End-to-end latency",
        "Failed requests",
        "Time to first token",
        "Output tokens per second",
    ]
    assert [panel.x.title for panel in drawn.panels][:2] == ["output tokens per second", "requests per second"]
    throughput = load.metric("output_throughput")
    assert throughput is not None
    known = sorted(cell.value.value for cell in throughput.cells.values() if cell.measured)  # type: ignore[union-attr]
    places = sorted(mark.x for mark in drawn.panels[0].marks if isinstance(mark, Point))
    assert places == pytest.approx(known)


def test_percentiles_of_one_plot_have_their_own_names(load: View) -> None:
    keys = [key.text for key in preset(load, "multi_line_latency").key]
    assert len(keys) == len(set(keys))
    assert any(text.endswith("p95") for text in keys)


def test_a_chart_for_each_preset_but_that_of_speech(load: View) -> None:
    found = structure(written(load, "html", page="plots"))
    assert sum(tag == "figure" for tag, _ in found.tags) == len(PLOTS) - 1
    assert not any(tag in ("iframe", "img") for tag, _ in found.tags)


def test_nothing_measured_is_said(view: View) -> None:
    assert "None of its metrics was measured at any load." in written(view, "html", page="plots")


def test_names_from_a_record_are_text(hostile: View) -> None:
    assert written(hostile, "html", page="plots").count("<script") == 1  # ours
    assert EVIL in hostile.columns[0].engine
