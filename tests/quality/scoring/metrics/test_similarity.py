"""Semantic similarity, with vectors that are known."""

from __future__ import annotations

import math

import pytest

from fireassay.errors import EnvironmentLacks, SpecError
from tests.quality.scoring.letter_encoder import LetterEncoder
from tests.quality.scoring.scored import metric, score


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
