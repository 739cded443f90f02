"""Which tables does a bundle hold, and what does each column mean?  The values, the raw tables, and their data dictionary.

datapackage.json is a Data Package of frictionless data (specs.frictionlessdata.io/data-package, profile `data-package`): every column of
every table with its type, description and, where it has one, unit.  Each row of the values carries the digest and the verdict of its
record.  Tables are made one at a time, as they are written; steps that are too many for memory some ranks at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Final

import polars as pl

from fireassay.printable import json_text
from fireassay.record.files import Content
from fireassay.record.tables import TABLES
from fireassay.reports.exports.export import Exported, Subject
from fireassay.reports.exports.values import ValueRow

PACKAGE: Final = "datapackage.json"
PARTS: Final = ("engine", "scenario", "load", "workers", "op", "place", "bytes")  # of a configuration: `ValueRow.labels`
SERIES: Final[Mapping[str, tuple[Any, Any]]] = {  # type of Table Schema -> of a series, and what makes it of a text
    "string": (pl.String, str),
    "number": (pl.Float64, float),
    "integer": (pl.Int64, int),
    "boolean": (pl.Boolean, bool),
}
VALUES: Final[Mapping[str, tuple[str, str]]] = {
    "record": ("string", "the record's id"),
    "digest": ("string", "SHA-256 of the record's seal; `unsealed`: it has none"),
    "verdict": ("string", "status of the whole record: `PASS`, `GAIN`, `NO_GAIN`, `MEASURED`, `FAIL`, `INCONCLUSIVE`, `INVALID`"),
    "metric": ("string", "name of the metric, as in the reference of metrics"),
    "title": ("string", "its name for people"),
    "dimension": ("string", "`correctness`, `performance`, `cost` or `reliability`"),
    "configuration": ("string", "key of the configuration, or `all` for the whole experiment"),
    "engine": ("string", "of a load: the engine"),
    "scenario": ("string", "of a load: the scenario"),
    "load": ("number", "of a load: requests in flight, or per second"),
    "workers": ("integer", "workers of the configuration"),
    "op": ("string", "of collectives: the operation"),
    "place": ("string", "of collectives: `in` or `out` of place"),
    "bytes": ("integer", "of collectives: bytes sent"),
    "unit": ("string", "unit of value, low and high"),
    "better": ("string", "`higher`, `lower` or `neither`"),
    "value": ("number", "the value; empty: not measured"),
    "low": ("number", "lower end of the interval; empty: not bounded by the data"),
    "high": ("number", "upper end of the interval; empty: not bounded by the data"),
    "confidence": ("number", "of the interval, 0 to 1; 1: a complete count"),
    "launches": ("integer", "independent launches behind the value"),
    "trials": ("integer", "repeated units inside those launches"),
    "method": ("string", "how value and interval were made"),
    "signature": ("string", "two values may be compared only if their signatures agree"),
    "status": ("string", "status of the dimension at the configuration"),
    "admissible": ("boolean", "whether the value may be quoted as it is"),
    "standing": (
        "string",
        "if not: `invalid`, `provisional`, `observed`; or why there is none: `refused`, `insufficient`, `not_measured`, ...",
    ),
    "reason": ("string", "that in words"),
}
KINDS: Final = {"f": "number", "i": "integer", "s": "string", "l": "array"}  # first letter of a column's type -> of Table Schema


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of the bundle."""

    path: str  # without suffix
    about: str
    columns: Sequence[Mapping[str, str]]  # field descriptors of Table Schema
    frames: Callable[[], Iterator[pl.DataFrame]]  # its rows in order; at least one frame


def bundle(subject: Subject, suffix: str, form: Mapping[str, Any], written: Callable[[Table], Iterator[bytes]]) -> Exported:
    """The files of a bundle: a table each, and the dictionary. `form`: what a resource says of its format."""
    tables = tuple(_tables(subject))
    files: dict[str, Content] = {f"{table.path}{suffix}": partial(written, table) for table in tables}
    return Exported(files={PACKAGE: _package(subject, tables, suffix, form), **files})


def _tables(subject: Subject) -> Iterator[Table]:
    columns = tuple(_column(name, kind, about) for name, (kind, about) in VALUES.items())
    yield Table(path="values", about="every metric at every configuration", columns=columns, frames=lambda: iter((values(subject),)))
    for name, table in TABLES.items():
        if not (subject.measured.sliced_steps.runs if name == "steps" else subject.measured.tables[name]).height:
            continue
        described = tuple(_column(column.name, KINDS[column.type[0]], column.meaning) for column in table.columns)
        yield Table(path=f"tables/{name}", about=f"One row is {table.row}.", columns=described, frames=partial(_raw, subject, name))


def _raw(subject: Subject, name: str) -> Iterator[pl.DataFrame]:
    columns = TABLES[name].column_names
    return subject.measured.slices(*columns) if name == "steps" else iter((subject.measured.tables[name].select(columns),))


def values(subject: Subject) -> pl.DataFrame:
    """The values as a table."""
    head = {"record": subject.head.record, "digest": subject.head.digest, "verdict": subject.head.status}
    names = [field.name for field in fields(ValueRow) if field.name != "labels"]
    rows = [{**head, **{name: getattr(row, name) for name in names}, **dict.fromkeys(PARTS), **row.labels} for row in subject.values]
    return pl.DataFrame([_series(name, kind, [row[name] for row in rows]) for name, (kind, _) in VALUES.items()])


def _series(name: str, kind: str, cells: Sequence[Any]) -> pl.Series:
    form, made = SERIES[kind]
    return pl.Series(name, [None if cell is None else made(cell) for cell in cells], dtype=form)


def _column(name: str, kind: str, about: str) -> dict[str, str]:
    stem, _, end = name.rpartition("_")
    unit = end if stem and end in ("ns", "s") else "B" if name == "bytes" or end == "bytes" else ""
    return {"name": name, "type": kind, "description": about, **({"unit": unit} if unit else {})}


def _package(subject: Subject, tables: Sequence[Table], suffix: str, form: Mapping[str, Any]) -> bytes:
    head = subject.head
    package = {
        "profile": "data-package",
        "name": "fireassay-record",
        "title": f"{head.name}: {head.status}",
        "description": head.sentence,
        "version": head.assay_version,
        "created": head.created_utc.replace("+00:00", "Z"),
        "fireassay": {
            **{name: getattr(head, name) for name in ("record", "name", "kind", "digest", "status", "standing", "standing_reason")},
            "admissible": head.admissible,
        },
        "resources": [
            {
                "name": table.path.replace("/", "-").replace("_", "-"),
                "path": f"{table.path}{suffix}",
                "description": table.about,
                **form,
                "schema": {"fields": list(table.columns)},
            }
            for table in tables
        ],
    }
    kept = {name: value for name, value in package.items() if value != ""}
    return json_text(json.dumps(kept, indent=2, ensure_ascii=False)).encode() + b"\n"
