"""The reading order: every name once, and no definition of another tool among ours."""

from __future__ import annotations

import pytest

from assay import catalog
from assay.reports.reading import ORDER, tool_of
from assay.reports.view import View


def test_no_name_is_there_twice() -> None:
    assert len(ORDER) == len(set(ORDER))


@pytest.mark.parametrize(
    ("metric", "tool"),
    [("ttft_vllm", "vllm"), ("tpot_genai_bench", "genai_bench"), ("mlperf_tail", "mlperf"), ("ttft_p99", ""), ("goodput", "")],
)
def test_another_tools_definition_is_known_by_its_name(metric: str, tool: str) -> None:
    assert tool_of(metric) == tool


def test_peers_stand_apart_from_ours(load: View) -> None:
    peers = {name for name in catalog.names("metrics") if tool_of(name)}
    assert {row.name for row in load.of_tools} == peers
    assert not any(row.tool for dimension in ("correctness", "performance", "cost", "reliability") for row in load.of_dimension(dimension))
