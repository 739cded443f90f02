"""What must a metric's file declare?

A file holds a family of metrics, `METRICS`: a percentile, a peer's definition or a price is a row of its table.  A declaration says
all that others need to know of a metric: what it asks, what it needs, where it is shown and in which order, so that no other file
lists metrics by name.  `compute` is pure: it gets the record and the metrics
that it comes after, and gives one value per configuration, or one under `ALL` for the whole experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.spec.experiment import Dimension as Dimension
from assay.spec.kind import EVERY
from assay.stats.intervals.means import Kind

Better = Literal["higher", "lower", "neither"]
Results = Mapping[str, Mapping[str, Value]]  # metric name -> configuration (or ALL) -> value

LAUNCHED: tuple[str, ...] = ("training", "calls")
EVERYTHING: tuple[str, ...] = (EVERY,)
WORKLOADS: tuple[str, ...] = ("training", "calls", "serving")  # whose result can be good or bad

ALL = "all"  # the key of a value that belongs to the whole experiment


Table = Literal["engines", "faults", "cold", "checks", "overview", "paper", "results", "panel", "workbook", "curve across", "curve up"]
# What a record must hold: a measured window, the times at which requests were due, chunks with times of their own, the kinds of chunks
# as our log has them, the set-up of connections, a model in this process, objectives, joules.
Need = Literal["window", "due_times", "chunks", "own_chunk_kinds", "connections", "in_process", "objectives", "energy"]
LAST = 10_000  # the rank of a metric that says none: a third party's come last


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One column in which a metric is shown: of which table, below which head, and whether its neighbours share one above."""

    table: Table
    head: str = ""  # empty: the metric's title
    above: str = ""
    position: int = 0  # in its table, from the left


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric's name, meaning and computation."""

    name: str
    title: str  # as shown to people: "Parallel efficiency"
    unit: str
    kind: Kind  # which mean over configurations has a meaning: assay.stats.intervals.means
    better: Better
    dimension: Dimension
    formula: str  # one line
    compute: Callable[[Measured, Results], Mapping[str, Value]]
    after: tuple[str, ...] = ()  # metrics that must be computed first
    about: tuple[str, ...] = LAUNCHED  # the records for which it has a meaning; of others it is not computed
    primary: bool = False  # shown in the vector table of every report
    question: str = ""  # the first sentence of its entry in the metric dictionary
    caveat: str = ""  # what it cannot tell
    needs: frozenset[Need] = frozenset()  # asked by `assay.metrics.needs` before `compute`
    shown: tuple[Shown, ...] = ()
    decides: int = 0  # in which order a comparison picks its metric, from 1; 0: it never decides
    tool: str = ""  # whose definition this is; empty: ours
    rank: int = LAST  # where it stands in tables, within its dimension; ties go by name
