"""What would a cluster's record look like if the cluster were exactly known?  Step times are computed, not measured.

`workload.arguments` are `name=value`: the fields of `fireassay.runners.simulated.Cluster`, and `steps`.  Rows are written as in a
real run, in columns; the record's clock advances by the simulated steps, not by wall time.  The record is marked as simulated in its
manifest, its environment, the placement of every launch and the method of every row; the audit `simulated` makes its verdict
INVALID, so that none of its numbers is quoted as measured.

How long does a step of synchronous data-parallel training take on an exactly known cluster?

In a step of p workers each computes for (serial + parallel / p) times a lognormal variate (mean 1; a straggler is slower by a fixed
factor), then a ring all-reduce in `buckets` pieces waits for the slowest and takes

    c(p) = 2 (p - 1) (buckets alpha + gradient beta / p).

`overlap` is the share of the parallel work that can hide communication: the all-reduce may begin that long before the slowest worker
has finished, so that max(0, c - overlap parallel / p) of it extends the step.  With weak scaling each worker has all the parallel work, and p workers do
s + (1 - s) p times the work of one in a step (Gustafson's law).
Every launch is scaled as a whole by a further lognormal variate (`noise`).
Sources: R. W. Hockney, Parallel Computing 20 (1994) 389-398; P. Patarasuk and X. Yuan, JPDC 69 (2009) 117-124, for the ring.
Cannot tell anything about a real cluster: congestion, size-dependent algorithms and slow links are not modelled.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fireassay.errors import Problem, refuse, refuse_any
from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.folder import launch_row, write_launch
from fireassay.runners.experiment import progress
from fireassay.runners.experiment.context import Outcome, RunContext, Runner
from fireassay.runners.experiment.progress import LaunchRow
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import PlannedLaunch, plan
from fireassay.units import NS_PER_S

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """The parameters that determine the step time. Seconds and bytes; shares are fractions."""

    step_s: float  # a step on one worker
    serial: float  # share of it that is not parallelised
    alpha_s: float  # message latency
    beta_s: float  # seconds per byte of a link
    gradient: float  # bytes summed per step
    buckets: int = 1
    overlap: float = 0.0
    jitter: float = 0.0  # standard deviation of the log of a worker's step time
    noise: float = 0.0  # the same for a whole launch
    stragglers: float = 0.0  # share of the workers that are always slow, to the nearest whole worker
    slowdown: float = 1.0  # their factor
    weak: bool = False  # the parallel work grows with the workers, the serial work does not (Gustafson)

    def compute_s(self, workers: int) -> float:
        """Mean compute time of a worker per step."""
        return self.step_s * (self.serial + (1.0 - self.serial) / (1 if self.weak else workers))

    def items(self, workers: int) -> float:
        """Work of a worker per step, in steps of one worker."""
        return ITEMS * (self.serial / workers + 1.0 - self.serial) if self.weak else ITEMS / workers

    def hideable_s(self, workers: int) -> float:
        """Compute time that can hide communication."""
        return self.overlap * self.step_s * (1.0 - self.serial) / (1 if self.weak else workers)

    def transfer_s(self, workers: float) -> float:
        """Duration of the all-reduce once all workers have arrived."""
        return 2.0 * (workers - 1) * (self.buckets * self.alpha_s + self.gradient * self.beta_s / workers)


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """One launch. Seconds from the step's begin; shape [steps, workers] for `compute` and `entered`, else [steps]."""

    compute: Floats  # end of a worker's computing
    entered: Floats  # its first gradients are ready and it enters the all-reduce
    sent: Floats  # the all-reduce is complete on all workers
    step: Floats  # end of the step on all workers

    @property
    def exposed(self) -> Floats:
        """Each worker's step time minus its compute time."""
        return np.asarray(self.step[:, np.newaxis] - self.compute)


def simulate(cluster: Cluster, workers: int, steps: int, rng: np.random.Generator) -> Simulated:
    """Simulate one launch with the given workers and steps."""
    luck = math.exp(cluster.noise * float(rng.standard_normal()))
    factors = np.full((steps, workers), luck)
    if cluster.jitter > 0.0:
        draws = rng.standard_normal((steps, workers))
        factors *= np.exp(cluster.jitter * draws - cluster.jitter**2 / 2.0)
    factors[:, : math.floor(cluster.stragglers * workers + 0.5)] *= cluster.slowdown
    compute = factors * cluster.compute_s(workers)
    hideable = factors * cluster.hideable_s(workers)
    entered = compute - hideable
    sent = entered.max(axis=1) + luck * cluster.transfer_s(workers)
    return Simulated(compute=compute, entered=entered, sent=sent, step=np.maximum(sent, compute.max(axis=1)))


SCRIPT: Final = "simulated"
WORDS: Final = "computed by a simulator, not measured"
STEPS: Final = 20
ITEMS: Final = 1.0  # per step on one worker: the unit of work is a step
AT_ONCE: Final = 32_768  # rows per batch
MAX_CALLS: Final = 20_000  # rows of `collectives` per launch; beyond it, only those of the last steps are kept
MAX_ROWS: Final = 1_000_000  # rows of `steps` in a record: to judge each takes about a kilobyte of memory
LIMITS: Final[Mapping[str, tuple[float, float]]] = {
    "step_s": (1e-6, 1e6),
    "serial": (0.0, 1.0),
    "alpha_s": (0.0, 1e3),
    "beta_s": (0.0, 1.0),
    "gradient": (0.0, 1e15),
    "buckets": (1, 1e6),
    "overlap": (0.0, 1.0),
    "jitter": (0.0, 2.0),
    "noise": (0.0, 2.0),
    "stragglers": (0.0, 1.0),
    "slowdown": (1.0, 1e6),
    "steps": (1, 1e6),
}
SWEEP_BYTES: Final = tuple(2**power for power in range(10, 29, 2))  # of calls outside the steps, from 1 KiB
SWEEP_CALLS: Final = 20  # of each size
PHASES: Final = {"data_ns": 0.05, "forward_ns": 0.30, "backward_ns": 0.55, "optimizer_ns": 0.10}  # shares of a worker's compute time

READERS: Final[Mapping[str, Callable[[str], Any]]] = {"int": int, "float": float, "bool": lambda text: {"True": True, "False": False}[text]}

Columns = Mapping[str, Any]  # column -> array, one value for all rows, or None
Array = NDArray[np.float64]


# ------------------------------------------------------------------------------------------------------ settings


def arguments(cluster: Cluster, steps: int) -> tuple[str, ...]:
    """The experiment's arguments for a cluster and a number of steps."""
    return (*(f"{name}={value!r}" for name, value in asdict(cluster).items()), f"steps={steps}")


def cluster_of(experiment: Experiment) -> tuple[Cluster, int]:
    """The cluster, and the steps per launch. Raises SpecError: an argument is unknown or its value invalid."""
    readers = {field.name: READERS[str(field.type)] for field in fields(Cluster)} | {"steps": int}
    values: dict[str, Any] = {}
    problems = []
    for word in experiment.workload.arguments:
        name, _, text = word.partition("=")
        try:
            values[name] = readers[name](text)
        except (KeyError, ValueError):
            problems.append(_problem(word, f"name=value with one of {', '.join(readers)}"))
    steps = values.pop("steps", STEPS)
    if not problems:
        missing = (field.name for field in fields(Cluster) if field.default is MISSING and field.name not in values)
        problems = [_problem(f"no {name}", f"{name}=NUMBER") for name in missing]
    refuse_any(problems, "the cluster")
    cluster = replace(Cluster(**values), weak=experiment.scaling.mode == "weak")
    wrong = outside(cluster, steps, experiment.factor.levels, experiment.launches.per_configuration)
    refuse_any([_problem(f"{name}={value:g}", f"{name} {allowed}") for name, value, allowed in wrong], "the cluster")
    return cluster, steps


def _problem(problem: str, allowed: str) -> Problem:
    return Problem("workload.arguments", problem, allowed, "See: assay simulate --help")


def outside(cluster: Cluster, steps: int, levels: Sequence[int], launches: int) -> Iterator[tuple[str, float, str]]:
    """(name, value, what is allowed) of every number out of range."""
    for name, value in {**asdict(cluster), "steps": steps}.items():
        low, high = LIMITS.get(name, (-math.inf, math.inf))
        if not low <= value <= high:
            yield name, value, f"from {low:g} to {high:g}"
    workers = sum(levels)
    rows, why = steps * launches * workers, "rows are too many to judge in a gigabyte of memory"
    if workers > MAX_ROWS:
        yield "factor.levels", workers, f"together at most {MAX_ROWS}: more {why}"
    elif rows > MAX_ROWS < launches * workers:
        yield "launches.per_configuration", launches, f"at most {MAX_ROWS // workers} with {workers} workers: {rows:,} {why}"
    elif rows > MAX_ROWS:
        yield "steps", steps, f"at most {MAX_ROWS // (launches * workers)} with {launches} launches of {workers} workers: {rows:,} {why}"


def check(experiment: Experiment, folder: Path) -> None:
    """Check that the cluster can be simulated. Raises SpecError: it cannot be simulated."""
    cluster_of(experiment)
    unknown = sorted({planned.role for planned in plan(experiment)} - {"timed", "sweep"})
    if unknown:
        found = f"launches of the role {', '.join(unknown)}"
        raise refuse("faults, profile", found, "none in a simulated cluster", "Leave them out.", source="the cluster")


# ---------------------------------------------------------------------------------------------------------------- running


def run(context: RunContext) -> Outcome:
    """Write the remaining launches."""
    cluster, steps = cluster_of(context.experiment)
    context.record.note(simulated={"what": WORDS, "steps": steps, **asdict(cluster)})
    context.note_environment(simulated=WORDS)
    begin = context.clock.now_ns()
    for number, planned in enumerate(progress.remaining(context.plan, context.rows), start=context.next_number):
        if context.stop.count:
            return Outcome(state="interrupted", reason=context.stop.reason)
        context.show()
        row = _launch(context, cluster, steps, planned, number, begin)
        context.rows.append(row)
        begin = row["end_ns"] + NS_PER_S
    context.show()
    return Outcome(state="complete", not_metered={"everything": "a simulated cluster has no counters"})


def _launch(context: RunContext, cluster: Cluster, steps: int, planned: PlannedLaunch, number: int, begin: int) -> LaunchRow:
    writer = context.record.writer(number)
    tables, end = rows_of(cluster, steps, planned, number, begin)
    for table, columns in tables:
        for batch in batches(table, columns):
            writer.append_batch(table, batch)
    utc = context.clock.utc() + timedelta(seconds=(begin - context.begun_ns) / NS_PER_S)
    attempt = progress.attempt_of(planned.slot, context.rows)
    row = row_of(planned, number, begin, end, attempt=attempt, utc=utc.isoformat(timespec="milliseconds"))
    write_launch(writer, row, context.record.path)
    return row


def row_of(planned: PlannedLaunch, number: int, begin: int, end: int, *, attempt: int = 0, utc: str = "") -> LaunchRow:
    outcome = {"begin_ns": begin, "end_ns": end, "begin_utc": utc, "exit_code": 0, "placement": json.dumps({"simulated": WORDS})}
    return launch_row(planned, launch=number, attempt=attempt, **outcome)


def rows_of(cluster: Cluster, steps: int, planned: PlannedLaunch, number: int, begin: int) -> tuple[list[tuple[str, Columns]], int]:
    """A launch's columns by table, and its end: steps, or collectives alone in a launch that sweeps them.

    Each launch has its own random stream, so that results do not depend on the order.
    """
    rng = np.random.default_rng([planned.seed, planned.block, planned.workers])
    if planned.role == "sweep":
        swept = _sweep(cluster, number, planned.workers, begin, rng)
        return [("collectives", swept)], int(swept["end_ns"].max())
    simulated = simulate(cluster, planned.workers, steps, rng)
    ends = begin + np.rint(np.cumsum(simulated.step) * NS_PER_S).astype(np.int64)
    starts = np.concatenate([[begin], ends[:-1]])
    tables = [("steps", _steps(simulated, number, planned.workers, starts, ends, cluster.items(planned.workers)))]
    kept = min(steps, MAX_CALLS // (planned.workers * cluster.buckets))
    if planned.workers > 1:
        tables.append(("communication", _communication(cluster, simulated, number)))
    if planned.workers > 1 and kept:
        tables.append(("collectives", _calls(cluster, simulated, number, starts, kept)))
    return tables, int(ends[-1])


def _by_rank(values: Array) -> NDArray[np.int64]:
    """[steps, workers] in seconds as one column of nanoseconds, rank by rank, as the tables are ordered."""
    return np.rint(values.T * NS_PER_S).astype(np.int64).ravel()


def _keys(number: int, steps: int, workers: int) -> Columns:
    return {"launch": number, "incarnation": 0, "rank": np.repeat(np.arange(workers), steps), "step": np.tile(np.arange(steps), workers)}


def _steps(simulated: Simulated, number: int, workers: int, starts: Any, ends: Any, items: float) -> Columns:
    exposed = _by_rank(simulated.exposed)
    phases = {name: _by_rank(simulated.compute * share) for name, share in PHASES.items()}
    phases["backward_ns"] = phases["backward_ns"] + exposed
    return {
        **_keys(number, len(simulated.step), workers),
        "begin_ns": np.tile(starts, workers),
        "end_ns": np.tile(ends, workers),
        **phases,
        "checkpoint_ns": None,
        "exposed_comm_ns": exposed,
        "items": items,
        "method": "simulated",
    }


def _communication(cluster: Cluster, simulated: Simulated, number: int) -> Columns:
    steps, workers = simulated.compute.shape
    return {
        **_keys(number, steps, workers),
        "method": "simulated",
        "total_ns": _by_rank(simulated.sent[:, np.newaxis] - simulated.entered),
        "exposed_ns": _by_rank(simulated.exposed),
        "compute_ns": _by_rank(simulated.compute - simulated.entered),
        "bytes": round(cluster.gradient),
    }


def _calls(cluster: Cluster, simulated: Simulated, number: int, starts: NDArray[np.int64], kept: int) -> Columns:
    """The all-reduces of the last `kept` steps: a step's buckets in sequence, each waiting for the slowest worker."""
    (steps, workers), buckets = simulated.compute.shape, cluster.buckets
    step, bucket, rank = (axis.ravel() for axis in np.mgrid[steps - kept : steps, :buckets, :workers])
    entered = np.rint(simulated.entered[step, rank] * NS_PER_S).astype(np.int64)
    took = (simulated.sent - simulated.entered.max(axis=1)) / buckets
    end = np.rint((simulated.sent[step] - (buckets - 1 - bucket) * took[step]) * NS_PER_S).astype(np.int64)
    return {
        **_call(number, workers, round(cluster.gradient / buckets)),
        "rank": rank,
        "call": step * buckets + bucket,
        "step": step,
        "group": "default",
        "phase": "backward",
        "begin_ns": starts[step] + entered,
        "end_ns": starts[step] + end,
    }


def _sweep(cluster: Cluster, number: int, workers: int, begin: int, rng: np.random.Generator) -> Columns:
    """All-reduces of many sizes in sequence, outside a training; with many workers, fewer calls per size."""
    calls = max(1, min(SWEEP_CALLS, MAX_CALLS // (workers * len(SWEEP_BYTES))))
    sizes = np.array(SWEEP_BYTES * calls)
    seconds = [replace(cluster, gradient=float(size), buckets=1).transfer_s(workers) for size in sizes]
    luck = np.exp((cluster.jitter + cluster.noise) * rng.standard_normal(len(sizes)))
    ends = begin + np.cumsum(np.maximum(1, np.rint(seconds * luck * NS_PER_S).astype(np.int64)))
    call, rank = (axis.ravel() for axis in np.mgrid[: len(sizes), :workers])
    return {
        **_call(number, workers, 0),
        "rank": rank,
        "call": call,
        "step": None,
        "group": "sweep",
        "phase": "timed",
        "bytes": sizes[call],
        "begin_ns": np.concatenate([[begin], ends[:-1]])[call],
        "end_ns": ends[call],
    }


def _call(number: int, workers: int, nbytes: int) -> Columns:
    """The columns that all rows of `collectives` share."""
    return {
        "launch": number,
        "incarnation": 0,
        "op": "all_reduce",
        "size": workers,
        "bytes": nbytes,
        "dtype": "float32",
        "in_place": 1,
        "blocked_ns": None,
        "wrong": None,
        "fault": None,
        "method": "simulated",
    }


def batches(table: str, columns: Columns) -> Iterator[pa.RecordBatch]:
    """Columns as record batches of the table, one piece at a time."""
    rows = max(len(column) for column in columns.values() if isinstance(column, np.ndarray))
    for begin in range(0, rows, AT_ONCE):
        yield _batch(table, columns, begin, min(AT_ONCE, rows - begin))


def _batch(table: str, columns: Columns, begin: int, rows: int) -> pa.RecordBatch:
    schema = arrow_schema(table)
    arrays = []
    for field in schema:
        column = columns.get(field.name)
        if isinstance(column, np.ndarray):
            arrays.append(pa.array(column[begin : begin + rows]).cast(field.type))
        elif column is None:
            arrays.append(pa.nulls(rows, field.type))
        else:
            arrays.append(pa.repeat(pa.scalar(column, field.type), rows))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


RUNNER = Runner(name="simulated", check=check, run=run)
