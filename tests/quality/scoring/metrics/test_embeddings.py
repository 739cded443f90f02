"""BERTScore and semantic similarity, with vectors that are known.

`tests/instruments/test_encoder.py` holds BERTScore against the package bert-score on a real encoder.
"""

from __future__ import annotations

import math

import pytest

from fireassay.errors import EnvironmentLacks, SpecError
from tests.quality.scoring.letter_encoder import LetterEncoder
from tests.quality.scoring.scored import metric, score


def test_every_token_is_matched_with_the_nearest_of_the_other_text() -> None:
    """Answer a, ab; reference a, c, b: precision (1 + 1/sqrt 2) / 2, recall (1 + 0 + 1/sqrt 2) / 3; the special tokens, all zero, do not count."""
    _, found = score("bertscore", ["a ab"], [["a c b"]], LetterEncoder(), model="letters", layer=1)
    precision, recall = (1 + math.sqrt(0.5)) / 2, (1 + math.sqrt(0.5)) / 3
    assert found.rows[0] == pytest.approx([2 * precision * recall / (precision + recall), precision, recall], abs=1e-12)


def test_rare_tokens_count_more_on_request() -> None:
    """Of the references a, a b, c: N = 3; a is in two, log(4/3), c in one, log 2. Answer "a c" against "a": P = log(4/3) / log(8/3), R = 1."""
    answers, references = ["a c", "a b", "c"], [["a"], ["a b"], ["c"]]
    _, found = score("bertscore", answers, references, LetterEncoder(), model="letters", idf=True)
    precision = math.log(4 / 3) / math.log(8 / 3)
    assert found.rows[0] == pytest.approx([2 * precision / (precision + 1), precision, 1.0], abs=1e-12)
    _, plain = score("bertscore", answers, references, LetterEncoder(), model="letters")
    assert plain.rows[0] == pytest.approx([2 / 3, 0.5, 1.0], abs=1e-12)


def test_the_best_reference_counts_and_an_empty_text_scores_0() -> None:
    _, found = score("bertscore", ["a b", "", "a", "a"], [["c", "b a"], ["a"], [""], []], LetterEncoder(), model="letters")
    assert list(found.scores[:3]) == [pytest.approx(1.0, abs=1e-12), 0.0, 0.0]
    assert math.isnan(found.scores[3])


def test_a_text_is_itself() -> None:
    texts = ["a bad cab", "héad", "a" * 5000]
    _, found = score("bertscore", texts, [[text] for text in texts], LetterEncoder(), model="letters")
    assert found.rows == pytest.approx(1.0)


def test_layer_idf_and_model_are_in_the_signature() -> None:
    signature = metric("bertscore", LetterEncoder(), model="letters", layer=3, idf=True).prepared.signature
    assert signature == "metric:bertscore|impl:fireassay@1|layer:3|idf:yes|rescale:no|refs:max|weights:sha256:letters"
    with pytest.raises(SpecError, match="whole number from 0"):
        metric("bertscore", LetterEncoder(), model="letters", layer=-1)


def test_it_is_the_cosine_of_mean_vectors_with_the_nearest_reference() -> None:
    """Means (1, 1) / 4 and (2, 0) / 4 over four tokens, two of them special: cosine 1 / sqrt(2); "c" is at right angles."""
    _, found = score("similarity", ["a b", "a b", "a"], [["a a"], ["c", "b a"], ["c"]], LetterEncoder(), model="letters", layer=1)
    assert found.scores == pytest.approx([1 / math.sqrt(2), 1.0, 0.0], abs=1e-12)


def test_nothing_is_like_nothing_and_no_reference_has_no_score() -> None:
    _, found = score("similarity", ["", "a"], [["a"], []], LetterEncoder(), model="letters")
    assert found.scores[0] == 0.0
    assert math.isnan(found.scores[1])


def test_the_models_digest_is_in_the_signature_and_a_model_is_needed() -> None:
    assert "weights:sha256:letters" in metric("similarity", LetterEncoder(), model="letters").prepared.signature
    with pytest.raises(SpecError, match=r"similarity\.model.*folder of an encoder"):
        metric("similarity", LetterEncoder())
    with pytest.raises(EnvironmentLacks, match="model of language"):
        metric("similarity", model="letters")
