"""Does a chart stand alone: its own colours and font, no variable of the page, no link?"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import fireassay
from fireassay.api.chart import Chart
from fireassay.errors import RecordError, SpecError
from fireassay.reports.charts import model

ABSENT = Chart(model.Chart(name="goodput", title="Goodput", missing="no <energy> was measured"))


def test_every_chart_of_a_record_is_whole_svg_in_its_own_colours(record: fireassay.Record) -> None:
    drawn = [chart for name in record.charts if not (chart := record.chart(name)).absent]
    assert len(drawn) >= 5
    for chart in drawn:
        ET.fromstring(chart.svg)
        assert "var(" not in chart.svg
        assert "currentColor" not in chart.svg, "a role without a colour in the page's style"
        assert not re.search(r"(href|src)=", chart.svg)


def test_a_chart_is_saved_as_svg_and_png(record: fireassay.Record, tmp_path: Path) -> None:
    chart = record.chart("speedup")
    assert chart.save(tmp_path / "a.svg").read_text() == chart.svg
    assert chart.save(str(tmp_path / "a.png")).read_bytes().startswith(b"\x89PNG")


def test_a_notebook_shows_the_chart_with_its_key_and_caption(record: fireassay.Record) -> None:
    chart = record.chart("speedup")
    assert chart._repr_svg_() == chart.svg
    shown = chart._repr_html_()
    assert chart.svg in shown
    assert "ideal" in shown


def test_a_chart_that_is_not_there_says_why_and_is_not_saved(tmp_path: Path) -> None:
    assert ABSENT._repr_svg_() is None
    assert "no &lt;energy&gt; was measured" in ABSENT._repr_html_()
    with pytest.raises(RecordError, match="no <energy> was measured"):
        ABSENT.save(tmp_path / "a.svg")
    assert list(tmp_path.iterdir()) == []


def test_another_format_or_an_impossible_place_is_refused(record: fireassay.Record, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"\.svg or \.png"):
        record.chart("speedup").save(tmp_path / "a.pdf")
    with pytest.raises(RecordError, match="cannot write"):
        record.chart("speedup").save(tmp_path / "missing" / "a.svg")
