"""What do the audits of plausibility share: which rows to look at, on whose clock, and how a row that cannot be is named?

A finding names the table, the launch, the row by the columns that order its table, and the two values that cannot both be true.  One
clock: rows are held against their launch only where they were stamped on the coordinator's host, told by its boot id or its launcher.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from assay.estimates.format import count
from assay.frames.clock_offsets import hosts_of
from assay.frames.record_data import Measured
from assay.metrics.base import Results
from assay.record.tables import TABLES
from assay.verdict.types import Finding

REMEDY: Final = (
    "these rows were not measured as they stand: get the record again from whoever made it, or measure again; "
    "if assay wrote them on your machine, report it"
)
FOREIGN: Final = "another program wrote down these times and counts, by its own rules"
ENDED: Final = ("ok", "contaminated")  # launches whose begin and end the coordinator saw
WORKER: Final = ["launch", "rank", "incarnation"]


def impossible(rule: str, table: str, bad: pl.DataFrame, words: str) -> tuple[Finding, ...]:
    """One finding of the first of the bad rows; `words` is filled with its columns. None without any."""
    if bad.height == 0:
        return ()
    first = bad.sort([name for name in TABLES[table].order if name in bad.columns]).row(0, named=True)
    more = f"; so in {count(bad.height, 'rows')}" if bad.height > 1 else ""
    return (
        Finding(
            rule=rule,
            severity="invalid",
            configuration=None,
            remedy=REMEDY,
            evidence=f"table {table}, {row_name(table, first)}: {words.format(**first)}{more}",
        ),
    )


def row_name(table: str, row: Mapping[str, Any]) -> str:
    """ "launch 3, rank 0, incarnation 0, step 17"."""
    named = [name for name in TABLES[table].order if row.get(name) is not None]
    return ", ".join(f"{name} {row[name]}" for name in named)


def backwards(rule: str, table: str, frame: pl.DataFrame, earlier: str, later: str, slack_ns: int = 0) -> tuple[Finding, ...]:
    """Rows whose later time is before their earlier one."""
    return impossible(
        rule, table, frame.filter(pl.col(later) < pl.col(earlier) - slack_ns), f"{later} {{{later}}} is before {earlier} {{{earlier}}}"
    )


def overlapping(
    rule: str, table: str, ordered: pl.DataFrame, within: list[str], begin: str, end: str, slack_ns: int = 0
) -> tuple[Finding, ...]:
    """Rows that begin before the one before them in the same series has ended; sorted by the series and by when they begin."""
    bad = ordered.with_columns(_before=earlier(end, within)).filter(pl.col(begin) < pl.col("_before") - slack_ns)
    return impossible(rule, table, bad, f"{begin} {{{begin}}} is before {{_before}}, {end} of the row before it")


def earlier(column: str, within: list[str]) -> pl.Expr:
    """The column's value in the row before, where that belongs to the same series."""
    return pl.when(pl.all_horizontal(*(pl.col(name) == pl.col(name).shift(1) for name in within))).then(pl.col(column).shift(1))


def in_launch(
    rule: str, table: str, frame: pl.DataFrame, launches: pl.DataFrame, begin: str, end: str, slack_ns: int = 0
) -> tuple[Finding, ...]:
    """Rows that lie outside of their launch; `launches` with launch, begin_ns and end_ns."""
    spans = launches.select("launch", _from=pl.col("begin_ns"), _to=pl.col("end_ns"))
    inside = frame.join(spans, on="launch")
    early = inside.filter(pl.col(begin) < pl.col("_from") - slack_ns)
    late = inside.filter(pl.col(end) > pl.col("_to") + slack_ns)
    return (
        *impossible(rule, table, early, f"{begin} {{{begin}}} is before the launch began, at {{_from}}"),
        *impossible(rule, table, late, f"{end} {{{end}}} is after the launch ended, at {{_to}}"),
    )


def ended(measured: Measured) -> pl.DataFrame:
    """The launches whose begin and end the coordinator saw."""
    return measured.table("launches").filter(pl.col("status").is_in(ENDED))


def beside_the_coordinator(measured: Measured) -> pl.DataFrame:
    """(launch, rank, incarnation) of the workers whose clock is also that of the table `launches`: those of the local launcher, and of
    its kernel.
    """
    coordinator = measured.manifest.get("coordinator")
    boot = coordinator.get("boot_id") if isinstance(coordinator, Mapping) else None
    local = measured.table("launches").select("launch", _launcher=pl.col("placement").str.json_path_match("$.launcher"))
    same = (pl.col("boot") == pl.lit(boot, dtype=pl.String)) | ((pl.col("_launcher") == "local") & pl.col("boot").is_null())
    return hosts_of(measured).join(local, on="launch").filter(same).select(WORKER)


def processors(measured: Measured) -> int | None:
    """Logical processors of the coordinator's machine, the most that a snapshot saw; None: not known."""
    seen = []
    for snapshot in snapshots(measured):
        cpu = snapshot.get("cpu")
        logical = cpu.get("logical") if isinstance(cpu, Mapping) else None
        if isinstance(logical, int) and logical > 0:
            seen.append(logical)
    return max(seen, default=None)


def snapshots(measured: Measured) -> tuple[Mapping[str, Any], ...]:
    """What was written of the machine before the first launch and after the last."""
    environment = measured.manifest.get("environment") or {}
    return tuple(one for one in (environment.get("before"), environment.get("after")) if isinstance(one, Mapping))


def blind(measured: Measured, _: Results) -> str | None:
    """Of an import only the program that measured could be asked."""
    return FOREIGN if measured.foreign is not None else None
