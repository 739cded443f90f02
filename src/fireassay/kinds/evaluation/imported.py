"""What did the harness report of the items that it scored, and is it what their scores make?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from fireassay.frames.evaluation.item_scores import ItemScores, item_scores
from fireassay.frames.record_data import RecordData

EQUAL: Final = 1e-9  # of the number, or of 1 if it is smaller


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A number of the harness beside ours; ours is None where we have none."""

    configuration: str
    task: str
    name: str
    theirs: float
    ours: float | None
    same: bool  # whether the definitions are equal

    @property
    def differs(self) -> bool:
        """True if it contradicts the items' scores."""
        return self.same and (self.ours is None or not abs(self.ours - self.theirs) <= EQUAL * max(1.0, abs(self.theirs)))


def reported(measured: RecordData) -> tuple[Reported, ...]:
    """Every number over items that the harness reported."""
    return measured.once("reported totals", lambda data: tuple(_reported(data)))


def _reported(measured: RecordData) -> Iterator[Reported]:
    for entry in (measured.foreign or {}).get("reported") or ():
        if isinstance(entry, Mapping) and isinstance(entry.get("value"), int | float):
            configuration, task = str(entry.get("configuration")), str(entry.get("task"))
            yield Reported(
                configuration=configuration,
                task=task,
                name=str(entry.get("name")),
                theirs=float(entry["value"]),
                ours=_ours(measured, configuration, task, entry),
                same=bool(entry.get("same")),
            )


def _ours(measured: RecordData, configuration: str, task: str, entry: Mapping[str, Any]) -> float | None:
    """The same number from the items' scores."""
    if not entry.get("score"):
        return None
    scores = item_scores(measured, configuration, task, str(entry["score"]))
    keep = _of_group(measured, task, scores, entry.get("group") or {})
    rows = scores.rows[keep]
    if len(rows) < 1 or (entry.get("of") == "stderr" and len(rows) < 2):
        return None
    if entry.get("of") == "stderr":
        return float(np.std(rows[:, 0], ddof=1)) / math.sqrt(len(rows))
    value = scores.metric.score(rows)
    return value if math.isfinite(value) else None


def _of_group(measured: RecordData, task: str, scores: ItemScores, group: Mapping[str, str]) -> np.ndarray:
    """Which items are in the group."""
    if not group:
        return np.ones(len(scores.items), dtype=bool)
    asked = measured.table("answers").filter(pl.col("task") == task).unique("item")
    kept = asked.filter(*(pl.col("groups").str.json_path_match(f"$.{name}") == label for name, label in group.items()))
    wanted = set(kept["item"].to_list())
    return np.array([item in wanted for item in scores.items], dtype=bool)
