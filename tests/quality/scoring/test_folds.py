"""Every score: resampling by weights is resampling by repeated rows, whatever the score."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay import catalog
from fireassay.quality.scoring.text_metric import TextMetric
from tests.quality.scoring.letter_encoder import LetterEncoder
from tests.quality.scoring.scored import labels, score, words
from tests.tiers import examples

LABELS = ("mcc", "f1_binary", "f1_macro", "accuracy")
NUMBERS = ("pearson", "spearman")
OTHERS = ("perplexity", "pass_at_1")  # unbounded, and judged by tests
NAMES = [
    name for name, metric in sorted(catalog.load_all("quality.scoring.metrics").items()) if metric.reads == "texts" and name not in OTHERS
]
cases = st.lists(st.tuples(words, words, labels, labels, st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=12)


def rows_of(name: str, drawn: Sequence[tuple[str, str, str, str, int, int, int]]) -> tuple[TextMetric, np.ndarray]:
    first = 2 if name in LABELS else 4 if name in NUMBERS else 0
    declared: TextMetric = catalog.load("quality.scoring.metrics", name)
    encoder = LetterEncoder() if declared.prepare_with is not None else None
    options = {} if encoder is None else {"model": "letters"}
    answers, references = [str(case[first]) for case in drawn], [[str(case[first + 1])] for case in drawn]
    return declared, score(name, answers, references, encoder, **options)[1].rows


@pytest.mark.parametrize("name", NAMES)
@examples(40)
@given(drawn=cases)
def test_weights_are_repetitions(name: str, drawn: list[tuple[str, str, str, str, int, int, int]]) -> None:
    declared, rows = rows_of(name, drawn)
    times = np.array([case[6] for case in drawn])
    ones, mixed = (float(declared.weighted(rows, weights[None, :].astype(float))[0]) for weights in (np.ones(len(rows)), times))
    assert ones == pytest.approx(declared.score(rows), abs=1e-12, nan_ok=True)
    if times.any():
        repeated = np.repeat(rows, times, axis=0)
        assert mixed == pytest.approx(declared.score(repeated), abs=1e-9, nan_ok=True)
        if name != "bleu":  # whose smoothing of zero counts depends on the corpus' size
            assert declared.weighted(rows, 2.0 * times[None, :])[0] == pytest.approx(mixed, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_score_says_what_it_is(name: str) -> None:
    declared: TextMetric = catalog.load("quality.scoring.metrics", name)
    encoder = LetterEncoder() if declared.prepare_with is not None else None
    ready = score(name, ["1"], [["1"]], encoder, **({} if encoder is None else {"model": "letters"}))
    assert ready[1].rows.shape == (1, len(declared.statistics))
    assert declared.scale[0] <= ready[1].scores[0] <= declared.scale[1] + 1e-9
    assert declared.caveat.endswith(".")
    low, high = declared.scale
    assert low < high


@pytest.mark.parametrize("name", ["rouge_1", "rouge_2", "f1", "bleu", "chrf"])
def test_a_text_of_100_000_characters_is_scored_at_once(name: str) -> None:
    text = "a brown fox over dogs " * 4546
    declared, found = score(name, [text, text, ""], [[text], [""], [text]])
    assert found.scores[0] == pytest.approx(declared.scale[1])
    assert math.isclose(found.scores[1], 0.0)
    assert math.isclose(found.scores[2], 0.0)
