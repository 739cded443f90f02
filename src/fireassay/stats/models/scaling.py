"""How well does a job scale with its workers, and where is its ceiling?

S(p) = T(base)/T(p);  E = S/p (strong), T(base)/T(p) (weak);  Karp-Flatt e = (1/S - 1/p)/(1 - 1/p);
Amdahl's serial fraction s by least squares through the origin of (1/S - 1/p) = s (1 - 1/p);
Amdahl's speedup S(p) = 1/(s + (1 - s)/p), never above 1/s;  Gustafson's p - s (p - 1).
`p` is the number of workers relative to the base (1 for one worker or one node).
Sources: Amdahl (1967); Gustafson (1988); Karp & Flatt (1990).
Cannot tell: the cause.  Amdahl's fit attributes every loss to serial work; only a rising Karp-Flatt series points to
communication or imbalance.  A fit says nothing about worker counts far beyond the measured ones.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.intervals import Floats, Interval, mean_t


def speedup(base_time: float, time: float) -> float:
    """Speedup over the base; both times in the same unit and above 0."""
    return _positive(base_time, "the base's time") / _positive(time, "the time")


def karp_flatt(speedup: float, p: float) -> float:
    """The serial fraction that would alone explain this speedup; negative above linear speedup.  Needs p > 1."""
    if not p > 1.0:
        raise ValueError(f"the Karp-Flatt fraction needs more than one worker, not {p}")
    return (1.0 / _positive(speedup, "the speedup") - 1.0 / p) / (1.0 - 1.0 / p)


def amdahl_fit(workers: Floats, speedups: Floats) -> float:
    """Serial fraction s by least squares; `workers` and `speedups` of shape [points], one or more above 1 worker.

    The base (1 worker) carries no information and may be included.  A negative value means more than linear speedup.
    """
    p, s = np.asarray(workers, dtype=np.float64), np.asarray(speedups, dtype=np.float64)
    if p.shape != s.shape or p.ndim != 1:
        raise ValueError(f"each worker count needs one speedup: shapes {p.shape} and {s.shape}")
    return float(_fits(p, s[np.newaxis, :])[0])


def amdahl_fit_interval(workers: Floats, speedups_per_block: NDArray[np.float64], confidence: float) -> Interval:
    """Serial fraction with its t interval over blocks: one fit per block (row), shape [blocks, points].

    A block's points share their base and time of day, so the block is the unit, not the point.  One block: -inf..inf.
    """
    p, s = np.asarray(workers, dtype=np.float64), np.asarray(speedups_per_block, dtype=np.float64)
    if p.ndim != 1 or s.ndim != 2 or s.shape[1] != len(p) or s.shape[0] == 0:
        raise ValueError(f"speedups must have one row per block and one column per worker count: {s.shape}, {p.shape}")
    return mean_t(_fits(p, s), confidence)


def amdahl_speedup(s: float, p: float) -> float:
    """Amdahl's speedup at `p` workers for serial fraction `s`; s <= 0 is taken as 0 (linear)."""
    return 1.0 / (max(s, 0.0) + (1.0 - max(s, 0.0)) / _positive(p, "the number of workers"))


def ceiling(s: float) -> float:
    """The limit of the speedup: 1/s; infinite for s <= 0."""
    return 1.0 / s if s > 0.0 else math.inf


def half_efficiency_workers(s: float) -> float:
    """Workers at which Amdahl's efficiency falls to one half: (1 + s)/s; infinite for s <= 0."""
    return (1.0 + s) / s if s > 0.0 else math.inf


def gustafson(s: float, p: float) -> float:
    """Scaled speedup p - s (p - 1): here `s` is the serial share of the time on p workers, not on one."""
    return p - s * (p - 1.0)


def _fits(workers: NDArray[np.float64], speedups: NDArray[np.float64]) -> NDArray[np.float64]:
    """One serial fraction per row of `speedups` [blocks, points]."""
    if not (np.all(np.isfinite(speedups)) and np.all(speedups > 0.0)):
        raise ValueError("every speedup must be finite and above 0")
    if not (np.all(np.isfinite(workers)) and np.all(workers >= 1.0)):
        raise ValueError("every worker count must be finite and at least 1 (relative to the base)")
    x = 1.0 - 1.0 / workers
    if not np.any(x > 0.0):
        raise ValueError("a serial fraction needs at least one point with more workers than the base")
    y = 1.0 / speedups - 1.0 / workers
    return np.asarray(y @ x / (x @ x), dtype=np.float64)


def _positive(value: float, name: str) -> float:
    if not (math.isfinite(value) and value > 0.0):
        raise ValueError(f"{name} must be a finite number above 0, not {value}")
    return value
