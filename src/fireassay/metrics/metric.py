"""What must a metric's file declare?

A file holds a family of metrics, `METRICS`; a percentile, another tool's definition or a price is a row of its table. A declaration
is complete: what the metric answers, what it needs, where and in which order it is shown; no other file lists metrics by name.
`compute` is pure: it takes the record and its results, from which it reads other metrics, and returns one value per configuration, or
one under `ALL` for the whole experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from fireassay.estimates.estimate import Value
from fireassay.frames.record_data import RecordData
from fireassay.spec.experiment import Dimension as Dimension
from fireassay.spec.kind import EVERY
from fireassay.spec.kind import LAUNCHED as LAUNCHED
from fireassay.stats.intervals.means import Kind

Better = Literal["higher", "lower", "neither"]
Results = Mapping[str, Mapping[str, Value]]  # metric name -> configuration (or ALL) -> value

EVERYTHING: tuple[str, ...] = (EVERY,)
WORKLOADS: tuple[str, ...] = (*LAUNCHED, "serving")  # workloads whose result can be good or bad

ALL = "all"  # the key of a value for the whole experiment


# Requirements on a record: a measured window, due times of requests, chunks with their own times, the kinds of chunks
# as in our log, connection set-up, a model in this process, objectives, a time per token
# of every answer where objectives ask for one, joules, a task whose answers have tokens.
Need = Literal[
    "window", "due_times", "chunks", "own_chunk_kinds", "connections", "in_process", "objectives", "token_times", "energy", "tokens"
]
LAST = 10_000  # the default rank: third-party metrics come last


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A column for a metric that `reports.metric_tables` does not list: its table, its head, and the group head above."""

    table: str  # "results", "engines", ...
    head: str = ""  # empty: the metric's title
    above: str = ""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric's name, meaning and computation."""

    name: str
    title: str  # as shown to people: "Parallel efficiency"
    unit: str
    kind: Kind  # decides which mean over configurations is meaningful: fireassay.stats.intervals.means
    better: Better
    dimension: Dimension
    formula: str  # one line
    compute: Callable[[RecordData, Results], Mapping[str, Value]]
    about: tuple[str, ...] = LAUNCHED  # the kinds of records it is computed for
    requested: Callable[[RecordData], bool] = lambda _: True  # whether the experiment asked for it; else it is neither computed nor missing
    primary: bool = False  # shown in the vector table of every report
    question: str = ""  # the first sentence of its entry in the metric dictionary
    caveat: str = ""  # what it cannot tell
    needs: frozenset[Need] = frozenset()  # checked by `fireassay.metrics.results` before `compute`
    shown: tuple[Shown, ...] = ()  # of third parties: the tables of `reports.metric_tables` that have a column for it
    decides: int = 0  # its priority as a comparison's metric, from 1; 0: it never decides
    tool: str = ""  # the tool with this definition; empty: ours
    band: Callable[[float], str] | None = None  # the word for a value, which decides nothing: "good"
    rank: int = LAST  # position in tables, within its dimension; ties are ordered by name


def each(value: Callable[[RecordData, str], Value]) -> Callable[[RecordData, Results], Mapping[str, Value]]:
    """`compute` of a metric that has a value per configuration, each from the record alone."""
    return lambda measured, _: {name: value(measured, name) for name in measured.configurations}


OfRecord = Callable[[RecordData], Mapping[str, Metric]]  # metrics whose names only the record knows
