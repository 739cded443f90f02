"""Did a training run converge no faster than MLPerf's reference allows?

A submission may not need significantly fewer epochs than the reference (a run that converges faster trains something else).
Rule text (MLPerf training_policies, "Reference convergence points"): drop the best and the worst of the reference's and of
the submission's runs; m and s are mean and standard deviation (ddof 0) of the reference's rest; the bound is the smallest
submission mean that a one-sided t test with pooled variance, both sides with s, does not reject at .05:
    bound = m - t[.95, a + b - 2] s sqrt(1/a + 1/b), a and b the runs left (10 - 2 and 5 - 2).
The published checker (rcp_checker.py) takes s over all reference runs instead; its bound is lower, and has its own name here.
Cannot tell: whether the reference itself was tuned; nor anything about a submission whose batch size has no reference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assay.stats.intervals import Floats, t_quantile

SIGNIFICANCE: Final = 0.05
SUBMISSION_RUNS: Final = 5
LEAST_RUNS: Final = 4  # two are dropped, and one value has no spread


@dataclass(frozen=True, kw_only=True)
class ReferenceBound:
    """Epochs to converge: the reference's trimmed mean and deviation, and the least mean that a submission may have.

    `allowed_speedup` is mean/bound - 1.
    """

    mean: float
    deviation: float
    bound: float
    allowed_speedup: float


def rule_bound(reference: Floats, submission_runs: int = SUBMISSION_RUNS) -> ReferenceBound:
    """The bound by the text of the rules; `reference` holds the epochs of at least 4 reference runs."""
    kept = _trimmed(reference, "reference")
    return _bound(kept, float(np.std(kept)), submission_runs)


def checker_bound(reference: Floats, submission_runs: int = SUBMISSION_RUNS) -> ReferenceBound:
    """The bound as the published checker computes it, with the deviation of all reference runs: for parity only."""
    kept = _trimmed(reference, "reference")
    return _bound(kept, float(np.std(np.asarray(reference, dtype=np.float64))), submission_runs)


def submission_mean(submission: Floats) -> float:
    """Mean epochs of the submission's runs without the best and the worst."""
    return float(_trimmed(submission, "submission").mean())


def converges_too_fast(reference: Floats, submission: Floats) -> bool:
    """Whether the submission's trimmed mean lies below the bound of the rules."""
    return submission_mean(submission) < rule_bound(reference, len(submission)).bound


def _bound(kept: NDArray[np.float64], deviation: float, submission_runs: int) -> ReferenceBound:
    a, b = len(kept), submission_runs - 2
    if b < 1:
        raise ValueError(
            f"a submission needs at least 3 runs, of which the best and the worst are dropped; not {submission_runs}"
        )
    mean = float(kept.mean())
    bound = mean - t_quantile(1.0 - SIGNIFICANCE, a + b - 2) * deviation * math.sqrt(1.0 / a + 1.0 / b)
    if bound <= 0.0:
        raise ValueError("the reference runs scatter so much that no submission could be rejected; repeat them")
    return ReferenceBound(mean=mean, deviation=deviation, bound=bound, allowed_speedup=mean / bound - 1.0)


def _trimmed(epochs: Floats, name: str) -> NDArray[np.float64]:
    data = np.sort(np.asarray(epochs, dtype=np.float64))
    least = LEAST_RUNS if name == "reference" else 3
    if data.ndim != 1 or len(data) < least:
        raise ValueError(
            f"the {name} needs at least {least} runs, of which the best and the worst are dropped; not {data.size}"
        )
    if not (np.all(np.isfinite(data)) and float(data[0]) > 0.0):
        raise ValueError(
            f"the epochs of the {name} must be finite and above 0, not {float(data[0])} .. {float(data[-1])}"
        )
    return data[1:-1]
