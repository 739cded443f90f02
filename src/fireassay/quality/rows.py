"""How do answers and their scores become rows?  As record batches: an evaluation may have hundreds of thousands."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from fireassay.quality.scoring import scoring
from fireassay.quality.scoring.items import Extraction, Item
from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.batch_writer import BatchWriter

if TYPE_CHECKING:
    import pyarrow

AT_ONCE: Final = 8192  # rows of one batch
PROPER: Final = "ok"  # the outcome of an item that was answered


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """An item with its one outcome."""

    item: Item
    repetition: int
    outcome: str
    text: str | None
    extraction: Extraction | None  # None: no text
    request: int | None = None
    finish_reason: str | None = None
    judged: str | None = None  # how its program ended


Scores = tuple[Sequence[Asked], scoring.Scored]  # the items, and a score of each


def write_answers(writer: BatchWriter, launch: int, task: str, asked: Sequence[Asked]) -> None:
    """One row for every item that was asked."""
    for part in _parts(asked):
        columns: dict[str, list[Any]] = {
            "launch": [launch] * len(part),
            "task": [task] * len(part),
            "item": [one.item.id for one in part],
            "repetition": [one.repetition for one in part],
            "request": [one.request for one in part],
            "cluster": [one.item.cluster for one in part],
            "groups": [json.dumps(dict(one.item.groups), ensure_ascii=False) for one in part],
            "weight": [one.item.weight for one in part],
            "prompt": [one.item.prompt or None for one in part],
            "references": [json.dumps(one.item.references, ensure_ascii=False) for one in part],
            "outcome": [one.outcome for one in part],
            "text": [one.text for one in part],
            "finish_reason": [one.finish_reason for one in part],
            "rule": ["none" if one.extraction is None else one.extraction.rule for one in part],
            "begin": [0 if one.extraction is None else one.extraction.begin for one in part],
            "end": [0 if one.extraction is None else one.extraction.end for one in part],
            "answer": [None if one.extraction is None else one.extraction.answer for one in part],
            "judged": [one.judged for one in part],
        }
        writer.append_batch("answers", batch_of("answers", columns))


def bounded(asked: Sequence[Asked], scores: Sequence[scoring.Score]) -> list[Asked]:
    """The items; one whose texts are too long for a score has none, which is its outcome."""
    return [replace(one, outcome=_unscored(one, scores) or one.outcome) if one.outcome == PROPER else one for one in asked]


def _unscored(one: Asked, scores: Sequence[scoring.Score]) -> str:
    return scoring.unscored(scores, _answer(one), one.item.references)


def _answer(one: Asked) -> str:
    return (one.extraction.answer if one.extraction is not None else None) or ""


def answered(asked: Sequence[Asked]) -> list[Asked]:
    """What has a score; what failed has none."""
    return [one for one in asked if one.outcome == PROPER]


def all_scored(asked: Sequence[Asked], scores: Sequence[scoring.Score]) -> list[Scores]:
    """Every score of the answered items."""
    proper = answered(asked)
    answers = list(map(_answer, proper))
    references = [one.item.references for one in proper]
    scored: list[Scores] = []
    for score in scores:
        texts = [one.text or "" for one in proper] if score.metric.reads == "likelihoods" else answers
        scored += [(proper, one) for one in scoring.score_all((score,), texts, references)]
    return scored


def write_scores(writer: BatchWriter, launch: int, task: str, scores: Sequence[Scores]) -> None:
    """One row for every score of an item."""
    for items, scored in scores:
        _write_scored(writer, launch, task, items, scored)


def _write_scored(writer: BatchWriter, launch: int, task: str, answered: Sequence[Asked], scored: scoring.Scored) -> None:
    """The rows of one score; NaN is no score."""
    for begin in range(0, len(answered), AT_ONCE):
        part = answered[begin : begin + AT_ONCE]
        values = scored.scores[begin : begin + AT_ONCE]
        columns: dict[str, list[Any]] = {
            "launch": [launch] * len(part),
            "task": [task] * len(part),
            "item": [one.item.id for one in part],
            "repetition": [one.repetition for one in part],
            "metric": [scored.name] * len(part),
            "score": [None if np.isnan(value) else float(value) for value in values],
            "statistics": scored.rows[begin : begin + AT_ONCE].tolist(),
        }
        writer.append_batch("scores", batch_of("scores", columns))


def write_recorded_scores(
    writer: BatchWriter, launch: int, task: str, metric: str, recorded: Sequence[tuple[str, int, tuple[float, ...]]], *, ratio: bool = False
) -> None:
    """One row for every (item, repetition, statistics) that another program scored; of a ratio the statistics are its two terms."""
    if not recorded:
        return
    columns: dict[str, list[Any]] = {
        "launch": [launch] * len(recorded),
        "task": [task] * len(recorded),
        "item": [item for item, _, _ in recorded],
        "repetition": [repetition for _, repetition, _ in recorded],
        "metric": [metric] * len(recorded),
        "score": [(row[0] / row[1] if row[1] else None) if ratio else row[0] for _, _, row in recorded],
        "statistics": [list(row) for _, _, row in recorded],
    }
    writer.append_batch("scores", batch_of("scores", columns))


def _parts(asked: Sequence[Asked]) -> Iterator[Sequence[Asked]]:
    return (asked[begin : begin + AT_ONCE] for begin in range(0, len(asked), AT_ONCE))


def batch_of(table: str, columns: dict[str, list[Any]]) -> pyarrow.RecordBatch:
    schema = arrow_schema(table)
    return pa.RecordBatch.from_arrays([pa.array(columns[field.name], field.type) for field in schema], schema=schema)
