"""What does a record show of how a training is distributed over its ranks?

Facts only; `fireassay.frames.training.parallelism` concludes. From one timed launch of a configuration, its first with the event
`parallelism` (`fireassay.instruments.hooks.parallelism`): which modules are wrapped and sharded; with the tables `collectives`, `waits`,
`fingerprints` and `samples` also the traffic of every step, whether the ranks began with the same parameters and kept them equal,
and whether they used the same samples.

A step *carries gradients* if its sums over ranks move at least `CARRIES` of the bytes of the model's gradients (half precision moves half),
or its gathers exactly those of all ranks, which an evaluation's gathers rarely match by chance.

At which checks was the hashed state (parameters or other) the same on all ranks?
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import polars as pl

from fireassay.frames.record_tables import RecordTables, effective_steps, once_per_record
from fireassay.frames.training.communication.watched_steps import all_watched
from fireassay.frames.training.correctness.contents import likeness

HASHES: Final = {
    "launch": pl.Int32,
    "step": pl.Int64,
    "incarnation": pl.Int32,
    "ranks": pl.UInt32,
    "agree": pl.Boolean,
    "different": pl.UInt32,
    "text": pl.String,
    "configuration": pl.String,
    "workers": pl.Int32,
}


@once_per_record
def hashes(measured: RecordTables, *, role: str = "timed", what: str = "parameter_hash") -> pl.DataFrame:
    """(launch, configuration, workers, step, incarnation, ranks, agree, different, text) of every hashed step reported by all
    ranks: whether their hashes are equal, the number of different ones, and the first rank's."""
    reported = measured.table("fingerprints").filter(pl.col("what") == what)
    if not reported.height:
        return pl.DataFrame(schema=HASHES)
    rows = _comparable(measured, effective_steps(reported), what)
    launches = measured.table("launches").filter((pl.col("role") == role) & (pl.col("status") == "ok"))
    # A rank with several models has several hashes per step: their set is compared.
    of_rank = rows.lazy().group_by("launch", "step", "rank").agg(pl.col("incarnation").max(), pl.col("text").unique().sort())
    return (
        of_rank.with_columns(pl.col("text").list.join(" "))
        .group_by("launch", "step")
        .agg(
            pl.col("incarnation").max(),
            pl.col("rank").n_unique().alias("ranks"),
            (pl.col("text").n_unique() == 1).alias("agree"),
            pl.col("text").n_unique().alias("different"),
            pl.col("text").sort_by("rank").first(),
        )
        .join(launches.lazy().select("launch", "configuration", "workers"), on="launch")
        .filter(pl.col("ranks") == pl.col("workers"))
        .sort("launch", "step")
        .collect()
    )


@once_per_record
def uneven(measured: RecordTables) -> Mapping[int, tuple[int, int]]:
    """launch -> fewest and most steps of its ranks, where they differ (torch's Join): steps of one number are then not one step."""
    whole = measured.stepped.filter(pl.col("incarnation").max().over("launch") == 0).with_columns(made=pl.col("last") + 1)
    made = whole.group_by("launch").agg(pl.len().alias("ranks"), pl.col("made").min().alias("least"), pl.col("made").max().alias("most"))
    launches = measured.table("launches").filter(pl.col("status") == "ok").select("launch", "workers")
    parted = made.join(launches, on="launch").filter((pl.col("ranks") == pl.col("workers")) & (pl.col("least") < pl.col("most")))
    return {launch: (least, most) for launch, least, most in parted.select("launch", "least", "most").iter_rows()}


def evenly(measured: RecordTables, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of launches whose ranks made equally many steps."""
    parted = uneven(measured)
    return rows.filter(~pl.col("launch").is_in(list(parted))) if parted else rows


def _comparable(measured: RecordTables, rows: pl.DataFrame, what: str) -> pl.DataFrame:
    """Of a launch with uneven steps only the state before the first, and the parameters of each rank at its end."""
    parted = uneven(measured)
    if not parted:
        return rows
    known = pl.col("launch").is_in(list(parted))
    last = (pl.col("step") == pl.col("step").max().over("launch", "rank")) & (pl.lit(what == "parameter_hash"))
    kept = rows.filter(~known | (pl.col("step") == 0) | last)
    end = pl.when(known & (pl.col("step") > 0)).then(pl.col("step").max().over("launch")).otherwise(pl.col("step"))
    return kept.with_columns(end.alias("step"))


KIND: Final = "parallelism"  # of the event
CARRIES: Final = 0.4
PEERS: Final = ("send", "recv")
SMALL: Final = ("barrier", *PEERS)
SUMMING: Final = ("all_reduce", "reduce", "reduce_scatter", "broadcast")
GATHERING: Final = ("all_gather", "gather")
AVERAGES: Final = 0.9
EXACT: Final = 0.01
MAX_COMPARED: Final = 16  # steps whose samples are compared
SAME_LOSS: Final = 1e-9  # relative
Likeness = Literal["same", "different", "partly", "unknown"]
Work = Literal["distinct", "same", "fixed", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The evidence on one configuration."""

    workers: int
    group: int  # ranks of the largest group; 0: no group
    reported: Mapping[str, Any]  # from the event, over all ranks
    steps: int  # with recorded communication
    of_steps: str  # the same in words
    training: int  # ranks that made steps
    carrying: tuple[int, ...]  # steps that carry gradients
    averaging: bool  # the carried amount equals all parameters
    outside: float  # how often collectives outside of the steps carried as much
    moved: float  # bytes moved by collectives per step, per byte of gradients
    in_forward: int  # steps with collectives in the forward pass
    peers: int  # steps with point-to-point calls
    exchanges: int  # steps with all-to-all
    unseen: bool  # the engine counted more collectives than were recorded
    start: Likeness  # the parameters before the first step
    stayed: bool  # parameters were equal at every check, and changed
    rejoined: bool  # parameters were equal at some check after the first step
    met_again: bool | None  # once parted, parameters were equal at every check after a carrying step; None: no such check
    samples: Likeness  # of the ranks, in one step
    work: Work  # whether the ranks work on samples of their own; fixed: on one and the same batch in every step
    sharing: int | None  # ranks that use the same samples, if known

    def often(self, steps: int) -> bool:
        """True if this holds in at least half of the steps."""
        return self.steps > 0 and 2 * steps >= self.steps


SAME_OUTPUT: Final = "same_output"  # the event of a launch whose workers printed the same (`fireassay.runners.launching.copies`)


def same_output(measured: RecordTables, name: str) -> int:
    """The fewest lines that each worker of a launch printed alike, without a step; 0 if no launch did."""
    launches = measured.timed.filter(pl.col("configuration") == name).select("launch")
    events = measured.table("events").filter(pl.col("kind") == SAME_OUTPUT).join(launches, on="launch", how="semi")
    return min((int(json.loads(text)["lines"]) for text in events["detail"]), default=0)


def facts(measured: RecordTables, name: str) -> Facts | None:
    """Facts of a configuration of several workers; None if no rank reported any."""
    launches = measured.timed.filter(pl.col("configuration") == name)
    events = measured.table("events").filter(pl.col("kind") == KIND)
    events = events.join(launches.select("launch"), on="launch", how="semi").sort("launch", "rank", "incarnation")
    if events.height == 0:
        return None
    launch = int(events["launch"][0])
    details = [json.loads(text) for text in events.filter(pl.col("launch") == launch)["detail"].to_list()]
    workers = int(launches.filter(pl.col("launch") == launch)["workers"][0])
    return _facts(measured, launch, workers, details)


def _facts(measured: RecordTables, launch: int, workers: int, details: list[dict[str, Any]]) -> Facts:
    rows = {name: measured.table(name).filter(pl.col("launch") == launch) for name in ("collectives", "waits", "samples", "fingerprints")}
    merged = _together(details)
    made = measured.folded_steps.filter(pl.col("launch") == launch).select("launch", "step")
    rows |= {name: all_watched(rows[name], measured.table("communication")) for name in ("collectives", "waits")}
    steps = all_watched(made, measured.table("communication")).height
    spans = _spans(measured, launch)
    checks = hashes(measured).filter(pl.col("launch") == launch)
    start = "different" if merged["shapes"] > 1 else _start(checks)
    kinds = _kinds(rows["samples"], workers)
    seen, fixed = likeness(measured, launch, workers)
    moved = _moved(rows["collectives"], merged["bytes"], workers)
    carries = moved.filter((pl.col("summed") >= CARRIES) | pl.col("gathered").is_between(1.0 - EXACT, 1.0 + EXACT))
    carrying = tuple(carries["step"].sort().to_list())
    return Facts(
        workers=workers,
        group=max(merged["group"], _largest_group(rows["collectives"])),
        reported=merged,
        steps=steps,
        of_steps=f"{steps} {'steps' if steps == made.height else 'watched steps'}",
        training=spans.height,
        carrying=carrying,
        averaging=bool((carries["share"] >= AVERAGES).all()),
        outside=_outside(rows["collectives"], spans, merged["bytes"], workers),
        moved=float(moved["share"].sum()) / max(1, steps),
        in_forward=_ranks_steps(rows["waits"].filter((pl.col("phase") == "forward") & (pl.col("asking_ns") > 0)), workers),
        peers=max(merged["p2p_steps"], _ranks_steps(rows["collectives"].filter(pl.col("op").is_in(PEERS)), workers)),
        exchanges=_ranks_steps(rows["collectives"].filter(pl.col("op") == "all_to_all"), workers),
        unseen=_unseen(rows["collectives"], details),
        start=start,
        stayed=checks.height > 1 and bool(checks["agree"].all()) and checks["text"].n_unique() > 1,
        rejoined=bool(checks.filter(pl.col("step") > 0)["agree"].any()),
        met_again=_met_again(checks, carrying),
        samples=_likeness(rows, merged, start, workers, kinds, seen),
        work=_work(merged, kinds, seen, fixed=fixed),
        sharing=workers // kinds if kinds and workers % kinds == 0 else None,
    )


def _largest_group(calls: pl.DataFrame) -> int:
    """Ranks of the largest group with a call: the group itself may be destroyed before a check."""
    return max((int(size) for size in calls["size"].unique() if size is not None and size > 1), default=0)


def _together(details: list[dict[str, Any]]) -> dict[str, Any]:
    """The reports of all ranks, merged."""

    def every(key: str) -> list[Any]:
        return [detail[key] for detail in details if key in detail]

    def union(key: str) -> list[Any]:
        return sorted({value for values in every(key) for value in values})

    sums = ("group", "fsdp", "dtensor", "ddp_ignored", "sharing")
    return {
        **{key: max(every(key), default=0) for key in sums},
        **{key: union(key) for key in ("ddp", "ddp_hooks", "layers", "libraries")},
        "stage": any(every("stage")),
        "p2p_steps": min(every("p2p_steps"), default=0),
        "bytes": max(every("bytes"), default=0),
        "shapes": len(set(every("shapes"))),
        "models": len(every("shapes")),
        "optimizers": sorted(set(every("optimizer"))),
    }


def _start(checks: pl.DataFrame) -> Likeness:
    first = checks.filter(pl.col("step") == 0)
    return "unknown" if first.height == 0 else "same" if bool(first["agree"].all()) else "different"


def _moved(collectives: pl.DataFrame, gradient_bytes: int, workers: int) -> pl.DataFrame:
    """(step, share, summed, gathered): bytes of a rank's collectives per step, per byte of gradients; sums and broadcasts, and
    gathers per rank of the group."""
    known = pl.col("step").is_not_null() & ~pl.col("op").is_in(SMALL) & (pl.col("size") > 1) & (gradient_bytes > 0)
    share = pl.col("bytes") / (workers * max(1, gradient_bytes))
    summed, gathered = (pl.col("op").is_in(names) for names in (SUMMING, GATHERING))
    return (
        collectives.filter(known)
        .group_by("step")
        .agg(
            share.sum().alias("share"),
            share.filter(summed).sum().alias("summed"),
            (share / pl.col("size")).filter(gathered).sum().alias("gathered"),
        )
    )


def _spans(measured: RecordTables, launch: int) -> pl.DataFrame:
    """(rank, first, last): when a rank's first watched step began, and its last ended."""
    span = (pl.col("begin_ns").min().alias("first"), pl.col("end_ns").max().alias("last"))
    slices = measured.slices("launch", "rank", "step", "begin_ns", "end_ns", launches=[launch])
    return pl.concat(all_watched(some, measured.table("communication")).group_by("rank").agg(span) for some in slices)


def _outside(collectives: pl.DataFrame, spans: pl.DataFrame, gradient_bytes: int, workers: int) -> float:
    """Bytes of a rank's collectives between the steps, as a multiple of the gradients' bytes."""
    if spans.height == 0 or not gradient_bytes:
        return 0.0
    calls = collectives.filter(pl.col("step").is_null() & ~pl.col("op").is_in(SMALL)).join(spans, on="rank")
    between = calls.filter(pl.col("begin_ns").is_between(pl.col("first"), pl.col("last")))
    return float(between["bytes"].sum()) / (workers * gradient_bytes)


def _ranks_steps(rows: pl.DataFrame, workers: int) -> int:
    """The least number of steps recorded by a rank; 0 unless every rank has some."""
    counts = rows.filter(pl.col("step").is_not_null()).group_by("rank").agg(pl.col("step").n_unique())["step"]
    return int(counts.min()) if counts.len() == workers else 0  # type: ignore[arg-type]


def _unseen(collectives: pl.DataFrame, details: Iterable[Mapping[str, Any]]) -> bool:
    """True if the default group made more calls between two checks than the hooks on torch.distributed recorded."""
    for detail in details:
        if len(checks := detail.get("engine", ())) == 2:
            (first, before), (last, after) = checks
            recorded = collectives.filter(pl.col("step").is_between(first, last, closed="left")).group_by("rank").len()
            known = int(recorded["len"].max() or 0)  # type: ignore[arg-type]
            if after - before - known > max(2, (last - first) / 2):
                return True
    return False


def _met_again(checks: pl.DataFrame, carrying: tuple[int, ...]) -> bool | None:
    parted = checks.filter(~pl.col("agree") & (pl.col("step") > 0))["step"].min()
    after = checks.filter(pl.col("step").is_in([step + 1 for step in carrying]) & (pl.col("step") > pl.lit(parted, dtype=pl.Int64)))
    return bool(after["agree"].all()) if after.height else None


def work_of(measured: RecordTables, name: str) -> Work:
    """The work of a configuration's first launch, where no rank reported facts: by ids, else by contents."""
    for launch, workers in measured.timed.filter(pl.col("configuration") == name).sort("launch").select("launch", "workers").iter_rows():
        kinds = _kinds(measured.table("samples").filter(pl.col("launch") == launch), workers)
        seen, fixed = likeness(measured, launch, workers)
        return _work({"sharing": 0}, kinds, seen, fixed=fixed)
    return "unknown"


def _work(merged: Mapping[str, Any], kinds: int | None, seen: Likeness, *, fixed: bool) -> Work:
    """By ids, else by contents, else by a distributed sampler; losses do not tell, since untrained models may give every sample the same."""
    if kinds is not None:
        return "same" if kinds == 1 else "distinct"
    if seen == "same":
        return "fixed" if fixed else "same"
    return "distinct" if seen != "unknown" or merged["sharing"] > 1 else "unknown"


def _likeness(
    rows: Mapping[str, pl.DataFrame], merged: Mapping[str, Any], start: Likeness, workers: int, kinds: int | None, seen: Likeness
) -> Likeness:
    """True if the ranks use the same samples: by ids, by a distributed sampler, by contents, or by the losses of equal parameters."""
    if kinds is not None:
        return "same" if kinds == 1 else "different" if kinds == workers else "partly"
    if merged["sharing"] > 1:
        return "different" if merged["sharing"] == workers else "partly"
    if seen != "unknown":
        return seen
    prints = rows["fingerprints"]
    draws = prints.filter((pl.col("what") == "random_layers") & (pl.col("value") > 0)).height
    losses = prints.filter((pl.col("what") == "loss") & (pl.col("step") == pl.col("step").min())).unique(["rank"])["value"]
    if start != "same" or draws or losses.len() != workers or losses.null_count():
        return "unknown"
    least, most = float(losses.min()), float(losses.max())  # type: ignore[arg-type]
    return "same" if most - least <= SAME_LOSS * abs(most) else "different"


def _kinds(samples: pl.DataFrame, workers: int) -> int | None:
    """Number of different sets of samples that the ranks used in the first steps; None unless every rank reported its own."""
    first = samples.filter((pl.col("incarnation") == 0) & (pl.col("step") < pl.col("step").min() + MAX_COMPARED))
    of_rank = first.explode("ids").select("rank", "step", "ids").unique().sort("rank", "step", "ids").partition_by("rank")
    if len(of_rank) < workers:
        return None
    return len({(tuple(part["step"].to_list()), tuple(part["ids"].to_list())) for part in of_rank})
