"""Which remarks belong beside the numbers of an external table?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.spec.timings import Timings
from fireassay.verdict.rubric.types import Mode, Rubric

NO_INTERVALS: Final = (
    "This table has one number for each row and no launches, so nothing here has an interval: differences "
    "may be noise. `assay run` measures launches."
)
_MODE_NOTES: Final[dict[Mode, str]] = {
    "assumed strong": "The work of each row was not given; it is taken to be the same in all of them (strong scaling). "
    "If it grows with the workers, say --scaling weak.",
    "weak": "The work grows with the workers (weak scaling): speedup is work per second, and Amdahl's law does not apply.",
    "mixed": "The rows did different amounts of work: speedup is work per second, and Amdahl's law is not fitted.",
    "throughput": "The table gives throughputs and not the work: efficiency is the same for strong and weak scaling, the serial part is not. "
    "Say --scaling strong or --scaling weak for it.",
}


def notes(made: Rubric, timings: Timings) -> tuple[str, ...]:
    """All remarks, refused rows first."""
    return tuple(_notes(made, timings))


def _notes(rubric: Rubric, timings: Timings) -> Iterator[str]:
    for row in rubric.rows:
        if row.refused:
            yield f"The row with {row.workers} {rubric.worker_word} is left out: {row.refused}."
    yield from _superlinear(rubric)
    yield NO_INTERVALS
    if rubric.base_workers != 1:
        yield (
            f"No row has 1 of {rubric.worker_word}: everything is relative to {rubric.base_workers}, so losses up to there are not seen."
        )
    if rubric.mode in _MODE_NOTES:
        yield _MODE_NOTES[rubric.mode]
    if rubric.rows[0].quality is None:
        yield "Quality was not given: whether the result was preserved is not measured."
    if all(row.usd is None and row.usd_per_item is None for row in rubric.rows):
        yield "No prices were given: cost is not measured."
    if len(rubric.rows) == 1:
        yield "One row has nothing to be compared with."
    yield from timings.notes


def _superlinear(rubric: Rubric) -> Iterator[str]:
    """Superlinear speedup and its usual causes."""
    if not rubric.superlinear:
        return
    worst = max((row for row in rubric.rows if not row.refused), key=lambda row: row.efficiency)
    counts = ", ".join(str(workers) for workers in rubric.superlinear)
    no_law = "" if rubric.fit or rubric.mode == "weak" else " No law of scaling is fitted, and nothing is predicted."
    yield (
        f"Superlinear: at p = {counts} the speedup is more than linear (efficiency {worst.efficiency:.3f} at {worst.workers}).{no_law} Likely causes: "
        "each worker's share fits into its cache or memory, the baseline is weak (another batch, precision or placement, or one that was swapping), or "
        "the rows did different work. Look at the baseline before you quote it."
    )
