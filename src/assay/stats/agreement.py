"""How nearly do two answers to one prompt agree?  Grades from tokens and their log probabilities.

    bitwise             equal tokens, and equal log probabilities
    token_identical     equal tokens
    near_tie            at the first divergence the reference's gap between its token and the other's is at most 2 max|d|, with d the
                        differences of log probabilities before it: what small a difference of arithmetic can turn
    distribution_close  the distributions differ by at most `close` (KL, below) wherever both continue the same text
    fail                more

After one different token two texts go on differently for ever, so only positions up to the first divergence are compared.  d is
taken before it: at the divergence itself the gap is at most 2 max|d| of necessity.  A grade holds only if the weaker ones do.

KL(p || q) of which only the k most likely tokens are known is bounded from below by that over {tokens known on both sides, rest}
(log-sum inequality; Cover and Thomas, Elements of Information Theory, theorem 2.7.1).
`CLOSE` lies between int8 weights and one corrupted weight in a small model (p99.9 3.6e-4 and 1.4e-2).
Cannot tell: which of two answers is right; and a log probability that the engine rounds hides differences below its rounding.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Grade = Literal["fail", "distribution_close", "near_tie", "token_identical", "bitwise"]
GRADES: Final[tuple[Grade, ...]] = ("fail", "distribution_close", "near_tie", "token_identical", "bitwise")  # ascending
CLOSE: Final = 1e-3  # nats
TINY: Final = 1e-12  # probability below which "the rest" is rounding

Distribution = Mapping[Hashable, float]  # natural log probabilities of the most likely tokens


@dataclass(frozen=True, kw_only=True)
class Told:
    """An answer. `top[i]`: what is known of the distribution from which token i came; empty where nothing is told."""

    tokens: Sequence[Hashable]
    top: Sequence[Distribution] = ()

    @classmethod
    def of(cls, tokens: Sequence[Hashable], logprobs: Sequence[float]) -> Told:
        """An answer of which only the log probabilities of its own tokens are known."""
        return cls(tokens=tokens, top=[{token: value} for token, value in zip(tokens, logprobs, strict=True)])


@dataclass(frozen=True, kw_only=True)
class Graded:
    """`shown` is certain, `possible` is not excluded by what was told; they are equal where enough was."""

    shown: Grade
    possible: Grade
    at: int | None = None  # the first divergence
    gap: float | None = None  # nats, of the reference at the divergence
    noise: float | None = None  # nats, max|d| before it
    kl: float | None = None  # nats, the largest lower bound


def first_divergence(a: Sequence[Hashable], b: Sequence[Hashable]) -> int | None:
    """The first place where two sequences differ; the shorter one's length if the other goes on; None if they are equal."""
    for place, (ours, theirs) in enumerate(zip(a, b, strict=False)):
        if ours != theirs:
            return place
    return None if len(a) == len(b) else min(len(a), len(b))


def kl_lower_bound(p: Distribution, q: Distribution) -> float:
    """A lower bound of KL(p || q) in nats, from some log probabilities of each; 0 where they have no token in common."""
    known = p.keys() & q.keys()
    bound = sum(math.exp(p[token]) * (p[token] - q[token]) for token in known)
    rest_p = 1.0 - sum(math.exp(p[token]) for token in known)
    rest_q = 1.0 - sum(math.exp(q[token]) for token in known)
    if known and rest_p > TINY:
        bound += rest_p * math.log(rest_p / max(rest_q, TINY))
    return max(0.0, bound)


def grade(reference: Told, other: Told, close: float = CLOSE) -> Graded:
    """How nearly `other` agrees with `reference`."""
    at = first_divergence(reference.tokens, other.tokens)
    if not reference.top or not other.top:
        return Graded(shown="token_identical", possible="bitwise") if at is None else _untold(at)
    if at is None:
        same = list(reference.top) == list(other.top)
        equal: Grade = "bitwise" if same else "token_identical"
        return Graded(shown=equal, possible=equal, kl=_kl(reference, other, len(reference.top)))
    return _diverged(reference, other, at, close)


def odd_ones(answers: Sequence[Hashable]) -> tuple[int, ...]:
    """Which of several answers differ from what more than half of them say; none where there is no such majority."""
    if not answers:
        return ()
    most, times = Counter(answers).most_common(1)[0]
    return tuple(place for place, answer in enumerate(answers) if answer != most) if 2 * times > len(answers) else ()


def _untold(at: int) -> Graded:
    return Graded(shown="fail", possible="near_tie", at=at)


def _diverged(reference: Told, other: Told, at: int, close: float) -> Graded:
    kl = _kl(reference, other, at + 1)
    if kl is None:
        return _untold(at)
    if kl > close:
        return Graded(shown="fail", possible="fail", at=at, kl=kl)
    noise, gap = _noise(reference, other, at), _gap(reference, other, at)
    if noise is None or gap is None:  # the first token, an answer that ended, or a token that is not among those told
        return Graded(shown="distribution_close", possible="near_tie", at=at, gap=gap, noise=noise, kl=kl)
    found: Grade = "near_tie" if gap <= 2.0 * noise else "distribution_close"
    return Graded(shown=found, possible=found, at=at, gap=gap, noise=noise, kl=kl)


def _kl(reference: Told, other: Told, places: int) -> float | None:
    """The largest bound over the first places that both have; None if there is none with a token in common."""
    pairs = zip(reference.top[:places], other.top[:places], strict=False)
    return max((kl_lower_bound(p, q) for p, q in pairs if p.keys() & q.keys()), default=None)


def _noise(reference: Told, other: Told, places: int) -> float | None:
    pairs = zip(reference.top[:places], other.top[:places], strict=False)
    return max((abs(p[token] - q[token]) for p, q in pairs for token in p.keys() & q.keys()), default=None)


def _gap(reference: Told, other: Told, at: int) -> float | None:
    """How much more likely the reference holds its own token than the other's."""
    if at >= min(len(reference.tokens), len(other.tokens), len(reference.top)):
        return None
    told = reference.top[at]
    ours, theirs = told.get(reference.tokens[at]), told.get(other.tokens[at])
    return None if ours is None or theirs is None else ours - theirs
