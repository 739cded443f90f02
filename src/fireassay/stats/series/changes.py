"""Which changes of level does a history hold, and does each persist once certain?

The history is replayed as it grew.  At each number of values m = 6, 7, ... n, the stretch of L values since the last change is
tested for one step (`fireassay.stats.series.step_test`) of strength z.  Two bounds:

    certain     z - m >= B(L) = 4.75 - 11/max(L, 10): at most 1 % of histories without a change EVER show one, with an analysis after each
                of 500 values; about 2 % of AR(1) ones with phi = 0.5 or 0.8.  A new stretch with its own level begins there
    suspected   z >= S(L) = 3.85 - 3.8/sqrt(max(L, 10)): at most 1 % of histories without a change show one at a SINGLE analysis (3 % of
                AR(0.5)).  It may vanish as values are added, and over many looks far more than 1 % of histories show one

    m = 2 max(0, phi - (9 + sqrt(L))/(L + 15)) + 1.5 max(0, r - 0.45), at most 0.8: memory beyond what independent values show around two
    levels (phi) and around one (r, the stretch's lag-1 autocorrelation; small if a few values end a long level)

    p = 0.01 (z/B)^3 exp((B^2 - z^2)/2)      of a certain change, over the whole life; of a suspected one with S, at this analysis

Later replays contain every earlier one: a certain change stays, its p only falls, and its position moves only within its
reported span.  The form of p is Siegmund's (Annals of Probability 16, 1988) for a maximum over both ends; B and S are simulated
(`benchmarks/results/history.md`).
A step supported only by the last one or two values could be an outlier: it is suspected whatever its size.
Outliers are one or two values 5 robust deviations off their level; they are reported separately and shift no level.
Cannot tell: the cause of a change.  A slow drift looks like steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from fireassay.stats.comparing.multiplicity import benjamini_hochberg
from fireassay.stats.intervals.autocorrelation import lag_one
from fireassay.stats.intervals.intervals import Floats, fraction, t_quantile
from fireassay.stats.series.step_test import MAD_TO_SIGMA, MAX_EARLIER, SUPPORT, Array, Noise, Strongest, placed, strongest, supported

Kind = Literal["change", "suspected"]
MIN_VALUES: Final = 10  # fewest values for a result
FIRST: Final = 2 * SUPPORT  # values at the first analysis of a stretch
LEVEL: Final = 0.01
EVER: Final = (4.75, 11.0)  # of B(L)
ONCE: Final = (3.85, 3.8)  # of S(L)
MEMORY: Final = (2.0, 1.5)  # of m
MEMORY_OF_STEPS: Final = 0.45  # of r
MAX_MEMORY: Final = 0.8
OUTLIER: Final = 5.0  # robust deviations
SAME: Final = 1e-12  # rounding between summation orders
NO_STEP: Final = math.sqrt(3.0)  # z below which p is 1


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of level.

    `index` is the 0-based index of the first value of the new level, which stays between `earliest` and `latest` whatever values
    follow; `known` is the number of values at which it became certain.  `before` and `after` are the means on both sides,
    up to the neighbouring changes and without outliers.
    """

    kind: Kind
    index: int
    before: float
    after: float
    p_value: float | None = None  # None if only one or two values show it
    earliest: int
    latest: int
    known: int


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Changes and outliers in a history of `n` values."""

    n: int
    changes: tuple[Change, ...] = ()  # certain ones, oldest first, then possibly a suspected one
    outliers: tuple[int, ...] = ()  # 0-based
    p_value: float | None = None  # of the clearest change over the whole life, at least `alpha` without one; None: too short
    autocorrelation: float | None = None  # of the newest stretch, around its levels

    @property
    def certain(self) -> tuple[Change, ...]:
        """The certain changes."""
        return tuple(change for change in self.changes if change.kind == "change")


def changes_in_history(values: Floats, *, alpha: float = LEVEL, earlier: Floats = ()) -> Changes:
    """All changes of one series of comparable values (shape [n], finite, oldest first).

    `alpha` bounds the chance that a history without a change ever shows one.  `earlier` holds the first values on the scale of
    earlier replays (logarithms, until a value of 0 arrived), so that changes found there persist.

    Raises:
        ValueError: values that are not finite, a level outside 0..1, or more earlier values than values.
    """
    data, first = _checked(values, alpha), _checked(earlier, alpha)
    if len(first) > len(data):
        raise ValueError(f"{len(first)} earlier values for {len(data)} values")
    if len(data) < MIN_VALUES:
        return Changes(n=len(data))
    replay = _read(_Replay(data=first, alpha=alpha))
    return _read(_Replay(data=data, alpha=alpha, found=replay.found, start=len(first)).on_this_scale()).findings()


def across_series(histories: Sequence[Changes], level: float = 0.05) -> tuple[Changes, ...]:
    """The changes of several series with Benjamini-Hochberg-adjusted p-values; above `level` a series has none.

    Series that are too short count too, with p = 1, so that the number of series is independent of their length.  As p-values
    never grow with a history, findings persist when values are added to any series.
    """
    adjusted = benjamini_hochberg([1.0 if series.p_value is None else series.p_value for series in histories])
    return tuple(_adjusted(series, p, level) for series, p in zip(histories, adjusted, strict=True))


def _adjusted(series: Changes, p_value: float, level: float) -> Changes:
    if series.p_value is None:
        return series
    kept = series.changes if p_value <= level else tuple(c for c in series.changes if c.kind == "suspected")
    return replace(series, changes=kept, p_value=p_value)


def chance_ever(z: float, n: float) -> float:
    """Chance that a history without a change ever shows a step of strength z in a stretch of n values."""
    return _chance(z, EVER[0] - EVER[1] / max(n, MIN_VALUES))


def chance_once(z: float, n: float) -> float:
    """Chance that a history of n values without a change shows a step of strength z at one analysis."""
    return _chance(z, ONCE[0] - ONCE[1] / math.sqrt(max(n, MIN_VALUES)))


def _chance(z: float, bound: float) -> float:
    """0.01 at the bound; 1 below z = sqrt(3), where the form would rise with z and no longer holds."""
    if z <= NO_STEP:
        return 1.0
    return min(1.0, LEVEL * (z / bound) ** 3 * math.exp((bound**2 - z**2) / 2.0)) if z < 1e3 else 0.0


# ---- reading a history as it grew ------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class _Found:
    """A certain change during the replay."""

    place: int
    earliest: int
    latest: int
    known: int
    p_value: float


@dataclass(kw_only=True)
class _Replay:
    """Replay state, derived only from the values read so far."""

    data: Array
    alpha: float
    found: list[_Found] = field(default_factory=list)
    noise: Noise = field(default_factory=Noise)  # of completed stretches
    before: Noise = field(default_factory=Noise)  # the same, without the last one
    clearest: float = 1.0  # p of the clearest analysis so far
    suspicion: tuple[int, float] | None = None  # index and p at the last analysis
    start: int = 0  # number of values read on another scale
    phi: float = 0.0

    @property
    def begin(self) -> int:
        return self.found[-1].place if self.found else 0

    def on_this_scale(self) -> _Replay:
        """Continue on this scale, with the noise of the stretches found on another."""
        for a, b in pairwise([0, *(change.place for change in self.found)]):
            self.before, self.noise = self.noise, self.noise.with_level(self.data[a:b])
        self.clearest = min((change.p_value for change in self.found), default=1.0)
        return self

    def read(self, m: int) -> None:
        """Strongest at the first `m` values."""
        if self.found:
            self._weigh(self.found[-1], m)
        self.suspicion, stretch = None, self.data[self.begin : m]
        if len(stretch) < FIRST:
            return
        seen, worth = strongest(stretch, self.noise), _worth(stretch, self.noise)
        self.phi = seen.phi
        p, once = _ever(seen, stretch, worth), chance_once(seen.z, worth)
        self.clearest = min(self.clearest, max(p, self.alpha))
        if min(p, once) > self.alpha:
            return
        index, first, last = placed(stretch, seen.place)
        if not supported(stretch, index):
            return
        if p > self.alpha:
            self.suspicion = self.begin + index, once
            return
        begin, self.before, self.noise = self.begin, self.noise, self.noise.with_level(stretch[:index])
        self.clearest = min(self.clearest, p)
        self.found.append(_Found(place=begin + index, earliest=begin + first, latest=begin + last, known=m, p_value=p))

    def _weigh(self, last: _Found, m: int) -> None:
        """Update the newest change with all values so far: best position within its span, and p."""
        begin = self.found[-2].place if len(self.found) > 1 else 0
        stretch = self.data[begin:m]
        if last.earliest < last.latest:
            last.place = begin + placed(stretch, last.place - begin, last.earliest - begin, last.latest - begin)[0]
        last.p_value = min(last.p_value, _ever(strongest(stretch, self.before), stretch, _worth(stretch, self.before)))
        self.clearest = min(self.clearest, last.p_value)

    def findings(self) -> Changes:
        """The findings, with levels."""
        n, edges = len(self.data), [0, *(found.place for found in self.found), len(self.data)]
        last = _last_values(self.data[self.begin :], self.alpha)
        doubtful, p = self.suspicion or (n - last if last else None, None)
        off = _outliers(self.data, edges if doubtful is None else [*edges[:-1], doubtful, n], last)
        levels = [_level(self.data, a, b, off) for a, b in pairwise([*edges[:-1], doubtful or n])]
        changes = [
            Change(
                kind="change",
                index=found.place,
                before=levels[i],
                after=levels[i + 1],
                p_value=found.p_value,
                earliest=found.earliest,
                latest=found.latest,
                known=found.known,
            )
            for i, found in enumerate(self.found)
        ]
        if doubtful is not None:
            changes.append(
                Change(
                    kind="suspected",
                    index=doubtful,
                    before=levels[-1],
                    after=_level(self.data, doubtful, n, off),
                    p_value=p,
                    earliest=doubtful,
                    latest=doubtful,
                    known=n,
                )
            )
        return Changes(n=n, changes=tuple(changes), outliers=off, p_value=self.clearest, autocorrelation=self.phi)


def _read(replay: _Replay) -> _Replay:
    for m in range(max(FIRST, replay.start + 1), len(replay.data) + 1):
        replay.read(m)
    return replay


def _ever(seen: Strongest, stretch: Array, worth: float) -> float:
    """`chance_ever`, with the step weakened by memory that its two levels do not explain."""
    if seen.z <= NO_STEP:
        return 1.0
    around_two = max(0.0, seen.phi - (9.0 + math.sqrt(worth)) / (worth + 15.0))
    memory = MEMORY[0] * around_two + MEMORY[1] * max(0.0, lag_one(stretch) - MEMORY_OF_STEPS)
    return chance_ever(seen.z - min(memory, MAX_MEMORY), worth)


def _worth(stretch: Array, noise: Noise) -> float:
    """The length for the bound: once earlier stretches determine the noise, a short one is no less certain of it."""
    return len(stretch) + min(noise.values, MAX_EARLIER)


# ---- single values ---------------------------------------------------------------------------------------------------


def _last_values(stretch: Array, alpha: float) -> int:
    """How many of the last one or two values are off the level of the others, by t tests of each and of their mean."""
    if len(stretch) < MIN_VALUES - SUPPORT + 2:
        return 0
    level, last = _held(stretch[:-2]), stretch[-2:]
    phi = max(lag_one(level), 0.0)
    spread = float(level.std(ddof=1)) * math.sqrt((1.0 + phi) / (1.0 - phi))
    least = t_quantile(1.0 - alpha / 4.0, len(level) - 1)

    def away(values: Array) -> bool:
        apart = abs(float(values.mean() - level.mean()))
        error = spread * math.sqrt(1.0 / len(values) + 1.0 / len(level))
        return apart > max(least * error, SAME * float(np.abs(stretch).max()))

    if not away(last[1:]):
        return 2 if away(last) else 0
    together = (last[0] > level.mean()) == (last[1] > level.mean())
    return 2 if together and (away(last[:1]) or away(last)) and abs(last[0] - level.mean()) > spread else 1


def _held(values: Array) -> Array:
    """The values of a stretch without outliers."""
    least = OUTLIER * max(_robust(values), SAME * float(np.abs(values).max()))
    return np.asarray(values[np.abs(values - np.median(values)) <= least], dtype=np.float64)


def _robust(values: Array) -> float:
    rest = values - np.median(values)
    robust = MAD_TO_SIGMA * float(np.median(np.abs(rest)))
    return robust if robust > 0.0 else float(rest.std())


def _outliers(data: Array, edges: Sequence[int], ends: int) -> tuple[int, ...]:
    """Values far off their level, except the last `ends`, which may be a new level."""
    rest = np.concatenate([data[a:b] - np.median(data[a:b]) for a, b in pairwise(edges)])
    common = _robust(rest)
    off = []
    for a, b in pairwise(edges):
        least = OUTLIER * max(_robust(rest[a:b]), common)
        off += [a + int(i) for i in np.flatnonzero(np.abs(rest[a:b]) > max(least, SAME * float(np.abs(data).max())))]
    return tuple(i for i in off if i < len(data) - ends)


def _level(data: Array, begin: int, end: int, off: Sequence[int]) -> float:
    """The mean without outliers, or of all values if there are only outliers."""
    keep = np.setdiff1d(np.arange(begin, end), off)
    return float(data[keep].mean() if len(keep) else data[begin:end].mean())


def _checked(values: Floats, alpha: float) -> Array:
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or not np.all(np.isfinite(data)):
        raise ValueError("a history must be a list of finite numbers")
    fraction(alpha, "level")
    return data
