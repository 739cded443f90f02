"""Which numbers leave a record, and what is each worth?  One flat form, from which every exporter takes them.

A row is a metric at a configuration, with its interval, the status of its dimension there, and whether it may be quoted: of an INVALID
record, of a refused comparison and of a record with too few launches it may not, and says why.  What was not measured has no value: None,
never 0.  Taken from the published document (`assay-report/1`), so a target shows the numbers that `assay report --json` prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fireassay.metrics.metric import ALL

UNSEALED: Final = "unsealed"  # in place of the digest of a record without a seal
INVALID: Final = "invalid"


@dataclass(frozen=True, kw_only=True)
class Head:
    """What is known of the record whose numbers leave."""

    record: str  # id
    name: str  # of the experiment
    kind: str  # "serving"
    digest: str  # SHA-256 of the sealed manifest, or `UNSEALED`
    status: str  # "PASS"
    sentence: str  # that may be quoted
    standing: str  # what its numbers are worth: "invalid", "provisional", "observed"; empty where they stand
    standing_reason: str  # in a few words
    created_utc: str
    assay_version: str

    @property
    def admissible(self) -> bool:
        """True if its numbers may be quoted as they are."""
        return not self.standing


@dataclass(frozen=True, kw_only=True)
class ValueRow:
    """A metric at a configuration; the fields' order is that of the columns of tables."""

    metric: str
    title: str  # for people
    dimension: str
    configuration: str  # its key, or `ALL`
    labels: Mapping[str, str]  # what the key is made of: engine, scenario, load, workers; op, place, bytes
    unit: str
    better: str  # "higher", "lower" or "neither"
    value: float | None  # None: not measured, or not finite
    low: float | None  # None: not bounded by the data
    high: float | None
    confidence: float | None  # 0..1
    launches: int | None
    trials: int | None
    method: str
    signature: str  # two values may be compared only if theirs agree
    status: str  # of the dimension at the configuration, or of the record
    admissible: bool  # may be quoted as it is
    standing: str  # "invalid", "provisional", "observed", or why it is absent: "refused", "not_measured", ...; empty if admissible
    reason: str  # in words


def head(document: Mapping[str, Any], kind: str) -> Head:
    """The record of a document `assay-report/1`."""
    record, verdict = document["record"], document["verdict"]
    return Head(
        record=record["id"],
        name=record["name"],
        kind=kind,
        digest=record["seal"] or UNSEALED,
        status=verdict["status"],
        sentence=verdict["sentence"],
        standing=verdict["standing"] or "",
        standing_reason=verdict["standing_reason"] or "",
        created_utc=record["created_utc"],
        assay_version=record["assay_version"],
    )


def rows(document: Mapping[str, Any], labels: Mapping[str, Mapping[str, str]]) -> Iterator[ValueRow]:
    """Every metric of a document at every configuration, in its order. `labels`: of each configuration's key."""
    verdict = document["verdict"]
    statuses = {(one["configuration"], one["dimension"]): one["status"] for one in document["dimensions"]}
    for metric in document["metrics"]:
        status = statuses.get((metric["configuration"], metric["dimension"]), verdict["status"])
        standing, reason = _standing(metric, verdict, status)
        yield ValueRow(
            **{name: metric[name] for name in ("metric", "title", "dimension", "configuration", "unit", "better")},
            labels=labels.get(metric["configuration"], {}),
            **{name: metric.get(name) for name in ("value", "low", "high", "confidence")},
            launches=metric.get("n_launches"),
            trials=metric.get("n_trials"),
            method=metric.get("method", ""),
            signature=metric.get("signature", ""),
            status=status,
            admissible=not standing,
            standing=standing,
            reason=reason,
        )


def _standing(metric: Mapping[str, Any], verdict: Mapping[str, Any], status: str) -> tuple[str, str]:
    """Why a value may not be quoted: a word, and the reason in words; both empty if it may."""
    if not metric["measured"]:
        return metric["reason"], metric["detail"]
    if verdict["standing"]:
        return verdict["standing"], verdict["standing_reason"] or ""
    if status == INVALID.upper():
        return INVALID, f"{metric['dimension']} is INVALID at this configuration"
    return ("undefined", "not finite") if metric["value"] is None else ("", "")


def labels_of(document: Mapping[str, Any], columns: Mapping[str, Mapping[str, object]]) -> dict[str, dict[str, str]]:
    """Key of each configuration -> what it is made of, as text. `columns`: of each column of the report."""
    cells = {one["configuration"]: one for one in document.get("collectives", ())}
    made = {**columns, **{key: {name: cell[name] for name in ("workers", "op", "place", "bytes")} for key, cell in cells.items()}}
    return {
        key: {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in parts.items() if value not in (None, "")}
        for key, parts in made.items()
        if key != ALL
    }
