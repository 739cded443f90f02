"""Which rows and clocks can plausibility audits compare, and how do they name an impossible row?

A finding names the table, the launch, the row by the columns that order its table, and the two contradictory values. Rows are compared with
their launch only if they were stamped by the coordinator host's clock, identified by boot id or launcher.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.clock_offsets import hosts_of
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.record.tables import TABLES
from fireassay.verdict.types import Finding

REMEDY: Final = (
    "these rows cannot have been measured: get the record again from its author, or measure again; "
    "if assay wrote them on your machine, report it"
)
FOREIGN: Final = "another program recorded these times and counts by its own rules"
ENDED: Final = ("ok", "contaminated")  # launches whose begin and end the coordinator recorded
WORKER: Final = ["launch", "rank", "incarnation"]


def impossible(rule: str, table: str, bad: pl.DataFrame, words: str) -> tuple[Finding, ...]:
    """One finding for the first bad row, `words` formatted with its columns; none without bad rows."""
    if bad.height == 0:
        return ()
    first = bad.sort([name for name in TABLES[table].order if name in bad.columns]).row(0, named=True)
    more = f"; {count(bad.height, 'rows')} in all" if bad.height > 1 else ""
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
    """Rows whose later time precedes their earlier one."""
    bad = frame.filter(pl.col(later) < pl.col(earlier) - slack_ns) if frame.height else frame
    return impossible(rule, table, bad, f"{later} {{{later}}} is before {earlier} {{{earlier}}}")


def overlapping(
    rule: str, table: str, ordered: pl.DataFrame, within: list[str], begin: str, end: str, slack_ns: int = 0
) -> tuple[Finding, ...]:
    """Rows that begin before the previous row of their series ends; `ordered` is sorted by series and begin."""
    return overlapped(rule, table, overlaps(ordered, within, begin, end, slack_ns), begin, end)


def overlaps(ordered: pl.DataFrame, within: list[str], begin: str, end: str, slack_ns: int = 0) -> pl.DataFrame:
    """These rows, with `_before`: the end of the row before."""
    if ordered.height < 2:
        return ordered.clear().with_columns(_before=pl.col(end))
    return ordered.with_columns(_before=earlier(end, within)).filter(pl.col(begin) < pl.col("_before") - slack_ns)


def overlapped(rule: str, table: str, bad: pl.DataFrame, begin: str, end: str) -> tuple[Finding, ...]:
    """The finding on rows that `overlaps` named."""
    return impossible(rule, table, bad, f"{begin} {{{begin}}} is before {{_before}}, {end} of the row before it")


def earlier(column: str, within: list[str]) -> pl.Expr:
    """The column's value in the previous row of the same series."""
    return pl.when(pl.all_horizontal(*(pl.col(name) == pl.col(name).shift(1) for name in within))).then(pl.col(column).shift(1))


def in_launch(
    rule: str, table: str, frame: pl.DataFrame, launches: pl.DataFrame, begin: str, end: str, slack_ns: int = 0
) -> tuple[Finding, ...]:
    """Rows outside their launch; `launches` has launch, begin_ns and end_ns."""
    if not frame.height:
        return ()
    spans = launches.select("launch", _from=pl.col("begin_ns"), _to=pl.col("end_ns"))
    inside = frame.join(spans, on="launch")
    early = inside.filter(pl.col(begin) < pl.col("_from") - slack_ns)
    late = inside.filter(pl.col(end) > pl.col("_to") + slack_ns)
    return (
        *impossible(rule, table, early, f"{begin} {{{begin}}} is before the launch began, at {{_from}}"),
        *impossible(rule, table, late, f"{end} {{{end}}} is after the launch ended, at {{_to}}"),
    )


def ended(measured: RecordData) -> pl.DataFrame:
    """Launches whose begin and end the coordinator recorded."""
    return measured.table("launches").filter(pl.col("status").is_in(ENDED))


def beside_the_coordinator(measured: RecordData) -> pl.DataFrame:
    """(launch, rank, incarnation) of the workers that share the clock of the table `launches`: same boot id or local launcher."""
    coordinator = measured.manifest.get("coordinator")
    boot = coordinator.get("boot_id") if isinstance(coordinator, Mapping) else None
    local = measured.table("launches").select("launch", _launcher=pl.col("placement").str.json_path_match("$.launcher"))
    same = (pl.col("boot") == pl.lit(boot, dtype=pl.String)) | ((pl.col("_launcher") == "local") & pl.col("boot").is_null())
    return hosts_of(measured).join(local, on="launch").filter(same).select(WORKER)


def processors(measured: RecordData) -> int | None:
    """Logical processors of the coordinator's machine or of a node, the largest count in a snapshot; None if not recorded."""
    nodes = [facts.get("cpu.logical") for facts in (measured.before.get("nodes") or {}).values() if isinstance(facts, Mapping)]
    seen = [logical for logical in nodes if isinstance(logical, int) and logical > 0]
    for snapshot in snapshots(measured):
        cpu = snapshot.get("cpu")
        logical = cpu.get("logical") if isinstance(cpu, Mapping) else None
        if isinstance(logical, int) and logical > 0:
            seen.append(logical)
    return max(seen, default=None)


def snapshots(measured: RecordData) -> tuple[Mapping[str, Any], ...]:
    """Snapshots of the machine, before the first launch and after the last."""
    environment = measured.manifest.get("environment") or {}
    return tuple(snapshot for snapshot in (environment.get("before"), environment.get("after")) if isinstance(snapshot, Mapping))


def blind(measured: RecordData, _: Results) -> str | None:
    """Imported records follow another program's rules."""
    return FOREIGN if measured.foreign is not None else None
