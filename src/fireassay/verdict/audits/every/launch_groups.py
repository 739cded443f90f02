"""Do the launches of a configuration form one group?

Examines each launch's times and rates that decide comparisons (`fireassay.stats.groups.launch_groups`): with two groups, or one outlier, the
interval surrounds a value that no launch had. No launch is dropped (docs/decisions, 0012): the finding names the launches, and the interval
is marked in every output. Level: p < 0.01 divided by the number of metrics examined. Cannot tell: the cause, or a mode that none of these
launches met.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, percent, reading
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import EVERYTHING, Results
from fireassay.stats.groups.launch_groups import SURE, Groups, groups, unseen_share
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.comparison.rules import deciding_metrics
from fireassay.verdict.evidence.affected import in_launches
from fireassay.verdict.types import Finding

Found = tuple[str, Estimate, Groups]
RARE: Final = 0.1  # a mode with this share of launches appears among ADVISED launches with 95 % probability
ADVISED: Final = 29  # ceil(ln 0.05 / ln(1 - RARE))


def examine(measured: RecordData, results: Results) -> tuple[Finding, ...]:
    """One warning per configuration, for its clearest split."""
    return tuple(
        _finding(measured, configuration, min(splits, key=lambda split: split[2].p))
        for configuration in measured.configurations
        if (splits := list(_split(measured, results, configuration)))
    )


def _split(measured: RecordData, results: Results, configuration: str) -> Iterator[Found]:
    names = deciding_metrics(measured.kind)
    for name in names:
        value = results.get(name, {}).get(configuration)
        if isinstance(value, Estimate):
            smallest = measured.experiment.comparison.smallest_effect
            seen = groups(value.launch_values, smallest_effect=smallest)
            if seen is not None and seen.p < SURE / len(names):
                yield name, value, seen


def _finding(measured: RecordData, configuration: str, split: Found) -> Finding:
    name, value, seen = split
    k, rows = len(value.launch_values), measured.timed.filter(pl.col("configuration") == configuration).sort("block")
    numbers = rows["launch"].to_list() if rows.height == k else None
    if (far := seen.outlying) is not None:
        which = f"launch {numbers[far]}" if numbers else "one launch"
        others = seen.low if far in seen.upper else seen.high
        evidence = (
            f"{name} of {which} is {reading(value.launch_values[far], value.unit)}, far from the {reading(others, value.unit)} of "
            f"the other {k - 1}; the interval holds only if such launches are as common as one in {k}"
        )
        return Finding("outlying_launch", "warning", configuration, evidence, f"check that launch's telemetry and log; {_more(k)}")
    parts = " and ".join(
        f"{len(part)} near {reading(middle, value.unit)}{_numbered(part, numbers)}"
        for part, middle in ((seen.lower, seen.low), (seen.upper, seen.high))
    )
    evidence = f"{name} of {count(k, 'launches')} falls into two groups, {parts}: the interval describes a value between them"
    remedy = f"find what differs between the two groups (placement, clocks, neighbours, cache) and fix it; {_more(k)}"
    return Finding("launches_in_two_groups", "warning", configuration, evidence, remedy)


def _numbered(part: tuple[int, ...], numbers: list[int] | None) -> str:
    return f" ({in_launches(numbers[index] for index in part)})" if numbers else ""


def _more(k: int) -> str:
    return (
        f"or measure more launches: {k} can miss a mode of up to {percent(unseen_share(k))} of all launches, "
        f"{ADVISED} one of {percent(RARE)}"
    )


AUDIT = Audit(
    name="launch_groups",
    title="launches in two groups",
    question="Do the launches of a configuration form one group?",
    examine=examine,
    about=EVERYTHING,
)
