"""Up to which load are the objectives met?

In each block: the attainment at every load of an engine and scenario, made non-increasing in the load (pooled adjacent violators,
weighted by requests: more load does not help), and the load at which it falls below the share asked for, by a straight line between the
two loads on either side.  Over blocks: Student's t on the logarithms.  What is certain is the bracket: the largest load that met the
objectives and the smallest that did not; between them the line is an assumption.  Where every load meets them, or none does, there
is only a bound.
Cannot tell: whether a longer load would still meet them (`littles_law` looks for a queue that grows).  Source of the pooling: Barlow et
al., "Statistical Inference under Order Restrictions", 1972.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from assay.metrics.estimate import Absent, Value
from assay.metrics.format import given
from assay.metrics.measured import Measured
from assay.metrics.objectives import no_objectives
from assay.metrics.per_launch import positive
from assay.spec.plan import Configuration
from assay.units import PER_SECOND

Side = Literal["inside", "below", "above"]


@dataclass(frozen=True, kw_only=True)
class Saturation:
    """One engine at one scenario."""

    target: str
    scenario: str
    value: Value  # the highest load that meets the objectives; Absent: only a bound is known, the detail says which
    last: str | None  # the largest configuration that met them in at least half of the blocks; None: none did
    first: str | None  # the next larger one, which did not; None: none was tried


def saturations(measured: Measured) -> tuple[Saturation, ...]:
    """One for each engine and scenario that was measured at two loads or more; none where nobody can say what met its objectives."""
    if no_objectives(measured) is not None:
        return ()
    groups: dict[tuple[str, str], list[Configuration]] = {}
    for one in measured.varied:
        if one.load is not None:
            groups.setdefault((one.target, one.scenario), []).append(one)
    return tuple(_one(measured, key, members) for key, members in groups.items() if len(members) > 1)


def _one(measured: Measured, key: tuple[str, str], members: Sequence[Configuration]) -> Saturation:
    assert measured.experiment.serving is not None
    least = measured.experiment.serving.objectives.attainment
    blocks = _blocks(measured, members)
    crossed = [crossing([one.load or 0.0 for one in members], met, due, least) for met, due in blocks]
    passes = [
        sum(pooled[place] >= least for pooled in (_pooled(met, due) for met, due in blocks))
        for place in range(len(members))
    ]
    admitted = [place for place, times in enumerate(passes) if blocks and 2 * times >= len(blocks)]
    last = admitted[-1] if admitted else None
    following = 0 if last is None else last + 1
    return Saturation(
        target=key[0], scenario=key[1], value=_value(measured, members, crossed),
        last=None if last is None else members[last].name, first=members[following].name if following < len(members) else None,
    )  # fmt: skip


def _blocks(measured: Measured, members: Sequence[Configuration]) -> list[tuple[list[float], list[float]]]:
    """Per block that holds every load: requests that met every objective, and requests that were due, by ascending load."""
    counted = measured.served.requests.filter("counted").join(measured.timed.select("launch"), on="launch", how="semi")
    tallied = counted.group_by("block", "configuration").agg(pl.col("met").sum(), pl.len().alias("due"))
    found = []
    for block in tallied["block"].unique().sort().to_list():
        own = {row["configuration"]: row for row in tallied.filter(pl.col("block") == block).iter_rows(named=True)}
        if all(one.name in own for one in members):
            rows = [own[one.name] for one in members]
            found.append(([float(row["met"]) for row in rows], [float(row["due"]) for row in rows]))
    return found


def crossing(loads: Sequence[float], met: Sequence[float], due: Sequence[float], least: float) -> tuple[Side, float]:
    """Where the attainment falls below `least`: inside at a load; below the smallest or above the largest load, which is given then."""
    pooled = _pooled(met, due)
    if pooled[0] < least:
        return "below", loads[0]
    if pooled[-1] >= least:
        return "above", loads[-1]
    place = next(i for i, share in enumerate(pooled) if share < least)
    high, low = pooled[place - 1], pooled[place]
    return "inside", loads[place - 1] + (high - least) / (high - low) * (loads[place] - loads[place - 1])


def _pooled(met: Sequence[float], due: Sequence[float]) -> list[float]:
    """The shares made non-increasing: neighbours that rise are put together until none does."""
    groups: list[tuple[float, float, int]] = []  # met, due, members
    for hits, total in zip(met, due, strict=True):
        groups.append((hits, total, 1))
        while len(groups) > 1 and groups[-2][0] * groups[-1][1] < groups[-1][0] * groups[-2][1]:
            (a, b, m), (c, d, n) = groups[-2:]
            groups[-2:] = [(a + c, b + d, m + n)]
    return [hits / total for hits, total, members in groups for _ in range(members)]


def _value(measured: Measured, members: Sequence[Configuration], crossed: Sequence[tuple[Side, float]]) -> Value:
    if not crossed:
        return Absent(reason="not_measured", detail="no block holds a successful launch of every load")
    sides = {side for side, _ in crossed}
    smallest, largest = (given(one.load or 0.0) for one in (members[0], members[-1]))
    if sides == {"above"}:
        return Absent(
            reason="insufficient",
            detail=f"the objectives are met up to the largest load, {largest}: ask for larger ones",
        )
    if sides == {"below"}:
        return Absent(
            reason="insufficient",
            detail=f"the objectives are not met at the smallest load, {smallest}: ask for smaller ones",
        )
    if sides != {"inside"}:
        return Absent(
            reason="insufficient",
            detail=f"in some blocks the objectives are met up to load {largest} or not at {smallest}: ask for loads beyond",
        )
    values = [load for _, load in crossed]
    return positive(
        values, measured.confidence, unit=PER_SECOND if _is_rate(measured) else "requests", name="saturation", n_trials=len(values),
        aggregate="load at which the attainment falls below the share asked for, by a straight line between the loads beside it",
    )  # fmt: skip


def _is_rate(measured: Measured) -> bool:
    return bool(measured.experiment.serving and measured.experiment.serving.rate)
