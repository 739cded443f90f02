"""Which configurations and launches does a finding concern, and how does it name them?

What would be gained if a part of the step were free?

gain = step / (step - part), as in Amdahl's law: an upper bound, since another part may then become the bottleneck. Its interval is that of
the part alone; the step is taken as exact. Parts overlap (a rank that waits for data delays the others' communication), so gains of several
findings must not be added or multiplied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import bracketed, given
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.printable import some as some

MAX_NAMED = 8  # launches named in a finding


def by_configuration(measured: RecordData, frame: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """The rows of each configuration that has any, in report order."""
    for name in measured.configurations if frame.height else ():
        group = frame.filter(pl.col("configuration") == name)
        if group.height:
            yield name, group


def most(hit: int, whole: int) -> bool:
    """True if at least half of the launches are affected: one outlier is named but does not condemn the rest."""
    return 2 * hit >= whole


def in_launches(launches: Iterable[int]) -> str:
    """ "launch 3", "launches 0, 2"."""
    numbers = sorted(set(launches))
    shown = some(numbers, MAX_NAMED)
    return f"launch {shown}" if len(numbers) == 1 else f"launches {shown}"


MIN_SHARE = 0.10  # of the step; less is not worth tuning


def share(results: Results, part: str, configuration: str, *, less: float = 0.0) -> tuple[float, float, float] | None:
    """The part's share of the step after subtracting `less` seconds, as (value, low, high); None if either was not measured."""
    step, estimate = results.get("step_time", {}).get(configuration), results.get(part, {}).get(configuration)
    if not isinstance(step, Estimate) or not isinstance(estimate, Estimate) or step.value <= 0.0:
        return None
    value, low, high = (min(max((bound - less) / step.value, 0.0), 1.0) for bound in (estimate.value, estimate.low, estimate.high))
    return value, low, high


def gain_words(found: tuple[float, float, float], it: str = "it") -> str:
    """The possible gain in words: "without it a step would be at most 1.25 times as fast [1.2, 1.3]"."""
    value, low, high = (1.0 / (1.0 - bound) if bound < 0.99 else float("inf") for bound in found)
    if value == float("inf"):
        return "nearly the whole step"
    text, ends = (given(value, 3), "") if low == high else bracketed(value, low, high)
    return f"without {it} a step would be at most {text} times as fast {ends}".rstrip()
