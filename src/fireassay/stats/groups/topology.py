"""Which members of a set are near one another, given the cost of every ordered pair?

Finds nested groups, or refuses.  `costs` are one or more square matrices, larger is farther (a latency, the time per byte); the
diagonal is ignored.  In each matrix, take the logarithm of the mean of both directions, sort, and cut at every gap with

    gap >= max( ln MIN_RATIO, t x noise )

Noise is the larger of two standard deviations: that of the pairs in each class around their mean, pooled, and that of half the
difference between the two directions of a pair (the noise of their mean).  t is the Student t quantile whose normal tail
probability is SURPRISE (4.0 deviations), at the degrees of freedom of both: few pairs determine their noise poorly and need a
wider gap.  Nearness must then be transitive: the pairs below a cut must form groups in which every pair is near.  One odd pair,
or a ring of neighbours, forms none; a cut that fails is dropped with a note.
Groups of all matrices must nest (an island lies on one host); otherwise they contradict each other and all are refused.
Sources: the gap rule is single linkage with a stated least gap (Hartigan, Clustering Algorithms, 1975, chapter 11);
"near" as an equivalence is the ultrametric inequality of a tree of switches.
Cannot tell: what a group is (host, rack, switch), nor groups whose links differ by less than MIN_RATIO.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

MIN_RATIO: Final = 1.5
SURPRISE: Final = 3e-5
MIN_MEMBERS: Final = 3  # two members have one pair, and nothing to compare it with

Array = NDArray[np.float64]
Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Level:
    """One level of nearness: its groups, the matrix that shows it, and how clearly."""

    groups: Groups
    feature: str
    ratio: float  # the gap: cost of the nearest pair outside over that of the farthest pair inside


@dataclass(frozen=True, kw_only=True)
class Nesting:
    """Levels from nearest to farthest; none if all pairs are alike.  `refused`: why there is no answer."""

    members: int
    levels: tuple[Level, ...] = ()
    refused: str = ""
    notes: tuple[str, ...] = ()  # dropped cuts, and why


def nesting(costs: Mapping[str, Array]) -> Nesting:
    """The nested groups of the members, from named matrices of shape [n, n].

    Raises:
        ValueError: a matrix of another shape, or a cost that is not above 0.
    """
    n = _members(costs)
    if n < MIN_MEMBERS:
        return Nesting(members=n, refused=f"{n} members have too few pairs to compare: {MIN_MEMBERS} are needed")
    levels: list[Level] = []
    notes: list[str] = []
    for feature, matrix in costs.items():
        logs = np.log(matrix, out=np.zeros_like(matrix), where=~np.eye(n, dtype=bool))
        for border, gap in _borders(logs):
            groups, broken = _groups((logs + logs.T) / 2, border)
            if broken:
                notes.append(f"by {feature} {broken}")
            else:
                levels.append(Level(groups=groups, feature=feature, ratio=math.exp(gap)))
    return _nested(n, levels, tuple(notes))


def _members(costs: Mapping[str, Array]) -> int:
    if not costs:
        raise ValueError("at least one matrix is needed")
    n = len(next(iter(costs.values())))
    for name, matrix in costs.items():
        if matrix.shape != (n, n):
            raise ValueError(f"{name} must be a matrix of {n} x {n}, not {matrix.shape}")
        off = matrix[~np.eye(n, dtype=bool)]
        if not (np.all(np.isfinite(off)) and np.all(off > 0)):
            raise ValueError(f"{name} must be above 0 for every pair")
    return n


def _borders(logs: Array) -> list[tuple[float, float]]:
    """(position, width) of every gap that is wide enough, ascending."""
    upper = np.triu_indices(len(logs), 1)
    means = np.sort(((logs + logs.T) / 2)[upper])
    directions = float(np.sqrt(np.mean(((logs - logs.T)[upper] / 2) ** 2)))
    cuts = [index for index, gap in enumerate(np.diff(means)) if gap >= math.log(MIN_RATIO)]
    while cuts:  # a wide gap may hide another: noise is re-estimated within all classes
        inside, free = _pooled(means, cuts)
        threshold = max(math.log(MIN_RATIO), _deviations(free + len(means)) * max(inside, directions))
        remaining = [cut for cut in cuts if means[cut + 1] - means[cut] >= threshold]
        if remaining == cuts:
            break
        cuts = remaining
    return [(float(means[cut] + means[cut + 1]) / 2, float(means[cut + 1] - means[cut])) for cut in cuts]


def _pooled(means: Array, cuts: Sequence[int]) -> tuple[float, int]:
    """Standard deviation within the classes that the cuts make, and its degrees of freedom."""
    classes = np.split(means, [cut + 1 for cut in cuts])
    squares = sum(float(((values - values.mean()) ** 2).sum()) for values in classes)
    free = len(means) - len(classes)
    return (math.sqrt(squares / free) if free > 0 else 0.0), free


def _deviations(free: int) -> float:
    from scipy.special import stdtrit  # loads in a tenth of the time of scipy.stats

    return float(-stdtrit(free, SURPRISE))


def _groups(logs: Array, border: float) -> tuple[Groups, str]:
    """Groups in which all pairs are below the border; or, if nearness is not transitive, the pair that breaks it."""
    n = len(logs)
    near = logs < border
    np.fill_diagonal(near, val=True)
    groups: list[tuple[int, ...]] = []
    seen: set[int] = set()
    for rank in range(n):
        if rank in seen:
            continue
        group = _reached(near, rank)
        for a in group:
            for b in group:
                if not near[a, b]:
                    return (), f"{a} and {b} are far from each other, though both are near others of one group"
        seen |= set(group)
        groups.append(group)
    return tuple(groups), ""


def _reached(near: NDArray[np.bool_], first: int) -> tuple[int, ...]:
    reached, new = {first}, {first}
    while new:
        new = {int(b) for a in new for b in np.flatnonzero(near[a])} - reached
        reached |= new
    return tuple(sorted(reached))


def _nested(n: int, levels: list[Level], notes: tuple[str, ...]) -> Nesting:
    """One level per partition, the clearest; finest first; refused if two cross."""
    best: dict[Groups, Level] = {}
    for level in levels:
        known = best.get(level.groups)
        best[level.groups] = level if known is None or level.ratio > known.ratio else known
    ordered = sorted(best.values(), key=lambda level: -len(level.groups))
    for finer, coarser in itertools.pairwise(ordered):
        if not within(finer.groups, coarser.groups):
            return Nesting(
                members=n,
                notes=notes,
                refused=f"the groups by {finer.feature} and by {coarser.feature} cross: {group_list(finer.groups)} and {group_list(coarser.groups)}",
            )
    return Nesting(members=n, levels=tuple(ordered), notes=notes)


def within(finer: Groups, coarser: Groups) -> bool:
    """True if every group of `finer` lies inside one group of `coarser`."""
    home = {member: index for index, group in enumerate(coarser) for member in group}
    return all(len({home[member] for member in group}) == 1 for group in finer)


def group_list(groups: Groups) -> str:
    """Groups as text: {0, 1} {2 to 7}."""
    return " ".join("{" + ", ".join(_runs(group)) + "}" for group in groups)


def _runs(group: Sequence[int]) -> list[str]:
    runs: list[list[int]] = []
    for member in group:
        if runs and member == runs[-1][-1] + 1:
            runs[-1].append(member)
        else:
            runs.append([member])
    return [text for run in runs for text in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))]
