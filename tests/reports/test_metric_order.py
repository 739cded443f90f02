"""The order of metrics: no rank twice, and no definition of another tool among ours."""

from __future__ import annotations

import pytest

from assay import catalog
from assay.frames.record_data import Subject
from assay.metrics.base import EVERYTHING, LAST
from assay.reports.view import View


@pytest.mark.parametrize("subject", EVERYTHING)
def test_the_metrics_of_a_kind_of_record_have_a_rank_each(subject: Subject) -> None:
    ranks = [metric.rank for metric in catalog.load_all("metrics").values() if subject in metric.about]
    assert len(ranks) == len(set(ranks))
    assert max(ranks) < LAST


def test_peers_stand_apart_from_ours(load: View) -> None:
    peers = {name for name, metric in catalog.load_all("metrics").items() if metric.tool}
    assert {row.name for row in load.of_tools} == peers
    assert not any(row.tool for dimension in ("correctness", "performance", "cost", "reliability") for row in load.of_dimension(dimension))
