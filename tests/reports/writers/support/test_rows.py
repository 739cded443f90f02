"""A plot of an answer as a picture: a row says what it is about, and a number alone says of what."""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.reports.charts.model import Chart, Edge, Interval, Rule, intervals
from fireassay.reports.page import number
from fireassay.reports.writers.support.rows import in_rows

ONE = Estimate(value=0.5, low=0.25, high=0.75, unit="fraction", confidence=0.9916667, n_launches=3, n_trials=3, method="m", signature="s")


def drawn(name: str, stub: str) -> Chart:
    return in_rows(intervals(name="p", title="share, %", stub=stub, rows=(Interval(name=name, number=number(ONE)),)))


@pytest.mark.parametrize(
    ("name", "stub", "row"),
    [("2", "workers", "2 workers: "), ("1", "workers", "1 worker: "), ("throughput", "metric", "throughput: "), ("new", "", "new: ")],
)
def test_a_row_is_named_by_its_name_or_its_number_of_things(name: str, stub: str, row: str) -> None:
    (label,) = drawn(name, stub).panels[0].y.names
    assert label.startswith(row)


def test_the_confidence_of_its_intervals_is_rounded() -> None:
    assert [key.text for key in drawn("2", "workers").key] == ["value and 99.17 % interval"]


def test_no_letter_of_a_long_name_is_lost() -> None:
    name = "an-engine-with-a-name-of-sixty-letters-that-goes-on-and-on-and-on"
    assert drawn(name, "").panels[0].y.names == (f"{name}: 50 % [25, 75]",)


@pytest.mark.parametrize(("margin", "texts"), [(-0.24, ["margin", "no change"]), (-0.01, ["margin, no change", ""])])
def test_edges_that_nearly_touch_share_one_text(margin: float, texts: list[str]) -> None:
    edges = (Edge(value=margin, text="margin"), Edge(value=0.0, text="no change"))
    found = in_rows(intervals(name="p", title="share, %", rows=(Interval(name="b", number=number(ONE)),), edges=edges))
    assert not found.missing
    assert [mark.text for mark in found.panels[0].marks if isinstance(mark, Rule)] == texts
