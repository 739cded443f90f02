"""Is the perplexity that of all tokens together?"""

from __future__ import annotations

import json
import math

import pytest

from fireassay.quality.scoring.metrics.perplexity import METRIC, statistics


def answer(*choices: tuple[float, int, int]) -> str:
    """Log probability, tokens and bytes of each choice."""
    return json.dumps(
        [{"logprob": value, "tokens": tokens, "characters": 1, "bytes": 1, "scored_bytes": size} for value, tokens, size in choices]
    )


def test_a_uniform_model_over_bytes() -> None:
    """256 equally probable bytes: perplexity 256; over all items, not a mean of means."""
    answers = [answer((-n * math.log(256), n, n)) for n in (1, 5, 90)]
    rows = statistics(answers, [("0",)] * 3)
    assert METRIC.score(rows) == pytest.approx(256.0, rel=1e-12)
    assert METRIC.item_scores(rows) == pytest.approx([256.0] * 3)


def test_totals_are_weighted_by_length() -> None:
    rows = statistics([answer((-1.0, 1, 1)), answer((-1.0, 3, 3))], [("0",)] * 2)
    assert METRIC.score(rows) == pytest.approx(math.exp(0.5))


def test_of_several_right_choices_the_most_probable_is_the_text() -> None:
    rows = statistics([answer((-3.0, 3, 2), (-4.0, 3, 9), (-2.0, 3, 9))], [("0", "1")])
    assert rows.tolist() == [[3.0, 3.0]]
