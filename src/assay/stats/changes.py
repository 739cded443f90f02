"""Did this history change its level, where, and is it more than chance?

    V(x) = max over t = 3 ... n-3 of |mean(x_1..x_t) - mean(x_t+1..x_n)| sqrt(t (n-t)/n) / s        s: all values, ddof 0

1  phi, the lag-1 autocorrelation round the two levels of the best split, freed of its bias: (n r + 4.5)/(n - 8), 0 to 0.9;
2  V of the innovations x_t - phi x_(t-1), against `permutations` random orders of them: p = (1 + #{V_perm >= V})/(1 + B);
3  where p <= alpha: split at the change, and ask again on both sides at half the level.  The first question is asked
   at the whole level, so that the family's rate of false alarms is that level;
4  where the whole shows none, what came and went may hide: between the neighbours of every proposal of PELT, if little
   autocorrelation is left round the proposed levels, at the level alpha / (20 proposals);
5  of several changes the place is the nearest that PELT proposes (ruptures, l2, 3 sigma^2 ln n), if one is near, else
   that of V.

The usual rule for dependent values, to permute blocks where the raw autocorrelation exceeds 0.2, was simulated and is
not used: a real step is itself autocorrelation, so it switches the rule on and hides itself (a step of 3 sigma five
values ago among 50 is found in 20 % of histories instead of 97 %; `benchmarks/results/history.md`).
A step within the last one or two values cannot be told from an outlier: it is "suspected", never a finding.
Sources: the CUSUM test of Page (1954) in its permutation form, Antoch & Huskova (2001); bias of the autocorrelation, Kendall
(1954); PELT, Killick et al. (2012).
Cannot tell: what changed.  A slow drift looks like steps; a passing excursion is not seen if it is short, or the
values depend on one another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from assay.stats.autocorrelation import lag_one
from assay.stats.intervals import Floats, t_quantile
from assay.stats.multiplicity import benjamini_hochberg
from assay.stats.steady import LEAST_SEGMENT, MAD_TO_SIGMA

Array = NDArray[np.float64]
Kind = Literal["none", "change", "suspected", "too short"]

LEAST: Final = 10  # values that a history needs before it can be asked
SUPPORT: Final = 3  # values on either side of a change
PERMUTATIONS: Final = 999
LEVEL: Final = 0.01
BIAS_OF_LAG_ONE: Final = (4.5, 8.0)  # of the residuals of the best split: simulated, n = 20 ... 200, phi = 0 ... 0.8
LEAST_WINDOW: Final = 20  # values round a proposal, below which dependence cannot be told from a step
MOST_LEFT_OVER: Final = 0.2  # simulated: what came and went leaves less in 9 of 10, AR(0.5) more in 95 of 100 or more
WINDOW_PRICE: Final = 20  # simulated: with 2, skewed values without a change give one in 3 % of histories
MOST_LAG_ONE: Final = 0.9
FEWER: Final = 1.3  # the share of the scatter that one or two values at an end must explain beyond what a change does
SAME: Final = 1e-12  # sums of the same numbers in another order


@dataclass(frozen=True, kw_only=True)
class Change:
    """What one look at a history found.

    `index` is the 0-based place of the first value of the new level, None where there is no change.  `p_value` is None
    for a history that is too short.  `before` and `after` are the means on both sides, within the neighbouring changes.
    `autocorrelation` is phi of the module's step 1.
    """

    kind: Kind
    sentence: str
    n: int
    index: int | None = None
    p_value: float | None = None
    statistic: float | None = None  # V of the values themselves
    autocorrelation: float | None = None
    before: float | None = None
    after: float | None = None


def change_in_history(
    values: Floats, seed: int | np.random.Generator, *, alpha: float = LEVEL, permutations: int = PERMUTATIONS
) -> Change:
    """Whether one series of comparable values (shape [n], finite, oldest first) holds a change, and the clearest one.

    Of what came and went it is the later change.

    Raises:
        ValueError: values that are not finite, a level outside 0..1, or too few permutations for the level.
    """
    data, rng = _checked(values, alpha, permutations), np.random.default_rng(seed)
    if len(data) < LEAST:
        return _too_short(len(data))
    found = _test(data, rng, permutations)
    if found.p_value is not None and found.p_value <= alpha and found.index is not None:
        edge = _edge(data, found.index)
        return _named(found, data, 0, len(data)) if edge is None else _doubtful(data, 0, edge, found)
    passing = _windows(data, alpha, rng, permutations)
    if passing:
        edges = [0, *(place for place, _ in passing), len(data)]
        place, clearest = passing[-1]  # the one that holds now
        return _named(clearest, data, edges[-3], edges[-1], shift=place - (clearest.index or 0))
    return _suspected(data, 0, alpha, found) or found


def changes_in_history(
    values: Floats, seed: int | np.random.Generator, *, alpha: float = LEVEL, permutations: int = PERMUTATIONS
) -> tuple[Change, ...]:
    """All changes of a history, oldest first, and at its end perhaps a suspected one; empty: none.

    `alpha` bounds the chance that a history without any change gives one (kind "change").  Raises as `change_in_history`.
    """
    data, rng = _checked(values, alpha, permutations), np.random.default_rng(seed)
    if len(data) < LEAST:
        return ()
    found = sorted(_split(data, 0, len(data), alpha, rng, permutations, None))
    found = found or sorted(_windows(data, alpha, rng, permutations))
    edges = [0, *(place for place, _ in found), len(data)]
    named = [
        _named(change, data, edges[i], edges[i + 2], shift=place - (change.index or 0))
        for i, (place, change) in enumerate(found)
    ]
    last = _suspected(data, edges[-2], alpha, None)
    return (*named, *([last] if last is not None else []))


def across_series(changes: Sequence[Change], level: float = 0.05) -> tuple[Change, ...]:
    """The changes of several series with p-values adjusted by Benjamini and Hochberg; above `level`: no change.

    Give one `change_in_history` for each series that was looked at, also those without a change.
    """
    asked = [i for i, change in enumerate(changes) if change.p_value is not None]
    adjusted = dict(zip(asked, benjamini_hochberg([p for c in changes if (p := c.p_value) is not None]), strict=True))
    return tuple(_adjusted(change, adjusted[i], level) if i in adjusted else change for i, change in enumerate(changes))


def _adjusted(change: Change, p_value: float, level: float) -> Change:
    if change.kind != "change" or p_value <= level:
        return replace(change, p_value=p_value)
    sentence = f"no change: p = {p_value:.3g} after correction for the number of series"
    return replace(change, kind="none", p_value=p_value, index=None, before=None, after=None, sentence=sentence)


def cusum(values: Floats) -> tuple[float, int]:
    """V of the values and the 0-based place of the first value of the new level; needs at least 2 * SUPPORT values."""
    statistic, place = _cusums(np.asarray(values, dtype=np.float64)[np.newaxis, :])
    return float(statistic[0]), int(place[0])


def permutation_p(
    values: Floats, seed: int | np.random.Generator, *, permutations: int = PERMUTATIONS, block: int = 1
) -> float:
    """p of V against random orders of the values, or of blocks of `block` consecutive ones (the last may be shorter)."""
    data, rng = np.asarray(values, dtype=np.float64), np.random.default_rng(seed)
    observed = _cusums(data[np.newaxis, :])[0][0]
    if block == 1:
        orders = rng.permuted(np.tile(data, (permutations, 1)), axis=1)
    else:
        blocks = np.split(data, range(block, len(data), block))
        drawn = (rng.permutation(len(blocks)) for _ in range(permutations))
        orders = np.stack([np.concatenate([blocks[i] for i in order]) for order in drawn])
    return float(1 + np.sum(_cusums(orders)[0] >= observed - SAME)) / (1 + permutations)


def proposals(values: Floats) -> tuple[int, ...]:
    """Changes that PELT proposes (ruptures): l2, penalty 3 sigma^2 ln n, segments of at least max(5, 2 %) values.

    A proposal is no finding: positively autocorrelated values make it propose far too many.
    """
    import ruptures

    data = np.asarray(values, dtype=np.float64)
    n, steps = len(data), np.diff(data)
    least = max(LEAST_SEGMENT, math.ceil(0.02 * n))
    sigma = MAD_TO_SIGMA * float(np.median(np.abs(steps - np.median(steps)))) / math.sqrt(2.0) if n > 1 else 0.0
    if n < 2 * least:
        return ()
    penalty = 3.0 * max(sigma, 1e-9 * float(np.abs(data).max())) ** 2 * math.log(n)
    ends = ruptures.Pelt(model="l2", min_size=least, jump=1).fit(data - data.mean()).predict(pen=penalty)
    return tuple(int(end) for end in ends[:-1])


# ---- one question --------------------------------------------------------------------------------------------------


def _test(data: Array, rng: np.random.Generator, permutations: int) -> Change:
    """The permutation test of a whole stretch; `kind` is "none" until somebody compares p with a level."""
    statistic, place = cusum(data)
    phi = _phi(data, place)
    p = permutation_p(data[1:] - phi * data[:-1], rng, permutations=permutations)
    return Change(
        kind="none", n=len(data), index=place, p_value=p, statistic=statistic, autocorrelation=phi,
        sentence=f"no change in {len(data)} values (p = {p:.3g})",
    ) if statistic > 0.0 else Change(
        kind="none", n=len(data), p_value=1.0, statistic=0.0, autocorrelation=0.0, sentence="all values are equal",
    )  # fmt: skip


def _phi(data: Array, place: int) -> float:
    """Lag-1 autocorrelation round both levels, freed of the bias that short series and the split give it."""
    rest = np.concatenate([data[:place] - data[:place].mean(), data[place:] - data[place:].mean()])
    total = float(rest @ rest)
    if total <= SAME * float(np.abs(data).max()) ** 2:
        return 0.0
    add, less = BIAS_OF_LAG_ONE
    n = len(data)
    return min(max((n * float(rest[1:] @ rest[:-1]) / total + add) / (n - less), 0.0), MOST_LAG_ONE)


def _cusums(rows: Array) -> tuple[Array, NDArray[np.int64]]:
    """V and the place of its maximum for each row of shape [rows, n]; 0 for a row of equal values."""
    n = rows.shape[1]
    if n < 2 * SUPPORT:
        raise ValueError(f"a change needs {SUPPORT} values on both sides, so at least {2 * SUPPORT}, not {n}")
    t = np.arange(SUPPORT, n - SUPPORT + 1)
    centred = rows - rows.mean(axis=1, keepdims=True)
    deviation = np.abs(centred.cumsum(axis=1)[:, t - 1]) * np.sqrt(n / (t * (n - t)))
    best = deviation.argmax(axis=1)
    spread = rows.std(axis=1)
    flat = spread <= SAME * np.abs(rows).max(axis=1)
    statistic = deviation[np.arange(len(rows)), best] / np.where(flat, 1.0, spread)
    return np.where(flat, 0.0, statistic), t[best]


# ---- several changes -----------------------------------------------------------------------------------------------


def _split(
    data: Array, begin: int, end: int, level: float, rng: np.random.Generator, permutations: int,
    proposed: tuple[int, ...] | None,
) -> list[tuple[int, Change]]:  # fmt: skip
    """Changes between begin and end, with their places in the whole history; `proposed` is asked for when needed."""
    if end - begin < LEAST or level < 1.0 / (1 + permutations):
        return []
    found = _test(data[begin:end], rng, permutations)
    if found.p_value is None or found.p_value > level or found.index is None:
        return []
    proposed = proposals(data) if proposed is None else proposed
    edge = _edge(data[begin:end], found.index)
    if edge is not None:  # leave out what is suspected, and ask the rest
        rest = (begin, begin + edge) if edge > SUPPORT else (begin + edge, end)
        return _split(data, *rest, level / 2.0, rng, permutations, proposed)
    inside = tuple(place - begin for place in proposed if begin < place < end)
    place = begin + _placed(found.index, inside, end - begin)
    halves = ((begin, place), (place, end))
    more = [one for a, b in halves for one in _split(data, a, b, level / 2.0, rng, permutations, proposed)]
    return [(place, found), *more]


def _windows(data: Array, alpha: float, rng: np.random.Generator, permutations: int) -> list[tuple[int, Change]]:
    """Changes between the neighbours of each proposal, where the whole shows none: what came and went looks like noise.

    Asked only where little autocorrelation is left round all proposed levels: dependent values make up proposals, and
    keep theirs.  Proposals were chosen by looking, so each window pays for the number of them, twentyfold.
    """
    proposed = proposals(data)
    if not proposed or _left_over(data, proposed) > MOST_LEFT_OVER:
        return []
    edges, permutations = (0, *proposed, len(data)), WINDOW_PRICE * permutations
    found = []
    for i, place in enumerate(proposed):
        begin, end = edges[i], edges[i + 2]
        level = alpha / (WINDOW_PRICE * len(proposed))
        if end - begin < LEAST_WINDOW or level < 1.0 / (1 + permutations):
            continue
        looked = _test(data[begin:end], rng, permutations)
        if looked.p_value is None or looked.p_value > level or looked.index is None:
            continue
        if _edge(data[begin:end], looked.index) is None:
            found.append((place, looked))
    return found


def _left_over(data: Array, proposed: tuple[int, ...]) -> float:
    """Lag-1 autocorrelation round all proposed levels; each level that was fitted lowers it by about 3/n."""
    rest = np.concatenate([part - part.mean() for part in np.split(data, proposed)])
    return lag_one(rest) + 3.0 * (len(proposed) + 1) / len(data)


def _edge(data: Array, place: int) -> int | None:
    """Where one or two values at an end explain more than the change near that end does: then that is no change.

    V looks at no split of fewer than three values, so an outlier at the very end shows as a change next to it.
    """
    n = len(data)
    near = (n - 1, n - 2) if n - place < LEAST_SEGMENT + 1 else (1, 2) if place < LEAST_SEGMENT + 1 else ()
    sums = (data - data.mean()).cumsum()

    def explained(t: int) -> float:
        return float(sums[t - 1]) ** 2 * n / (t * (n - t))

    best = max(near, key=explained, default=place)
    return best if explained(best) > FEWER * explained(place) else None


def _placed(index: int, proposed: tuple[int, ...], n: int) -> int:
    """The proposal next to the maximum of V, where one is near: PELT weighs all changes of the history at once."""
    nearest = min(proposed, key=lambda place: abs(place - index), default=index)
    return nearest if abs(nearest - index) <= max(LEAST_SEGMENT, n // 20) else index


def _named(change: Change, data: Array, begin: int, end: int, shift: int = 0) -> Change:
    """The change with its levels, measured between `begin` and `end`, in words."""
    index = (change.index or 0) + shift
    before, after = float(data[begin:index].mean()), float(data[index:end].mean())
    by = f" by {abs(after / before - 1.0):.1%}" if before > 0.0 and after > 0.0 else ""
    sentence = (
        f"{'rose' if after > before else 'fell'}{by} at value {index + 1} of {len(data)} (p = {change.p_value:.3g})"
    )
    return replace(change, kind="change", n=len(data), index=index, before=before, after=after, sentence=sentence)


def _suspected(data: Array, begin: int, alpha: float, looked: Change | None) -> Change | None:
    """A step of the last one or two values against the level since `begin`: a t test of their mean, two looks."""
    for last in (1, 2):
        level, tail = data[begin : len(data) - last], data[len(data) - last :]
        if len(level) < LEAST - SUPPORT:
            continue
        phi = max(lag_one(level), 0.0)
        error = float(level.std(ddof=1)) * math.sqrt((1.0 / last + 1.0 / len(level)) * (1.0 + phi) / (1.0 - phi))
        away = abs(float(tail.mean() - level.mean()))
        if away > t_quantile(1.0 - alpha / 4.0, len(level) - 1) * error and away > SAME * float(np.abs(data).max()):
            return _doubtful(data, begin, len(data) - last, looked)
    return None


def _doubtful(data: Array, begin: int, index: int, looked: Change | None) -> Change:
    """A change that fewer than three values support."""
    few, end = min(index, len(data) - index), "first" if index < SUPPORT else "last"
    values = f"{end} value lies" if few == 1 else f"{end} {few} values lie"
    return Change(
        kind="suspected", n=len(data), index=index, before=float(data[begin:index].mean()),
        after=float(data[index:].mean()), p_value=looked.p_value if looked else None,
        statistic=looked.statistic if looked else None, autocorrelation=looked.autocorrelation if looked else None,
        sentence=f"the {values} away from the rest; a change needs {SUPPORT} values, so this is suspected and no finding",
    )  # fmt: skip


def _too_short(n: int) -> Change:
    return Change(kind="too short", n=n, sentence=f"a history of {n} values is too short; {LEAST} are needed")


def _checked(values: Floats, alpha: float, permutations: int) -> Array:
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or not np.all(np.isfinite(data)):
        raise ValueError("a history must be a list of finite numbers")
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"the level must lie strictly between 0 and 1, not {alpha}")
    if permutations < math.ceil(1.0 / alpha):
        raise ValueError(f"{permutations} permutations cannot reach the level {alpha}; use {math.ceil(1.0 / alpha)}")
    return data
