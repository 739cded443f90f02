"""How fast and how right are collectives and links?"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.frames.links.collective_calls import timed_loops
from fireassay.metrics.collectives import (
    ALGBW,
    ALPHA,
    BETA,
    BUSBW,
    COLLECTIVE_ERRORS,
    COLLECTIVE_TIME,
    CROSSOVER_SIZE,
    PAIR_BANDWIDTH,
    PAIR_LATENCY,
)
from fireassay.spec.sections.collectives import Cell
from tests.builders import measured
from tests.collectives_made import CALLS, LOOPS, Made, known, one
from tests.metrics.narrow import absence, estimated
from tests.paired import BANDWIDTH, LATENCY, kinds, record

# ---- Is the time of a collective that of its slowest rank, over loops that every rank finished with right data?

TRUE_ALPHA, TRUE_BETA = 30e-6, 0.8e-9


def test_the_time_is_that_of_the_slowest_rank_without_the_warm_up() -> None:
    """1 MiB over two ranks: 2 x 30 us + 1048576 x 0.8 ns = 898.9 us; the other rank takes nine tenths, the warm-up ten times as long."""
    measured = Made(alpha=TRUE_ALPHA, beta=TRUE_BETA, noise=0.0, sizes=("1M",)).measured()
    value = known(COLLECTIVE_TIME.compute(measured, {})[one(measured).name])
    assert value.value == pytest.approx(898.861e-6, rel=1e-4)
    assert (value.n_launches, value.n_trials) == (5, 5 * LOOPS * CALLS)
    assert "rank:slowest" in value.signature


def test_an_operation_not_offered_is_absent_in_the_engines_words() -> None:
    measured = Made(ops=("all_to_all", "all_reduce"), unsupported={"all_to_all": "no support for alltoall"}, sizes=("1K:1M",)).measured()
    found = absence(COLLECTIVE_TIME.compute(measured, {})[one(measured, op="all_to_all").name])
    assert found.reason == "not_applicable"
    assert "gloo does not offer all_to_all: no support for alltoall" in found.detail
    assert isinstance(COLLECTIVE_TIME.compute(measured, {})[one(measured, op="all_reduce").name], Estimate)


def test_a_loop_that_a_rank_did_not_finish_counts_nowhere() -> None:
    measured = Made(sizes=("1K",), blocks=1).measured()
    rows = measured.table("collectives")
    cut = rows.filter(~((rows["rank"] == 1) & (rows["call"] >= rows["call"].max() - CALLS)))
    assert timed_loops(measured).height == LOOPS
    assert timed_loops(replace(measured, tables={**measured.tables, "collectives": cut})).height == LOOPS - 1


def test_values_of_launches_are_kept_for_comparisons() -> None:
    measured = Made(luck=0.1, sizes=("1K:1M",)).measured()
    value = known(COLLECTIVE_TIME.compute(measured, {})[one(measured).name])
    assert len(value.launch_values) == 5
    assert value.low < math.exp(sum(math.log(v) for v in value.launch_values) / 5) < value.high


# ---- Is algbw the bytes of nccl-tests over the time of the slowest rank?


@pytest.mark.parametrize(("op", "nbytes"), [("all_reduce", 2**20), ("all_gather", 1048572), ("send_recv", 2**20)])
def test_bytes_over_time(op: str, nbytes: int) -> None:
    """1 us a byte and nothing else, on three ranks: all_reduce sends 4/3 of S over each link, a gathering 2/3, a neighbour all of it."""
    measured = Made(ops=(op,), levels=(3,), alpha=1e-12, beta=1e-6, noise=0.0, sizes=("1M",)).measured()
    share = {"all_reduce": 4 / 3, "all_gather": 2 / 3, "send_recv": 1.0}[op]
    cell = one(measured)
    assert cell.nbytes == nbytes  # whole elements for each rank
    assert known(ALGBW.compute(measured, {})[cell.name]).value == pytest.approx(1e6 / share, rel=1e-6)


# ---- Are bandwidths those of nccl-tests?

RINGS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "gather", "scatter")


@pytest.mark.parametrize("n", [2, 3, 8])
@pytest.mark.parametrize("op", [*RINGS, "broadcast", "reduce", "send_recv"])
def test_bandwidths_are_those_of_nccl_tests(op: str, n: int) -> None:
    """busbw = bytes / time x factor, from the bytes that were really sent: those of nccl-tests' doc/PERFORMANCE.md."""
    factor = {"all_reduce": 2 * (n - 1) / n, "broadcast": 1.0, "reduce": 1.0, "send_recv": 1.0}.get(op, (n - 1) / n)
    measured = Made(ops=(op,), levels=(n,), noise=0.0, blocks=1, sizes=("1M",)).measured()
    cell = one(measured)
    time = known(COLLECTIVE_TIME.compute(measured, {})[cell.name]).value
    sent = {True: 2**20 // 4 // n * 4 * n, False: 2**20}[op in RINGS[1:]]
    assert cell.nbytes == sent
    assert known(ALGBW.compute(measured, {})[cell.name]).value == pytest.approx(sent / time)
    assert known(BUSBW.compute(measured, {})[cell.name]).value == pytest.approx(sent / time * factor)


def test_a_group_of_one_has_times_and_no_bandwidth() -> None:
    measured = Made(levels=(1, 2), sizes=("1K:1M",)).measured()
    name = one(measured, workers=1).name
    assert isinstance(COLLECTIVE_TIME.compute(measured, {})[name], Estimate)
    assert "one rank sends nothing" in absence(BUSBW.compute(measured, {})[name]).detail


# ---- Is the latency of a simulated link found within a tenth, and within its interval?


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("op", "n"), [("all_reduce", 2), ("all_reduce", 8), ("all_gather", 4), ("broadcast", 4), ("send_recv", 3)])
def test_alpha_and_beta_are_found_within_a_tenth(op: str, n: int, seed: int) -> None:
    measured = Made(ops=(op,), levels=(n,), alpha=TRUE_ALPHA, beta=TRUE_BETA, noise=0.03, luck=0.03, seed=seed).measured()
    group = one(measured).group
    assert known(ALPHA.compute(measured, {})[group]).value == pytest.approx(TRUE_ALPHA, rel=0.1)
    assert known(BETA.compute(measured, {})[group]).value == pytest.approx(TRUE_BETA, rel=0.1)


@pytest.mark.slow
def test_intervals_of_alpha_and_beta_hold_the_truth() -> None:
    """95 % intervals over 40 records; with 95 % at least 34 of 40 hold it but for 1 in 3,000 (binomial)."""
    held = {"alpha": 0, "beta": 0}
    for seed in range(40):
        measured = Made(alpha=TRUE_ALPHA, beta=TRUE_BETA, noise=0.02, luck=0.05, seed=100 + seed, sizes=("1K:1M",)).measured()
        group = one(measured).group
        for name, metric, truth in (("alpha", ALPHA, TRUE_ALPHA), ("beta", BETA, TRUE_BETA)):
            value = known(metric.compute(measured, {})[group])
            held[name] += value.low <= truth <= value.high
    assert min(held.values()) >= 34


def test_too_few_sizes_give_no_link() -> None:
    for sizes in (("1K", "1M", "16M"), ("1M", "2M", "3M", "4M")):  # three; and four within a factor of four
        measured = Made(sizes=sizes).measured()
        assert absence(ALPHA.compute(measured, {})[one(measured).group]).reason == "insufficient"


@pytest.mark.slow
def test_a_part_that_hardly_shows_is_absent_instead_of_any_number() -> None:
    """At 1 ns a byte and 1 s of latency 16 MiB take 1.7 % longer than nothing; with 1 ns of latency 1 KiB is all of it growth."""
    slow, quick = Made(alpha=1.0, beta=1e-9).measured(), Made(alpha=1e-9, beta=1e-9).measured()
    found = absence(BETA.compute(slow, {})[one(slow).group])
    assert "does not grow with the size up to 16777216 bytes" in found.detail
    assert known(ALPHA.compute(slow, {})[one(slow).group]).value == pytest.approx(1.0, rel=0.1)
    found = absence(ALPHA.compute(quick, {})[one(quick).group])
    assert "even 1024 bytes" in found.detail
    assert known(BETA.compute(quick, {})[one(quick).group]).value == pytest.approx(1e-9, rel=0.1)


# ---- Is the time per byte of a simulated link found, whatever the operation? (Within a tenth and in its interval: `test_alpha.py`.)


@pytest.mark.parametrize("op", ["all_reduce", "reduce_scatter", "broadcast", "send_recv"])
def test_a_link_without_noise_is_found_exactly(op: str) -> None:
    measured = Made(ops=(op,), levels=(4,), alpha=20e-6, beta=2e-9, noise=0.0).measured()
    assert known(BETA.compute(measured, {})[one(measured).group]).value == pytest.approx(2e-9, rel=1e-3)


def test_one_rank_has_no_link() -> None:
    found = BETA.compute(Made(levels=(1,)).measured(), {})
    assert all(isinstance(value, Absent) and value.reason == "not_applicable" for value in found.values())


# ---- Is the crossover size the one at which half of the time is latency?


def test_the_crossover_size_is_where_half_of_the_time_is_latency() -> None:
    """send_recv is a single link: alpha / beta = 30 us / 0.8 ns = 37,500 bytes."""
    measured = Made(ops=("send_recv",), alpha=TRUE_ALPHA, beta=TRUE_BETA, noise=0.0).measured()
    assert known(CROSSOVER_SIZE.compute(measured, {})[one(measured).group]).value == pytest.approx(37_500, rel=1e-3)


# ---- Is the latency of the farthest pair that of the farthest pair?


def test_the_farthest_pair_gives_the_value() -> None:
    found = estimated(PAIR_LATENCY.compute(record(kinds(2, 2, 1)), {})["workers=4"])
    assert found.value == pytest.approx(1000 * LATENCY[2])
    assert (found.n_launches, found.n_trials) == (5, 5 * 12 * 9)


def test_a_record_without_pairs_has_none() -> None:
    assert absence(PAIR_LATENCY.compute(measured(), {})["workers=1"]).reason == "not_applicable"


# ---- Is the bandwidth of the slowest pair that of the slowest pair?


def test_the_slowest_pair_gives_the_value() -> None:
    assert estimated(PAIR_BANDWIDTH.compute(record(kinds(2, 2, 1)), {})["workers=4"]).value == pytest.approx(BANDWIDTH[2] / 1000)


def test_pairs_without_any_bandwidth_have_no_slowest() -> None:
    found = PAIR_BANDWIDTH.compute(record(kinds(2, 2, 1), flat=True), {})["workers=4"]
    assert found == Absent(reason="not_measured", detail="no pair has a value")


def test_a_record_without_pairs_has_none_pair_bandwidth() -> None:
    assert isinstance(PAIR_BANDWIDTH.compute(measured(), {})["workers=1"], Absent)


# ---- Are calls with wrong data counted, and do they lose their time?


def test_loops_with_wrong_data_have_no_time_and_are_counted() -> None:
    """Of every launch's first loop at 4 KiB the second call is wrong; at 64 KiB all are."""

    def wrong(cell: Cell, launch: int, rank: int, call: int) -> tuple[int, str | None]:
        hit = (cell.size == 2**12 and launch == 0 and call == 1) or cell.size == 2**16
        return (7, "bit_flip: bit 3 of element 5") if hit and rank == 1 else (0, None)

    measured = Made(sizes=("1K:1M",), wrong=wrong).measured()
    errors, times = COLLECTIVE_ERRORS.compute(measured, {}), COLLECTIVE_TIME.compute(measured, {})
    some, every = one(measured, size=2**12).name, one(measured, size=2**16).name
    assert known(errors[some]).value == LOOPS  # one call of each loop of one launch
    assert known(errors[every]).value == 5 * LOOPS * CALLS
    assert known(times[some]).n_launches == 4  # none of the launch whose every loop was spoiled
    assert isinstance(times[every], Absent)
    assert "a wrong result has no speed" in times[every].detail
