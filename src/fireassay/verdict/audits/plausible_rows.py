"""Can these rows have been recorded?  What no program writes: copied rows, impossible counters, wrong counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import polars as pl

from fireassay.frames.clock_offsets import by_coordinators_clock
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import EVERYTHING, Results
from fireassay.record.seal import plan_signature
from fireassay.record.tables import TABLES
from fireassay.spec.plan import plan
from fireassay.units import NS_PER_S
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.audits.every.record import is_simulated
from fireassay.verdict.evidence.impossible_rows import FOREIGN, blind, ended, impossible, snapshots
from fireassay.verdict.types import Finding

AUDITS = Audits(about=EVERYTHING)


# ---- copied rows ----

COPIED_ROWS_MAX, DIFFERENT = 64, 8
FINER_NS: Final = 1000
TIMED: Final = {
    "steps": ("begin_ns", "end_ns"),
    "trials": ("begin_ns", "end_ns"),
    "requests": ("sent_ns", "done_ns"),
    "collectives": ("begin_ns", "end_ns"),
}


@AUDITS.add("copied_rows", "Do any launches repeat another launch's times?", title="copied launches")
def examine_copied_rows(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per table.

    No two launches take equal times: if their longest 64 steps, trials, requests or collectives have equal durations to the nanosecond, one
    was copied from the other. Applies if at least 8 of these durations are distinct and not whole microseconds: on a coarser clock, equal
    times are no evidence. INVALID, since copies narrow every interval. Cannot tell: copies with added noise.
    """
    if measured.foreign is not None or is_simulated(measured):
        return ()
    return tuple(finding for table in TIMED for finding in _copies(measured, table))


def _copies(measured: RecordData, table: str) -> Iterator[Finding]:
    begin, end = TIMED[table]
    length, top = pl.col(end) - pl.col(begin), pl.col("_length").top_k(COPIED_ROWS_MAX)
    slices = measured.slices("launch", begin, end) if table == "steps" else [measured.table(table)]
    parts = [some.select("launch", _length=length).drop_nulls().group_by("launch").agg(top) for some in slices]
    longest = pl.concat(parts).explode("_length").group_by("launch").agg(top.sort(descending=True)).sort("launch")
    first: dict[tuple[int, ...], int] = {}
    for launch, durations in longest.iter_rows():
        if len({length for length in durations if length % FINER_NS}) < DIFFERENT:
            continue
        earlier = first.setdefault(tuple(durations), launch)
        if earlier != launch:
            bad = pl.DataFrame({"launch": [launch], "_earlier": [earlier], "_rows": [len(durations)], "_longest": [durations[0]]})
            words = "its {_rows} longest durations equal those of launch {_earlier}; the longest is {_longest} ns"
            yield from impossible("rows_copied", table, bad, words)
            return


@AUDITS.blind("copied_rows")
def blind_copied_rows(measured: RecordData, _: Results) -> str | None:
    """Blind with a single launch."""
    if measured.foreign is not None:
        return FOREIGN
    return None if measured.table("launches").height > 1 else "there is only one launch"


# ---- counter readings ----

COUNTER_READINGS_SERIES: Final = ["launch", "host", "device", "counter"]
# Per-launch totals that assay itself keeps monotonic (`host.py`, `energy.py`, `meter.py`).
COUNTER_READINGS_KEPT: Final = (
    "cpu_time",
    "involuntary_switches",
    "major_faults",
    "minor_faults",
    "energy",
    "energy_bound",
    "energy_doubts",
    "energy_errors",
)
MAX_WATTS, HOST_WATTS, LATENCY_S = 2000.0, 20_000.0, 1.0
MAX_LIMITS, LONG_S = 2.0, 5.0
EXPORTERS, EXPORTED_S = ("dcgm", "prometheus"), 60.0
LATE_S: Final = 60.0  # allowance for the last reading after the last launch's end
METERED: Final = ("cpu", "launch", "coordinator", "meter", "cgroup", "memory", "io", "tcp", "workers")


@AUDITS.add("counter_readings", "Can the counters have been read as recorded?", title="impossible counter readings")
def examine_counter_readings(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per rule.

    The meter reads while a launch runs, totals that it accumulates itself never fall, and no device exceeds its power limit:

        energy between two readings  <=  2000 W (a whole host: 20 kW) x (seconds + delay)    the accumulator's own limit (`instruments/machine/energy/support/`)
        mean power of a GPU          <=  2 x its enforced power limit, if recorded and the readings span 5 s

    The delay is 1 s, of an exporter that stands still between its own updates (dcgm-exporter: 30 s by default) 60 s.

    A violation cannot have been read: INVALID. The kernel's totals (idle time, interfaces) may fall and are not checked. Cannot tell: a
    counter scaled by a plausible factor.
    """
    if measured.foreign is not None:
        return ()
    kept = measured.table("telemetry").filter(pl.col("counter").is_in(COUNTER_READINGS_KEPT)).sort([*COUNTER_READINGS_SERIES, "ns"])
    steps = kept.with_columns(
        _before=pl.col("value").shift(1).over(COUNTER_READINGS_SERIES), _since=pl.col("ns").diff().over(COUNTER_READINGS_SERIES) / NS_PER_S
    ).with_columns(_rise=pl.col("value") - pl.col("_before"))
    energy = steps.filter((pl.col("counter") == "energy") & (pl.col("method") == "counter")).with_columns(_delay=_delay(measured))
    most = (
        pl.when(pl.col("device").str.starts_with("host-"))
        .then(HOST_WATTS)
        .otherwise(max(MAX_WATTS, measured.experiment.energy.max_watts or 0.0))
    )
    much = energy.filter(pl.col("_rise") > most * (pl.col("_since") + pl.col("_delay")) * 1.01)
    return (
        *impossible(
            "counter_falls",
            "telemetry",
            steps.filter(pl.col("_rise") < -1e-9 * pl.col("_before").abs()),
            "the total fell from {_before:.9g} to {value:.9g}",
        ),
        *impossible("power_too_high", "telemetry", much, "{_rise:.6g} J in {_since:.6g} s, more than any device draws"),
        *_above_limit(measured, energy),
        *_outside(measured),
    )


def _delay(measured: RecordData) -> pl.Expr:
    """Seconds by which a reading can be old: an exporter's is, which the experiment names, or whose value stood still."""
    stood = ((pl.col("_rise") == 0.0) & (pl.col("value") > 0.0)).any().over(COUNTER_READINGS_SERIES)
    named = any(source in EXPORTERS for source in measured.experiment.energy.source.split(","))
    return pl.when(stood | pl.lit(named)).then(EXPORTED_S).otherwise(LATENCY_S)


def _above_limit(measured: RecordData, energy: pl.DataFrame) -> Iterator[Finding]:
    limits = _limits(measured)
    whole = (
        energy.group_by(COUNTER_READINGS_SERIES)
        .agg(
            pl.col("value").last() - pl.col("value").first(),
            (pl.col("ns").last() - pl.col("ns").first()).alias("_ns"),
            pl.col("_delay").max(),
        )
        .with_columns(_s=pl.col("_ns") / NS_PER_S)
        .filter(pl.col("_s") >= LONG_S)
    )
    for device, watts in limits.items():
        bad = whole.filter(
            (pl.col("device") == device) & (pl.col("value") > MAX_LIMITS * watts * (pl.col("_s") + pl.col("_delay") - LATENCY_S))
        )
        yield from impossible("power_too_high", "telemetry", bad, f"{{value:.6g}} J in {{_s:.6g}} s with a power limit of {watts:g} W")


def _limits(measured: RecordData) -> dict[str, float]:
    """Enforced power limit by GPU, the highest in a snapshot."""
    power_limits: dict[str, float] = {}
    for snapshot in snapshots(measured):
        gpu = snapshot.get("gpu")
        listed = gpu.get("nvidia") if isinstance(gpu, Mapping) else None
        for device in listed if isinstance(listed, list) else ():
            watts, name = (device.get("power_limit_w"), device.get("uuid")) if isinstance(device, Mapping) else (None, None)
            if isinstance(watts, int | float) and watts > 0 and isinstance(name, str):
                power_limits[name] = max(power_limits.get(name, 0.0), float(watts))
    return power_limits


def _outside(measured: RecordData) -> tuple[Finding, ...]:
    """Readings start after their launch begins, and stop before the next one begins."""
    rows = by_coordinators_clock(measured, measured.table("telemetry").filter(pl.col("device").is_in(METERED)))
    most, following = pl.col("end_ns") + round(LATE_S * NS_PER_S), measured.table("launches").sort("launch")
    spans = following.with_columns(_next=pl.col("begin_ns").shift(-1)).join(ended(measured), on="launch", how="semi")
    known = pl.when(pl.col("_next") >= pl.col("end_ns")).then(pl.min_horizontal(most, "_next")).otherwise(most)
    spans = spans.select("launch", "begin_ns", _until=known)
    inside = rows.join(spans, on="launch")
    early, late = inside.filter(pl.col("ns") < pl.col("begin_ns")), inside.filter(pl.col("ns") > pl.col("_until"))
    return (
        *impossible("reading_outside_launch", "telemetry", early, "read at {ns}, before the launch began at {begin_ns}"),
        *impossible("reading_outside_launch", "telemetry", late, "read at {ns}; the launch was over by {_until}"),
    )


@AUDITS.blind("counter_readings")
def blind_counter_readings(measured: RecordData, _: Results) -> str | None:
    """Blind without counters."""
    if measured.foreign is not None:
        return FOREIGN
    return None if measured.table("telemetry").height else "no counter was read"


# ---- row counts ----

ROW_COUNTS_OF_RANKS = ("steps", "samples", "fingerprints", "gradients", "collectives", "communication", "inventory", "waits")


@AUDITS.add("row_counts", "Do the row counts agree with the plan and the launches?", title="impossible row counts", blind=blind)
def examine_row_counts(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per rule and table.

    A planned launch succeeds once; a launch has no rank beyond its workers; no more requests arrive than its schedule has; tokens counted
    per chunk add up; every row belongs to a launch, and every launch to the plan. Rows that contradict another table were not measured:
    INVALID. `ledger` compares requests with their schedule; `cherry_picked` finds missing launches. Cannot tell: omitted rows that nothing
    else counts.
    """
    if measured.foreign is not None:
        return ()
    return (*_twice(measured), *_strangers(measured), *_beyond(measured), *_arrived(measured), *_tokens(measured), *_plan(measured))


def _twice(measured: RecordData) -> tuple[Finding, ...]:
    done = measured.table("launches").filter(pl.col("status") == "ok").sort("launch")
    again = done.with_columns(_earlier=pl.col("launch").shift(1).over("slot")).filter(pl.col("_earlier").is_not_null())
    return impossible("slot_twice", "launches", again, "slot {slot} of the plan succeeded already in launch {_earlier}")


def _strangers(measured: RecordData) -> Iterator[Finding]:
    """Rows of unlisted launches, in a record that was written completely and not salvaged (`record/streams.py`)."""
    sealed = measured.manifest.get("sealed")
    if measured.state != "complete" or (isinstance(sealed, Mapping) and sealed.get("salvaged")):
        return
    known = set(measured.table("launches")["launch"])
    for table in TABLES:
        rows = _launch_rows(measured, table)
        if not known.issuperset(rows["launch"]):
            yield from impossible(
                "launch_unknown",
                table,
                rows.filter(~pl.col("launch").is_in(known)).with_columns(_known=pl.lit(len(known))),
                "{_rows} rows of launch {launch}, which is not among the {_known} of the table launches",
            )


def _launch_rows(measured: RecordData, table: str) -> pl.DataFrame:
    """(launch, _rows) of a table."""
    if table == "steps":
        return measured.stepped.group_by("launch").agg(_rows=pl.col("rows").sum())
    return measured.table(table).group_by("launch").agg(_rows=pl.len())


def _beyond(measured: RecordData) -> Iterator[Finding]:
    """Ranks beyond the launch's workers."""
    launches = measured.table("launches").select("launch", "workers")
    for table in ROW_COUNTS_OF_RANKS:
        rows = measured.stepped if table == "steps" else measured.table(table)
        rows = rows.group_by("launch").agg(pl.col("rank").max()).join(launches, on="launch")
        yield from impossible("rank_unknown", table, rows.filter(pl.col("rank") >= pl.col("workers")), "rank {rank} of {workers} workers")


def _arrived(measured: RecordData) -> tuple[Finding, ...]:
    noted = measured.manifest.get("schedules")
    if not isinstance(noted, Mapping):
        return ()
    due = {int(launch): note.get("requests") for launch, note in noted.items() if str(launch).isdigit() and isinstance(note, Mapping)}
    rows = measured.table("arrivals").group_by("launch").agg(pl.len().alias("_rows"))
    known = rows.with_columns(_due=pl.col("launch").replace_strict(due, default=None, return_dtype=pl.Int64))
    bad = known.filter(pl.col("_rows") > pl.col("_due"))
    return impossible("arrivals_too_many", "arrivals", bad, "it has {_rows} requests; the schedule recorded before the load has {_due}")


def _tokens(measured: RecordData) -> tuple[Finding, ...]:
    counted = (
        measured.table("token_counts").filter(pl.col("chunk_tokens").list.len() > 0).with_columns(_sum=pl.col("chunk_tokens").list.sum())
    )
    return impossible(
        "tokens_differ",
        "token_counts",
        counted.filter(pl.col("_sum") > pl.col("tokens_out")),
        "its chunks hold {_sum} tokens, the whole answer {tokens_out}",
    )


def _plan(measured: RecordData) -> tuple[Finding, ...]:
    """What the plan requires of a timed slot; only if the record's signature is that of this experiment."""
    if measured.manifest.get("plan_signature") != plan_signature(measured.experiment):
        return ()
    slots = [
        (launch.slot, f"{launch.configuration} with {launch.workers} workers")
        for launch in plan(measured.experiment)
        if launch.role == "timed"
    ]
    planned = pl.DataFrame(slots, schema={"slot": pl.Int32, "_planned": pl.String}, orient="row")
    label = pl.format("{} with {} workers", "configuration", "workers").alias("_reported")
    both = measured.table("launches").filter(pl.col("role") == "timed").join(planned, on="slot").with_columns(label)
    return impossible(
        "plan_differs",
        "launches",
        both.filter(pl.col("_reported") != pl.col("_planned")),
        "it is {_reported}; slot {slot} of the plan is {_planned}",
    )
