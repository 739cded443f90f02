"""Which collectives were asked for, and what carried them?"""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from assay.frames.record_data import Measured
from assay.metrics.base import Results
from assay.spec.sections.collectives import asked_of
from assay.verdict.conditions.condition import Read


def engine(key: str) -> Read:
    """What carried the collectives, as their workers told it, or as far as another program's file does."""

    def read(measured: Measured, _: Results) -> Any:
        if measured.kind.name != "collectives":
            return None
        if measured.foreign is not None:
            return (measured.foreign.get("meanings") or {}).get(key)
        told = measured.table("events").filter(pl.col("kind") == "engine")["detail"]
        found = json.loads(told[0]).get(key) if len(told) else None
        return "chosen by the engine" if found is None and key == "interface" and len(told) else found

    return read


def asked(key: str) -> Read:
    """A key of what was asked for; nothing of records that time no collectives."""

    def read(measured: Measured, _: Results) -> Any:
        return getattr(asked_of(measured.experiment), key) if measured.kind.name == "collectives" else None

    return read
