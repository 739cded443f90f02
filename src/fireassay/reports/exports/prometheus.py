"""How do Prometheus and Grafana see a record?  As gauges in Prometheus' text form, which is also valid OpenMetrics.

    fireassay_record_info{experiment,record,kind,digest,status,standing,reason,sentence,version}  1
    fireassay_record_created_timestamp_seconds{experiment,digest}
    fireassay_verdict_info{experiment,digest,configuration,dimension,status}                      1
    fireassay_METRIC_UNIT{experiment,digest,configuration,...,status,standing}                    the value
    fireassay_METRIC_low_UNIT, fireassay_METRIC_high_UNIT{..., confidence}                        its interval; infinite where the data do not bound it
    fireassay_absent_info{experiment,digest,configuration,metric,reason}                          1; the metric has no value, and no other series

`standing` is "ok", or why a value must not be quoted: "invalid", "provisional", "observed".  Samples have no time stamps, as node_exporter's
textfile collector wants it, and gauges carry no exemplars in OpenMetrics: the digest is a label.  Label names that start with `fireassay` are ours.
Sources: the text format 0.0.4 and OpenMetrics 1.0 of prometheus.io; base units and the unit as last part of a name as its naming practice says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Final

from fireassay.printable import one_line
from fireassay.reports.exports.export import Export, Exported, Subject
from fireassay.reports.exports.values import ValueRow

WORDS: Final = {  # of units that are not words already
    "s": "seconds",
    "B": "bytes",
    "J": "joules",
    "g": "grams",
    "fraction": "ratio",
    "FLOP": "flops",
    "1": "",
    "count": "",
    "score": "",
}
Labels = Mapping[str, str]
Samples = dict[str, tuple[str, list[str]]]  # family -> its help, its lines


def text(subject: Subject) -> str:
    """The whole file."""
    families: Samples = {}
    for name, help, labels, value in _samples(subject):
        inside = ",".join(f'{key}="{_escaped(one_line(word))}"' for key, word in labels.items() if word)
        families.setdefault(name, (help, []))[1].append(f"{name}{{{inside}}} {_number(value)}")
    return "".join(_family(name, help, lines) for name, (help, lines) in families.items()) + "# EOF\n"


def _family(name: str, help: str, lines: list[str]) -> str:
    own = dict.fromkeys(lines)  # a configuration is listed once, whatever a record says
    return "\n".join((f"# HELP {name} {_escaped(one_line(help))}", f"# TYPE {name} gauge", *own, ""))


def _samples(subject: Subject) -> Iterator[tuple[str, str, Labels, float]]:
    head = subject.head
    every = {"experiment": head.name, "digest": head.digest}
    about = {"record": head.record, "kind": head.kind, "status": head.status, "standing": head.standing or "ok"}
    words = {"reason": head.standing_reason, "sentence": head.sentence, "version": head.assay_version}
    yield "fireassay_record_info", "An exported record: its verdict, and the SHA-256 of its seal.", {**every, **about, **words}, 1.0
    with suppress(ValueError):  # of a record that was put together by hand
        created = datetime.fromisoformat(head.created_utc).timestamp()
        yield "fireassay_record_created_timestamp_seconds", "When the record was begun, Unix time.", every, created
    for one in subject.document["dimensions"]:
        where = {"configuration": one["configuration"], "dimension": one["dimension"], "status": one["status"]}
        yield "fireassay_verdict_info", "The status of a dimension of a configuration.", {**every, **where}, 1.0
    for row in subject.values:
        yield from _of_row(row, {**every, "configuration": row.configuration, **row.labels})


def _of_row(row: ValueRow, at: Labels) -> Iterator[tuple[str, str, Labels, float]]:
    if row.value is None:
        where = {**at, "metric": row.metric, "reason": row.standing}
        yield "fireassay_absent_info", "A metric without a value, and why.", where, 1.0
        return
    stem, *unit = name_of(row.metric, row.unit)
    own = {} if stem == f"fireassay_{row.metric}" else {"metric": row.metric}  # whose name had to be changed
    labels = {**at, **own, "status": row.status, "standing": row.standing or "ok"}
    ends = {**labels, "confidence": f"{row.confidence:g}"}
    yield "_".join((stem, *unit)), row.title, labels, row.value
    yield "_".join((stem, "low", *unit)), f"Lower end of the interval: {row.title}", ends, -math.inf if row.low is None else row.low
    yield "_".join((stem, "high", *unit)), f"Upper end of the interval: {row.title}", ends, math.inf if row.high is None else row.high


def name_of(metric: str, unit: str) -> tuple[str, ...]:
    """The name of a series without its unit, and the unit in words; only the first if the unit is none: `("fireassay_ttft_p50", "seconds")`."""
    above, _, below = unit.partition("/")
    words = [WORDS.get(above, above), *(("per", {"s": "second", "B": "byte", "J": "joule"}.get(below, below)) if below else ())]
    last = _plain("_".join(word for word in words if word)).lower()
    stem = f"fireassay_{_plain(metric)}"
    return (stem, last) if last and not stem.endswith(f"_{last}") else (stem,)


def _plain(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_]+", "_", name)


def _escaped(words: str) -> str:
    return words.replace("\\", "\\\\").replace('"', '\\"')


def _number(value: float) -> str:
    return repr(value) if math.isfinite(value) else "+Inf" if value > 0 else "-Inf"


def files(subject: Subject) -> Exported:
    """The file."""
    return Exported(files={"fireassay.prom": text(subject)})


EXPORT = Export(
    name="prometheus",
    title="Prometheus",
    summary="a file for node_exporter's textfile collector; to an address: a push gateway",
    suffix=".prom",
    files=files,
)
