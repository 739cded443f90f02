"""Records that a forger altered and sealed again: tables of an honest one are changed, and the digests and the seal made new.

forged(record, tmp_path / "forged", steps=lambda rows: rows.with_columns(...))
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import polars as pl

from fireassay import catalog
from fireassay.frames.record_data import RecordData, from_record
from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.reader import open_record
from fireassay.record.seal import describe, encode, seal_line, verify, write_parquet
from fireassay.record.unsealed import launch_name
from fireassay.verdict.types import Finding
from tests.metrics.trials_made import timing
from tests.serving_made import seal, simulated

AUDITS: Final = ("order_of_times", "processor_time", "counter_readings", "request_times", "copied_rows", "row_counts")
Change = Callable[[pl.DataFrame], pl.DataFrame]
GOOD: Final = Path(__file__).resolve().parents[1] / "records" / "good"  # an honest training of one and two workers
FIRST: Final = {"launch": 0, "request": 12}  # a request of `a_load`
MS: Final = 1_000_000


def forged(source: Path, target: Path, **changes: Change) -> Path:
    """A copy of a record with some tables changed, sealed again as the writer seals; gives its path."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("reports"))
    record = open_record(source)
    for table, change in changes.items():
        rows = change(record.table(table))
        shutil.rmtree(target / "tables" / table, ignore_errors=True)
        for own in rows.partition_by("launch"):
            arrow = own.to_arrow().cast(arrow_schema(table))
            write_parquet(target / "tables" / table / launch_name(int(own["launch"][0])) / "part-0.parquet", arrow.schema, (arrow,))
    manifest = json.loads((target / "manifest.json").read_bytes())
    manifest["sealed"] = {**manifest["sealed"], "files": describe(target)}
    content = encode(manifest)
    (target / "manifest.json").write_bytes(content)
    (target / "SEAL").write_bytes(seal_line(content))
    return target


def read(path: Path) -> RecordData:
    """A record as the audits see it."""
    return from_record(open_record(path))


def implausible(measured: RecordData) -> tuple[Finding, ...]:
    """What the audits of plausibility find in a record."""
    audits = [catalog.load("verdict.audits", name) for name in AUDITS]
    return tuple(finding for audit in audits if measured.kind.concerns(audit.about) for finding in audit.examine(measured, {}))


def rules(measured: RecordData) -> set[str]:
    """The rules that they name."""
    return {finding.rule for finding in implausible(measured)}


def row(**where: object) -> pl.Expr:
    """The rows in which these columns have these values."""
    return pl.all_horizontal(*(pl.col(name) == value for name, value in where.items()))


def put(column: str, value: pl.Expr | int | float | str, **where: object) -> Change:
    """Another value in some rows."""
    new = value if isinstance(value, pl.Expr) else pl.lit(value)
    return lambda rows: rows.with_columns(pl.when(row(**where)).then(new).otherwise(pl.col(column)).cast(rows.schema[column]).alias(column))


def another(**values: object) -> Change:
    """A further row, the last one with other values."""

    def change(rows: pl.DataFrame) -> pl.DataFrame:
        new = [pl.lit(value).cast(rows.schema[name]).alias(name) for name, value in values.items()]
        return pl.concat([rows, rows.tail(1).with_columns(new)])

    return change


def a_load(root: Path) -> Path:
    """A sealed record of two loads, in a closed loop."""
    return seal(simulated(concurrency=(1, 4), blocks=2, seconds=4.0, seed=3).measured(), root)


def a_timing(*, wall_us: float, used_us: float, launches: int = 5) -> RecordData:
    """Commands on two processors; times that no two trials share."""
    made = timing(*([wall_us / 1e6 * (1 + 0.001 * place + 0.01 * launch) for place in range(20)] for launch in range(launches)))
    made.manifest["environment"] = {"before": {"cpu": {"logical": 2}}, "after": {}}
    part = round(used_us * 500) + 1
    made.rows["trials"] = [(*one[:7], part, part, *one[9:]) for one in made.rows["trials"]]
    return made.measured()


def expect_found(record: Path, rule: str) -> None:
    """The seal is whole, and an audit names the rule that is broken and the row that breaks it."""
    assert verify(record) == ()
    found = {finding.rule: finding for finding in implausible(read(record))}
    assert rule in found
    assert found[rule].severity == "invalid"
    assert found[rule].evidence.startswith("table ")
    assert ", launch " in found[rule].evidence
