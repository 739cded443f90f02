"""What does the view of timed collectives show in addition to that of every record?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import polars as pl

from fireassay.estimates.format import count, given
from fireassay.frames.links.collective_calls import asked_cells
from fireassay.frames.links.pairs import of_record
from fireassay.frames.record_data import RecordData
from fireassay.reports.rows.conditions import requested
from fireassay.reports.rows.types import Fact, View
from fireassay.reports.view import KindView
from fireassay.reports.words import UNSAID
from fireassay.verdict.judge import Judgement

LEFT_OUT: Final = ("Scaling", "Quality", "Gates", "Faults")  # conditions that collectives do not have


def _conditions(measured: RecordData, base: str) -> Mapping[str, str]:
    """The timed operations and the engine that carried them, in the workers' own words."""
    spec = measured.experiment.collectives_requested
    sizes = spec.every_size
    details = measured.table("events").filter(pl.col("kind") == "engine")["detail"]
    engine = json.loads(details[0]) if len(details) else {}
    words = {"backend": spec.backend, **{key: value for key, value in engine.items() if value is not None}}
    return {
        **{name: text for name, text in requested(measured, base).items() if name not in LEFT_OUT},
        "Workload": f"{', '.join(spec.operations)} of {spec.dtype}, {count(len(sizes), 'sizes')} from {sizes[0]} to {sizes[-1]} bytes",
        "Calls": f"{spec.warm_up} for warm-up; loops of at most {spec.calls} back to back after a barrier, at least {spec.batches}, "
        f"about {given(spec.seconds)} s of each size; the slowest rank; through {given(spec.memory_mib)} MiB of memory",
        "Engine": "; ".join(f"{key} {value}" for key, value in words.items()),
    }


def _fields(view: View, measured: RecordData, _: Judgement) -> Mapping[str, Any]:
    foreign = (*view.foreign, *_imported(measured.foreign)) if measured.foreign is not None else ()
    return {"collectives": asked_cells(measured), "pairs": of_record(measured), "foreign": foreign}


def _imported(foreign: Mapping[str, Any]) -> Iterator[Fact]:
    meanings = foreign.get("meanings") or {}
    yield Fact(name="Time", text=f"{meanings.get('time', UNSAID)}; over the ranks: {meanings.get('rank', UNSAID)}")
    yield Fact(name="Data checked", text=str(meanings.get("check", UNSAID)))
    yield from (Fact(name="Not stated", text=str(words)) for words in foreign.get("missing") or ())
    yield from (Fact(name="Contradiction", text=str(words)) for words in foreign.get("doubts") or ())


VIEW = KindView(conditions=_conditions, fields=_fields)
