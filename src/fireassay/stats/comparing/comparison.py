"""Do two sides differ, by how much, and how small a difference could this comparison have found?

Paired (both sides ran in the same blocks): Student t on log(b/a) per block, k - 1 degrees of freedom; block effects cancel.
Welch (no common blocks): log launch values, SE^2 = s_a^2/k_a + s_b^2/k_b with Welch-Satterthwaite degrees of freedom.
Scores, and values that include 0 or negatives, are compared by difference instead of ratio (scale "difference").

The decision (`decide`), on launch level, with alpha = 1 - confidence:

    higher | lower    the interval excludes no change, and the effect is larger than `smallest_effect` and than `floor`
    equivalent        else: the (1 - 2 alpha) interval lies inside the margin (two one-sided tests)
    inconclusive      else, with the launches that would decide
    insufficient      fewer than 3 launches on a side

Minimum detectable effect: the true effect that a repetition of this comparison would call higher or lower with 80 % power.
The spread is itself estimated from few launches, so power is averaged over the plausible true spread (sigma^2 =
s^2 df/chi^2[df]) and over the spread of the repetition; the textbook (t[.975] + t[.8]) SE takes s for sigma and reaches
only 39 to 76 %.  Ratio thresholds are symmetric: 3 % means 1/1.03 to 1.03, so exchanging the sides changes nothing.
Sources: Student (1908); Welch, Biometrika 34, 1947; Schuirmann, J. Pharmacokin. Biopharm. 15, 1987 (two one-sided tests);
Hoefler & Belli, SC'15, rule 7.  Cannot tell: why two sides differ, or a bias that all launches of one side share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.intervals import MAX_REPETITIONS, Floats, smallest, standard_deviation, t_quantile
from fireassay.stats.solvers import root

Scale = Literal["ratio", "difference"]
Design = Literal["paired", "welch"]
Verdict = Literal["higher", "lower", "equivalent", "inconclusive", "insufficient"]
Change = Literal["improved", "worse", "neither"]
Reason = Literal["changed", "within_margin", "few_launches", "wide", "below_floor", "floor_above_margin", "multiplicity", "no_margin"]

MIN_LAUNCHES: Final = 3  # on each side; fewer give no verdict
MARGIN: Final = 0.03  # equivalence, relative
SMALLEST_EFFECT: Final = 0.01  # relative; smaller changes are of no interest, however certain
POWER: Final = 0.8

REASONS: Final[Mapping[Reason, str]] = {
    "changed": "the interval excludes no change, and the effect is larger than the smallest one of interest",
    "within_margin": "the interval lies inside the margin of equivalence",
    "few_launches": "fewer than 3 launches on a side say nothing about launch-to-launch variation",
    "wide": "the interval is too wide to exclude either no change or a change beyond the margin",
    "below_floor": "the effect is not larger than the noise floor of this machine",
    "floor_above_margin": "the noise floor of this machine is not below the margin, so nothing can be equivalent",
    "multiplicity": "the effect is not significant after correction for several metrics",
    "no_margin": "no margin was given, so nothing can be equivalent",
}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Side b against side a: `value` is the ratio b/a, or the difference b - a, with its two-sided interval."""

    value: float
    low: float
    high: float
    scale: Scale
    design: Design
    confidence: float
    k_a: int
    k_b: int
    df: float
    standard_error: float  # of log(value) on the ratio scale, of the value itself on the difference scale
    p_value: float  # two-sided, of no difference
    cv: float  # spread of one launch: sd of its logarithm, or in the metric's unit; paired: sd of the block differences / sqrt(2)
    minimum_detectable_effect: float  # relative (0.02 is 2 %), or in the metric's unit; inf where nothing can be found
    method: str

    @property
    def ratio(self) -> float:
        """b/a; ValueError on the difference scale."""
        if self.scale != "ratio":
            raise ValueError("values of 0 or less have no ratio; the comparison is on the difference scale")
        return self.value

    @property
    def effect(self) -> float:
        """The relative change (0.05 for a ratio of 1.05), or the difference itself."""
        return self.value - 1.0 if self.scale == "ratio" else self.value


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The outcome of a comparison.  `verdict` is the direction of b against a, `change` whether that is good."""

    verdict: Verdict
    change: Change
    reason: Reason  # in words: REASONS[reason]
    equivalence_low: float  # the (1 - 2 alpha) interval, compared with the margin
    equivalence_high: float
    margin: float | None  # None: difference scale without a margin
    smallest_effect: float
    floor: float
    minimum_detectable_effect: float  # with this smallest effect and floor
    # per side, to decide with 80 % power if the observed effect is the true one; None: more cannot help
    launches_needed: int | None


def compare_paired(
    a: Floats, b: Floats, confidence: float = 0.95, *, scale: Scale = "ratio", smallest_effect: float | None = None
) -> Difference:
    """b against a, one pair per block (both of shape [k], in the same order of blocks).

    `smallest_effect` is what `decide` will require; the minimum detectable effect depends on it (default 1 %, or 0).
    """
    first, second = _values(a, "a", scale), _values(b, "b", scale)
    if len(first) != len(second):
        raise ValueError(f"a paired comparison needs one value of each side per round, not {len(first)} and {len(second)}")
    deltas, k = second - first, len(first)
    spread = standard_deviation(deltas) if k > 1 else math.nan
    return _difference(
        _Contrast(mean=_mean(deltas), error=spread / math.sqrt(k), df=k - 1.0, cv=spread / math.sqrt(2.0), k_a=k, k_b=k),
        confidence=confidence,
        scale=scale,
        design="paired",
        smallest_effect=smallest_effect,
        method=f"Student t on {'log ratios' if scale == 'ratio' else 'differences'} in {k} rounds",
    )


def compare_welch(
    a: Floats, b: Floats, confidence: float = 0.95, *, scale: Scale = "ratio", smallest_effect: float | None = None
) -> Difference:
    """b against a without common blocks (shapes [k_a] and [k_b]); does not remove drift between the sides."""
    first, second = _values(a, "a", scale), _values(b, "b", scale)
    k_a, k_b = len(first), len(second)
    spread_a, spread_b = (standard_deviation(x) if len(x) > 1 else math.nan for x in (first, second))
    part_a, part_b = spread_a**2 / k_a, spread_b**2 / k_b
    contrast = _Contrast(
        mean=_mean(second) - _mean(first),
        error=math.sqrt(part_a + part_b),
        df=_welch_df(part_a, k_a, part_b, k_b),
        cv=math.sqrt((spread_a**2 + spread_b**2) / 2.0),
        k_a=k_a,
        k_b=k_b,
    )
    return _difference(
        contrast,
        confidence=confidence,
        scale=scale,
        design="welch",
        smallest_effect=smallest_effect,
        method=f"Welch's t on {'logs of ' if scale == 'ratio' else ''}{k_a} and {k_b} launch values",
    )


def scale_of(a: Floats, b: Floats) -> Scale:
    """Ratio if all values are above 0, else difference."""
    return "ratio" if min(*a, *b) > 0.0 else "difference"


def decide(
    difference: Difference,
    *,
    better: Literal["higher", "lower", "neither"],
    margin: float | None = None,
    smallest_effect: float | None = None,
    floor: float = 0.0,
    p_adjusted: float | None = None,
) -> Decision:
    """Higher, lower, equivalent, inconclusive or insufficient, at the confidence of the difference's interval.

    `margin`, `smallest_effect` and `floor` are relative on the ratio scale (defaults 0.03, 0.01, 0); on the difference scale
    they are in the metric's unit; without a margin nothing is equivalent, and every certain change is of interest.  `floor` is
    the machine's noise floor: a change within it is inconclusive however narrow its interval, and a floor that reaches the
    margin rules out equivalence.  `p_adjusted` is the p-value after correction for several metrics.
    """
    relative = difference.scale == "ratio"
    limits = _Limits(
        margin=MARGIN if margin is None and relative else margin,
        smallest_effect=(SMALLEST_EFFECT if relative else 0.0) if smallest_effect is None else smallest_effect,
        floor=floor,
        scale=difference.scale,
    )
    half = t_quantile(difference.confidence, difference.df) * difference.standard_error if difference.df > 0 else math.inf
    centre = _to_scale(difference.value, difference.scale)
    verdict, reason = _rule(difference, limits, p_adjusted, half)
    return Decision(
        verdict=verdict,
        change=_change(verdict, better),
        reason=reason,
        equivalence_low=_from_scale(centre - half, difference.scale),
        equivalence_high=_from_scale(centre + half, difference.scale),
        margin=limits.margin,
        smallest_effect=limits.smallest_effect,
        floor=floor,
        minimum_detectable_effect=_printed_effect(difference, max(limits.smallest_effect, floor)),
        launches_needed=_launches_needed(difference, limits, p_adjusted, reason),
    )


def detectable_effect(error: float, df: float, confidence: float, least: float = 0.0, power: float = POWER) -> float:
    """The true effect that a comparison with this standard error and `df` finds with this power.

    Found: |estimate| > t SE and > `least` (all on the scale of the analysis: logarithms, or the metric's unit).
    """
    if not (df > 0.0 and math.isfinite(error)):
        return math.inf
    if error == 0.0:
        return least
    return error * _standardised(least / error, df, confidence, power)


@dataclass(frozen=True, kw_only=True)
class _Limits:
    """The thresholds as given, and on the scale of the analysis."""

    margin: float | None
    smallest_effect: float
    floor: float
    scale: Scale

    def __post_init__(self) -> None:
        named = {"margin": self.margin, "smallest_effect": self.smallest_effect, "floor": self.floor}
        for name, value in named.items():
            if value is not None and not (math.isfinite(value) and (value > 0.0 if name == "margin" else value >= 0.0)):
                raise ValueError(f"{name} must be a finite number {'above' if name == 'margin' else 'of at least'} 0, not {value}")

    def on_scale(self, value: float) -> float:
        return math.log1p(value) if self.scale == "ratio" else value

    @property
    def room(self) -> float | None:
        return None if self.margin is None else self.on_scale(self.margin)

    @property
    def interest(self) -> float:
        return self.on_scale(self.smallest_effect)

    @property
    def noise(self) -> float:
        return self.on_scale(self.floor)


def _rule(difference: Difference, limits: _Limits, p_adjusted: float | None, half: float) -> tuple[Verdict, Reason]:
    """Decide in order: too few launches, significant and large enough, within the margin, else inconclusive."""
    if min(difference.k_a, difference.k_b) < MIN_LAUNCHES:
        return "insufficient", "few_launches"
    centre = _to_scale(difference.value, difference.scale)
    none = 1.0 if difference.scale == "ratio" else 0.0
    certain = not difference.low <= none <= difference.high
    if certain and abs(centre) > limits.interest:
        if abs(centre) <= limits.noise:
            return "inconclusive", "below_floor"
        if p_adjusted is None or p_adjusted <= 1.0 - difference.confidence:
            return ("higher" if centre > 0.0 else "lower"), "changed"
    if limits.room is None:
        return "inconclusive", "no_margin"
    if abs(centre) + half < limits.room:
        return ("inconclusive", "floor_above_margin") if limits.noise >= limits.room else ("equivalent", "within_margin")
    return "inconclusive", "multiplicity" if certain and abs(centre) > limits.interest else "wide"


def _change(verdict: Verdict, better: Literal["higher", "lower", "neither"]) -> Change:
    if verdict not in ("higher", "lower") or better == "neither":
        return "neither"
    return "improved" if verdict == better else "worse"


def _launches_needed(difference: Difference, limits: _Limits, p_adjusted: float | None, reason: Reason) -> int | None:
    """Launches per side at which the rule would fire with 80 % power if effect and spread are as observed."""
    if reason == "few_launches":
        return MIN_LAUNCHES
    if reason not in ("wide", "multiplicity", "no_margin"):
        return None
    effect = abs(_to_scale(difference.value, difference.scale))
    alpha = 1.0 - difference.confidence
    if p_adjusted is not None and p_adjusted > 0.0:
        alpha *= min(1.0, difference.p_value / p_adjusted)
    share = 1.0 if difference.design == "paired" else difference.df / (difference.k_a + difference.k_b - 2) * 2.0

    def enough(k: int) -> bool:
        df, error = max(1.0, share) * (k - 1), difference.cv * math.sqrt(2.0 / k)
        power = t_quantile(POWER, df) * error
        detected = effect - power >= max(t_quantile(1.0 - alpha / 2.0, df) * error, limits.interest, limits.noise)
        inside = limits.room is not None and limits.noise < limits.room
        shown = inside and effect + t_quantile(difference.confidence, df) * error + power <= (limits.room or 0.0)
        return detected or shown

    first = min(difference.k_a, difference.k_b) + 1
    return smallest(first, enough) if enough(MAX_REPETITIONS) else None


@dataclass(frozen=True, kw_only=True)
class _Contrast:
    """b less a on the compared scale, before a confidence is chosen."""

    mean: float
    error: float  # standard error of the mean
    df: float
    cv: float  # standard deviation of one launch
    k_a: int
    k_b: int

    @property
    def known(self) -> bool:
        return self.df > 0.0 and math.isfinite(self.error)


def _difference(
    contrast: _Contrast, *, confidence: float, scale: Scale, design: Design, smallest_effect: float | None, method: str
) -> Difference:
    if not 0.5 < confidence < 1.0:
        raise ValueError(f"the confidence of a comparison must lie between 0.5 and 1, not {confidence}")
    mean, error, df, known = contrast.mean, contrast.error, contrast.df, contrast.known
    half = t_quantile((1.0 + confidence) / 2.0, df) * error if known else math.inf
    least = (SMALLEST_EFFECT if scale == "ratio" else 0.0) if smallest_effect is None else smallest_effect
    difference = Difference(
        value=_from_scale(mean, scale),
        low=_from_scale(mean - half, scale),
        high=_from_scale(mean + half, scale),
        scale=scale,
        design=design,
        confidence=confidence,
        k_a=contrast.k_a,
        k_b=contrast.k_b,
        df=df,
        standard_error=error if known else math.inf,
        p_value=_p_value(mean, error, df) if known else 1.0,
        cv=contrast.cv if known else math.inf,
        minimum_detectable_effect=math.inf,
        method=method,
    )
    return replace(difference, minimum_detectable_effect=_printed_effect(difference, least))


def _printed_effect(difference: Difference, least: float) -> float:
    low = math.log1p(least) if difference.scale == "ratio" else least
    df = _cautious_df(difference)
    return _relative(detectable_effect(difference.standard_error, df, difference.confidence, low), difference.scale)


def _cautious_df(difference: Difference) -> float:
    """Welch degrees of freedom leaned towards the smaller side's own: they are estimated, and too high if that side is noisier.

    The weights are the smallest that reach 80 % power whichever side is noisier (benchmarks/comparison.py).
    """
    if difference.design == "paired" or difference.df <= 0.0:
        return difference.df
    least = max(1, min(difference.k_a, difference.k_b) - 1)  # a single launch against a history has none of its own
    return 1.0 / (0.4 / difference.df + 0.6 / least)


def _p_value(mean: float, error: float, df: float) -> float:
    """Two-sided Student t.  Without variation p is 1 for no difference, else 0."""
    from scipy.special import stdtr

    if error == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    return float(2.0 * stdtr(df, -abs(mean) / error))


def _welch_df(part_a: float, k_a: int, part_b: float, k_b: int) -> float:
    """Welch-Satterthwaite; without any variation the pooled degrees of freedom, and 0 for a single launch."""
    if min(k_a, k_b) < 2:
        return 0.0
    if part_a + part_b == 0.0:
        return k_a + k_b - 2.0
    share = part_a / (part_a + part_b)  # scaled first: squares of tiny variances would vanish
    return 1.0 / (share**2 / (k_a - 1) + (1.0 - share) ** 2 / (k_b - 1))


@lru_cache(maxsize=4096)
def _standardised(least: float, df: float, confidence: float, power: float) -> float:
    """The detectable effect in observed standard errors, averaged over the true spread and the repetition's."""
    true = (1.0 / _spreads(df, 64))[:, np.newaxis]  # true over observed
    repeated = _spreads(df, 32)  # repeated over true
    return _effect_with_power(t_quantile((1.0 + confidence) / 2.0, df) * repeated * true, true, least, power)


def _effect_with_power(threshold: NDArray[np.float64], error: NDArray[np.float64], least: float, power: float) -> float:
    """The effect that exceeds both thresholds with this power, averaged over equally likely cases."""
    from scipy.special import ndtr

    limit = np.maximum(threshold, least)

    def excess(effect: float) -> float:
        return float(np.mean(ndtr((effect - limit) / error))) - power

    high = float(limit.max()) + 1.0
    while excess(high) < 0.0:
        high *= 2.0
    return root(excess, 0.0, high, tolerance=1e-4)


@lru_cache(maxsize=256)
def _spreads(df: float, classes: int) -> NDArray[np.float64]:
    """sqrt(chi^2[df]/df) at the midpoints of equally likely classes; ten times as many change the effect by less than 1 %."""
    from scipy.special import chdtri

    middles = (np.arange(classes) + 0.5) / classes
    return np.sqrt(np.asarray(chdtri(df, middles), dtype=np.float64) / df)


def _values(values: Floats, name: str, scale: Scale) -> NDArray[np.float64]:
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or len(data) == 0 or not np.all(np.isfinite(data)):
        raise ValueError(f"side {name} must be a list of at least one finite number, not of shape {data.shape}: {values}")
    if scale == "difference":
        return data
    if float(data.min()) <= 0.0:
        raise ValueError(f'side {name} holds {data.min()}, which has no logarithm; compare it with scale="difference"')
    return np.asarray(np.log(data))


def _mean(data: NDArray[np.float64]) -> float:
    """The mean; exact for equal values."""
    return float(data[0]) if float(np.ptp(data)) == 0.0 else float(np.mean(data))


def _to_scale(value: float, scale: Scale) -> float:
    return math.log(value) if scale == "ratio" else value


def _from_scale(value: float, scale: Scale) -> float:
    if scale == "difference":
        return value
    return math.exp(value) if value < 709.0 else math.inf


def _relative(effect: float, scale: Scale) -> float:
    if scale == "difference":
        return effect
    return math.expm1(effect) if effect < 709.0 else math.inf
