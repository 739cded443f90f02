"""Are the scores of a ranking those of the published definitions?"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.quality.scoring.rankings import is_ranking_score, score

# https://en.wikipedia.org/wiki/Discounted_cumulative_gain#Example: D1 to D6 are found, with grades 3 2 3 0 1 2; D7 (3) and D8 (2) are not
GRADES = {"D1": 3, "D2": 2, "D3": 3, "D4": 0, "D5": 1, "D6": 2, "D7": 3, "D8": 2}
FOUND = ("D1", "D2", "D3", "D4", "D5", "D6")


def test_ndcg_is_that_of_the_published_example() -> None:
    assert score("ndcg_at_6", FOUND, GRADES) == pytest.approx(6.861 / 8.740, abs=5e-5)


def test_ndcg_discounts_by_the_logarithm_of_the_rank() -> None:
    assert score("ndcg_at_3", ("x", "a", "y"), {"a": 1.0}) == pytest.approx(1 / math.log2(3))


def test_recall_is_the_share_of_the_relevant_among_the_first_k() -> None:
    assert score("recall_at_2", ("a", "x", "b"), {"a": 1.0, "b": 2.0, "c": 1.0, "none": 0.0}) == pytest.approx(1 / 3)
    assert score("recall_at_3", ("a", "x", "b"), {"a": 1.0, "b": 2.0, "c": 1.0}) == pytest.approx(2 / 3)


def test_against_a_ranking_recall_is_the_share_of_its_first_k() -> None:
    assert score("recall_at_2", ("a", "c"), ("a", "b", "c", "d")) == 0.5
    assert score("recall_at_4", ("d", "c", "b", "a"), ("a", "b", "c", "d")) == 1.0


def test_mrr_is_one_over_the_rank_of_the_first_relevant_one() -> None:
    # the worked example of https://en.wikipedia.org/wiki/Mean_reciprocal_rank: ranks 3, 2 and 1, a mean of 11/18
    ranked = [("catten", "cati", "cats"), ("torii", "tori", "toruses"), ("viruses", "virii", "viri")]
    right = ("cats", "tori", "viruses")
    values = [score("mrr", found, {wanted: 1.0}) for found, wanted in zip(ranked, right, strict=True)]
    assert sum(value for value in values if value is not None) / 3 == pytest.approx(11 / 18)
    assert score("mrr_at_2", ("x", "y", "a"), {"a": 1.0}) == 0.0
    assert score("mrr", ("b", "a"), ("a", "b")) == 0.5, "of a better ranking, its first id is meant"


def test_a_query_to_which_nothing_is_relevant_has_no_score() -> None:
    assert score("recall_at_10", ("a",), {}) is None
    assert score("ndcg_at_10", ("a",), {"a": 0.0}) is None


@pytest.mark.parametrize("name", ["recall_at_0", "recall", "ndcg_at_", "precision_at_5", "mrr_at_x", "xmrr"])
def test_other_names_are_no_scores_of_rankings(name: str) -> None:
    assert not is_ranking_score(name)


@given(
    st.lists(st.sampled_from("abcdefgh"), unique=True),
    st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.0, 4.0), min_size=1).filter(lambda grades: any(grades.values())),
    st.sampled_from(["recall_at_3", "ndcg_at_3", "mrr_at_3", "mrr", "ndcg_at_100"]),
)
def test_a_score_is_a_share_and_best_where_the_grades_order_the_ranking(found: list[str], grades: dict[str, float], name: str) -> None:
    value = score(name, found, grades)
    best = score(name, sorted(grades, key=lambda id: -grades[id]), grades)
    assert value is not None
    assert best is not None
    assert 0.0 <= value <= best + 1e-12
    assert best <= 1.0 + 1e-12
