"""Which items score otherwise at a side than at its reference, and what did both say?  Of one record or of two, paired by task and id.

An item's score is that of its task's deciding metric, averaged over repetitions; its texts are those of the first repetition.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, zip_longest

import numpy as np

from fireassay.frames.evaluation.item_scores import answers_of, deciding, identity, item_scores, matched, tasks
from fireassay.frames.record_data import RecordData
from fireassay.quality.scoring.likelihoods import METHOD, of_text

Texts = Mapping[tuple[str, str], Mapping[str, str | None]]


@dataclass(frozen=True, kw_only=True)
class Flip:
    """An item that scores otherwise at a side than at the reference."""

    task: str
    item: str
    side: str  # its label
    prompt: str
    reference: str
    before: str  # what the reference side answered
    after: str
    score_before: float
    score_after: float
    better: bool  # at the side

    @property
    def size(self) -> float:
        """How far the score moved."""
        return abs(self.score_after - self.score_before)


def flipped(reference: tuple[RecordData, str], candidate: tuple[RecordData, str], side: str) -> list[Flip]:
    """All of them, the largest changes first, losses before gains; both are a record and one of its configurations."""
    return sorted(_flipped(reference, candidate, side), key=lambda flip: (-flip.size, flip.better))


def in_turn(sides: Iterable[list[Flip]]) -> list[Flip]:
    """Those of several sides, so that any first part of them has its share of each side."""
    return [flip for flip in chain.from_iterable(zip_longest(*sides)) if flip is not None]


def _flipped(reference: tuple[RecordData, str], candidate: tuple[RecordData, str], side: str) -> Iterator[Flip]:
    before, after = _texts(*reference), _texts(*candidate)
    for task in tasks(reference[0]):
        metric = deciding(reference[0], task)
        if not metric:
            continue
        pairs = matched(*(item_scores(*one, task, metric) for one in (reference, candidate)))
        if not pairs.reference.items:
            continue
        first, second = (one.metric.item_scores(one.rows) for one in (pairs.reference, pairs.candidate))
        sign = 1.0 if pairs.reference.metric.better == "higher" else -1.0
        for index in np.flatnonzero(first != second):
            key = (task, pairs.reference.items[index])
            asked = before.get(key, {})
            yield Flip(
                task=task,
                item=key[1],
                side=side,
                prompt=asked.get("prompt") or "",
                reference=" | ".join(json.loads(asked.get("references") or "[]")),
                before=asked.get("text") or "",
                after=after.get(key, {}).get("text") or "",
                score_before=float(first[index]),
                score_after=float(second[index]),
                better=bool(sign * (second[index] - first[index]) > 0.0),
            )


def _texts(measured: RecordData, configuration: str) -> Texts:
    """(task, item) -> its texts."""
    rated = {name for name, facts in identity(measured).items() if facts.get("method") == METHOD}

    def fold(data: RecordData) -> Texts:
        first = answers_of(data, configuration).sort("launch", "repetition").unique(["task", "item"], keep="first", maintain_order=True)
        return {
            (task, item): {"prompt": prompt, "references": wanted, "text": _choice(text) if text and task in rated else text}
            for task, item, prompt, wanted, text in first.select("task", "item", "prompt", "references", "text").iter_rows()
        }

    return measured.once(f"texts of {configuration}", fold)


def _choice(text: str) -> str:
    """An answer by log probabilities: the chosen one, as the references name it, and how sure the model was."""
    logprobs = np.array([choice.logprob for choice in of_text(text)])
    odds = np.exp(logprobs - logprobs.max())
    return f"{int(odds.argmax())}, with a confidence of {float(odds.max() / odds.sum()):.2f}"
