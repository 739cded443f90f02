"""Which scores did each launch report while it trained, after how much time and how many samples?

An evaluation is an event `score`: `value` is the score, `step` the step as the script counts, `ns` when the score was known, and `detail`
holds `name`, `source` (script, or where it was found), and where known `samples` (training samples of all ranks so far) and `steps`
(steps finished by then, as the recorder counts). `Probe.evaluate`, hooks and importers write it.

Times: `since_s` runs from the start of the training, which is an event `training_start` (an importer's, such as MLPerf's run_start), else
the begin of the first step, else the begin of the launch; `wall_s` runs from the begin of the launch. Both hold everything in
between, evaluations and restarts included. Workers' times are on the clock of rank 0's host (`clock_offsets`).
Samples: as reported, else the items of all ranks in the steps that finally counted, up to the evaluation: a step repeated after a
restart counts once, though its time counts twice.
Several reports of one evaluation: the same name, incarnation and step. Of one rank the last counts; over ranks the mean, at the time of
the last rank's. A score that the script reports itself replaces those found under its name in that launch.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from fireassay.frames.clock_offsets import on_one_clock
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.units import NS_PER_S

KIND: Final = "score"
STARTS: Final = ("training_start", "first_step")  # the first of these kinds that a launch has
MAX_NAME: Final = 200  # characters; names come from files
SCHEMA: Final = {
    "launch": pl.Int32,
    "name": pl.String,
    "incarnation": pl.Int32,
    "step": pl.Int64,  # null: the script gave none
    "score": pl.Float64,  # mean over ranks; may be NaN
    "since_s": pl.Float64,
    "wall_s": pl.Float64,  # null: the launch's begin is on a clock that cannot be compared
    "samples": pl.Float64,  # null: not counted
    "ranks": pl.UInt32,
    "spread": pl.Float64,  # largest score of a rank less the smallest
    "source": pl.String,
}


@once_per_record
def evaluated_scores(measured: RecordData) -> pl.DataFrame:
    """A row per evaluation (see `SCHEMA`) of every launch, by launch and name, in the order of time."""
    if not (measured.table("events")["kind"] == KIND).any():
        return pl.DataFrame(schema=SCHEMA)
    clock = on_one_clock(measured)
    events = clock.measured.table("events")
    reports = _of_one_source(_reports(events.filter((pl.col("kind") == KIND) & pl.col("value").is_not_null())))
    nth = pl.col("step").is_null().cum_sum().over("launch", "name", "incarnation", "rank")  # of those without a step
    reports = reports.sort("ns", maintain_order=True).with_columns(pl.when(pl.col("step").is_null()).then(nth).alias("_nth"))
    keys = ("launch", "name", "incarnation", "step", "_nth")
    of_ranks = reports.group_by(*keys, "rank", maintain_order=True).last()
    folded = of_ranks.group_by(*keys, maintain_order=True).agg(
        pl.col("value").mean().alias("score"),
        pl.col("ns").max(),
        pl.col("counted").max(),
        pl.col("steps").max(),
        pl.len().alias("ranks"),
        (pl.col("value").max() - pl.col("value").min()).alias("spread"),
        pl.col("source").first(),
    )
    timed = _with_times(folded, clock.measured, list(clock.troubles))
    counted = _with_samples(timed, measured).select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())
    return counted.sort("launch", "name", "since_s", maintain_order=True)


def names(measured: RecordData) -> list[str]:
    """The names under which scores were reported, in order."""
    return sorted(evaluated_scores(measured)["name"].unique().to_list())


def _reports(events: pl.DataFrame) -> pl.DataFrame:
    """The reports of each rank, with the details' fields as columns."""
    field = {name: pl.col("detail").str.json_path_match(f"$.{name}") for name in ("name", "source", "samples", "steps")}
    return events.select(
        "launch",
        pl.col("rank").fill_null(0),
        pl.col("incarnation").fill_null(0),
        "step",
        "ns",
        "value",
        field["name"].fill_null("").str.slice(0, MAX_NAME).alias("name"),
        field["source"].fill_null("script").alias("source"),
        field["samples"].cast(pl.Float64, strict=False).alias("counted"),
        field["steps"].cast(pl.Int64, strict=False).alias("steps"),
    )


def _of_one_source(reports: pl.DataFrame) -> pl.DataFrame:
    """Of a name in a launch, the script's own reports, else those of the first source: of held-out data before others, logged before printed."""
    by_source = reports.group_by("launch", "name", "source").agg(pl.col("ns").min().alias("_first"))
    source = pl.col("source")
    worse = (source != "script", ~source.str.ends_with(", held out"), source.str.contains(r"^(printed|logging)"))
    chosen = by_source.sort(*worse, "_first", source).unique(["launch", "name"], keep="first", maintain_order=True)
    return reports.join(chosen.select("launch", "name", "source"), on=["launch", "name", "source"], how="semi")


def training_starts(measured: RecordData) -> pl.DataFrame:
    """(launch, start_ns): where the training of each launch began, on the clock of its events."""
    launches = measured.table("launches").select("launch", "begin_ns")
    starts = launches
    for kind in STARTS:
        found = measured.table("events").filter(pl.col("kind") == kind).group_by("launch").agg(pl.col("ns").min().alias(kind))
        starts = starts.join(found, on="launch", how="left")
    return starts.select("launch", pl.coalesce(*STARTS, "begin_ns").alias("start_ns"))


def _with_times(scores: pl.DataFrame, measured: RecordData, unclear: list[int]) -> pl.DataFrame:
    """`since_s` and `wall_s`; `unclear`: launches whose hosts' clocks cannot be compared, which have the first only."""
    begins = training_starts(measured).join(measured.table("launches").select("launch", "begin_ns"), on="launch")
    elapsed = {"since_s": "start_ns", "wall_s": "begin_ns"}
    timed = scores.join(begins, on="launch").with_columns(
        ((pl.col("ns") - pl.col(begin)) / NS_PER_S).alias(name) for name, begin in elapsed.items()
    )
    return timed.with_columns(pl.when(~pl.col("launch").is_in(unclear)).then("wall_s").alias("wall_s"))


def _with_samples(scores: pl.DataFrame, measured: RecordData) -> pl.DataFrame:
    """`samples`: as reported, else the items of the steps before; 0 before the first step."""
    steps = measured.global_steps.select("launch", "step", "items").sort("launch", "step")
    so_far = steps.with_columns(pl.col("items").cum_sum().over("launch").alias("_items"), (pl.col("step") + 1).alias("steps"))
    gaps = steps.filter(pl.col("items").is_null())["launch"].unique().to_list()  # a step that was not counted
    counted = so_far.filter(~pl.col("launch").is_in(gaps)).select("launch", "steps", "_items")
    reached = scores.join(counted, on=["launch", "steps"], how="left")
    before = pl.when((pl.col("since_s") <= 0.0) | (pl.col("steps") == 0)).then(0.0)
    return reached.with_columns(pl.coalesce("counted", "_items", before).alias("samples"))
