"""Clean records of loads, to be broken in one place by each test, and what an audit says of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl

from fireassay import catalog
from fireassay.frames.record_data import RecordData
from fireassay.verdict.types import Finding
from tests.serving_made import ServingMade, simulated


def clean(**how: Any) -> RecordData:
    """A simulated record in which everything is right: 3 launches at 8 requests/s, 20 s each, canaries in a tenth."""
    return simulated(**{"rate": (8.0,), "canaries": 0.1, "seed": 1, **how}).measured()


def changed(measured: RecordData, table: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> RecordData:
    """The record with one table changed."""
    return replace(measured, tables={**measured.tables, table: change(measured.tables[table])})


def found(audit: str, measured: RecordData, results: Any = None) -> tuple[Finding, ...]:
    """What one audit finds."""
    return tuple(catalog.load("verdict.audits", audit).examine(measured, results or {}))


def rules(audit: str, measured: RecordData, results: Any = None) -> list[tuple[str, str]]:
    """(rule, severity) of what one audit finds."""
    return [(one.rule, one.severity) for one in found(audit, measured, results)]


def blind(audit: str, measured: RecordData) -> str | None:
    """Why an audit cannot examine a record; None: it can."""
    reason = catalog.load("verdict.audits", audit).blind(measured, {})
    assert reason is None or isinstance(reason, str)
    return reason


def steady(made: ServingMade, *, per_launch: int = 100, every_s: float = 0.05, configuration: str = "", **row: Any) -> None:
    """The same requests, evenly spaced, in one launch per block."""
    for block in range(made.experiment.launches.per_configuration):
        launch = made.launch(configuration, block=block)
        for place in range(per_launch):
            made.request(launch, place * every_s, **row)
