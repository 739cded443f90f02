"""What is said of the paired t-test beside a margin."""

from __future__ import annotations

import numpy as np
import pytest

from fireassay.stats.comparing.paired_test import paired_t
from fireassay.verdict.comparison.tested import p_words, words_of_p


def test_a_large_p_is_no_evidence_of_equality() -> None:
    words = words_of_p(paired_t(np.ones(4), np.array([0.0, 1.0, 1.0, 1.0])), margin=True)
    assert words == (
        "paired t-test p = 0.39 (t = -1.00, 4 items): no significant difference, which is no evidence of equality; relative drop 25 %; the margin decides"
    )


def test_a_small_p_says_that_something_changed() -> None:
    words = words_of_p(paired_t(np.zeros(40) + 0.5, np.tile([0.5, 1.0], 20)), margin=False)
    assert words.startswith("paired t-test p < 0.0001")
    assert words.endswith("a significant difference at 5 %; relative gain 50 %; only a margin decides")


def test_without_a_test_nothing_is_said() -> None:
    assert words_of_p(None, margin=True) == ""


@pytest.mark.parametrize(("p", "words"), [(0.0, "p < 0.0001"), (0.00461, "p = 0.0046"), (0.21, "p = 0.21"), (1.0, "p = 1")])
def test_p_has_two_digits(p: float, words: str) -> None:
    assert p_words(p) == words
