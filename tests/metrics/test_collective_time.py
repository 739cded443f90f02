"""Is the time of a collective that of its slowest rank, over loops that every rank finished with right data?"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.frames.links.collective_calls import timed_loops
from assay.metrics.collective_time import METRIC as TIME
from tests.collectives_made import CALLS, LOOPS, Made, known, one

ALPHA, BETA = 30e-6, 0.8e-9


def test_the_time_is_that_of_the_slowest_rank_without_the_warm_up() -> None:
    """1 MiB over two ranks: 2 x 30 us + 1048576 x 0.8 ns = 898.9 us; the other rank takes nine tenths, the warm-up ten times as long."""
    measured = Made(alpha=ALPHA, beta=BETA, noise=0.0, sizes=("1M",)).measured()
    value = known(TIME.compute(measured, {})[one(measured).name])
    assert value.value == pytest.approx(898.861e-6, rel=1e-4)
    assert (value.n_launches, value.n_trials) == (5, 5 * LOOPS * CALLS)
    assert "rank:slowest" in value.signature


def test_what_the_engine_does_not_offer_is_absent_in_its_own_words() -> None:
    measured = Made(ops=("all_to_all", "all_reduce"), unsupported={"all_to_all": "no support for alltoall"}, sizes=("1K:1M",)).measured()
    found = TIME.compute(measured, {})[one(measured, op="all_to_all").name]
    assert isinstance(found, Absent)
    assert found.reason == "not_applicable"
    assert "gloo does not offer all_to_all: no support for alltoall" in found.detail
    assert isinstance(TIME.compute(measured, {})[one(measured, op="all_reduce").name], Estimate)


def test_a_loop_that_a_rank_did_not_finish_counts_nowhere() -> None:
    measured = Made(sizes=("1K",), blocks=1).measured()
    rows = measured.table("collectives")
    cut = rows.filter(~((rows["rank"] == 1) & (rows["call"] >= rows["call"].max() - CALLS)))
    assert timed_loops(measured).height == LOOPS
    assert timed_loops(replace(measured, tables={**measured.tables, "collectives": cut})).height == LOOPS - 1


def test_values_of_launches_are_kept_for_comparisons() -> None:
    measured = Made(luck=0.1, sizes=("1K:1M",)).measured()
    value = known(TIME.compute(measured, {})[one(measured).name])
    assert len(value.launch_values) == 5
    assert value.low < math.exp(sum(math.log(v) for v in value.launch_values) / 5) < value.high
