"""Does the claim go beyond what was measured?

A fit to measured worker counts says nothing beyond twice the largest one: Gunther's universal scalability law fitted to the first six
raytracer points (data of the R package `usl`) predicts a throughput of 147 at 64 workers, where 310 were measured. A line through two
points always fits. assay's own fits refuse to extrapolate further (`fireassay.stats.models.scaling_laws`), so this concerns claims.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fireassay.estimates.format import count, given
from fireassay.verdict.audits.support.audit import Audit, claims_only
from fireassay.verdict.evidence.claimed_numbers import found
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim

FARTHEST = 2.0  # times the largest measured worker count
FEWEST_POINTS = 4  # worker counts; two parameters leave two points to test the law


def claim(said: Claim) -> tuple[Finding, ...]:
    """Predictions too far out, and predictions with an unstated range."""
    predicted = said.prediction
    if predicted is None:
        return ()
    remedy = f"measure at {count(predicted.workers, 'workers')}, or claim no more than twice the measured range"
    measured = predicted.measured_up_to or _largest(said, predicted.workers)
    if measured is None:
        words = f"the claim covers {count(predicted.workers, 'workers')} and does not say how many were measured"
        return (found("measured_range_unsaid", "note", None, words, remedy, "measured_there"),)
    far = predicted.workers / measured
    words = f"{count(predicted.workers, 'workers')} are {given(far, 3)} times the {measured} that were measured"
    if far > FARTHEST:
        return (found("extrapolated", "invalid", None, words, remedy, "measured_there"),)
    if predicted.points is not None and predicted.points < FEWEST_POINTS:
        evidence = f"{words}, and the law is fitted to {count(predicted.points, 'worker counts')}"
        return (found("too_few_points", "warning", None, evidence, remedy, "measured_there"),)
    return ()


def _largest(said: Claim, predicted: int) -> int | None:
    """The largest worker count among the published numbers; None if it reaches the predicted count."""
    counts = [number.workers for number in said.number if number.workers is not None]
    return max(counts) if counts and max(counts) < predicted else None


AUDIT = Audit(
    name="extrapolation", title="extrapolation", question="Does the claim reach beyond what was measured?", examine=claims_only, claim=claim
)
