"""How much do records of the same code differ from day to day, and what does that leave of a difference between two records?

Random effects: launch j of record i is y_ij = mu + B_i + e_ij, with day effect B_i (variance tau^2) and launch effect e_ij
(variance s_i^2).  For n earlier records with means y_i: S^2 = variance of the y_i, E S^2 = tau^2 + mean(s_i^2/k_i).
Two records from different days then differ with variance

    2 tau^2 + s_a^2/k_a + s_b^2/k_b,     estimated by V = 2 S^2 + max(0, s_a^2/k_a + s_b^2/k_b - 2 mean(s_i^2/k_i))

and (b - a)/sqrt(V) is Student t with n - 1 degrees of freedom; exactly so if all records have equal s^2/k, where V = 2 S^2.
Two records that scatter less than the history are not credited for it: subtracting the excess called 8 % of A/A pairs changed
(records of 10 launches, history of 3), because S^2 has only n - 1 degrees of freedom.
`widened` takes the wider of this interval and Welch's.  A new record against the mean of the n:
V = S^2 (1 + 1/n) + max(0, s_a^2/k_a - mean(s_i^2/k_i)), the prediction interval; a single launch against records of several
counts as too few (`k_b` is 1), since its s^2 is unknown.
Without a history, a day-to-day deviation c can be assumed (`assumed`): V = 2 c^2 + s_a^2/k_a + s_b^2/k_b; on the difference
scale c is relative to each side's own mean.
Two records made alternately, in m sittings (runs of launches of one side), need no history (`alternating`):
sitting mean = mu + side + drift x time + sitting effect, by least squares with m - 3 degrees of freedom.
Sources: Kalibera & Jones, ISMM 2013 (variation between runs dominates); DerSimonian & Laird, 1986 (moment estimator);
Satterthwaite, 1946.  benchmarks/check.py simulates false alarms and power.
Cannot tell: a drift (days are assumed independent), or whether the history's days were quieter than today.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from fireassay.stats.comparing.comparison import Difference, Scale, compare_welch, detectable_effect
from fireassay.stats.intervals.intervals import t_quantile

MIN_RECORDS: Final = 5  # needed to estimate day-to-day variation
MIN_SITTINGS: Final = 3  # of each side, for records made alternately


@dataclass(frozen=True, kw_only=True)
class Level:
    """A record's mean on the scale of the analysis (logarithms for ratios)."""

    mean: float
    variance: float | None  # of the mean, from its launches: s^2/k; None for a single launch


@dataclass(frozen=True, kw_only=True)
class Between:
    """Variation between the records of a history."""

    records: int
    mean: float
    total: float  # S^2
    within: float  # mean s^2/k of the records with several launches; 0 if there are none

    @property
    def variance(self) -> float:
        """tau^2, the variance between days alone."""
        return max(0.0, self.total - self.within)

    @property
    def deviation(self) -> float:
        """tau; on logarithms, roughly the relative day-to-day deviation."""
        return math.sqrt(self.variance)


def level(values: Sequence[float], scale: Scale) -> Level:
    """A record's level from its launch values (shape [k]).

    Raises:
        ValueError: no value, one that is not finite, or one without a logarithm.
    """
    if not values or not all(math.isfinite(value) for value in values):
        raise ValueError(f"a record needs at least one finite launch value, not {list(values)}")
    if scale == "ratio" and min(values) <= 0.0:
        raise ValueError(f"{min(values)} has no logarithm; use the difference scale")
    data = [math.log(value) for value in values] if scale == "ratio" else list(values)
    mean = math.fsum(data) / len(data)
    if len(data) < 2:
        return Level(mean=mean, variance=None)
    return Level(mean=mean, variance=math.fsum((x - mean) ** 2 for x in data) / (len(data) - 1) / len(data))


def between(levels: Sequence[Level]) -> Between | None:
    """Variation between records; None for fewer than 5, too few to estimate it."""
    n = len(levels)
    if n < MIN_RECORDS:
        return None
    mean = math.fsum(record_level.mean for record_level in levels) / n
    known = [record_level.variance for record_level in levels if record_level.variance is not None]
    return Between(
        records=n,
        mean=mean,
        total=math.fsum((record_level.mean - mean) ** 2 for record_level in levels) / (n - 1),
        within=math.fsum(known) / len(known) if known else 0.0,
    )


def widened(difference: Difference, a: Level, b: Level, days: Between) -> Difference:
    """A difference of two records including day-to-day variation: the wider of both intervals."""
    variance = (a.variance or 0.0) + (b.variance or 0.0)
    error = math.sqrt(2.0 * days.total + max(0.0, variance - 2.0 * days.within))
    return _wider(difference, error, days.records - 1.0, f"with the variation between {days.records} records of the history")


def assumed(difference: Difference, a: Level, b: Level, deviation: float) -> Difference:
    """A difference of two records for an assumed day-to-day standard `deviation` (on the scale of the analysis)."""
    part_a, part_b = a.variance or 0.0, b.variance or 0.0
    relative = 2.0 if difference.scale == "ratio" else a.mean**2 + b.mean**2
    variance = relative * deviation**2 + part_a + part_b
    rest = part_a**2 / max(1, difference.k_a - 1) + part_b**2 / max(1, difference.k_b - 1)
    df = variance**2 / rest if rest > 0.0 else 1e6
    return _wider(difference, math.sqrt(variance), min(df, 1e6), f"with an assumed variation between days of {deviation:.0%}")


@dataclass(frozen=True, kw_only=True)
class Sitting:
    """A run of consecutive launches of one side."""

    side: int  # 0: a, 1: b
    at_s: float  # its middle
    mean: float  # of its launches, on the scale of the analysis


def alternating(sittings: Sequence[Sitting], difference: Difference) -> Difference:
    """The difference of two sides made alternately, from at least 3 sittings of each.

    Raises:
        ValueError: fewer sittings.
    """
    counts = [sum(sitting.side == side for sitting in sittings) for side in (0, 1)]
    if min(counts) < MIN_SITTINGS:
        raise ValueError(f"sides made alternately need {MIN_SITTINGS} sittings each, not {counts[0]} and {counts[1]}")
    times = np.array([sitting.at_s for sitting in sittings])
    design = np.column_stack(
        [np.ones(len(sittings)), [sitting.side for sitting in sittings], (times - times.mean()) / max(float(np.ptp(times)), 1e-9)]
    )
    means = np.array([sitting.mean for sitting in sittings])
    fitted = np.linalg.lstsq(design, means, rcond=None)[0]
    df = float(len(sittings) - design.shape[1])
    variance = float(((means - design @ fitted) ** 2).sum()) / df
    error = math.sqrt(variance * float(np.linalg.inv(design.T @ design)[1, 1]))
    restated = _restated(difference, float(fitted[1]), error, df)
    how = f"least squares on {len(sittings)} sittings made alternately, a linear drift taken out"
    return replace(restated, design="paired", method=f"Student t, {how}")


def against_history(values: Sequence[float], levels: Sequence[Level], confidence: float, scale: Scale) -> Difference:
    """Compare a record's launch values with the mean of earlier records: the prediction interval of one more record.

    Raises:
        ValueError: fewer than 5 earlier records, or values that `level` rejects.
    """
    days, new = between(levels), level(values, scale)
    if days is None:
        raise ValueError(f"a history needs at least {MIN_RECORDS} records, not {len(levels)}")
    more = max(0.0, new.variance - days.within) if new.variance is not None else 0.0
    n = days.records
    error = math.sqrt(days.total * (1.0 + 1.0 / n) + more)
    usual = math.exp(days.mean) if scale == "ratio" else days.mean
    start = compare_welch([usual] * 3, list(values), confidence, scale=scale)
    # A single launch scatters more than the history's means of several, by an unknown amount.
    alike = new.variance is not None or days.within == 0.0
    moved = replace(start, k_a=n, k_b=max(3, len(values)) if alike else 1, cv=math.sqrt(days.total))
    restated = _restated(moved, new.mean - days.mean, error, n - 1.0)
    return replace(restated, method=f"prediction interval of one more record, Student t on the means of {n} earlier records")


def detectable_with_days(difference: Difference, least: float) -> float:
    """The effect found with 80 % power once days are included; effects up to `least` (relative) are of no interest.

    Its degrees of freedom come from the history, whereas `decide` would use those of the smaller side.
    """
    ratio = difference.scale == "ratio"
    effect = detectable_effect(difference.standard_error, difference.df, difference.confidence, math.log1p(least) if ratio else 0.0)
    return _back(effect, ratio) - (1.0 if ratio else 0.0)


def _wider(difference: Difference, error: float, df: float, how: str) -> Difference:
    """Apply this error if it widens the interval; the larger p-value stays."""
    centre = math.log(difference.value) if difference.scale == "ratio" else difference.value
    restated = replace(_restated(difference, centre, error, df), method=f"{difference.method}, {how}")
    if restated.high - restated.low < difference.high - difference.low:
        return replace(difference, method=restated.method)
    return replace(restated, p_value=max(restated.p_value, difference.p_value))


def _restated(difference: Difference, centre: float, error: float, df: float) -> Difference:
    from scipy.special import stdtr

    half = t_quantile((1.0 + difference.confidence) / 2.0, df) * error
    least = math.log1p(0.01) if difference.scale == "ratio" else 0.0
    p = 2.0 * float(stdtr(df, -abs(centre) / error)) if error > 0.0 else float(centre == 0.0)
    detectable = detectable_effect(error, df, difference.confidence, least)
    ratio = difference.scale == "ratio"
    return replace(
        difference,
        value=_back(centre, ratio),
        low=_back(centre - half, ratio),
        high=_back(centre + half, ratio),
        df=df,
        standard_error=error,
        p_value=p,
        minimum_detectable_effect=_back(detectable, ratio) - (1.0 if ratio else 0.0),
    )


def _back(value: float, ratio: bool) -> float:
    if not ratio:
        return value
    return math.exp(value) if value < 709.0 else math.inf
