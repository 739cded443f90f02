"""How does OpenTelemetry get a record?  Metrics with their bounds, and a load's requests as spans and histograms of the GenAI conventions.

Each file is the body of an OTLP/HTTP request in protobuf: metrics.pb goes to /v1/metrics, traces.pb to /v1/traces.  The resource of both
carries the record's digest, its verdict and what its numbers are worth; each point its interval's confidence and whether it may be
quoted.  A number that was not measured is a point without one (NO_RECORDED_VALUE), with the reason.
Of more than `spans` requests evenly spaced ones are sent; the resource says how many of how many.  Ids are made from the record's digest,
so a second export has the same.  No prompt, no answer and no address is sent.
The conventions' times begin when a request was sent, the record's metrics when it was due.

Sources: opentelemetry-proto 1.45 (field numbers), https://opentelemetry.io/docs/specs/otlp/ (paths, partial success), and the GenAI
conventions of semantic-conventions v1.41 (docs/gen-ai/gen-ai-spans.md, gen-ai-metrics.md), which are not stable yet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import polars as pl

from fireassay.errors import refuse
from fireassay.frames.record_data import RecordData
from fireassay.reports.exports.export import Export, Exported, Subject
from fireassay.reports.exports.support import tracked
from fireassay.reports.exports.support.protobuf import block, double, fixed, packed, text, whole
from fireassay.reports.exports.values import ValueRow
from fireassay.spec.plan import targets_of
from fireassay.units import NS_PER_S

METRICS, TRACES = "metrics.pb", "traces.pb"
SPANS: Final = 1_000  # by default
BATCH: Final = 500  # spans of a request, to bound memory
CONVENTIONS: Final = "https://opentelemetry.io/schemas/1.41.0"
UNITS: Final = {"s": "s", "1/s": "1/s", "J": "J", "B": "By", "B/s": "By/s", "ratio": "1", "fraction": "1"}  # UCUM; others: an annotation
OPERATIONS: Final = {
    **dict.fromkeys(("chat", "image_chat", "responses"), "chat"),
    **dict.fromkeys(("completions", "loglikelihood"), "text_completion"),
    **dict.fromkeys(("embeddings", "image_to_embeddings"), "embeddings"),
}
PROVIDERS: Final = {"azure": "azure.ai.openai", "bedrock": "aws.bedrock", "vertex": "gcp.vertex_ai", "openai_responses": "openai"}
CLIENT, ERROR, CUMULATIVE, ABSENT = 3, 2, 2, 1  # SpanKind, StatusCode, AggregationTemporality, DataPointFlags
SECONDS: Final = tuple(0.01 * 2**power for power in range(14))
TOKENS: Final = tuple(4.0**power for power in range(14))
COLUMNS: Final = (
    *("launch", "request", "phase", "session", "sent_ns", "done_ns", "status", "http_status", "error", "finish_reason"),
    *("tokens_in", "tokens_out", "tokens_reasoning", "tokens_cached"),
)


def files(subject: Subject) -> Exported:
    """Bodies of requests. Raises SpecError: the number of spans is none."""
    most = _most(subject.options.get("spans", str(SPANS)))
    metrics, requests = [*_gauges(subject)], _requests(subject.measured)
    notes: tuple[str, ...] = ()
    made: dict[str, Any] = {}
    if requests.height:
        metrics += _histograms(subject, requests.filter("counted"))
        some = requests.gather_every(-(-requests.height // most)) if most else requests.clear()
        notes = (f"spans of {some.height:,} of {requests.height:,} requests; --option spans=N changes that.",)
        made[TRACES] = partial(_spans, subject, some, requests.height)
    return Exported(files={METRICS: _resource(subject, {}, block(2, _scope(subject), *metrics)), **made}, notes=notes)


def _most(given: str) -> int:
    if not given.isdecimal() or len(given) > 9:
        raise refuse("--option spans", repr(given), "a whole number, 0 or more", source="the command line")
    return int(given)


def _scope(subject: Subject) -> bytes:
    return block(1, text(1, "fireassay"), text(2, subject.head.assay_version)) + text(3, CONVENTIONS)


def _resource(subject: Subject, more: Mapping[str, Any], *scoped: bytes) -> bytes:
    """`ResourceSpans` or `ResourceMetrics`, in the field that both requests have it in."""
    known = {"service.name": "fireassay", **tracked.facts(subject.head), **more}
    return block(1, block(1, _attributes(1, known)), *scoped)


def _attributes(field: int, values: Mapping[str, Any]) -> bytes:
    """`KeyValue`s; what is None is left out."""
    return b"".join(block(field, text(1, name), block(2, _any(value))) for name, value in values.items() if value is not None)


def _any(value: Any) -> bytes:
    if isinstance(value, bool):
        return whole(2, value)
    if isinstance(value, int):
        return whole(3, value)
    if isinstance(value, float):
        return double(4, value)
    return block(5, *(block(1, _any(one)) for one in value)) if isinstance(value, list) else text(1, str(value))


# ---- the record's metrics --------------------------------------------------------------------------------------------


def _gauges(subject: Subject) -> Iterator[bytes]:
    """A gauge for each metric, and one for each of its bounds."""
    at = tracked.ns(subject.head.created_utc)
    by_metric: dict[str, list[ValueRow]] = {}
    for row in subject.values:
        by_metric.setdefault(row.metric, []).append(row)
    for name, rows in by_metric.items():
        about = text(2, rows[0].title) + text(3, UNITS.get(rows[0].unit, f"{{{rows[0].unit}}}"))
        for end, of in (("", "value"), (".low", "low"), (".high", "high")):
            known = rows if not end else [row for row in rows if row.value is not None]
            points = (block(1, _point(row, getattr(row, of), at)) for row in known)
            yield block(2, text(1, f"fireassay.{name}{end}"), about, block(5, *points))


def _point(row: ValueRow, number: float | None, at: int) -> bytes:
    known = {
        "configuration": row.configuration,
        **row.labels,
        "status": row.status,
        "admissible": row.admissible,
        "standing": row.standing or None,
        "reason": row.reason or None,
        "confidence": row.confidence,
    }
    value = whole(8, ABSENT) if number is None else double(4, number)
    return _attributes(7, {f"fireassay.{name}": value for name, value in known.items()}) + fixed(3, at) + value


# ---- requests --------------------------------------------------------------------------------------------------------


def _requests(measured: RecordData) -> pl.DataFrame:
    """Every request that was sent and ended, with its times since 1970; none of a record that lacks times of day."""
    raw = measured.table("requests")
    if measured.timeless or measured.experiment.serving is None or not raw.height:
        return raw.clear()
    begun = [
        (row["launch"], row["configuration"], tracked.ns(row["begin_utc"]) - row["begin_ns"])
        for row in measured.table("launches").iter_rows(named=True)
    ]
    launches = pl.DataFrame(begun, schema={"launch": pl.Int32, "configuration": pl.String, "offset": pl.Int64}, orient="row")
    sent = raw.filter(pl.col("sent_ns").is_not_null() & (pl.col("done_ns") >= pl.col("sent_ns")))
    counted = measured.counted_requests.select("launch", "request", counted=True)
    return (
        sent.select(
            *COLUMNS, first_s=pl.col("chunk_ns").list.first() / NS_PER_S, seconds=(pl.col("done_ns") - pl.col("sent_ns")) / NS_PER_S
        )
        .join(launches, on="launch", maintain_order="left")
        .join(counted, on=["launch", "request"], how="left", maintain_order="left")
        .with_columns(
            pl.col("counted").fill_null(False),
            begin=pl.col("sent_ns") + pl.col("offset"),
            end=pl.col("done_ns") + pl.col("offset"),
            failed=pl.when(pl.col("status") != "ok").then(pl.coalesce(pl.col("http_status").cast(pl.String), "status")),
        )
    )


def _asked(measured: RecordData, configuration: str) -> dict[str, Any]:
    """Attributes that all requests of a configuration share."""
    serving = measured.experiment.serving
    assert serving is not None
    of = {one.name: one.target for one in measured.varied}
    target = next((one for one in targets_of(serving) if one.name == of.get(configuration)), targets_of(serving)[0])
    return {
        "gen_ai.operation.name": OPERATIONS.get(serving.task, serving.task),
        "gen_ai.provider.name": PROVIDERS.get(target.backend, target.backend),
        "gen_ai.request.model": target.model or serving.model or None,
        "fireassay.configuration": configuration,
    }


def _spans(subject: Subject, requests: pl.DataFrame, of: int) -> Iterator[bytes]:
    """`ResourceSpans` of some requests each; together they are one request's body, and each is."""
    shared = {name: _asked(subject.measured, name) for name in requests["configuration"].unique()}
    said = {"fireassay.spans.exported": requests.height, "fireassay.spans.of": of}
    for some in requests.iter_slices(BATCH):
        spans = (block(2, _span(row, shared[row["configuration"]], subject.head.digest)) for row in some.iter_rows(named=True))
        yield _resource(subject, said, block(2, _scope(subject), *spans))


def _span(row: Mapping[str, Any], asked: Mapping[str, Any], digest: str) -> bytes:
    known = {
        **asked,
        "gen_ai.conversation.id": None if row["session"] is None else f"{row['launch']}/{row['session']}",
        "gen_ai.response.finish_reasons": [row["finish_reason"]] if row["finish_reason"] else None,
        "gen_ai.response.time_to_first_chunk": row["first_s"],
        "gen_ai.usage.input_tokens": row["tokens_in"],
        "gen_ai.usage.output_tokens": row["tokens_out"],
        "gen_ai.usage.reasoning.output_tokens": row["tokens_reasoning"],
        "gen_ai.usage.cache_read.input_tokens": row["tokens_cached"],
        "error.type": row["failed"],
        "fireassay.launch": row["launch"],
        "fireassay.request": row["request"],
        "fireassay.phase": row["phase"],
        "fireassay.counted": row["counted"],
    }
    made = hashlib.sha256(f"{digest}/{row['launch']}/{row['request']}".encode()).digest()
    name = " ".join(filter(None, (asked["gen_ai.operation.name"], asked["gen_ai.request.model"])))
    status = block(15, text(2, row["error"] or row["status"]), whole(3, ERROR)) if row["failed"] else b""
    times = fixed(7, row["begin"]) + fixed(8, row["end"])
    return block(1, made[:16]) + block(2, made[16:24]) + text(5, name) + whole(6, CLIENT) + times + _attributes(9, known) + status


def _histograms(subject: Subject, requests: pl.DataFrame) -> Iterator[bytes]:
    """The conventions' metrics, over the requests of the measured windows."""
    ok = requests.filter(pl.col("failed").is_null())
    answered = {"error.type": "failed"}
    yield from _histogram(subject, "gen_ai.client.operation.duration", "s", SECONDS, (requests, "seconds", answered, {}))
    yield from _histogram(subject, "gen_ai.client.operation.time_to_first_chunk", "s", SECONDS, (ok, "first_s", {}, {}))
    usage: list[Part] = [(ok, f"tokens_{way}", {}, {"gen_ai.token.type": f"{way}put"}) for way in ("in", "out")]
    yield from _histogram(subject, "gen_ai.client.token.usage", "{token}", TOKENS, *usage)


Part = tuple[pl.DataFrame, str, Mapping[str, str], Mapping[str, str]]  # requests, column, attribute -> its column, fixed attributes


def _histogram(subject: Subject, name: str, unit: str, bounds: Sequence[float], *parts: Part) -> Iterator[bytes]:
    points = []
    for requests, column, by, fixed_ones in parts:
        known = requests.filter(pl.col(column).is_not_null())
        for key, rows in known.group_by("configuration", *by.values(), maintain_order=True):
            told = {**_asked(subject.measured, str(key[0])), **dict(zip(by, key[1:], strict=True)), **fixed_ones}
            told["fireassay.standing"] = subject.head.standing or None
            first, last = rows.select(pl.col("begin").min(), pl.col("end").max()).row(0)
            points.append(
                block(1, _attributes(9, told), fixed(2, first) + fixed(3, last), _counted(rows[column].cast(pl.Float64).to_numpy(), bounds))
            )
    if points:
        yield block(2, text(1, name), text(3, unit), block(9, *points, whole(2, CUMULATIVE)))


def _counted(values: Any, bounds: Sequence[float]) -> bytes:
    """Counts of the buckets (bound before, bound]; the last is open."""
    counts = np.bincount(np.searchsorted(bounds, values, side="left"), minlength=len(bounds) + 1)
    sums = fixed(4, len(values)) + double(5, float(values.sum())) + double(11, float(values.min())) + double(12, float(values.max()))
    return sums + packed(6, "Q", counts.tolist()) + packed(7, "d", bounds)


EXPORT = Export(
    name="otlp",
    title="OpenTelemetry",
    summary="metrics and spans of sampled requests (GenAI conventions); OTLP to an address",
    options={"spans": f"at most so many spans ({SPANS:,})"},
    files=files,
)
