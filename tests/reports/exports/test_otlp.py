"""OpenTelemetry's own classes read every number, its bounds, and the spans of requests."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import polars as pl
import pytest

from fireassay.errors import SpecError
from fireassay.record.files import pieces
from fireassay.reports.exports import otlp
from fireassay.reports.exports.export import Subject
from tests.exporting import opentelemetry


def metrics(subject: Subject) -> Any:
    """The metrics that are sent."""
    body = b"".join(pieces(otlp.files(subject).files["metrics.pb"]))
    (sent,) = opentelemetry("collector.metrics").ExportMetricsServiceRequest.FromString(body).resource_metrics
    return sent


def spans(subject: Subject, **options: str) -> list[Any]:
    """The spans that are sent."""
    body = b"".join(pieces(otlp.files(replace(subject, options=options)).files["traces.pb"]))
    sent = opentelemetry("collector.trace").ExportTraceServiceRequest.FromString(body).resource_spans
    return [span for resource in sent for scope in resource.scope_spans for span in scope.spans]


def told(attributes: Any) -> dict[str, Any]:
    """Attributes as plain values."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


@pytest.mark.parametrize("made", ["training", "late"])
def test_every_number_is_a_point_with_its_bounds_and_its_worth(made: str, request: pytest.FixtureRequest) -> None:
    subject: Subject = request.getfixturevalue(made)
    sent = metrics(subject)
    points = {
        (metric.name, told(point.attributes)["fireassay.configuration"]): point
        for metric in sent.scope_metrics[0].metrics
        for point in metric.gauge.data_points
    }
    for metric in subject.document["metrics"]:
        for end, number in (("", metric.get("value")), (".low", metric.get("low")), (".high", metric.get("high"))):
            if end and metric.get("value") is None:
                continue
            point = points.pop((f"fireassay.{metric['metric']}{end}", metric["configuration"]))
            assert (point.as_double if point.WhichOneof("value") else None) == number
            assert point.flags == (number is None)  # NO_RECORDED_VALUE
            known = told(point.attributes)
            stands = metric.get("value") is not None and metric["standing"] is None and known["fireassay.status"] != "INVALID"
            assert known["fireassay.admissible"] is stands
            assert known.get("fireassay.confidence") == metric.get("confidence")
            if not metric["measured"]:
                assert (known["fireassay.standing"], known["fireassay.reason"]) == (metric["reason"], metric["detail"])
    assert not points
    resource = told(sent.resource.attributes)
    assert resource["fireassay.status"] == subject.document["verdict"]["status"]
    assert resource["fireassay.digest"] == subject.head.digest
    assert resource["fireassay.standing"] == ("invalid" if made == "late" else "")


def test_a_span_is_a_request_at_its_own_time(late: Subject) -> None:
    raw = late.measured.table("requests").filter(pl.col("sent_ns").is_not_null())
    launches = {row["launch"]: row for row in late.measured.table("launches").iter_rows(named=True)}
    found = {(told(span.attributes)["fireassay.launch"], told(span.attributes)["fireassay.request"]): span for span in spans(late)}
    assert len(found) == raw.height
    for row in raw.iter_rows(named=True):
        launch, span = launches[row["launch"]], found[row["launch"], row["request"]]
        since = round(datetime.fromisoformat(launch["begin_utc"]).timestamp() * 1e6) * 1_000 - launch["begin_ns"]
        assert span.start_time_unix_nano == row["sent_ns"] + since
        assert span.end_time_unix_nano - span.start_time_unix_nano == row["done_ns"] - row["sent_ns"]
        known = told(span.attributes)
        assert (span.name, span.kind, known["gen_ai.operation.name"]) == (f"chat {known['gen_ai.request.model']}", 3, "chat")
        assert (known.get("gen_ai.usage.input_tokens"), known.get("gen_ai.usage.output_tokens")) == (row["tokens_in"], row["tokens_out"])
        assert known.get("error.type") == (None if row["status"] == "ok" else "500")
        assert span.status.code == (0 if row["status"] == "ok" else 2)
    assert len({span.trace_id for span in found.values()}) == len({span.span_id for span in found.values()}) == len(found)


def test_ids_are_the_same_again_and_others_of_another_record(late: Subject) -> None:
    ids = [span.trace_id for span in spans(late)]
    assert [span.trace_id for span in spans(late)] == ids
    other = Subject(view=replace(late.view, seal="f" * 64))
    assert not {span.trace_id for span in spans(other)} & set(ids)


def test_a_sample_is_bounded_and_says_of_how_many(late: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "BATCH", 4)
    every, some = len(spans(late)), len(spans(late, spans="10"))
    assert 5 <= some <= 10
    exported = otlp.files(replace(late, options={"spans": "10"}))
    assert exported.notes == (f"spans of {some} of {every} requests; --option spans=N changes that.",)
    each = [opentelemetry("collector.trace").ExportTraceServiceRequest.FromString(piece) for piece in pieces(exported.files["traces.pb"])]
    assert all(len(one.resource_spans[0].scope_spans[0].spans) <= 4 for one in each)
    assert {told(one.resource_spans[0].resource.attributes)["fireassay.spans.of"] for one in each} == {every}
    assert spans(late, spans="0") == []


@pytest.mark.parametrize("number", ["-1", "1e3", "many", "", "9" * 30])
def test_a_number_of_spans_that_is_none_is_refused(late: Subject, number: str) -> None:
    with pytest.raises(SpecError, match="a whole number, 0 or more"):
        spans(late, spans=number)


def test_histograms_count_the_requests_of_the_measured_windows(late: Subject) -> None:
    by_name = {metric.name: metric for metric in metrics(late).scope_metrics[0].metrics}
    counted = late.measured.counted_requests
    seconds = ((counted["done_ns"] - counted["sent_ns"]) / 1e9).to_list()
    points = by_name["gen_ai.client.operation.duration"].histogram.data_points
    assert {told(point.attributes).get("error.type") for point in points} == {None, "500"}
    assert sum(point.count for point in points) == counted.height
    assert sum(point.sum for point in points) == pytest.approx(sum(seconds))
    limits = [0.01 * 2**power for power in range(14)]
    buckets = [sum(point.bucket_counts[index] for point in points) for index in range(15)]
    inside = [sum(low < one <= high for one in seconds) for low, high in zip([-1.0, *limits], [*limits, 1e9], strict=True)]
    assert buckets == inside
    usage = {told(point.attributes)["gen_ai.token.type"]: point for point in by_name["gen_ai.client.token.usage"].histogram.data_points}
    assert usage["output"].sum == counted.filter("ok")["tokens_out"].sum()
    assert {told(point.attributes)["fireassay.standing"] for point in points} == {"invalid"}


def test_names_are_those_of_the_published_conventions(late: Subject) -> None:
    conventions = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    known = {value for name, value in vars(conventions).items() if name.startswith("GEN_AI_")}
    used = {name for span in spans(late) for name in told(span.attributes) if name.startswith("gen_ai.")}
    assert used <= known
    assert {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"} <= used


def test_a_training_has_metrics_and_no_spans(training: Subject) -> None:
    assert list(otlp.files(training).files) == ["metrics.pb"]
