"""Did another record's answers hold the quality of the first one's?  As within one record, with the items of both paired by id."""

from __future__ import annotations

from typing import Final

from fireassay.kinds.evaluation.gates import of_sides, status_of, words
from fireassay.kinds.evaluation.held import Held, held_between
from fireassay.verdict.comparison.groups import Group, ItemQuality, Quality
from fireassay.verdict.comparison.groups import Held as Word
from fireassay.verdict.comparison.tested import words_of_p
from fireassay.verdict.types import Status

WORDS: Final[dict[Status, Word]] = {
    "FAIL": "DEGRADED",
    "INCONCLUSIVE": "INCONCLUSIVE",
    "NOT_MEASURED": "NOT_MEASURED",
    "MEASURED": "MEASURED",
    "PASS": "HELD",
}


def quality(before: Group, after: Group, confidence: float) -> Quality:
    """Every task must hold, with few enough changed items; one degraded task decides.  Without a margin: the largest loss."""
    wanted = before.measured.experiment.quality
    reference, candidate = ((group.measured, group.configuration) for group in (before, after))
    tasks = held_between(reference, candidate, wanted, confidence)
    worst = min(tasks, key=_severity, default=None)
    capped = tuple(of_sides(reference, candidate, wanted, confidence))
    statuses = {"NOT_MEASURED" if worst is None else status_of(worst), *(result.status for result in capped)}
    return Quality(
        held=next(word for status, word in WORDS.items() if status in statuses),
        sentence="; ".join((words(worst, wanted, len(tasks)), *(result.sentence for result in capped))),
        tested="" if worst is None else words_of_p(worst.tested, margin=wanted is not None),
    )


def _severity(task: Held) -> tuple[int, float]:
    """The worst status first, then the lowest bound."""
    return [*WORDS].index(status_of(task)), task.low


QUALITY: Final[ItemQuality] = quality
