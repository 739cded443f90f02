"""A record as an exporter gets it."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fireassay.frames.record_data import RecordData
from fireassay.metrics.results import LazyResults
from fireassay.reports.build_view import build
from fireassay.reports.exports.export import Subject
from fireassay.verdict.judge import judge


def unjudged(measured: RecordData) -> Subject:
    """With its metrics alone, for exporters that ask for no verdict."""
    return cast(Any, SimpleNamespace(measured=measured, results=LazyResults(measured)))


def subject(measured: RecordData, **options: str) -> Subject:
    """With its verdict."""
    return Subject(view=build(measured, judge(measured)), options=options)


def opentelemetry(part: str) -> Any:
    """Its own classes: trace, metrics, common; or those of a request: collector.trace, collector.metrics."""
    *above, last = part.split(".")
    suffix = f"{last}_service" if above else last
    return pytest.importorskip(f"opentelemetry.proto.{part}.v1.{suffix}_pb2")


def tracked(document: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Configuration -> name in a tracker -> number, worked out from the published document."""
    void = {(one["configuration"], one["dimension"]) for one in document["dimensions"] if one["status"] == "INVALID"}
    made: dict[str, dict[str, float]] = {}
    for one in document["metrics"]:
        if one["measured"] and one["value"] is not None:
            standing = one["standing"] or ("invalid" if (one["configuration"], one["dimension"]) in void else "")
            name = f"{standing}/{one['metric']}" if standing else one["metric"]
            ends = {"": one["value"], ".low": one["low"], ".high": one["high"]}
            made.setdefault(one["configuration"], {}).update({f"{name}{end}": number for end, number in ends.items() if number is not None})
    return made
