"""How strong is each side by the choices between two of them, and what does being shown first add?

A choice is first, second or a tie.  With strengths s (logarithms), tie parameter t and position effect d, x = s_first - s_second + d:

    P(first) : P(tie) : P(second) = exp(x / 2) : exp(t) : exp(-x / 2)

which is Bradley & Terry (Biometrika 39, 1952) without ties, Davidson's model (JASA 65, 1970) with them (his nu is exp(t)), and Davidson & Beaver's
(Biometrics 33, 1977) multiplicative order effect exp(d).  Maximum likelihood by Newton's method: the likelihood is concave.  It has a maximum
only if no group of sides wins every choice against the rest (Ford, American Mathematical Monthly 64, 1957); a tie connects both ways.  Otherwise
a strength is infinite: it is not given, and the reason names the group.

Intervals: the sandwich with scores summed by rater and by item, A^-1 (B_rater + B_item - B_choice) A^-1, each B with its factor n/(n - 1)
(Cameron, Gelbach & Miller, Journal of Business & Economic Statistics 29, 2011); where the difference is no variance, the larger of both alone.
Student's t with one less than the fewer of raters and items.
Cannot tell: whether one number orders the sides at all (a beats b beats c beats a).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.intervals import Interval, t_quantile
from fireassay.stats.people.crossed_raters import Codes

Array = NDArray[np.float64]
METHOD: Final = "maximum likelihood, sandwich over raters and items"
MAX_STEPS: Final = 200
EXACT: Final = 1e-10  # of a parameter
FIRST, TIE, SECOND = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class Choices:
    """One choice in each row, all of shape [choices]."""

    first: Codes  # the side shown first, 0 ... sides - 1
    second: Codes
    outcome: Codes  # FIRST, TIE or SECOND
    items: Codes
    raters: Codes
    sides: int
    ordered: bool = True  # whether `first` was shown first; else the order says nothing


@dataclass(frozen=True, kw_only=True)
class Strengths:
    """Strengths as logarithms, that of side 0 being 0; the tie parameter and the position effect, None where the model has none."""

    strengths: Array  # [sides]
    ties: float | None
    position: float | None
    covariance: Array  # of all parameters: strengths of sides 1 ..., ties, position
    degrees: int

    def of_side(self, side: int, confidence: float) -> Interval:
        """A side's strength minus that of side 0."""
        return self._interval(float(self.strengths[side]), side - 1, confidence) if side else Interval(value=0.0, low=0.0, high=0.0)

    def of_position(self, confidence: float) -> Interval | None:
        """The log odds that being shown first adds."""
        return None if self.position is None else self._interval(self.position, len(self.covariance) - 1, confidence)

    def _interval(self, value: float, at: int, confidence: float) -> Interval:
        half = t_quantile((1.0 + confidence) / 2.0, self.degrees) * math.sqrt(self.covariance[at, at]) if self.degrees else math.inf
        return Interval(value=value, low=value - half, high=value + half)


def strengths(choices: Choices) -> Strengths | tuple[int, ...]:
    """The maximum of the likelihood; or the sides of a group that wins or loses every choice against the rest, so that there is none."""
    if (group := _apart(choices)) is not None:
        return group
    design, ties = _design(choices), bool((choices.outcome == TIE).any())
    theta = np.zeros(design.shape[1] + ties)
    for _ in range(MAX_STEPS):
        scores, information = _derivatives(theta, design, choices.outcome, ties)
        step = np.linalg.lstsq(information, scores.sum(axis=0), rcond=None)[0]
        step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        theta = theta + step
        if float(np.abs(step).max()) < EXACT:
            break
    scores, information = _derivatives(theta, design, choices.outcome, ties)
    free = min(len(np.unique(choices.raters)), len(np.unique(choices.items))) - 1
    order = [*range(choices.sides - 1), *([design.shape[1]] if ties else []), *range(choices.sides - 1, design.shape[1])]
    return Strengths(
        strengths=np.concatenate([[0.0], theta[: choices.sides - 1]]),
        ties=float(theta[-1]) if ties else None,
        position=float(theta[choices.sides - 1]) if design.shape[1] == choices.sides else None,
        covariance=_sandwich(scores, information, choices)[np.ix_(order, order)],
        degrees=max(0, free),
    )


def _apart(choices: Choices) -> tuple[int, ...] | None:
    """The smallest group that others cannot reach, or that reaches no other; None if every side reaches every other by wins and ties."""
    beats = np.eye(choices.sides, dtype=bool)
    beats[choices.first[choices.outcome != SECOND], choices.second[choices.outcome != SECOND]] = True
    beats[choices.second[choices.outcome != FIRST], choices.first[choices.outcome != FIRST]] = True
    for middle in range(choices.sides):
        beats |= beats[:, [middle]] & beats[[middle], :]
    if beats.all():
        return None
    groups = {tuple(np.flatnonzero(row)) for row in (*beats, *beats.T) if not row.all()}
    return tuple(int(side) for side in min(groups, key=lambda group: (len(group), group)))


def _design(choices: Choices) -> Array:
    """x = design @ parameters, without the column of a position that nobody recorded or that strengths explain as well."""
    rows, design = np.arange(len(choices.first)), np.zeros((len(choices.first), choices.sides))
    design[rows, choices.first] += 1.0
    design[rows, choices.second] -= 1.0
    design = design[:, 1:]
    placed = np.column_stack([design, np.ones(len(design))])
    varied = choices.ordered and np.linalg.matrix_rank(placed) == choices.sides
    return placed if varied and _position_is_finite(choices) else design


def _position_is_finite(choices: Choices) -> bool:
    """False if the first, or the second, was always chosen."""
    return len(np.unique(choices.outcome)) > 1


def _derivatives(theta: Array, design: Array, outcome: Codes, ties: bool) -> tuple[Array, Array]:
    """Scores of each choice, shape [choices, parameters], and the information, [parameters, parameters]."""
    x = design @ (theta[:-1] if ties else theta)
    utilities = np.stack([x / 2.0, np.full(len(x), theta[-1] if ties else -np.inf), -x / 2.0], axis=1)
    odds = np.exp(utilities - utilities.max(axis=1, keepdims=True))
    chance = odds / odds.sum(axis=1, keepdims=True)
    lean, tied = (chance[:, FIRST] - chance[:, SECOND]) / 2.0, chance[:, TIE]
    seen = np.where(outcome == FIRST, 0.5, np.where(outcome == SECOND, -0.5, 0.0)) - lean
    spread = (chance[:, FIRST] + chance[:, SECOND]) / 4.0 - lean**2
    information = design.T @ (design * spread[:, None])
    scores = design * seen[:, None]
    if not ties:
        return scores, information
    cross = -(design * (lean * tied)[:, None]).sum(axis=0)
    information = np.block([[information, cross[:, None]], [cross[None, :], np.array([[(tied * (1.0 - tied)).sum()]])]])
    return np.column_stack([scores, (outcome == TIE) - tied]), information


def _sandwich(scores: Array, information: Array, choices: Choices) -> Array:
    """Covariance of the parameters, with whole raters and whole items as units."""
    bread = np.linalg.pinv(information)
    by_rater, by_item = (_meat(scores, labels) for labels in (choices.raters, choices.items))
    alone = _meat(scores, np.arange(len(scores)))
    both, either = bread @ (by_rater + by_item - alone) @ bread, [bread @ each @ bread for each in (by_rater, by_item)]
    larger = np.maximum(*(np.diag(each) for each in either))
    low = np.diag(both) < larger * 1e-9
    if low.any():
        both[np.diag_indices_from(both)] = np.where(low, larger, np.diag(both))
    return np.asarray(both)


def _meat(scores: Array, labels: Codes) -> Array:
    """Scores summed by label, their squares with the factor n / (n - 1); nothing of one label."""
    _, member = np.unique(labels, return_inverse=True)
    units = int(member.max()) + 1
    if units < 2:
        return np.zeros((scores.shape[1], scores.shape[1]))
    sums = np.zeros((units, scores.shape[1]))
    np.add.at(sums, member, scores)
    return np.asarray(units / (units - 1) * sums.T @ sums)
