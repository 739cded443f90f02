"""A record as an exporter gets it."""

from __future__ import annotations

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
