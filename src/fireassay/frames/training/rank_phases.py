"""How long did each rank itself work in each phase of a step, without waiting for the others?

If ranks wait for each other in the backward pass, every rank's backward pass lasts as long as the slowest one's, and wall times
hide who is slow. Each rank's waiting is subtracted by the best method its launch allows; all are durations on one host:
* `thread`: time that the rank's own thread spent in communication, phase by phase (table waits); issuing collectives is
  then a phase of its own, `communication`;
* `ddp_logging`, `kineto`: the exposed communication of the step (table communication), subtracted from the backward pass, in
  steps with a known value;
* `durations`: how much longer the step's last collective lasted on this rank than on the rank where it was shortest
  (with kernels: each collective, since a waiting kernel blocks those behind it);
* none: the backward pass, and time between the phases, are not compared at all: they may be nothing but waiting.
A rank whose total own time stands out while none of its phases does is reported for `throughout`.
Only steady steps recorded on every rank count, and only with watched communication (`fireassay.frames.training.communication.watched_steps`).
`between` is the step's time in no phase and no pause. Transfer = minimum over ranks, wait = the rest.
Cannot tell: a slow link or card whose rank calls in time (all ranks then end late together: `assay comm`);
with durations only, whether a rank was late in its backward pass or in issuing the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.frames.record_data import RecordData
from fireassay.frames.training.communication.watched_steps import watched
from fireassay.stats.groups.stragglers import Search, block_count, blocks, search
from fireassay.units import NS_PER_S

Array = NDArray[np.float64]

PHASES: Final = ("data", "forward", "backward", "optimizer")
BETWEEN: Final = "between"
ASKING: Final = "communication"
THROUGHOUT: Final = "throughout"  # no phase: the whole step, for ranks that are not slow enough in any single phase
LOGGED: Final = ("ddp_logging", "kineto")  # methods of the table communication that show exposed communication on every device
KEY: Final = ["step", "rank"]
# logs are read in some steps only: this many are enough even if fewer than half
SAMPLED: Final = 20
ONE_RANK: Final = "a single worker waits for no other"


@dataclass(frozen=True, kw_only=True)
class Own:
    """Own times of a launch, seconds, shape [steps, ranks]; if waiting is unknown, the phases' means over stretches of steps."""

    launch: int
    configuration: str
    ranks: tuple[int, ...]
    phases: Mapping[str, Array] = field(repr=False)
    whole: Array | None = field(repr=False)  # of the whole step; None if waiting cannot be subtracted
    step_s: Array = field(repr=False)  # of the slowest rank, shape [steps]
    method: str  # thread, ddp_logging, kineto, durations or none

    def searched(self) -> Search:
        """The ranks and phases that are slower than the others; `rank` is the index in `ranks`."""
        return self._searched

    @cached_property
    def _searched(self) -> Search:
        """A rank that is slightly slow everywhere (a share of a processor, a clock, a neighbour) is slow as a whole."""
        series = self.phases if self.whole is None or not self.phases else {**self.phases, THROUGHOUT: self.whole}
        result = search(series, self.step_s)
        elsewhere = {outlier.rank for outlier in result.found if outlier.phase != THROUGHOUT}
        return replace(
            result, found=tuple(outlier for outlier in result.found if outlier.phase != THROUGHOUT or outlier.rank not in elsewhere)
        )


def own_times(measured: RecordData) -> tuple[Own, ...]:
    """For every timed launch of several workers with steady steps recorded on all of them, in launch order. Memoised."""
    return measured.once("own_times", lambda data: tuple(_own_times(data)))


def _own_times(measured: RecordData) -> Iterator[Own]:
    steady = watched(measured.steady_steps.select("launch", "step", "ranks"), measured.table("communication"))
    tables = {name: measured.table(name) for name in ("waits", "communication", "collectives")}
    for launch, configuration, workers in measured.timed.select("launch", "configuration", "workers").iter_rows():
        launch_steps = steady.filter((pl.col("launch") == launch) & (pl.col("ranks") == workers))
        if workers > 1 and launch_steps.height:
            of_launch = {name: table.filter(pl.col("launch") == launch) for name, table in tables.items()}
            recorded = any(table.height for table in of_launch.values())
            known = _own(measured, launch, configuration, launch_steps["step"], of_launch) if recorded else None
            yield known or _in_blocks(measured, launch, configuration, launch_steps["step"], workers)


_COLUMNS: Final = (*KEY, "incarnation", "begin_ns", "end_ns", "checkpoint_ns", *(f"{phase}_ns" for phase in PHASES))


def _slices(measured: RecordData, launch: int, steady: pl.Series) -> Iterator[pl.DataFrame]:
    """The steady steps of a launch, by rank and step."""
    steps = pl.DataFrame({"launch": pl.repeat(launch, steady.len(), dtype=pl.Int32, eager=True), "step": steady})
    yield from (some.sort("rank", "step") for some in measured.steps_within(steps, *_COLUMNS))


def _own(measured: RecordData, launch: int, configuration: str, steady: pl.Series, tables: Mapping[str, pl.DataFrame]) -> Own | None:
    steps = pl.concat(_slices(measured, launch, steady)).sort(KEY)
    for method, (name, taken) in _METHODS.items():
        rows = tables[name]
        rows = rows.join(steps.select(*KEY, "incarnation"), on=[*KEY, "incarnation"], how="semi") if rows.height else rows
        if not rows.height:
            continue
        complete = _complete(steps.join(taken(rows), on=KEY, how="inner"), steps["rank"].n_unique())
        if 2 * complete["step"].n_unique() >= (min(len(steady), 2 * SAMPLED) if method in LOGGED else len(steady)):
            return _arrays(launch, configuration, complete, method)
    return None


def _complete(steps: pl.DataFrame, ranks: int) -> pl.DataFrame:
    return steps.filter(pl.len().over("step") == ranks).sort(KEY)


# ---- subtracted waiting: (step, rank, taken_<phase> ...), nanoseconds ---------------------------------------------------


def _of_thread(waits: pl.DataFrame) -> pl.DataFrame:
    recorded = waits.filter(pl.col("waiting_ns").is_not_null())
    asking_and_waiting = pl.col("asking_ns") + pl.col("waiting_ns")
    of_phase = [asking_and_waiting.filter(pl.col("phase") == phase).sum().alias(f"taken_{phase}") for phase in (*PHASES, BETWEEN)]
    folded = recorded.group_by(KEY).agg(
        *of_phase, pl.col("asking_ns").sum().alias("asking"), (pl.col("phase") == "backward").any().alias("_told")
    )
    return folded.filter("_told").drop("_told")


def _of_logging(communication: pl.DataFrame, method: str) -> pl.DataFrame:
    logged = communication.filter((pl.col("method") == method) & pl.col("exposed_ns").is_not_null())
    return logged.group_by(KEY).agg(pl.col("exposed_ns").sum().alias("taken_backward"))


def _of_durations(calls: pl.DataFrame) -> pl.DataFrame:
    """A rank's waiting in the collective that ended last, or for kernels in each of them."""
    call = ["incarnation", "group", "call"]
    length = calls.filter(pl.col("end_ns").is_not_null()).with_columns(_length=pl.col("end_ns") - pl.col("begin_ns"))
    complete = length.filter(pl.len().over(call) == pl.col("size"))  # otherwise the rank that waited least may be missing
    waited = complete.with_columns(_waited=pl.col("_length") - pl.col("_length").min().over(call))
    last = pl.col("_waited").get(pl.col("end_ns").arg_max())
    kernels = (pl.col("method") == "kineto").all()
    return waited.group_by(KEY).agg(pl.when(kernels).then(pl.col("_waited").sum()).otherwise(last).alias("taken_backward"))


# method -> its table, and the waiting to subtract; the first with enough steps is used
_METHODS: Final[Mapping[str, tuple[str, Callable[[pl.DataFrame], pl.DataFrame]]]] = {
    "thread": ("waits", _of_thread),
    **{name: ("communication", partial(_of_logging, method=name)) for name in LOGGED},
    "durations": ("collectives", _of_durations),
}


# ---- arrays ------------------------------------------------------------------------------------------------------------


def _arrays(launch: int, configuration: str, steps: pl.DataFrame, method: str) -> Own:
    ranks = tuple(steps["rank"].unique().sort().to_list())
    shape = (-1, len(ranks))

    def column(name: str) -> Array:
        """Seconds, shape [steps, ranks]; 0 if missing."""
        if name not in steps.columns:
            return np.zeros((1, 1))
        return np.asarray(steps[name].fill_null(0).to_numpy().reshape(shape) / NS_PER_S, dtype=np.float64)

    length = _difference(steps).reshape(shape) - column("checkpoint_ns")
    recorded = [phase for phase in PHASES if steps[f"{phase}_ns"].null_count() == 0]
    phases: dict[str, Any] = {phase: column(f"{phase}_ns") - column(f"taken_{phase}") for phase in recorded}
    between = length - sum((column(f"{phase}_ns") for phase in PHASES), np.zeros_like(length))
    phases[BETWEEN] = between - column(f"taken_{BETWEEN}")
    taken = sum((column(f"taken_{phase}") for phase in (*PHASES, BETWEEN)), np.zeros_like(length))
    whole = length - taken + column("asking")
    if method == "thread":
        phases[ASKING] = column("asking")
    return Own(
        launch=launch, configuration=configuration, ranks=ranks, phases=phases, step_s=length.max(axis=1), method=method, whole=whole
    )


def _in_blocks(measured: RecordData, launch: int, configuration: str, steady: pl.Series, workers: int) -> Own:
    """Without waiting: the phases that no rank waits in, as means over the stretches of steps in which a slow rank is searched."""
    phases = tuple(phase for phase in PHASES if phase != "backward")
    while True:
        count, step_s = block_count(steady.len(), workers, max(1, len(phases))), np.zeros(steady.len())
        ranks: list[int] = []
        means: dict[str, list[Array]] = {phase: [] for phase in phases}
        for steps in _slices(measured, launch, steady):
            some = steps["rank"].unique().sort().to_list()
            shape = (len(some), steady.len())
            length = _difference(steps) - steps["checkpoint_ns"].fill_null(0).to_numpy() / NS_PER_S
            step_s = np.maximum(step_s, length.reshape(shape).max(axis=0, initial=0.0))
            ranks += some
            phases = tuple(phase for phase in phases if steps[f"{phase}_ns"].null_count() == 0)
            for phase in phases:
                means[phase].append(blocks((steps[f"{phase}_ns"].to_numpy() / NS_PER_S).reshape(shape).T, count))
        if len(phases) == len(means):  # else the fewer phases have fewer blocks
            own = {phase: np.concatenate(parts, axis=1) for phase, parts in means.items()}
            return Own(launch=launch, configuration=configuration, ranks=tuple(ranks), phases=own, whole=None, step_s=step_s, method="none")


def _difference(steps: pl.DataFrame) -> Array:
    """Seconds of each row's step: subtracted as whole nanoseconds, which a float would round."""
    return np.asarray((steps["end_ns"] - steps["begin_ns"]).to_numpy() / NS_PER_S, dtype=np.float64)
