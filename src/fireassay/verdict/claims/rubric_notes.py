"""Which notes accompany the numbers of an external table?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.spec.timings import Timings
from fireassay.verdict.claims.rubric_types import Mode, Rubric

NO_INTERVALS: Final = (
    "This table has one number per row and no launches, so nothing here has an interval: differences "
    "may be noise. `assay run` measures launches."
)
REPEATED: Final = (
    "Rows of one count are replaced by their median, so nothing here has an interval: differences may be noise, and whether the rows are "
    "fresh launches is not known. `assay run` measures launches."
)
_MODE_NOTES: Final[dict[Mode, str]] = {
    "assumed strong": "The work of each row was not given and is assumed to be equal (strong scaling). "
    "If it grows with the workers, use --scaling weak.",
    "weak": "The work grows with the workers (weak scaling): speedup is work per second, and Amdahl's law does not apply.",
    "mixed": "The rows did different amounts of work: speedup is work per second, and Amdahl's law is not fitted.",
    "throughput": "The table gives throughputs but not the work: efficiency is the same for strong and weak scaling, the serial fraction is not. "
    "Use --scaling strong or --scaling weak to get it.",
}


def notes(rubric: Rubric, timings: Timings) -> tuple[str, ...]:
    """All notes, refused rows first."""
    return tuple(_notes(rubric, timings))


def _notes(rubric: Rubric, timings: Timings) -> Iterator[str]:
    for row in rubric.rows:
        if row.refused:
            yield f"The row with {row.workers} {rubric.worker_word} is left out: {row.refused}."
    yield from _superlinear(rubric)
    yield from rubric.doubts
    yield REPEATED if rubric.repeated else NO_INTERVALS
    if rubric.base_workers != 1:
        yield (
            f"The base row has {rubric.base_workers} {rubric.worker_word}, not 1: everything is relative to it, and losses below it do not show."
        )
    if rubric.mode in _MODE_NOTES:
        yield _MODE_NOTES[rubric.mode]
    if not rubric.scores:
        yield "Quality was not given, so whether the result was preserved is unknown."
    if not any(row.priced for row in rubric.rows):
        yield "No prices were given: cost is not measured."
    if timings.grams_per_kwh is not None and all(row.co2_g is None for row in rubric.rows):
        missing = "time: use --work N" if any(row.joules_per_item for row in rubric.rows) else "energy and no power"
        yield f"CO2 is not known: the table has no {missing}."
    if len(rubric.rows) == 1:
        yield "A single row has nothing to compare with."
    yield from timings.notes


def _superlinear(rubric: Rubric) -> Iterator[str]:
    """Superlinear speedup and its usual causes."""
    if not rubric.superlinear:
        return
    worst = max((row for row in rubric.rows if not row.refused), key=lambda row: row.efficiency)
    counts = ", ".join(str(workers) for workers in rubric.superlinear)
    no_law = "" if rubric.mode == "weak" else " No scaling law is fitted, and nothing is predicted."
    yield (
        f"Superlinear: at p = {counts} the speedup is more than linear (efficiency {worst.efficiency:.3f} at {worst.workers}).{no_law} Likely causes: "
        "each worker's share fits into its cache or memory, the baseline is weak (different batch, precision or placement, or swapping), or "
        "the rows did different work. Check the baseline before quoting it."
    )
