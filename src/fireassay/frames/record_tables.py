"""What is in a record: its tables, configurations and timed launches?

Pure: built from frames; it never opens a file. Also memoises frames derived from them. A launch is *timed* if its role is timed
and its status is ok.

Which launches were ended after a requested number of steps, and what can they not show?

`workload.steps` ends a job early: its last epoch is cut and there is no final model. Values that need a whole job are absent
for that reason, never a loss or a worse quality. The workers report that they reached the number (event `steps_reached`); a
script that stopped earlier by itself counts as complete.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import polars as pl

from fireassay.estimates.estimate import Absent
from fireassay.estimates.format import count
from fireassay.frames.training import step_fold
from fireassay.record.images.thumbnails import Copies
from fireassay.record.slices import Slices, of_frame
from fireassay.spec.experiment import Experiment
from fireassay.spec.kind import Kind, kind_of
from fireassay.spec.plan import Configuration, configuration_name, configurations


def effective_steps(steps: pl.DataFrame) -> pl.DataFrame:
    """Each rank's steps as they finally counted: the last version of a step repeated after a restart."""
    if steps.height == 0 or steps["incarnation"].max() == 0:
        return steps
    last = pl.col("incarnation").max().over("launch", "step")
    return steps.filter(pl.col("incarnation") == last)


def _in_order(steps: pl.DataFrame) -> bool:
    """True unless a step comes after a later one of the same process, or processes are mixed."""
    step, incarnation = pl.col("step"), pl.col("incarnation")
    same = (pl.col("launch") == pl.col("launch").shift()) & (pl.col("rank") == pl.col("rank").shift())
    late = (incarnation < incarnation.shift()) | ((incarnation == incarnation.shift()) & (step < step.shift()))
    return not steps.select((same & late).any()).item()


T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R", bound="RecordTables")


@dataclass(frozen=True)
class RecordTables:
    """One record as read. `tables` holds one frame per table of `fireassay.record.tables`."""

    experiment: Experiment
    manifest: Mapping[str, Any]
    state: str  # complete | interrupted | failed
    sealed: bool
    tables: Mapping[str, pl.DataFrame] = field(repr=False)
    seal: str = ""  # SHA-256 of the sealed manifest; empty if unknown
    profiles: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)  # summaries of the traces of profiled launches
    large: Slices | None = field(default=None, repr=False)  # the steps, if they are too many to be in `tables`
    copies: Copies | None = field(default=None, repr=False, compare=False)  # small copies of images, read where a page shows them

    def table(self, name: str) -> pl.DataFrame:
        """A raw table; steps that are too many for memory are read whole only here."""
        return self.large.whole() if self.large is not None and name == "steps" else self.tables[name]

    @cached_property
    def sliced_steps(self) -> Slices:
        """The steps, to be read some ranks at a time."""
        return self.large or of_frame(self.tables["steps"])

    def slices(
        self, *columns: str, launches: Collection[int] | None = None, ranks: Collection[int] | None = None
    ) -> Iterator[pl.DataFrame]:
        """These columns of the steps, some ranks at a time: see `fireassay.record.slices`."""
        return self.sliced_steps.frames(columns, launches=launches, ranks=ranks)

    def effective_slices(
        self, *columns: str, launches: Collection[int] | None = None, ranks: Collection[int] | None = None
    ) -> Iterator[pl.DataFrame]:
        """The same of the steps that finally counted: a step repeated after a restart counts in its last version."""
        last = self.restarted
        if last is None:
            yield from self.slices(*columns, launches=launches, ranks=ranks)
            return
        more = dict.fromkeys((*columns, "launch", "step", "incarnation"))
        for some in self.slices(*more, launches=launches, ranks=ranks):
            joined = some.join(last, on=["launch", "step"], maintain_order="left")
            yield joined.filter(pl.col("incarnation") == pl.col("_last")).select(columns)

    def rows_of(self, wanted: pl.DataFrame, *columns: str) -> pl.DataFrame:
        """The steps that finally counted and are named by a row (launch, ...) of `wanted`."""
        slices = self.effective_slices(*dict.fromkeys((*columns, *wanted.columns)), launches=wanted["launch"].unique().to_list())
        return pl.concat(some.join(wanted, on=wanted.columns, how="semi").select(columns) for some in slices)

    def steps_within(self, steps: pl.DataFrame, *columns: str, ranks: Collection[int] | None = None) -> Iterator[pl.DataFrame]:
        """The ranks' rows of these steps (launch, step), some ranks at a time."""
        spans = steps.group_by("launch").agg(pl.col("step").min().alias("_from"), pl.col("step").max().alias("_to"), pl.len().alias("_n"))
        gaps = spans.filter(pl.col("_to") - pl.col("_from") + 1 != pl.col("_n")).height  # else a comparison finds them, not a join
        inside, of_launch = pl.col("step").is_between(pl.col("_from"), pl.col("_to")), spans.rows_by_key("launch", unique=True)
        more = dict.fromkeys(("launch", "step", *columns))
        for some in self.effective_slices(*more, launches=spans["launch"].to_list(), ranks=ranks):
            if gaps:
                yield some.join(steps, on=["launch", "step"], how="semi").select(columns)
            elif some.height and some["launch"][0] == some["launch"][-1]:
                first, last, _ = of_launch[some["launch"][0]]
                yield some.filter(pl.col("step").is_between(first, last)).select(columns)
            else:
                yield some.lazy().join(spans.lazy(), on="launch", maintain_order="left").filter(inside).select(columns).collect()

    @cached_property
    def restarted(self) -> pl.DataFrame | None:
        """(launch, step, _last): the last incarnation of each step of the launches that restarted; None without any."""
        if not (self.stepped["incarnation"] > 0).any():
            return None
        last = pl.DataFrame(schema={"launch": pl.Int32, "step": pl.Int64, "_last": pl.Int32})
        for some in self.slices("launch", "step", "incarnation"):
            last = pl.concat([last, some.rename({"incarnation": "_last"})]).group_by("launch", "step").agg(pl.col("_last").max())
        return last

    @cached_property
    def stepped(self) -> pl.DataFrame:
        """One row per process that made steps: launch, rank, incarnation, rows, steps (different ones), first and last step, begin_ns, end_ns,
        method, paused (whether any step was)."""
        key, step = ("launch", "rank", "incarnation"), pl.col("step")
        sums = (
            pl.len().cast(pl.Int64).alias("rows"),
            ((step.diff() != 0).sum() + 1).cast(pl.Int64).alias("steps"),  # of rows in order
            step.min().alias("first"),
            step.max().alias("last"),
            pl.col("begin_ns").min(),
            pl.col("end_ns").max(),
            pl.col("method").first(),
            (pl.col("checkpoint_ns").fill_null(0) != 0).any().alias("paused"),
        )
        slices = self.slices(*key, "step", "begin_ns", "end_ns", "checkpoint_ns", "method")
        # one chunk: Polars divides each chunk of one row exactly, and others by the reciprocal
        ordered = (some if _in_order(some) else some.sort(*key, "step", maintain_order=True) for some in slices)
        return pl.concat(some.group_by(key, maintain_order=True).agg(sums) for some in ordered).rechunk()

    @cached_property
    def folded_steps(self) -> pl.DataFrame:
        """`RecordData.global_steps` before items of ranks that share samples are counted once; least, most, counted: of the ranks' known items."""
        return step_fold.fold(self.effective_slices(*step_fold.COLUMNS))

    @property
    def seal_words(self) -> str:
        """True if it is sealed, and by which digest."""
        return f"sealed, SHA-256 {self.seal}" if self.seal else "sealed" if self.sealed else "not sealed"

    @property
    def before(self) -> Mapping[str, Any]:
        """State of machine, software and script before the first launch; empty if not recorded."""
        before = (self.manifest.get("environment") or {}).get("before")
        return before if isinstance(before, Mapping) else {}

    @property
    def confidence(self) -> float:
        """The confidence of every interval: as requested, or after interim analyses the one that pays for them
        (`fireassay.stats.comparing.multiplicity`), as the manifest states it."""
        looks = self.looks
        return float(looks[-1]["confidence"]) if looks else self.experiment.launches.confidence

    @property
    def looks(self) -> Sequence[Mapping[str, Any]]:
        """The interim analyses between blocks, in order; empty if the number of launches was fixed."""
        looks = self.manifest.get("looks")
        return looks if isinstance(looks, list) else ()

    @property
    def session(self) -> Mapping[str, Any] | None:
        """Which other records were interleaved with this one: only launches of one session share blocks."""
        session = self.manifest.get("session")
        return session if isinstance(session, Mapping) else None

    @property
    def foreign(self) -> Mapping[str, Any] | None:
        """For an imported record: the program, what its numbers mean and what they lack."""
        foreign = self.manifest.get("foreign")
        return foreign if isinstance(foreign, Mapping) else None

    @property
    def timeless(self) -> bool:
        """True if an imported record lacks the send times of its requests, and so has no rates."""
        return self.foreign is not None and self.foreign.get("times") != "whole"

    @property
    def noise_floor(self) -> float | None:
        """The smallest relative difference this machine can show between interleaved launches; None: unknown."""
        return self._doctors("noise_floor")

    @property
    def noise_floor_apart(self) -> float | None:
        """The same between records made one after the other, from the machine's last `assay doctor`."""
        return self._doctors("noise_floor_apart") or self.noise_floor

    def _doctors(self, name: str) -> float | None:
        doctor = self.before.get("doctor")
        value = doctor.get(name) if isinstance(doctor, Mapping) else None
        return float(value) if isinstance(value, int | float) else None

    @cached_property
    def kind(self) -> Kind:
        """The kind of the record: which metrics, audits and gates apply to it, and how its parts are called."""
        return kind_of(self.experiment)

    @cached_property
    def varied(self) -> tuple[Configuration, ...]:
        """The configurations, in report order."""
        return configurations(self.experiment)

    @property
    def levels(self) -> tuple[int, ...]:
        """The worker count of each configuration; for serving the replicas of its engine."""
        return tuple(configuration.workers for configuration in self.varied)

    @property
    def configurations(self) -> tuple[str, ...]:
        """The names of the configurations: by ascending worker count, or engine by engine by ascending load."""
        return tuple(configuration.name for configuration in self.varied)

    @property
    def speeds_up(self) -> bool:
        """True if the configurations are levels, of which one is the base; benchmarks of another program are none."""
        return self.kind.speeds_up and not self.experiment.timing.benchmarks

    @property
    def base(self) -> str:
        """The configuration that speedups are relative to; for loads and evaluations the first."""
        return configuration_name(self.experiment.base_level) if self.speeds_up else self.varied[0].name

    @cached_property
    def timed(self) -> pl.DataFrame:
        """The successful timed launches, in order."""
        launches = self.tables["launches"]
        return launches.filter((pl.col("role") == "timed") & (pl.col("status") == "ok")).sort("launch")

    @cached_property
    def timed_by_block(self) -> Mapping[str, tuple[tuple[int, int], ...]]:
        """configuration -> (launch, block) of its timed launches, in the order of the blocks."""
        ordered = self.timed.select("configuration", "launch", "block").sort("block")
        return {name: tuple(pairs) for name, pairs in ordered.rows_by_key("configuration").items()}

    @cached_property
    def _kept(self) -> dict[Hashable, Any]:
        return {}

    def once(self, key: Hashable, fold: Callable[[Self], T]) -> T:
        """Memoise a derived frame that several metrics share."""
        if key not in self._kept:
            self._kept[key] = fold(self)
        frame: T = self._kept[key]
        return frame


def once_per_record(fold: Callable[Concatenate[R, P], T]) -> Callable[Concatenate[R, P], T]:
    """Memoise a function of a record, once for each set of its other arguments, which are hashable."""

    @wraps(fold)
    def kept(measured: R, /, *arguments: P.args, **words: P.kwargs) -> T:
        key = (fold.__module__, fold.__qualname__, arguments, tuple(sorted(words.items())))
        return measured.once(key, lambda data: fold(data, *arguments, **words))

    return kept


@once_per_record
def ended(measured: RecordTables) -> frozenset[int]:
    """The launches that were ended after their steps."""
    return frozenset(measured.table("events").filter(pl.col("kind") == "steps_reached")["launch"].to_list())


def ended_words(measured: RecordTables) -> str:
    """The requested number of steps: "ended after 200 steps as requested, after 20 to warm up"; "" if no launch was ended."""
    workload = measured.experiment.workload
    if measured.experiment.launches.quick and ended(measured):
        return "ended after some seconds (--quick)"
    if workload.steps is None or not ended(measured):
        return ""
    return f"ended after {count(workload.steps, 'steps')} as requested, after {workload.warm_up_steps} to warm up"


def not_to_its_end(measured: RecordTables, configuration: str, lacking: str) -> Absent | None:
    """Why a configuration's launches do not show this; None if any of them ran to completion."""
    launches = measured.timed.filter(pl.col("configuration") == configuration)["launch"].to_list()
    if not launches or not set(launches) <= ended(measured):
        return None
    return Absent("not_measured", f"every launch was {ended_words(measured)}: {lacking}")
