"""What does another score say of the best of k candidates that the deciding score chooses?

Values, gains and optimism as in `fireassay.frames.evaluation.candidates`, each a mean over items with its interval; items in a cluster together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count, show
from fireassay.frames.evaluation.candidates import Judged, judged
from fireassay.frames.evaluation.item_scores import ItemScores, metric_of, scores_elsewhere
from fireassay.frames.evaluation.steps import steps_of
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.gates import change_words
from fireassay.kinds.evaluation.metrics import MIN_ITEMS, of_task, over_items
from fireassay.stats.intervals.item_means import METHOD, of_items
from fireassay.verdict.evidence.step_curve import ChoiceRow

OTHER_SCALE: Final = Absent("not_applicable", "the two scores have no common scale (--score-scale), so only the other's gain is a number")


def choice_rows(measured: RecordData, labels: Mapping[str, str]) -> tuple[ChoiceRow, ...]:
    """A row for each task, side, further score and number of candidates; none without a choice."""
    steps = steps_of(measured)
    if steps is None or steps.what != "candidates":
        return ()
    found = measured.once("choices", lambda data: tuple(judged(data, steps.levels)))
    return tuple(_row(measured, one, labels[one.configuration]) for one in found)


def _row(measured: RecordData, one: Judged, label: str) -> ChoiceRow:
    low, high = one.value.metric.scale
    reach = high - low
    return ChoiceRow(
        task=one.task,
        column=label,
        by=metric_of(measured, one.by).title,
        other=one.value.metric.title,
        share=one.value.metric.scale == (0.0, 1.0) and one.other not in scores_elsewhere(measured),
        k=one.k,
        value=of_task(measured, one.value),
        random=of_task(measured, one.random),
        own_best=of_task(measured, one.own_best),
        gain=_difference(measured, one.gain, (-reach, reach), "gain"),
        optimism=OTHER_SCALE if one.optimism is None else _difference(measured, one.optimism, (-reach, 2.0 * reach), "optimism"),
        items=len(one.value.items),
        left=one.left,
    )


def _difference(measured: RecordData, scores: ItemScores, scale: tuple[float, float], name: str) -> Value:
    """The mean of differences of an item's scores."""
    if len(scores.items) < MIN_ITEMS:
        return Absent("insufficient", f"{count(len(scores.items), 'items')} with both scores carry no interval")
    interval = of_items(scores.rows[:, 0], scores.weights, scores.labels, scale, measured.confidence)
    items = count(len(scores.items), "items")
    signature = f"{name} of {scores.metric.name}|best:{scores.repetitions}|items:{len(scores.items)}|v:1"
    return over_items(interval, measured.confidence, len(scores.items), method=f"mean over {items}: {METHOD}", signature=signature)


def choice_words(rows: tuple[ChoiceRow, ...]) -> Iterator[str]:
    """ "rating of the best of 9 by vqascore: 3.9 [3.7, 4.1], of a random one 3.5 [3.3, 3.7]; gain ..., optimism ..."; the largest k of each score."""
    several = len({row.column for row in rows}) > 1
    yield from (f"{f'{row.column}: ' if several else ''}{_words(row)}" for row in _largest(rows))


def _largest(rows: tuple[ChoiceRow, ...]) -> Iterator[ChoiceRow]:
    last = {(row.task, row.column, row.other): row for row in rows}  # ascending
    yield from last.values()


def _words(row: ChoiceRow) -> str:
    values = [show(value).full if isinstance(value, Estimate) else value.detail for value in (row.value, row.random, row.own_best)]
    gain = change_words(row.gain, row.share) if isinstance(row.gain, Estimate) else row.gain.detail
    optimism = f", optimism {change_words(row.optimism, row.share)}" if isinstance(row.optimism, Estimate) else "; its scale is another"
    if isinstance(row.gain, Estimate) and math.isfinite(row.gain.low) and row.gain.low <= 0.0:
        gain += ", not shown to be one"
    return f"{row.other} of the best of {row.k} by {row.by} {values[0]}, of a random one {values[1]}, its own best {values[2]}; gain {gain}{optimism}"
