"""Which members of a set lie near one another, by what every ordered pair of them took?  Nested groups, or a refusal.

`costs` are one or several square matrices, larger is farther: a latency, the time of a byte; the diagonal is not looked at.  Of
each matrix the logarithms of both directions' mean are sorted, and a border is drawn into a gap between two neighbours where

    gap >= max( ln LEAST_RATIO, t x noise )

noise is the larger of two standard deviations: that of the pairs of each class around their own mean, pooled, and that of half of
what the two directions of a pair differ by, which is the noise of their mean.  t is the quantile of Student's t that a normal
number passes with probability SURPRISE (4.0 deviations), at the degrees of freedom of both: few pairs know little of their noise,
and need a wider gap.  Then being near must be transitive: the pairs below the border must make
groups in which every pair is near.  One odd pair, or a ring of neighbours, gives none; a border that fails is left out and said.
Groups of all matrices must be nested in one another (an island lies on one host); where they are not, everything is refused, for
then they contradict each other.  Sources: the gap rule is that of single linkage with a stated least gap (Hartigan, Clustering
Algorithms, 1975, chapter 11); "near" as an equivalence is the ultrametric inequality of a tree of switches.
Cannot tell: what a group is (a host, a rack, a switch): names must be known; groups whose links differ by less than LEAST_RATIO.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

LEAST_RATIO: Final = 1.5
SURPRISE: Final = 3e-5
LEAST_MEMBERS: Final = 3  # of fewer there is but one pair, and nothing to hold it against

Array = NDArray[np.float64]
Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Level:
    """A way of being near: the groups in which every pair is, from which matrix it was seen, and how clearly."""

    groups: Groups
    feature: str
    ratio: float  # the gap: cost of the nearest pair outside over that of the farthest pair inside


@dataclass(frozen=True, kw_only=True)
class Nesting:
    """Levels from the nearest to the farthest; none where all pairs are alike. `refused`: why nothing is said."""

    members: int
    levels: tuple[Level, ...] = ()
    refused: str = ""
    notes: tuple[str, ...] = ()  # borders that were left out, and why


def nesting(costs: Mapping[str, Array]) -> Nesting:
    """The nested groups of the members, from matrices of shape [n, n] by the name of what they hold.

    Raises:
        ValueError: a matrix of another shape, or a cost that is not above 0.
    """
    n = _members(costs)
    if n < LEAST_MEMBERS:
        return Nesting(members=n, refused=f"{n} members have too few pairs to be compared with one another: {LEAST_MEMBERS} are needed")
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
    """(where, how wide) of every gap that is wide enough, in ascending order."""
    upper = np.triu_indices(len(logs), 1)
    both = np.sort(((logs + logs.T) / 2)[upper])
    directions = float(np.sqrt(np.mean(((logs - logs.T)[upper] / 2) ** 2)))
    cuts = [place for place, gap in enumerate(np.diff(both)) if gap >= math.log(LEAST_RATIO)]
    while cuts:  # a gap may hide behind a wider one: the noise is that inside of all classes together
        inside, free = _pooled(both, cuts)
        wanted = max(math.log(LEAST_RATIO), _deviations(free + len(both)) * max(inside, directions))
        kept = [cut for cut in cuts if both[cut + 1] - both[cut] >= wanted]
        if kept == cuts:
            break
        cuts = kept
    return [(float(both[cut] + both[cut + 1]) / 2, float(both[cut + 1] - both[cut])) for cut in cuts]


def _pooled(both: Array, cuts: Sequence[int]) -> tuple[float, int]:
    """Standard deviation inside of the classes that the cuts make, and its degrees of freedom."""
    classes = np.split(both, [cut + 1 for cut in cuts])
    squares = sum(float(((one - one.mean()) ** 2).sum()) for one in classes)
    free = len(both) - len(classes)
    return (math.sqrt(squares / free) if free > 0 else 0.0), free


def _deviations(free: int) -> float:
    from scipy.special import stdtrit  # a tenth of the time that scipy.stats takes to load

    return float(-stdtrit(free, SURPRISE))


def _groups(logs: Array, border: float) -> tuple[Groups, str]:
    """The groups in which all pairs are below the border; and, where nearness is not transitive, which pair breaks it."""
    n = len(logs)
    near = logs < border
    np.fill_diagonal(near, val=True)
    found: list[tuple[int, ...]] = []
    seen: set[int] = set()
    for one in range(n):
        if one in seen:
            continue
        group = _reached(near, one)
        for a in group:
            for b in group:
                if not near[a, b]:
                    return (), f"{a} and {b} are far from each other, though both are near others of one group"
        seen |= set(group)
        found.append(group)
    return tuple(found), ""


def _reached(near: NDArray[np.bool_], first: int) -> tuple[int, ...]:
    reached, new = {first}, {first}
    while new:
        new = {int(b) for a in new for b in np.flatnonzero(near[a])} - reached
        reached |= new
    return tuple(sorted(reached))


def _nested(n: int, levels: list[Level], notes: tuple[str, ...]) -> Nesting:
    """One level for each partition, the clearest; finest first; refused where two cross."""
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
                refused=f"the groups by {finer.feature} and by {coarser.feature} cross: {told(finer.groups)} and {told(coarser.groups)}",
            )
    return Nesting(members=n, levels=tuple(ordered), notes=notes)


def within(finer: Groups, coarser: Groups) -> bool:
    """Whether every group of the one lies in one group of the other."""
    home = {member: place for place, group in enumerate(coarser) for member in group}
    return all(len({home[member] for member in group}) == 1 for group in finer)


def told(groups: Groups) -> str:
    """Groups in words: {0, 1} {2 to 7}."""
    return " ".join("{" + ", ".join(_runs(group)) + "}" for group in groups)


def _runs(group: Sequence[int]) -> list[str]:
    runs: list[list[int]] = []
    for member in group:
        if runs and member == runs[-1][-1] + 1:
            runs[-1].append(member)
        else:
            runs.append([member])
    return [text for run in runs for text in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))]
