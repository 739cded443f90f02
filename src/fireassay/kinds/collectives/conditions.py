"""Which collectives were requested, and which engine carried them?"""

from __future__ import annotations

import json
from functools import partial
from typing import Any, Final

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.conditions import facts
from fireassay.verdict.conditions.condition import Condition, Read
from fireassay.verdict.conditions.declare import EVENTS, IMPORT, identity


def engine(key: str) -> Read:
    """A fact about the engine of the collectives, as reported by the workers or by an imported file."""

    def read(measured: RecordData, _: Results) -> Any:
        if not measured.kind.sweeps:
            return None
        if measured.foreign is not None:
            return (measured.foreign.get("meanings") or {}).get(key)
        details = measured.table("events").filter(pl.col("kind") == "engine")["detail"]
        value = json.loads(details[0]).get(key) if len(details) else None
        return "chosen by the engine" if value is None and key == "interface" and len(details) else value

    return read


def requested(key: str) -> Read:
    """A requested setting; None for records that time no collectives."""

    def read(measured: RecordData, _: Results) -> Any:
        return getattr(measured.experiment.collectives_requested, key) if measured.kind.sweeps else None

    return read


_identity = partial(identity, about=("collectives",))

CONDITIONS: Final[tuple[Condition, ...]] = (
    _identity("collectives.machine", "another machine or network gives another result", facts.unseen("collectives"), IMPORT),
    _identity("collectives.backend", "each backend has its own algorithms and transports", engine("backend"), EVENTS),
    _identity("collectives.convention", "busbw is comparable only under one definition", engine("convention"), EVENTS, absent="note"),
    _identity("collectives.interface", "another network has another speed", engine("interface"), EVENTS, absent="note"),
    _identity("collectives.dtype", "reduction time depends on the element type", requested("dtype")),
    _identity("collectives.memory_mib", "buffers that fit into a cache are faster", requested("memory_mib")),
    _identity("collectives.device", "another device has another speed", engine("device"), EVENTS, absent="note"),
    _identity("collectives.nccl", "algorithms change between releases", engine("nccl"), EVENTS, absent="note"),
)
