"""Up to which load are the objectives met?

The value and its interval are those of the metric `capacity`, so that a record reports one number.  Only the bracket is certain: the
largest load that met the objectives in at least half of the blocks and the next one, which did not; between them the line is an
assumption.  In a block the attainment is made non-increasing in the load (pooled adjacent violators, weighted by requests: more load does
not help).  If every load meets the objectives, or none does, there is only a bound.
Cannot tell: whether a longer load would still meet them (`littles_law` looks for a queue that grows).  Source of the pooling: Barlow et
al., "Statistical Inference under Order Restrictions", 1972.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from fireassay.estimates.estimate import Value
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.outages import no_objectives
from fireassay.metrics.serving.objectives import capacity_of
from fireassay.spec.plan import Configuration


@dataclass(frozen=True, kw_only=True)
class Saturation:
    """One engine at one scenario."""

    target: str
    scenario: str
    value: Value  # the highest load that meets the objectives; Absent: only a bound is known, the detail says which
    last: str | None  # the largest configuration that met them in at least half of the blocks; None: none did
    first: str | None  # the next larger one, which did not; None: none was tried


def saturations(measured: RecordData) -> tuple[Saturation, ...]:
    """One for each engine and scenario measured at two loads or more; none if it is unknown which requests met their objectives."""
    if no_objectives(measured) is not None:
        return ()
    groups: dict[tuple[str, str], list[Configuration]] = {}
    for configuration in measured.varied:
        if configuration.load is not None:
            groups.setdefault((configuration.target, configuration.scenario), []).append(configuration)
    return tuple(_saturation(measured, key, members) for key, members in groups.items() if len(members) > 1)


def _saturation(measured: RecordData, key: tuple[str, str], members: Sequence[Configuration]) -> Saturation:
    assert measured.experiment.serving is not None
    least = measured.experiment.serving.objectives.attainment
    blocks = _blocks(measured, members)
    passes = [sum(pooled[index] >= least for pooled in (_pooled(met, due) for met, due in blocks)) for index in range(len(members))]
    admitted = [index for index, times in enumerate(passes) if blocks and 2 * times >= len(blocks)]
    last = admitted[-1] if admitted else None
    following = 0 if last is None else last + 1
    return Saturation(
        target=key[0],
        scenario=key[1],
        value=capacity_of(measured, members),
        last=None if last is None else members[last].name,
        first=members[following].name if following < len(members) else None,
    )


def _blocks(measured: RecordData, members: Sequence[Configuration]) -> list[tuple[list[float], list[float]]]:
    """Per block that holds every load: requests that met every objective, and requests that were due, by ascending load."""
    counted = measured.served.requests.filter("counted").join(measured.timed.select("launch"), on="launch", how="semi")
    tallied = counted.group_by("block", "configuration").agg(pl.col("met").sum(), pl.len().alias("due"))
    rates = []
    for block in tallied["block"].unique().sort().to_list():
        by_name = {row["configuration"]: row for row in tallied.filter(pl.col("block") == block).iter_rows(named=True)}
        if all(member.name in by_name for member in members):
            rows = [by_name[member.name] for member in members]
            rates.append(([float(row["met"]) for row in rows], [float(row["due"]) for row in rows]))
    return rates


def _pooled(met: Sequence[float], due: Sequence[float]) -> list[float]:
    """The shares made non-increasing by pooling adjacent violators."""
    groups: list[tuple[float, float, int]] = []  # met, due, members
    for hits, total in zip(met, due, strict=True):
        groups.append((hits, total, 1))
        while len(groups) > 1 and groups[-2][0] * groups[-1][1] < groups[-1][0] * groups[-2][1]:
            (a, b, m), (c, d, n) = groups[-2:]
            groups[-2:] = [(a + c, b + d, m + n)]
    return [hits / total for hits, total, members in groups for _ in range(members)]
