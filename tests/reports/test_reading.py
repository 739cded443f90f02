"""The reading order: every name once, and no definition of another tool among ours."""

from __future__ import annotations

from assay import catalog
from assay.reports.reading import ORDER
from assay.reports.view import View


def test_no_name_is_there_twice() -> None:
    assert len(ORDER) == len(set(ORDER))


def test_peers_stand_apart_from_ours(load: View) -> None:
    peers = {name for name, metric in catalog.load_all("metrics").items() if metric.tool}
    assert {row.name for row in load.of_tools} == peers
    assert not any(row.tool for dimension in ("correctness", "performance", "cost", "reliability") for row in load.of_dimension(dimension))
