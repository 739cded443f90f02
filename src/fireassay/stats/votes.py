"""How often does each answer win a vote of k samples, drawn from n answers?

Plurality of the samples in which an answer was found; of a tie each tied answer wins alike, since the samples are exchangeable: in the order
of asking the first one wins, and every order is equally likely. The share of the C(n, k) subsets that an answer wins is exact, by counting
how many of each answer a subset holds, and unbiased for the score of a vote of k (a U-statistic; Hoeffding, Annals of Mathematical Statistics
19, 1948). So k < n needs no further request, as pass@k does (Chen et al., arXiv:2107.03374); the vote is self-consistency (Wang et al.,
arXiv:2203.11171).

Known answers: right with probability 0.6, else one and the same wrong answer: k = 1, 3, 5, 7 are right in .6, .648, .68256, .710208; an even k
is as good as k - 1 (Condorcet's jury).
Cannot tell: a vote weighted by the model's own confidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

MAX_SAMPLES = 128  # the count grows with the cube of the number of samples


def shares(counts: Sequence[int], blank: int, k: int) -> tuple[tuple[float, ...], float]:
    """The probability that each answer wins a vote of k of these samples, and that none of the k has an answer.

    Args:
        counts: how many samples gave each answer, each above 0.
        blank: samples in which no answer was found.

    Raises:
        ValueError: fewer samples than k, more than `MAX_SAMPLES`, or a count below 1.
    """
    n = sum(counts) + blank
    if not (1 <= k <= n <= MAX_SAMPLES and blank >= 0 and all(count >= 1 for count in counts)):
        raise ValueError(
            f"a vote of {k} needs as many samples, at most {MAX_SAMPLES} and each counted once, not {tuple(counts)} and {blank}"
        )
    ordered = tuple(sorted(counts))
    won = {own: _won(ordered, blank, own, k) for own in set(ordered)}
    return tuple(won[count] for count in counts), math.comb(blank, k) / math.comb(n, k)


@lru_cache(maxsize=1 << 16)
def _won(counts: tuple[int, ...], blank: int, own: int, k: int) -> float:
    """For an answer that `own` samples gave."""
    others = list(counts)
    others.remove(own)
    total = 0.0
    for mine in range(1, min(own, k) + 1):
        total += math.comb(own, mine) * _rest(others, blank, mine, k - mine)
    return total / math.comb(sum(counts) + blank, k)


def _rest(others: Sequence[int], blank: int, most: int, size: int) -> float:
    """Subsets of `size` of the other samples with at most `most` of each answer, each subset divided by the answers that tie."""
    ways = {(0, 1): 1}  # samples drawn, answers with `most` of them -> subsets
    for count in others:
        grown: dict[tuple[int, int], int] = {}
        for (drawn, tied), number in ways.items():
            for more in range(min(count, most, size - drawn) + 1):
                key = (drawn + more, tied + (more == most))
                grown[key] = grown.get(key, 0) + number * math.comb(count, more)
        ways = grown
    return math.fsum(number * math.comb(blank, size - drawn) / tied for (drawn, tied), number in ways.items())
