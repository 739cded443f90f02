"""The heat maps of pairs: valid Vega-Lite, darker where slower, hosts parted by lines, in words too."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest

from fireassay.estimates.estimate import Absent
from fireassay.frames.links import pairs
from fireassay.reports.charts import svg
from fireassay.reports.charts.chart import Drawing, Missing
from fireassay.reports.charts.links import topology
from tests.paired import kinds, matrix, record
from tests.reports.charts.serving.test_lines import rows_of
from tests.reports.schema import checked

pytestmark = pytest.mark.slow


def drawn(ranks: int = 2, hosts: bool = True) -> Drawing:
    names = tuple("a" if rank < 2 * ranks else "b" for rank in range(4 * ranks)) if hosts else ()
    found = matrix(record(kinds(2, 2, ranks), hosts=names))
    drawing = topology.maps(found, pairs.classes(found))
    assert isinstance(drawing, Drawing)
    return drawing


@pytest.mark.parametrize("hosts", [True, False])
def test_the_picture_is_valid_vega_lite(hosts: bool) -> None:
    checked(drawn(hosts=hosts).chart)


def test_every_ordered_pair_is_a_cell_and_slower_ones_are_darker() -> None:
    specification = drawn().chart.spec
    latency, bandwidth = (cells(part) for part in specification["concat"])
    assert len(latency) == len(bandwidth) == 56
    shades = [latency["0 a", to] for to in ("1 a", "2 a", "4 b")]
    assert shades == sorted(shades)
    assert shades[0] == topology.PALEST
    assert math.isclose(shades[2], topology.DARKEST)
    assert bandwidth["0 a", "1 a"] < bandwidth["0 a", "4 b"]


def cells(part: dict[str, Any]) -> dict[tuple[str, str], float]:
    return {(row["sender"], row["receiver"]): row["shade"] for row in rows_of(part["layer"][0])}


def test_the_picture_is_drawn_with_its_numbers_and_a_line_between_hosts() -> None:
    picture = svg.picture("topology", drawn())
    assert "<svg" in picture.svg
    assert not re.search(r"#fa..ce", picture.svg)
    assert "25.0" in picture.svg  # latency across hosts, in milliseconds here
    assert "across hosts: latency 25.0 ms, bandwidth 10.0 MB/s." in picture.description


def test_a_pair_without_a_number_has_a_dash_and_the_range_of_the_shades_is_said() -> None:
    found = matrix(record(kinds(2, 2, 1)))
    unknown = replace(found.links[0], bandwidth=Absent(reason="insufficient", detail="none"))
    found = replace(found, links=(unknown, *found.links[1:]))
    drawing = topology.maps(found, pairs.classes(found))
    assert isinstance(drawing, Drawing)
    checked(drawing.chart)
    latency, bandwidth = drawing.chart.spec["concat"]
    assert [[row["sender"] for row in rows_of(part["layer"][-1])] for part in (latency, bandwidth)] == [[], [str(unknown.pair[0])]]
    assert re.fullmatch(r"latency, .s: [\d.]+ to [\d.]+", latency["title"]["text"])
    assert drawing.title == "Ranks and their links, 4 workers"


def test_too_many_ranks_are_a_sentence() -> None:
    found = replace(matrix(record(kinds(2, 1, 2))), ranks=65)
    drawing = topology.maps(found, pairs.classes(found))
    assert isinstance(drawing, Missing)
    assert "65 ranks" in drawing.reason
