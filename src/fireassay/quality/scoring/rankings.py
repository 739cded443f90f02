"""How good is a ranking that a search returned for a query?

    recall_at_k  of the relevant ids, the share among the first k
    ndcg_at_k    sum over the first k of grade / log2(1 + rank), over that of the best order (linear gain, as trec_eval's ndcg_cut)
    mrr(_at_k)   1 / rank of the first relevant id; 0 if there is none (among the first k)

What is relevant is known as grades (an id without one has 0), or as the ranking of an exact search. Of a ranking the first k ids count as
relevant, so that recall_at_k is the share of neighbours that were found, as ann-benchmarks counts it; for mrr it is the first id alone.
Sources: Jarvelin and Kekalainen, ACM TOIS 20 (2002) 422-446; Voorhees, TREC-8 (1999); Aumueller et al., Information Systems 87 (2020).
Cannot tell: equally near neighbours, of which an exact search names any.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from fireassay.spec.sections.program import RANKED

Grades = Mapping[str, float]
ENDLESS: Final = 1_000_000_000  # ranks, where a score names none


def is_ranking_score(name: str) -> bool:
    """True if a ranking can have this score: "recall_at_10", "mrr"."""
    return RANKED.fullmatch(name) is not None


def score(name: str, ids: Sequence[str], relevant: Grades | Sequence[str]) -> float | None:
    """A ranking's score from 0 to 1; None if nothing is relevant.

    Args:
        name: "recall_at_K", "ndcg_at_K", "mrr_at_K" or "mrr".
        ids: what was found, best first, each once.
        relevant: grades of ids, or the ids of a better ranking.
    """
    match = RANKED.fullmatch(name)
    assert match is not None
    family, k = match[1] or "mrr", int(match[2] or ENDLESS)
    if not isinstance(relevant, Mapping):
        relevant = dict.fromkeys(relevant[: 1 if family == "mrr" else k], 1.0)
    known = {id: grade for id, grade in relevant.items() if grade > 0.0}
    return _SCORES[family](ids[:k], known, k) if known else None


def _recall(found: Sequence[str], known: Grades, _: int) -> float:
    return sum(id in known for id in found) / len(known)


def _ndcg(found: Sequence[str], known: Grades, k: int) -> float:
    best = sorted(known.values(), reverse=True)[:k]
    return _gain([known.get(id, 0.0) for id in found]) / _gain(best)


def _gain(grades: Sequence[float]) -> float:
    return sum(grade / math.log2(1 + rank) for rank, grade in enumerate(grades, 1))


def _mrr(found: Sequence[str], known: Grades, _: int) -> float:
    return next((1.0 / rank for rank, id in enumerate(found, 1) if id in known), 0.0)


_SCORES: Final[Mapping[str, Callable[[Sequence[str], Grades, int], float]]] = {"recall": _recall, "ndcg": _ndcg, "mrr": _mrr}
