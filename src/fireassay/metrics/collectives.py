"""How fast and how correct are collectives and links?

A cell is an operation at one size, placement and worker count; its time is that of a loop of back-to-back calls on the slowest rank,
divided by the number of calls (nccl-tests common.cu, -a 3; on a GPU events in its stream). A launch's value is the median of its
loops, and the interval is Student t on the logs of the launch values. Bandwidths: nccl-tests doc/PERFORMANCE.md.
Links: T(S) = a + b S is fitted by relative errors to an operation's times at all sizes, separately for every launch; a and b are
divided by the number of sequential steps of a ring of n ranks: Hockney, Parallel Computing 20 (1994) 389-398; Thakur et al.,
IJHPCA 19 (2005) 49-66. The residuals show how well the line fits. Cannot tell: whether an engine uses a ring, or where it changes
its protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, Literal

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.format import count
from fireassay.estimates.over_launches import exact, positive
from fireassay.frames.links.collective_calls import (
    CELL,
    HOW,
    a_group_of_one,
    asked_cells,
    groups_of,
    missing,
    over_cells,
    per_launch,
    ranks_of,
    timed_loops,
)
from fireassay.frames.links.network_probe import algbw, alpha_beta, busbw
from fireassay.frames.links.pairs import farthest
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Metric, Results
from fireassay.spec.sections.collectives import Cell
from fireassay.stats.models.affine_fit import MIN_SIZES, Affine, affine_fit
from fireassay.units import BYTES, BYTES_PER_SECOND, COUNT, SECONDS, SECONDS_PER_BYTE

Part = Literal["fixed", "growing"]
ENOUGH_SIZES: Final = max(4, MIN_SIZES)  # three points leave one residual for two parameters
MIN_SEEN: Final = 0.1  # fixed part's share of the time at the smallest size, growing part's at the largest, in every launch
MIN_RANGE: Final = 16.0  # largest / smallest size: with less, the two parts cannot be separated

measure = partial(Metric, unit=SECONDS, kind="cost", better="lower", dimension="performance", about=("collectives",), primary=True)


def _time(measured: RecordData, _: Results) -> Mapping[str, Value]:
    return over_cells(measured, lambda _, seconds: seconds, unit=SECONDS, name="collective_time")


COLLECTIVE_TIME = measure(
    name="collective_time",
    title="Time of a collective",
    formula="median over loops of (end - begin) / calls on the slowest rank",
    compute=_time,
    question="How long does one call of a collective take?",
    caveat="A call that starts alone, or overlaps computing, takes longer. It does not say why a rank was the slowest.",
    rank=1600,
    decides=1,
)


def _bandwidth(measured: RecordData, _: Results, *, name: str, of: Callable[[Cell, float], float]) -> Mapping[str, Value]:
    values = over_cells(measured, lambda cell, times: [of(cell, seconds) for seconds in times], unit=BYTES_PER_SECOND, name=name)
    return {cell.name: a_group_of_one(cell) or values[cell.name] for cell in asked_cells(measured)}


ALGBW = measure(
    name="algbw",
    title="Algorithm bandwidth",
    unit=BYTES_PER_SECOND,
    kind="rate",
    better="higher",
    formula="bytes / collective_time",
    compute=partial(_bandwidth, name="algbw", of=lambda cell, seconds: algbw(cell.nbytes, seconds)),
    question="How many bytes per second does the operation handle?",
    caveat="It does not compare worker counts, nor say what the links carry: see busbw.",
    rank=1601,
)
BUSBW = measure(
    name="busbw",
    title="Bus bandwidth",
    unit=BYTES_PER_SECOND,
    kind="rate",
    better="higher",
    formula="bytes / collective_time x factor(op, n)",
    compute=partial(_bandwidth, name="busbw", of=lambda cell, seconds: busbw(cell.op, cell.ranks, cell.nbytes, seconds)),
    question="How many bytes per second does each link carry, if the ranks form a flat ring?",
    caveat="Where the network itself reduces (SHARP, NVLS) it may exceed a link's rate.",
    rank=1602,
)


def _groups(measured: RecordData) -> dict[str, list[Cell]]:
    """Name of the group -> its cells by ascending size."""
    results: dict[str, list[Cell]] = {}
    for cell in asked_cells(measured):
        results.setdefault(cell.group, []).append(cell)
    return results


def _fits(measured: RecordData) -> Mapping[str, Mapping[int, Affine] | Absent]:
    """Name of the group -> block -> the fit of that block's launch; or why there is none."""
    values = per_launch(measured)
    return {name: _fit(measured, members, values) for name, members in _groups(measured).items()}


def _fit(measured: RecordData, members: list[Cell], values: Mapping[str, pl.DataFrame]) -> Mapping[int, Affine] | Absent:
    known = [cell for cell in members if values[cell.name].height]
    if members[0].ranks == 1:
        return Absent("not_applicable", "a group of one rank has no link")
    if not known:
        return missing(measured, members[0])
    if len(known) < ENOUGH_SIZES or known[-1].nbytes < MIN_RANGE * known[0].nbytes:
        return Absent(
            "insufficient",
            f"{count(len(known), 'sizes')} from {known[0].nbytes} to {known[-1].nbytes} bytes; a fixed part and a part per byte need "
            f"{ENOUGH_SIZES} sizes over a factor of {MIN_RANGE:g} (--sizes 1K:16M)",
        )
    series: dict[int, list[tuple[int, float]]] = {}
    for cell in known:
        for block, value in values[cell.name].select("block", "value").iter_rows():
            series.setdefault(block, []).append((cell.nbytes, value))
    complete = {block: points for block, points in sorted(series.items()) if len(points) == len(known)}
    if not complete:
        return Absent("insufficient", "no launch has a time at every size")
    return {block: affine_fit(*map(list, zip(*points, strict=True))) for block, points in complete.items()}


def _over_groups(
    measured: RecordData, _: Results, *, of: Callable[[Cell, Affine], float], unit: str, name: str, needs: tuple[Part, ...]
) -> Mapping[str, Value]:
    """One estimate per group, from a number of each launch's fit; Absent if a required part is too small in a launch."""
    results: dict[str, Value] = {}
    members = _groups(measured)
    for group, fitted in _fits(measured).items():
        if isinstance(fitted, Absent):
            results[group] = fitted
            continue
        cell = members[group][0]
        if (unseen := _unseen(members[group], fitted, needs)) is not None:
            results[group] = unseen
            continue
        estimate = positive(
            [of(cell, fit) for fit in fitted.values()],
            measured.confidence,
            unit=unit,
            name=name,
            n_trials=len(fitted) * len(members[group]),
            aggregate=f"fit of T(S) = a + b S by relative errors over {count(len(members[group]), 'sizes')} in each launch; {HOW}",
        )
        rest = estimate.signature.partition("|")[2]
        results[group] = replace(
            estimate, signature=f"{name}|model:hockney-ring|rank:{ranks_of(measured)}|ranks:{cell.ranks}{groups_of(cell)}|{rest}"
        )
    return results


def _unseen(members: list[Cell], fitted: Mapping[int, Affine], needs: tuple[Part, ...]) -> Absent | None:
    """A part that is barely visible could have any order of magnitude, and so could its reciprocal."""
    first, last = members[0].nbytes, members[-1].nbytes
    shares = {
        "fixed": min(fit.fixed / fit.at(first) for fit in fitted.values()),
        "growing": min(fit.per_unit * last / fit.at(last) for fit in fitted.values()),
    }
    if "growing" in needs and shares["growing"] < MIN_SEEN:
        return Absent(
            "insufficient",
            f"in some launch the time does not grow with the size up to {last} bytes: use larger sizes, or leave the machine to "
            "the experiment",
        )
    if "fixed" in needs and shares["fixed"] < MIN_SEEN:
        return Absent(
            "insufficient",
            f"in some launch even {first} bytes take no fixed time: use smaller sizes, or leave the machine to the experiment",
        )
    return None


ALPHA = measure(
    name="alpha",
    title="Latency of a link",
    kind="level",
    formula="a / rounds(op, n) of T(S) = a + b S",
    compute=partial(
        _over_groups, of=lambda cell, fit: alpha_beta(cell.op, cell.ranks, fit)[0], unit=SECONDS, name="alpha", needs=("fixed",)
    ),
    question="What does each message between two neighbours cost, regardless of size?",
    caveat="Includes engine, threads and wake-up; Gloo requests before it sends, so the wire's latency counts twice (see --matrix).",
    rank=1603,
)


BETA = measure(
    name="beta",
    title="Time per byte of a link",
    unit=SECONDS_PER_BYTE,
    kind="level",
    formula="b / share(op, n) of T(S) = a + b S",
    compute=partial(
        _over_groups, of=lambda cell, fit: alpha_beta(cell.op, cell.ranks, fit)[1], unit=SECONDS_PER_BYTE, name="beta", needs=("growing",)
    ),
    question="How long does one more byte take on a link?",
    caveat="Includes copies and sums in the engine; busbw approaches 1 / beta at large sizes.",
    rank=1604,
)


CROSSOVER_SIZE = measure(
    name="crossover_size",
    title="Crossover size",
    unit=BYTES,
    kind="level",
    better="neither",
    formula="a / b of T(S) = a + b S",
    compute=partial(_over_groups, of=lambda _, fit: fit.half, unit=BYTES, name="crossover_size", needs=("fixed", "growing")),
    question="Below which size is an operation's time mostly latency?",
    caveat="Bundle smaller messages, unless that delays something else.",
    rank=1605,
)


def _pair_latency(measured: RecordData, _: Results) -> Mapping[str, Value]:
    return farthest(measured, pl.col("latency_s").max(), unit=SECONDS, name="pair_latency", aggregate="largest latency of a pair")


PAIR_LATENCY = measure(
    name="pair_latency",
    title="Latency of the farthest pair",
    kind="level",
    formula="max over ordered pairs of (median round trip) / 2",
    compute=_pair_latency,
    primary=False,
    question="How long does a small message take between the two ranks that are farthest apart?",
    caveat="Not always the same pair, and not one direction alone; the matrix holds every pair.",
    rank=1606,
)


def _pair_bandwidth(measured: RecordData, _: Results) -> Mapping[str, Value]:
    smallest = pl.col("bandwidth").min()
    return farthest(measured, smallest, unit=BYTES_PER_SECOND, name="pair_bandwidth", aggregate="smallest bandwidth of a pair")


PAIR_BANDWIDTH = measure(
    name="pair_bandwidth",
    title="Bandwidth of the slowest pair",
    unit=BYTES_PER_SECOND,
    kind="level",
    better="higher",
    formula="min over ordered pairs of (S2 - S1) / (T2 - T1)",
    compute=_pair_bandwidth,
    primary=False,
    question="How many bytes per second pass between the two ranks whose link is slowest?",
    caveat="Not always the same pair, and not what several pairs at once would have; the matrix holds every pair.",
    rank=1607,
)


def _errors(measured: RecordData, _: Results) -> Mapping[str, Value]:
    calls = timed_loops(measured).group_by(*CELL)
    sums = calls.agg(pl.col("wrong").sum(), pl.col("checked").sum(), pl.col("launch").n_unique().alias("launches"))
    known = {row[:4]: row[4:] for row in sums.iter_rows()}
    return {
        cell.name: _wrong_calls(measured, cell, *known.get((cell.workers, cell.op, int(cell.place == "in"), cell.nbytes), (0, 0, 0)))
        for cell in asked_cells(measured)
    }


def _wrong_calls(measured: RecordData, cell: Cell, wrong: int, checked: int, launches: int) -> Value:
    if launches == 0:
        return missing(measured, cell)
    if checked == 0:
        return Absent("not_measured", "no rank checked the data of the timed calls")
    how = f"every result of {checked} timed calls compared with what it must be"
    return exact(float(wrong), unit=COUNT, name="collective_errors", n_launches=launches, n_trials=checked, how=how)


COLLECTIVE_ERRORS = measure(
    name="collective_errors",
    title="Calls with wrong data",
    unit=COUNT,
    kind="count",
    dimension="correctness",
    formula="timed calls with a wrong element on some rank",
    compute=_errors,
    question="How many timed calls gave wrong data?",
    caveat="Results are compared to the last bit, but other data (subnormal or infinite numbers, other types) may still fail.",
    rank=1608,
)

METRICS = (COLLECTIVE_TIME, ALGBW, BUSBW, ALPHA, BETA, CROSSOVER_SIZE, PAIR_LATENCY, PAIR_BANDWIDTH, COLLECTIVE_ERRORS)
