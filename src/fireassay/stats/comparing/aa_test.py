"""How often, and by how much, does a comparison of identical launches find a difference?

An A/A test on one series of launch values:

    in turn     10 successive launches are 5 blocks of 2; in each block one launch is called a, the other b, in all 16 ways
                (the 32 assignments pair up: exchanging a and b only flips the sign)
    apart       5 successive launches against the next 5, like two records made one after the other

noise floor = 95 % quantile of exp(|mean log b - mean log a|) - 1 over the comparisons: the smallest relative difference that
identical launches exceed in at most 5 % of comparisons of 5 launches a side.
false alarms = share of comparisons that `comparison.decide` calls higher or lower.  Windows overlap and assignments share
launches, so the interval (Clopper & Pearson 1934) counts only disjoint windows, which makes it wide.
Cannot tell: what happens on another day, or with another workload.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.comparing.comparison import SMALLEST_EFFECT, Difference, compare_paired, compare_welch, decide, detectable_effect
from fireassay.stats.intervals.intervals import Floats, standard_deviation

SIDE: Final = 5  # launches on each side
WINDOW: Final = 2 * SIDE
MIN_LAUNCHES: Final = 2 * WINDOW  # fewest launches for a result
SHARE: Final = 0.05


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A share of comparisons with its 95 % interval."""

    value: float
    low: float
    high: float
    comparisons: int
    windows: int  # disjoint


@dataclass(frozen=True, kw_only=True)
class Alike:
    """Results of comparing identical launches; effects are relative (0.02 is 2 %)."""

    launches: int
    noise_floor: float  # in turn
    noise_floor_apart: float
    false_alarms: Rate  # in turn
    false_alarms_apart: Rate
    minimum_detectable_effect: float  # 5 against 5 launches, 80 % power
    spread: float  # sd of the log launch values


def alike(values: Floats) -> Alike | None:
    """A/A test on positive launch values in launch order (shape [k]); None below `MIN_LAUNCHES` launches."""
    data = np.asarray(values, dtype=np.float64)
    if len(data) < MIN_LAUNCHES:
        return None
    in_turn, apart = list(_in_turn(data)), list(_apart(data))
    spread = standard_deviation(np.log(data))
    error = spread * math.sqrt(2.0 / SIDE)
    detectable = detectable_effect(error, 2.0 * (SIDE - 1), 0.95, math.log1p(SMALLEST_EFFECT))
    return Alike(
        launches=len(data),
        noise_floor=_floor(in_turn),
        noise_floor_apart=_floor(apart),
        false_alarms=_alarms(in_turn, len(data)),
        false_alarms_apart=_alarms(apart, len(data)),
        minimum_detectable_effect=math.expm1(detectable) if detectable < 700.0 else math.inf,
        spread=spread,
    )


def _windows(data: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    for begin in range(len(data) - WINDOW + 1):
        yield data[begin : begin + WINDOW]


def _in_turn(data: NDArray[np.float64]) -> Iterator[Difference]:
    for window in _windows(data):
        pairs = window.reshape(SIDE, 2)
        for rest in itertools.product((0, 1), repeat=SIDE - 1):
            first = np.array((0, *rest))
            places = np.arange(SIDE)
            yield compare_paired(pairs[places, first], pairs[places, 1 - first])


def _apart(data: NDArray[np.float64]) -> Iterator[Difference]:
    for window in _windows(data):
        yield compare_welch(window[:SIDE], window[SIDE:])


def _floor(differences: list[Difference]) -> float:
    effects = [abs(math.log(difference.value)) for difference in differences]
    return math.expm1(float(np.quantile(effects, 1.0 - SHARE, method="higher")))


def _alarms(differences: list[Difference], launches: int) -> Rate:
    wrong = sum(decide(difference, better="neither").verdict in ("higher", "lower") for difference in differences)
    value, windows = wrong / len(differences), launches // WINDOW
    low, high = _clopper_pearson(value * windows, windows)
    return Rate(value=value, low=low, high=high, comparisons=len(differences), windows=windows)


def _clopper_pearson(hits: float, n: int) -> tuple[float, float]:
    from scipy.special import betaincinv

    low = 0.0 if hits < 0.5 else float(betaincinv(hits, n - hits + 1.0, 0.025))  # less than one hit is compatible with a rate of 0
    high = 1.0 if hits >= n else float(betaincinv(hits + 1.0, n - hits, 0.975))
    return low, high
