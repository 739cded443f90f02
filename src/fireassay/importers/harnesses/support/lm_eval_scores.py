"""Which scores of lm-eval's results are means of the documents' scores, and what are they called?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fireassay.importers.harnesses.support.base import ForeignScore, digest, named
from fireassay.importers.support.documents import Place

NO_FILTER: Final = "none"
MEANS: Final = ("mean", "nanmean")
# aggregation of the metrics that have another one unless the task says so (lm_eval/api/metrics.py)
DEFAULTS: Final[Mapping[str, str]] = {
    "bypass": "bypass",
    "f1": "f1",
    "mcc": "matthews_corrcoef",
    "bleu": "bleu",
    "chrf": "chrf",
    "ter": "ter",
    "perplexity": "perplexity",
    "word_perplexity": "weighted_perplexity",
    "byte_perplexity": "weighted_perplexity",
    "bits_per_byte": "bits_per_byte",
    "brier_score": "brier_score",
}
OTHERS: Final = frozenset({*DEFAULTS.values(), "median"})  # that cannot be computed from one number of each document


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The scores of a task that may have a value for each document."""

    scores: tuple[ForeignScore, ...]
    columns: Mapping[tuple[str, str], str]  # (metric, filter) -> name of the score
    filter_of: Mapping[str, str]  # name of the score -> filter
    means: frozenset[str]  # names of the scores whose aggregate is a mean
    left: Mapping[str, str]  # the others -> why

    @property
    def names(self) -> tuple[str, ...]:
        """Every score's name."""
        return (*self.filter_of, *self.left)

    def name(self, metric: str, by: str) -> str:
        """The score's name; empty if it has none per document."""
        return self.columns.get((metric, by), "")


def kept_scores(totals: Mapping[str, Any], config: Mapping[str, Any], better: Mapping[str, Any], version: str, place: Place) -> Kept:
    """The scores in a task's results, the deciding one first: the task's own order of metrics, then of filters."""
    entries = {entry["metric"]: entry for entry in _dicts(config.get("metric_list")) if isinstance(entry.get("metric"), str)}
    found = [key.rpartition(",")[::2] for key in totals if "," in key]
    pairs = [(metric, by) for metric, by in found if not metric.endswith("_stderr")]
    order = list(entries)
    pairs.sort(key=lambda pair: order.index(pair[0]) if pair[0] in order else len(order))
    scores, columns, means, left = [], {}, set(), {}
    for metric, by in pairs:
        name = named(metric if by == NO_FILTER else f"{metric},{by}", place, "a score")
        entry = entries.get(metric, {})
        aggregation = entry.get("aggregation") or DEFAULTS.get(metric, "mean")
        if isinstance(aggregation, str) and aggregation in OTHERS:
            left[name] = f"its aggregate is {aggregation}, no mean over items"
            continue
        if aggregation in MEANS:
            means.add(name)
        columns[metric, by] = name
        scores.append(
            ForeignScore(
                name=name,
                signature=_signature(metric, by, entry, _filter(config, by), version),
                better="lower" if better.get(metric) is False else "higher",
            )
        )
    filters = {name: by for (_, by), name in columns.items()}
    return Kept(scores=tuple(scores), columns=columns, filter_of=filters, means=frozenset(means), left=left)


def _dicts(value: object) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def _filter(config: Mapping[str, Any], by: str) -> Mapping[str, Any]:
    return next((entry for entry in _dicts(config.get("filter_list")) if entry.get("name") == by), {})


def _signature(metric: str, by: str, entry: Mapping[str, Any], filtered: Mapping[str, Any], version: str) -> str:
    """Everything in the log that moves the score."""
    made = digest([json.dumps(part, sort_keys=True, default=str) for part in (entry, filtered)])[:16]
    return f"metric:{metric}|impl:lm-eval@{version}|filter:{by}|settings:{made}"
