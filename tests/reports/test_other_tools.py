"""Definitions of other tools stand apart from ours."""

from __future__ import annotations

from fireassay import catalog
from fireassay.reports.view import View


def test_peers_stand_apart_from_ours(load: View) -> None:
    peers = {name for name, metric in catalog.load_all("metrics").items() if metric.tool}
    assert {row.name for row in load.of_tools} == peers
    assert not any(row.tool for dimension in ("correctness", "performance", "cost", "reliability") for row in load.of_dimension(dimension))
