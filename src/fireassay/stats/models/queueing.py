"""What must a load test find in cases with a known answer?

* M/M/1 (Poisson arrivals, exponential service, one server): time in the system is exponential with rate mu - lambda;
* Little's law L = lambda W (Operations Research 9, 1961) over a window: requests that begin before it or end after it make
  the two sides differ, in a stable system by little;
* closed loop: exact mean value analysis (Reiser & Lavenberg, JACM 27, 1980) of one queue and a think time;
* coordinated omission (Tene, "How NOT to measure latency", 2013): latency counts from when a request was due, not from when a
  generator that waited for the last response sent it.
Cannot tell: anything about a real server; these cases validate load generators.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.intervals import Floats

Array = NDArray[np.float64]

TOLERANCE: Final = 0.02  # relative, for Little's law


@dataclass(frozen=True, kw_only=True)
class Little:
    """Both sides of Little's law over a window, and their relative difference."""

    in_flight: float  # L: requests in flight on average over the window
    arrival_rate: float  # lambda: requests beginning in the window, per second
    mean_latency_s: float  # W: mean latency of these; nan if there are none
    residual: float  # (L - lambda W)/L

    def holds(self, tolerance: float = TOLERANCE) -> bool:
        """True if the two sides agree within this relative tolerance."""
        return abs(self.residual) <= tolerance


def little(begin_s: Floats, end_s: Floats, window: tuple[float, float]) -> Little:
    """Little's law for requests in flight from begin_s[i] to end_s[i], within window[0] to window[1] (seconds).

    An infinite end (still in flight at the end of the record) is allowed only for requests that began outside the window.
    """
    begins, ends = _pair(begin_s, end_s, "begin", "end")
    first, last = window
    if not last > first:
        raise ValueError(f"a window must end after it begins, not run from {first} to {last}")
    began = (begins >= first) & (begins < last)
    latencies = (ends - begins)[began]
    if not np.all(np.isfinite(latencies)):
        raise ValueError("a request that began in the window has no end; end the window before the first of these")
    area = float(np.clip(np.minimum(ends, last) - np.maximum(begins, first), 0.0, None).sum())
    if area == 0.0:
        raise ValueError(f"no request was in flight between {first} and {last}")
    return Little(
        in_flight=area / (last - first),
        arrival_rate=len(latencies) / (last - first),
        mean_latency_s=float(latencies.mean()) if len(latencies) else math.nan,
        residual=(area - float(latencies.sum())) / area,
    )


def _pair(first: Floats, second: Floats, name: str, other: str) -> tuple[Array, Array]:
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"every {name} needs its {other}, but there are {a.size} and {b.size}")
    if not np.all(np.isfinite(a)) or np.isnan(b).any():
        raise ValueError(f"every {name} must be finite, and every {other} a number")
    if bool((b < a).any()):
        raise ValueError(f"request {int(np.argmax(b < a))} has its {other} before its {name}")
    return a, b
