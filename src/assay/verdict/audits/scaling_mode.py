"""Is it really strong (or weak) scaling?  Derived from the recorded work, never from the flag alone.

Strong: items of all ranks per step are equal at every worker count.  Weak: they grow in proportion to the workers.
Where the ledger shows that samples were lost or used twice, fewer or more items per step are that fault (see `samples`)
and not another mode.
"""

from __future__ import annotations

import polars as pl

from assay.metrics.base import Results
from assay.metrics.estimate import Estimate
from assay.metrics.format import count
from assay.metrics.measured import Measured
from assay.spec.plan import configuration_name
from assay.verdict.audits.base import Audit
from assay.verdict.types import Finding

TOLERANCE = 0.02  # relative; the last batch of an epoch may be smaller


def examine(measured: Measured, results: Results) -> tuple[Finding, ...]:
    """One finding where the recorded work contradicts the declared mode."""
    items = _items_per_step(measured)
    base = items.get(measured.experiment.base_level)
    if base is None:
        return ()
    declared = measured.experiment.scaling.mode
    found = []
    for level, own in items.items():
        expected = base if declared == "strong" else base * level / measured.experiment.base_level
        if abs(own - expected) > TOLERANCE * expected and not _ledger_explains(results, level, own < expected):
            found.append(_finding(measured, level, own, expected))
    return tuple(found)


def _ledger_explains(results: Results, level: int, fewer: bool) -> bool:
    wrong = results["samples_lost" if fewer else "samples_duplicated"][configuration_name(level)]
    return isinstance(wrong, Estimate) and wrong.value > 0.0


def _items_per_step(measured: Measured) -> dict[int, float]:
    steps = measured.steady_steps.filter(pl.col("items").is_not_null()).join(
        measured.timed.select("launch", "workers"), on="launch"
    )
    medians = steps.group_by("workers").agg(pl.col("items").median())
    return {int(level): float(value) for level, value in medians.sort("workers").iter_rows()}


def _finding(measured: Measured, level: int, own: float, expected: float) -> Finding:
    mode = measured.experiment.scaling.mode
    return Finding(
        rule="scaling_mode_mismatch", severity="invalid", configuration=configuration_name(level),
        evidence=f"{mode} scaling needs {expected:g} items per step at {count(level, 'workers')}; recorded: {own:g}",
        remedy="keep the global batch fixed for strong scaling, the batch per worker for weak scaling, or declare the other mode",
    )  # fmt: skip


AUDIT = Audit(name="scaling_mode", question="Is it really strong or weak scaling?", examine=examine)
