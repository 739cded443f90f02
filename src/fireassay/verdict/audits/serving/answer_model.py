"""Did the requested model give the answers?

Answers name their model. Another name than requested is a warning: an alias, a gateway's fallback, or an engine that ignores the name. The
same name with a prefix before a slash (organisation, folder) or a suffix after a hyphen, colon or at sign (date, version, adapter) is a
note. Answers by several models are a note too, unless one of them is another model. Source: the event `answer_models`. Cannot tell: a model
that answers under another's name.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import some
from fireassay.verdict.types import Finding

EVENT: Final = "answer_models"
VERSION: Final = ("-", ":", "@")  # separators before a date, a version, an adapter
REMEDY: Final = "name the model as the engine does (`assay load URL --check` shows how), or check where the requests go"


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """At most one finding per configuration."""
    launches = measured.table("launches").filter(pl.col("status") == "ok").select("launch", "configuration")
    events = measured.table("events").filter(pl.col("kind") == EVENT).join(launches, on="launch").sort("launch")
    for name in measured.configurations:
        requested, answered = "", Counter[str]()
        for detail in events.filter(pl.col("configuration") == name)["detail"]:
            requested, counts = _reported(detail)
            answered.update(counts)
        if requested and set(answered) - {requested}:
            yield _named(name, requested, answered)


def _reported(detail: str) -> tuple[str, dict[str, int]]:
    """The requested model and answers per reported model; skips values that are not counts, since a record may be written by anyone."""
    event = json.loads(detail)
    answered = event.get("answered") if isinstance(event, dict) else None
    if not isinstance(answered, dict):
        return "", {}
    return str(event.get("asked", "")), {name: n for name, n in answered.items() if type(n) is int and n > 0}


def _named(configuration: str, requested: str, answered: Counter[str]) -> Finding:
    others = [(name, answers) for name, answers in answered.most_common() if name != requested]
    alien = [model for model in others if not a_form_of(model[0], requested)]
    shown = some([f'"{name}" ({count(answers, "answers")})' for name, answers in alien or others])
    whole = count(answered.total(), "answers")
    evidence = f'"{requested}" was requested; of {whole} that name their model, others are by {shown}'
    return Finding("another_model" if alien else "model_by_another_name", "warning" if alien else "note", configuration, evidence, REMEDY)


def a_form_of(one: str, other: str) -> bool:
    """Whether two names differ only in folder and version."""
    short, long = sorted((_stem(one), _stem(other)), key=len)
    return short == long or long.startswith(tuple(short + mark for mark in VERSION))


def _stem(name: str) -> str:
    return name.lower().rstrip("/").rsplit("/", 1)[-1]


AUDIT = Audit(
    name="answer_model",
    title="answers by another model",
    question="Did the requested model give the answers?",
    examine=examine,
    about=("serving",),
)
