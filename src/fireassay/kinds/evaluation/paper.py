"""What may be written into a paper about an evaluation?  Every score with how its interval was made, then the decisions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import given
from fireassay.kinds.evaluation.tables import of
from fireassay.reports.pages.results import Paper, sentence
from fireassay.reports.view import MetricRow, View


def _scores(view: View) -> tuple[MetricRow, ...]:
    """The requested scores; numbers of the same requests have their own sections."""
    return tuple(row for row in view.metrics if row.dimension == "correctness" and row.primary)


def _method(view: View) -> Iterator[str]:
    """How each score and its interval are made, and when quality counts as held."""
    for row in _scores(view):
        value = next((cell.value for cell in row.cells.values() if isinstance(cell.value, Estimate)), None)
        if value is not None:
            yield sentence(f"{row.title}: {value.method}")
    if (margin := of(view).margin) is not None:
        yield (
            "A change is that of the same items at both sides, with one-sided bounds; quality is held if the loss is shown to be smaller than "
            f"the margin of {given(margin)}, fixed beforehand."
        )


def _results(view: View) -> Iterator[str]:
    yield sentence(view.sentence)


PAPER: Final = Paper(workload=("Workload",), method=_method, performance=_results, rows=_scores)
