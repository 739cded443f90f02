"""Do the strip and the matrix show every node and link once, and the slow ones in red?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireassay.reports.build_view import build
from fireassay.reports.charts.fleet import MAX_MATRIX, pairs, strip
from fireassay.reports.charts.model import Box
from fireassay.reports.view import View
from fireassay.verdict.judge import judge
from tests.fleet_made import drawn, fleet_record, links_drawn

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def view() -> View:
    links = links_drawn(12, slow={("n1", "n10"): 0.4}, none=(("n2", "n3"),))
    record = fleet_record({"memory": {**drawn(12, slow={"n5": 0.3}), "n7": [None] * 7}}, links={"bandwidth": links})
    return build(record, judge(record))


def test_the_strip_has_a_cell_for_each_node_in_the_order_of_numbers(view: View) -> None:
    (chart,) = strip(view)
    (panel,) = chart.panels
    assert [text for _, text in panel.x.ticks] == [f"n{number}" for number in range(12)]
    boxes = chart.marks(Box)
    assert len(boxes) == 24
    assert [(box.left + 0.5, box.low + 0.5) for box in boxes if box.role == "fail"] == [(5.0, 1.0)]
    assert [box.left + 0.5 for box in boxes if box.role == "grey"] == [7.0]


def test_the_matrix_has_a_cell_for_each_direction(view: View) -> None:
    (chart,) = pairs(view)
    boxes = chart.marks(Box)
    assert len(boxes) == 12 * 11
    assert [(11 - (box.low + 0.5), box.left + 0.5) for box in boxes if box.role == "fail"] == [(1.0, 10.0)]
    assert [(11 - (box.low + 0.5), box.left + 0.5) for box in boxes if box.role == "grey"] == [(2.0, 3.0)]
    assert chart.description.endswith("slow: n1 to n10.")


def test_a_large_fleet_has_no_matrix(view: View) -> None:
    assert view.fleet is not None
    many = replace(view, fleet=replace(view.fleet, nodes=tuple(f"n{number}" for number in range(MAX_MATRIX + 1))))
    (chart,) = pairs(many)
    assert chart.missing.startswith("65 nodes make too many cells")
