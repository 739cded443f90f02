"""Is quality held in every subgroup, as in all items together?

The deciding score of each label of each group, and its change against the reference.  Many are looked at, so one would seem degraded by chance:
each bound has confidence 1 - (1 - c) / m for m subgroups and sides (Bonferroni), so that all of them hold together with confidence c.  They decide
nothing: the verdict is that over all items, and so is its negative control.
Cannot tell: a subgroup that nobody named.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count, percent
from fireassay.frames.evaluation.item_scores import ItemScores, deciding, item_scores, only, tasks
from fireassay.frames.evaluation.steps import compares_budgets
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.gates import change_words, status_of, words
from fireassay.kinds.evaluation.held import Held, held_within
from fireassay.kinds.evaluation.metrics import of_task
from fireassay.printable import some
from fireassay.reports.evaluation_view import HeldRow, ScoreRow
from fireassay.reports.words import cut
from fireassay.spec.experiment import Quality
from fireassay.stats.comparing.multiplicity import each_of
from fireassay.units import SCORE

MAX_DECIDED: Final = 300  # subgroups and sides; more would leave bounds that decide nothing
MAX_NAMED: Final = 3  # degraded subgroups on the first screen
WORDS: Final = {"FAIL": "degraded", "PASS": "held", "INCONCLUSIVE": "undecided", "NOT_MEASURED": "not measured"}
Labels = Mapping[str, Mapping[str, tuple[str, ...]]]  # item -> group -> labels


def group_rows(measured: RecordData, labels: Mapping[str, str]) -> tuple[ScoreRow, ...]:
    """A row for each label of each group of each task; `labels`: configuration -> its name on the page."""
    found = [
        (task, group, label, kept)
        for task in tasks(measured)
        if deciding(measured, task)
        for (group, label), kept in sorted(_members(_labels(measured, task)).items())
    ]
    others = () if compares_budgets(measured) else tuple(name for name in measured.configurations if name != measured.base)
    looked = len(found) * len(others)
    each = each_of(measured.confidence, looked) if 0 < looked <= MAX_DECIDED else None
    return tuple(
        replace(
            score_row(measured, task, deciding(measured, task), _sides(measured, task, kept)),
            group=group,
            label=cut(label),
            held=() if each is None else tuple(_decided(measured, task, kept, {name: labels[name] for name in others}, each)),
        )
        for task, group, label, kept in found
    )


def _sides(measured: RecordData, task: str, kept: set[str]) -> dict[str, ItemScores]:
    return {name: only(item_scores(measured, name, task, deciding(measured, task)), kept) for name in measured.configurations}


def _labels(measured: RecordData, task: str) -> Labels:
    asked = measured.table("answers").filter((pl.col("task") == task) & (pl.col("groups") != "{}"))
    found = asked.unique("item", maintain_order=True).select("item", "groups")
    return {
        item: {group: tuple(label) if isinstance(label, list) else (label,) for group, label in json.loads(groups).items()}
        for item, groups in found.iter_rows()
    }


def _members(labels: Labels) -> dict[tuple[str, str], set[str]]:
    """(group, label) -> its items."""
    found: dict[tuple[str, str], set[str]] = {}
    for item, groups in labels.items():
        for group, of_item in groups.items():
            for label in of_item:
                found.setdefault((group, label), set()).add(item)
    return found


def _decided(measured: RecordData, task: str, kept: set[str], others: Mapping[str, str], confidence: float) -> Iterator[HeldRow]:
    quality = measured.experiment.quality
    for name, label in others.items():
        found = held_within((measured, measured.base), (measured, name), task, kept, quality, confidence)
        if found is not None:
            yield HeldRow(
                task=task,
                column=label,
                metric=found.title,
                status=status_of(found),
                change=change_of(found, quality, confidence),
                worse=found.worse,
                better=found.better,
                items=found.items,
                sentence=words(found, quality, 1),
                why=found.overturned,
                share=found.share,
            )


def score_row(measured: RecordData, task: str, metric: str, sides: Mapping[str, ItemScores]) -> ScoreRow:
    """One score at every side."""
    values: dict[str, Value] = {name: of_task(measured, side) for name, side in sides.items()}
    title = next(iter(sides.values())).metric.title
    return ScoreRow(task=task, metric=metric, title=title, values=values, items=max(len(side.items) for side in sides.values()))


def change_of(task: Held, quality: Quality | None, confidence: float) -> Value:
    """With one-sided bounds against a margin, else with an interval."""
    decision = task.decision
    if isinstance(decision, Absent):
        return decision
    return Estimate(
        value=decision.estimate,
        low=decision.low,
        high=decision.high,
        unit=SCORE,
        confidence=confidence if quality is None else 2.0 * confidence - 1.0,  # of both one-sided bounds together
        n_launches=1,
        n_trials=decision.items,
        method=decision.method if quality is None else f"{decision.method}; one-sided bounds",
        signature=f"change of {task.metric}|paired:item|v:1",
    )


def group_words(rows: tuple[ScoreRow, ...]) -> str:
    """ "of 14 subgroups 1 degraded (skill counting -4.1 points [-7.9, -0.4]), 11 held, 2 undecided; bounds at 99.64 % each"; empty without sides."""
    every = [(row, decision) for row in rows for decision in row.held]
    if not every:
        return ""
    counted = Counter(WORDS.get(decision.status, "") for _, decision in every)
    sides = len({decision.column for _, decision in every})
    bad = [_named(row, decision, sides) for row, decision in sorted(every, key=lambda pair: _low(pair[1])) if decision.status == "FAIL"]
    shown = {"degraded": f" ({some(bad, MAX_NAMED)})"}
    asked = all(decision.status != "MEASURED" for _, decision in every)
    said = ", ".join(f"{counted[word]:,} {word}{shown.get(word, '')}" for word in WORDS.values() if counted[word]) if asked else ""
    looked = count(len(every), "subgroups") if sides == 1 else f"{count(len(rows), 'subgroups')} at {sides} sides"
    lowest = min(every, key=lambda pair: _low(pair[1]))
    worst = "" if said else f"largest loss: {_named(*lowest, sides)}"
    return f"of {looked} {said or worst}; {family(rows)}"


def family(rows: tuple[ScoreRow, ...]) -> str:
    """How many were looked at, and what that does to a bound."""
    every = [decision for row in rows for decision in row.held]
    levels = [
        change.confidence if row.status == "MEASURED" else (1.0 + change.confidence) / 2.0  # of one bound
        for row in every
        if isinstance(change := row.change, Estimate)
    ]
    each = f", each at {percent(max(levels), 4)}" if levels else ""
    return f"bounds hold for all {len(every):,} together{each}"


def _named(row: ScoreRow, decision: HeldRow, sides: int) -> str:
    change = change_words(decision.change, decision.share) if isinstance(decision.change, Estimate) else decision.change.detail
    side = f"{decision.column}, " if sides > 1 else ""
    return f"{side}{row.group} {row.label} {change}"


def _low(row: HeldRow) -> float:
    return row.change.low if isinstance(row.change, Estimate) else float("inf")
