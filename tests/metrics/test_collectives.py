"""Times, bandwidths and links of collectives, against links whose truth is known."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from assay.metrics import algbw as algbw_metric
from assay.metrics import alpha, beta, crossover_size
from assay.metrics import busbw as busbw_metric
from assay.metrics.collective_calls import asked_cells, timed_loops
from assay.metrics.collective_errors import METRIC as ERRORS
from assay.metrics.collective_time import METRIC as TIME
from assay.metrics.estimate import Absent, Estimate, Value
from assay.metrics.measured import Measured
from assay.spec.collectives import Cell
from tests.collectives_made import CALLS, LOOPS, Made

ALPHA, BETA = 30e-6, 0.8e-9
RINGS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "gather", "scatter")


def known(value: Value) -> Estimate:
    assert isinstance(value, Estimate), value
    return value


def one(measured: Measured, **asked: object) -> Cell:
    return next(cell for cell in asked_cells(measured) if all(getattr(cell, name) == value for name, value in asked.items()))


def test_the_time_is_that_of_the_slowest_rank_without_the_warm_up() -> None:
    """1 MiB over two ranks: 2 x 30 us + 1048576 x 0.8 ns = 898.9 us; the other rank takes nine tenths, the warm-up ten times as long."""
    measured = Made(alpha=ALPHA, beta=BETA, noise=0.0, sizes=("1M",)).measured()
    value = known(TIME.compute(measured, {})[one(measured).name])
    assert value.value == pytest.approx(898.861e-6, rel=1e-4)
    assert (value.n_launches, value.n_trials) == (5, 5 * LOOPS * CALLS)
    assert "rank:slowest" in value.signature


@pytest.mark.parametrize("n", [2, 3, 8])
@pytest.mark.parametrize("op", [*RINGS, "broadcast", "reduce", "send_recv"])
def test_bandwidths_are_those_of_nccl_tests(op: str, n: int) -> None:
    """busbw = bytes / time x factor, from the bytes that were really sent: those of nccl-tests' doc/PERFORMANCE.md."""
    factor = {"all_reduce": 2 * (n - 1) / n, "broadcast": 1.0, "reduce": 1.0, "send_recv": 1.0}.get(op, (n - 1) / n)
    measured = Made(ops=(op,), levels=(n,), noise=0.0, blocks=1, sizes=("1M",)).measured()
    cell = one(measured)
    time = known(TIME.compute(measured, {})[cell.name]).value
    sent = {True: 2**20 // 4 // n * 4 * n, False: 2**20}[op in RINGS[1:]]
    assert cell.nbytes == sent
    assert known(algbw_metric.METRIC.compute(measured, {})[cell.name]).value == pytest.approx(sent / time)
    assert known(busbw_metric.METRIC.compute(measured, {})[cell.name]).value == pytest.approx(sent / time * factor)


def test_a_group_of_one_has_times_and_no_bandwidth() -> None:
    measured = Made(levels=(1, 2), sizes=("1K:1M",)).measured()
    name = one(measured, workers=1).name
    assert isinstance(TIME.compute(measured, {})[name], Estimate)
    found = busbw_metric.METRIC.compute(measured, {})[name]
    assert isinstance(found, Absent)
    assert "one rank sends nothing" in found.detail


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("op", "n"), [("all_reduce", 2), ("all_reduce", 8), ("all_gather", 4), ("broadcast", 4), ("send_recv", 3)])
def test_alpha_and_beta_are_found_within_a_tenth(op: str, n: int, seed: int) -> None:
    measured = Made(ops=(op,), levels=(n,), alpha=ALPHA, beta=BETA, noise=0.03, luck=0.03, seed=seed).measured()
    group = one(measured).group
    assert known(alpha.METRIC.compute(measured, {})[group]).value == pytest.approx(ALPHA, rel=0.1)
    assert known(beta.METRIC.compute(measured, {})[group]).value == pytest.approx(BETA, rel=0.1)


def test_intervals_of_alpha_and_beta_hold_the_truth() -> None:
    """95 % intervals over 40 records; with 95 % at least 34 of 40 hold it but for 1 in 3,000 (binomial)."""
    held = {"alpha": 0, "beta": 0}
    for seed in range(40):
        measured = Made(alpha=ALPHA, beta=BETA, noise=0.02, luck=0.05, seed=100 + seed, sizes=("1K:1M",)).measured()
        group = one(measured).group
        for name, metric, truth in (("alpha", alpha, ALPHA), ("beta", beta, BETA)):
            value = known(metric.METRIC.compute(measured, {})[group])
            held[name] += value.low <= truth <= value.high
    assert min(held.values()) >= 34


def test_the_crossover_size_is_where_half_of_the_time_is_latency() -> None:
    """send_recv is a single link: alpha / beta = 30 us / 0.8 ns = 37,500 bytes."""
    measured = Made(ops=("send_recv",), alpha=ALPHA, beta=BETA, noise=0.0).measured()
    assert known(crossover_size.METRIC.compute(measured, {})[one(measured).group]).value == pytest.approx(37_500, rel=1e-3)


def test_too_few_sizes_give_no_link() -> None:
    for sizes in (("1K", "1M", "16M"), ("1M", "2M", "3M", "4M")):  # three; and four within a factor of four
        measured = Made(sizes=sizes).measured()
        found = alpha.METRIC.compute(measured, {})[one(measured).group]
        assert isinstance(found, Absent)
        assert found.reason == "insufficient"


def test_what_the_engine_does_not_offer_is_absent_in_its_own_words() -> None:
    measured = Made(ops=("all_to_all", "all_reduce"), unsupported={"all_to_all": "no support for alltoall"}, sizes=("1K:1M",)).measured()
    found = TIME.compute(measured, {})[one(measured, op="all_to_all").name]
    assert isinstance(found, Absent)
    assert found.reason == "not_applicable"
    assert "gloo does not offer all_to_all: no support for alltoall" in found.detail
    assert isinstance(TIME.compute(measured, {})[one(measured, op="all_reduce").name], Estimate)


def test_loops_with_wrong_data_have_no_time_and_are_counted() -> None:
    """Of every launch's first loop at 4 KiB the second call is wrong; at 64 KiB all are."""

    def wrong(cell: Cell, launch: int, rank: int, call: int) -> tuple[int, str | None]:
        hit = (cell.size == 2**12 and launch == 0 and call == 1) or cell.size == 2**16
        return (7, "bit_flip: bit 3 of element 5") if hit and rank == 1 else (0, None)

    measured = Made(sizes=("1K:1M",), wrong=wrong).measured()
    errors, times = ERRORS.compute(measured, {}), TIME.compute(measured, {})
    some, every = one(measured, size=2**12).name, one(measured, size=2**16).name
    assert known(errors[some]).value == LOOPS  # one call of each loop of one launch
    assert known(errors[every]).value == 5 * LOOPS * CALLS
    assert known(times[some]).n_launches == 4  # none of the launch whose every loop was spoiled
    assert isinstance(times[every], Absent)
    assert "a wrong result has no speed" in times[every].detail


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
