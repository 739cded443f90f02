"""How would a step of synchronous data-parallel training take on a cluster of which everything is known?

A step of p workers: each computes (serial + parallel / p) times a lognormal of its own (mean 1; a straggler is slower by a fixed
factor), then one all-reduce in `buckets` pieces waits for the slowest and takes, on a ring,

    c(p) = 2 (p - 1) (buckets alpha + gradient beta / p).

`overlap` is the share of the parallel work under which communication may hide: it may begin that much before the slowest worker has
computed, so that max(0, c - overlap parallel / p) of it lengthens the step.  Weak scaling: each worker has the parallel work whole.
Every launch is slower or faster as a whole by a lognormal of its own (`noise`).
Sources: Hockney, Parallel Computing 20 (1994) 389-398; Patarasuk & Yuan, JPDC 69 (2009) 117-124, for the ring.
Cannot tell: anything about a real cluster.  Congestion, algorithms that change with the size, and slow links are not in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Everything that decides how long a step takes. Seconds and bytes; shares are fractions."""

    step_s: float  # a step on one worker
    serial: float  # share of it that every worker does whole
    alpha_s: float  # latency of a message
    beta_s: float  # seconds per byte of a link
    gradient: float  # bytes that are summed in a step
    buckets: int = 1
    overlap: float = 0.0
    jitter: float = 0.0  # standard deviation of the logarithm of a worker's time in a step
    noise: float = 0.0  # the same of a whole launch's
    stragglers: float = 0.0  # share of the workers that are always slow, to the nearest whole worker
    slowdown: float = 1.0  # by which factor
    weak: bool = False  # the work grows with the workers

    def compute_s(self, workers: int) -> float:
        """What a worker computes in a step, in the mean."""
        return self.step_s * (self.serial + (1.0 - self.serial) / (1 if self.weak else workers))

    def hideable_s(self, workers: int) -> float:
        """Computing under which communication may hide."""
        return self.overlap * self.step_s * (1.0 - self.serial) / (1 if self.weak else workers)

    def transfer_s(self, workers: float) -> float:
        """What the all-reduce takes once everybody is there."""
        return 2.0 * (workers - 1) * (self.buckets * self.alpha_s + self.gradient * self.beta_s / workers)


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """One launch. `compute` and `entered` of shape [steps, workers], the others of shape [steps]; seconds from a step's begin."""

    compute: Array  # when a worker has computed
    entered: Array  # when its first gradients are ready, and it enters the all-reduce
    sent: Array  # when the all-reduce is complete, for everybody
    step: Array  # when the step is over, for everybody

    @property
    def exposed(self) -> Array:
        """By how much each worker's step is longer than its computing."""
        return np.asarray(self.step[:, np.newaxis] - self.compute)


def simulate(cluster: Cluster, workers: int, steps: int, rng: np.random.Generator) -> Simulated:
    """One launch of so many workers and steps."""
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
