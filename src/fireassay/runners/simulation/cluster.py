"""How long does a step of synchronous data-parallel training take on an exactly known cluster?

In a step of p workers each computes for (serial + parallel / p) times a lognormal variate (mean 1; a straggler is slower by a fixed
factor), then a ring all-reduce in `buckets` pieces waits for the slowest and takes

    c(p) = 2 (p - 1) (buckets alpha + gradient beta / p).

`overlap` is the share of the parallel work that can hide communication: the all-reduce may begin that long before the slowest worker
has finished, so that max(0, c - overlap parallel / p) of it extends the step.  With weak scaling each worker has all the parallel work.
Every launch is scaled as a whole by a further lognormal variate (`noise`).
Sources: R. W. Hockney, Parallel Computing 20 (1994) 389-398; P. Patarasuk and X. Yuan, JPDC 69 (2009) 117-124, for the ring.
Cannot tell anything about a real cluster: congestion, size-dependent algorithms and slow links are not modelled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """The parameters that determine the step time. Seconds and bytes; shares are fractions."""

    step_s: float  # a step on one worker
    serial: float  # share of it that is not parallelised
    alpha_s: float  # message latency
    beta_s: float  # seconds per byte of a link
    gradient: float  # bytes summed per step
    buckets: int = 1
    overlap: float = 0.0
    jitter: float = 0.0  # standard deviation of the log of a worker's step time
    noise: float = 0.0  # the same for a whole launch
    stragglers: float = 0.0  # share of the workers that are always slow, to the nearest whole worker
    slowdown: float = 1.0  # their factor
    weak: bool = False  # the work grows with the workers

    def compute_s(self, workers: int) -> float:
        """Mean compute time of a worker per step."""
        return self.step_s * (self.serial + (1.0 - self.serial) / (1 if self.weak else workers))

    def hideable_s(self, workers: int) -> float:
        """Compute time that can hide communication."""
        return self.overlap * self.step_s * (1.0 - self.serial) / (1 if self.weak else workers)

    def transfer_s(self, workers: float) -> float:
        """Duration of the all-reduce once all workers have arrived."""
        return 2.0 * (workers - 1) * (self.buckets * self.alpha_s + self.gradient * self.beta_s / workers)


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """One launch. Seconds from the step's begin; shape [steps, workers] for `compute` and `entered`, else [steps]."""

    compute: Array  # end of a worker's computing
    entered: Array  # its first gradients are ready and it enters the all-reduce
    sent: Array  # the all-reduce is complete on all workers
    step: Array  # end of the step on all workers

    @property
    def exposed(self) -> Array:
        """Each worker's step time minus its compute time."""
        return np.asarray(self.step[:, np.newaxis] - self.compute)


def simulate(cluster: Cluster, workers: int, steps: int, rng: np.random.Generator) -> Simulated:
    """Simulate one launch with the given workers and steps."""
    luck = math.exp(cluster.noise * float(rng.standard_normal()))
    factors = np.full((steps, workers), luck)
    if cluster.jitter > 0.0:
        draws = rng.standard_normal((steps, workers))
        factors *= np.exp(cluster.jitter * draws - cluster.jitter**2 / 2.0)
    factors[:, : math.floor(cluster.stragglers * workers + 0.5)] *= cluster.slowdown
    compute = factors * cluster.compute_s(workers)
    hideable = factors * cluster.hideable_s(workers)
    entered = compute - hideable
    sent = entered.max(axis=1) + luck * cluster.transfer_s(workers)
    return Simulated(compute=compute, entered=entered, sent=sent, step=np.maximum(sent, compute.max(axis=1)))
