"""The heat maps of pairs: darker where slower, hosts parted by lines, in words too."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from fireassay.estimates.estimate import Absent
from fireassay.frames.links import pairs
from fireassay.reports.charts import links
from fireassay.reports.charts.model import Box, Chart, Label, Panel, Rule
from fireassay.reports.writers.support import svg
from tests.paired import kinds, matrix, record
from tests.reports.charts.marked import marks

pytestmark = pytest.mark.slow


def drawn(ranks: int = 2, hosts: bool = True) -> Chart:
    names = tuple("a" if rank < 2 * ranks else "b" for rank in range(4 * ranks)) if hosts else ()
    found = matrix(record(kinds(2, 2, ranks), hosts=names))
    drawing = links.maps(found, pairs.classes(found))
    assert not drawing.missing
    return drawing


def test_every_ordered_pair_is_a_cell_and_slower_ones_are_darker() -> None:
    latency, bandwidth = (cells(panel) for panel in drawn().panels)
    assert len(latency) == len(bandwidth) == 56
    shades = [latency[0, to] for to in (1, 2, 4)]
    assert shades == sorted(shades)
    assert shades[0] == links.PALEST
    assert math.isclose(shades[2], links.DARKEST)
    assert bandwidth[0, 1] < bandwidth[0, 4]


def cells(panel: Panel) -> dict[tuple[int, int], float]:
    """(sender, receiver) -> shade; sender 0 is the uppermost of eight rows."""
    boxes = [mark for mark in panel.marks if isinstance(mark, Box)]
    return {(7 - round(box.low + 0.5), round(box.left + 0.5)): box.shade for box in boxes}


@pytest.mark.parametrize("hosts", [True, False])
def test_there_is_a_line_between_hosts(hosts: bool) -> None:
    assert len(marks(drawn(hosts=hosts), Rule)) == (4 if hosts else 0)  # down and across, in both maps


def test_the_picture_is_drawn_with_its_numbers() -> None:
    picture = svg.picture(drawn())
    assert "0 a to 4 b\n25.0 ms" in picture.svg  # latency across hosts, in milliseconds here
    assert "across hosts: latency 25.0 ms, bandwidth 10.0 MB/s." in picture.chart.description


def test_a_pair_without_a_number_has_a_dash_and_the_range_of_the_shades_is_said() -> None:
    found = matrix(record(kinds(2, 2, 1)))
    unknown = replace(found.links[0], bandwidth=Absent(reason="insufficient", detail="none"))
    found = replace(found, links=(unknown, *found.links[1:]))
    drawing = links.maps(found, pairs.classes(found))
    assert not drawing.missing
    dashes = [[mark.text for mark in panel.marks if isinstance(mark, Label)] for panel in drawing.panels]
    assert dashes == [[], ["–"]]
    assert re.match(r"latency, .s: [\d.]+ to [\d.]+;", drawing.panels[0].title)
    assert drawing.title == "Ranks and their links, 4 workers"


def test_too_many_ranks_are_a_sentence() -> None:
    found = replace(matrix(record(kinds(2, 1, 2))), ranks=65)
    drawing = links.maps(found, pairs.classes(found))
    assert drawing.missing
    assert "65 ranks" in drawing.missing
