"""Which data do metrics read?

The record's tables, loaded once, and frames that several metrics share. Pure: a `RecordData` is built from frames; it never
opens a file. Rules:
* a step of a launch is its last incarnation's version, and its time is the slowest rank's (end - begin - checkpoint):
  saving a checkpoint is not training time;
* warm-up steps are detected per launch (`fireassay.stats.series.steady_state`) and excluded from steady-state numbers; a launch
  without a steady state keeps the later half of its steps, and the audit `warm_up` names it.

Was it strong or weak scaling, by the recorded work?

Used if the scaling mode is not declared. strong: the items of all ranks per step are the same at every worker count; weak: they
grow in proportion to the workers. The nearer of the two, by the sum over worker counts of |log(recorded / expected)|; a tie,
or a record without items or with one worker count, is strong. The audit `scaling_mode` checks whether the nearer one fits.
Cannot tell the intention: a script with a fixed batch per rank, and epochs of the same data, is weak by its steps although
the epoch's work is fixed; `same_total` reports that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal

import polars as pl

from fireassay.frames.rankings import ranked
from fireassay.frames.record_tables import RecordTables, ended
from fireassay.frames.record_tables import effective_steps as effective_steps
from fireassay.frames.serving.answers import numbers, scored
from fireassay.frames.serving.client_clocks import bounds, on_common_clock
from fireassay.frames.serving.requests import Served, serve
from fireassay.frames.training import parallelism
from fireassay.frames.training.communication.step_communication import Communicated, fold
from fireassay.frames.training.communication.watched_steps import levelled
from fireassay.quality.scoring.rankings import is_ranking_score
from fireassay.record.images.thumbnails import Copies
from fireassay.record.reader import Record
from fireassay.record.tables import TABLES
from fireassay.stats.series.steady_state import SteadyState, steady_state

Mode = Literal["strong", "weak"]
TOLERANCE: Final = 0.02  # relative; the last batch of an epoch may be smaller


def items_per_step(steady_steps: pl.DataFrame, timed: pl.DataFrame) -> Mapping[int, float]:
    """Worker count -> median items of all ranks per steady step, for those that counted any."""
    steps = steady_steps.filter(pl.col("items").is_not_null()).join(timed.select("launch", "workers"), on="launch")
    medians = steps.group_by("workers").agg(pl.col("items").median())
    return {int(level): float(value) for level, value in medians.sort("workers").iter_rows()}


def nearest(items: Mapping[int, float], base_level: int) -> Mode:
    """The mode nearest to the items per step."""
    base = items.get(base_level, 0.0)
    others = [(level, count) for level, count in items.items() if level != base_level and count > 0.0]
    if base <= 0.0:
        return "strong"
    strong = sum(abs(math.log(count / base)) for _, count in others)
    weak = sum(abs(math.log(count / (base * level / base_level))) for level, count in others)
    return "weak" if weak < strong else "strong"


def same_total(global_steps: pl.DataFrame, timed: pl.DataFrame) -> bool:
    """True if every timed launch worked on the same total number of items."""
    steps = global_steps.join(timed.select("launch"), on="launch")
    if steps.height == 0 or steps["items"].null_count():
        return False
    totals = steps.group_by("launch").agg(pl.col("items").sum())["items"].to_list()
    return bool(max(totals) <= min(totals) * (1.0 + TOLERANCE))


@dataclass(frozen=True)
class RecordData(RecordTables):
    """One record, ready for metrics."""

    @cached_property
    def mode(self) -> Mode:
        """Strong or weak scaling: as declared, otherwise from the recorded work."""
        declared = self.experiment.scaling.mode
        if declared != "auto":
            return declared
        return nearest(items_per_step(self.steady_steps, self.timed) or self._work_per_run(), self.experiment.base_level)

    def _work_per_run(self) -> Mapping[int, float]:
        """Worker count -> median work of a run, where no step counts any."""
        declared = (
            self.tables["events"].filter(pl.col("kind") == "useful_work").group_by("launch").agg(pl.col("value").max().alias("items"))
        )
        return items_per_step(declared, self.timed)

    @cached_property
    def global_steps(self) -> pl.DataFrame:
        """One row per (launch, step) of every launch: slowest rank's time, phases of that slowest rank, items of all ranks.

        Columns: launch, step, step_s, data_s, forward_s, backward_s, optimizer_s, unknown_s, items, ranks, fastest_s.
        Unrecorded phases are null; `unknown_s` is the rest of the step. No timestamps: ranks may be on hosts whose clocks differ,
        and only durations are comparable across them (`fireassay.frames.clock_offsets` converts timestamps to one clock).
        """
        return parallelism.recount(self, self.folded_steps).drop("least", "most", "counted")

    @cached_property
    def communicated(self) -> Communicated:
        """Communication time of each step: see `fireassay.frames.training.communication.step_communication`."""
        return fold(self.tables, self.rows_of, self.steady_steps.select("launch", "step"))

    @cached_property
    def served(self) -> Served:
        """The requests of a serving record: see `fireassay.frames.serving.requests`."""
        return serve(self.experiment, self.tables, timeless=self.timeless, unsure_ns=self.unsure_ns)

    @cached_property
    def unsure_ns(self) -> Mapping[int, float]:
        """Launch -> the error between times of its clients' hosts: see `fireassay.frames.serving.client_clocks`."""
        return bounds(self.tables)

    @cached_property
    def timed_requests(self) -> pl.DataFrame:
        """`served.requests` of the timed launches: launches by block, each by due time."""
        parts = {int(requests["launch"][0]): requests for requests in by_launch(self.served.requests)}  # slices: a join would copy them
        frames = [parts[launch] for launch in self.timed.sort("block")["launch"].to_list() if launch in parts]
        return pl.concat(frames) if frames else self.served.requests.clear()

    @cached_property
    def counted_requests(self) -> pl.DataFrame:
        """The timed requests due in the measured window of their launch."""
        return self.timed_requests.filter("counted")

    @cached_property
    def peers(self) -> pl.DataFrame:
        """One row per answered, counted request, with its numbers by other tools' definitions: see `fireassay.metrics.serving.other_tools`."""
        answered = self.counted_requests.filter("ok").select("launch", "request", "configuration")
        return answered.join(numbers(self.tables), on=["launch", "request"])

    @cached_property
    def scores(self) -> pl.DataFrame:
        """(launch, example, score, cluster, empty) of the deciding metric; of repeated scores the last incarnation's, last
        rank's. `empty`: the prediction was kept and is empty.

        For serving without other scores: `fireassay.frames.serving.answers`.
        """
        quality = self.experiment.quality
        if self.kind.sends_requests and self.tables["examples"].height == 0:
            return scored(self.experiment, self.tables)
        return self.scores_of(quality.metric if quality else "")

    def scores_of(self, metric: str) -> pl.DataFrame:
        """The same for any reported metric, from launches that ran to completion."""
        finished = ~pl.col("launch").is_in(sorted(ended(self)))  # the others have no final model
        rows = self.tables["examples"].filter((pl.col("metric") == metric) & finished)
        if rows.height == 0 and is_ranking_score(metric):
            return ranked(self, metric)
        ordered = rows.sort("incarnation", "rank", maintain_order=True)
        empty = (pl.col("prediction").str.strip_chars() == "").fill_null(value=False).alias("empty")
        kept = (pl.col("score").last(), pl.col("cluster").last(), empty.last())
        return ordered.group_by("launch", "example").agg(*kept).sort("launch", "example")

    @cached_property
    def steady(self) -> Mapping[int, SteadyState]:
        """Per launch: the number of warm-up steps at its start, and the class of the series."""
        states = {launch: steady_state(steps.to_numpy()) for launch, steps in self._step_series}
        # counting a step's operations slows it: it is warm-up, whatever it took (a lone step stays)
        counted = set(self.tables["events"].filter(pl.col("kind") == "flops")["launch"].unique().to_list())
        for launch, steps in self._step_series:
            if launch in counted and states[launch].warmup == 0 and len(steps) > 1:
                states[launch] = replace(states[launch], warmup=1)
        return states

    @property
    def _step_series(self) -> list[tuple[int, pl.Series]]:
        groups = levelled(self.global_steps, self.tables["communication"]).partition_by("launch", maintain_order=True)
        return [(int(group["launch"][0]), group["step_s"]) for group in groups]

    @property
    def timed_steps(self) -> pl.DataFrame:
        """`global_steps` of the timed launches; `warm_up` marks those at the beginning of a launch that do not count."""
        steps = self.global_steps.join(self.timed.select("launch", "configuration", "block"), on="launch")
        first = pl.DataFrame(
            {"launch": list(self.steady), "_warm": [state.warmup for state in self.steady.values()]},
            schema={"launch": pl.Int32, "_warm": pl.Int64},
        )
        ranked = steps.with_columns(pl.int_range(pl.len()).over("launch").alias("_i"))
        return ranked.join(first, on="launch").with_columns(warm_up=pl.col("_i") < pl.col("_warm")).drop("_i", "_warm")

    @cached_property
    def steady_steps(self) -> pl.DataFrame:
        """`timed_steps` without their warm-up."""
        return self.timed_steps.filter(~pl.col("warm_up")).drop("warm_up")

    def steady_slices(self, *columns: str) -> Iterator[pl.DataFrame]:
        """The ranks' rows of the steady steps, some ranks at a time."""
        return self.steps_within(self.steady_steps.select("launch", "step"), "launch", "rank", *columns)


def from_record(record: Record) -> RecordData:
    """Load a record's tables for judging."""
    large = record.slices("steps")
    return RecordData(
        experiment=record.experiment,
        manifest=record.manifest,
        state=record.state,
        sealed=record.sealed,
        seal=record.seal,
        tables=on_common_clock({name: record.table(name) for name in TABLES if name != "steps" or large is None}),
        profiles=record.profiles,
        large=large,
        copies=Copies(record.path, record.manifest["sealed"]["files"] if record.sealed else None),
    )


PORTION: Final = 100_000  # steps


def portions(measured: RecordData, launches: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The launches in groups of at most `PORTION` steps, or of one launch: derived frames take ten times a step's memory."""
    rows = dict(measured.stepped.group_by("launch").agg(pl.col("rows").sum()).iter_rows())
    groups: list[list[int]] = []
    held = 0
    for launch in launches["launch"].to_list():
        if not groups or held + rows.get(launch, 0) > PORTION:
            groups.append([])
            held = 0
        groups[-1].append(launch)
        held += rows.get(launch, 0)
    yield from (launches.filter(pl.col("launch").is_in(group)) for group in groups)


def by_launch(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The frame's rows launch by launch, to bound memory by one launch."""
    ordered = frame if frame["launch"].is_sorted() else frame.sort("launch", maintain_order=True)
    begin = 0
    for length in ordered["launch"].rle().struct.field("len"):  # slices: a filter per launch would be quadratic
        yield ordered.slice(begin, length)
        begin += length
