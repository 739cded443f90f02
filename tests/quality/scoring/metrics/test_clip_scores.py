"""Scores by the cosines of a CLIP model, on vectors whose cosines are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.errors import EnvironmentLacks, SpecError
from fireassay.quality.scoring import scoring
from fireassay.quality.scoring.metrics.clip_scores import directions
from tests.quality.scoring.made_pictures import Table, made, ready, rows

VECTORS = {
    "right": (3.0, 4.0),
    "wrong": (-4.0, 3.0),
    "against": (-3.0, -4.0),
    "A photo depicts a cat": (6.0, 8.0),  # as right
    "A photo depicts a dog": (1.0, 0.0),
    "a cat": (0.0, 2.0),
    "a dog": (1.0, 0.0),
    "a long cat": (5.0, 0.0),
    "nothing": (0.0, 0.0),
}


def test_clipscore_is_that_of_the_paper() -> None:
    """2.5 max(cosine, 0): of equal directions 2.5, at right angles 0, of opposite ones 0."""
    model = Table(VECTORS)
    found = rows("clipscore", model, ["right", "wrong", "against"], [["a cat"]] * 3)
    assert found[:, 0] == pytest.approx([2.5, 0.0, 0.0], abs=1e-12)
    assert not found[:, 1].any()
    assert model.read == ["A photo depicts a cat"]
    assert model.resizes == ["config"]


def test_of_several_texts_the_best_counts() -> None:
    found = rows("clipscore", Table(VECTORS), ["right"], [["a dog", "a cat"]])
    assert found[0, 0] == pytest.approx(2.5)
    assert rows("clipscore", Table(VECTORS), ["right"], [["a dog"]])[0, 0] == pytest.approx(2.5 * 3 / 5)


def test_another_template_is_another_text_and_signature() -> None:
    found = rows("clipscore", Table(VECTORS), ["right"], [["a cat"]], template="{}")
    assert found[0, 0] == pytest.approx(2.5 * 4 / 5)
    paper, plain = (ready("clipscore", Table(VECTORS), **options).prepared.signature for options in ({}, {"template": "{}"}))
    assert "template:A photo depicts {}|" in paper
    assert "template:{}|" in plain
    assert paper.endswith("weights:sha256:table")


def test_a_text_with_braces_and_marks_is_taken_as_it_is() -> None:
    model = Table({**VECTORS, "{0} {x} %s": (3.0, 4.0)})
    assert rows("clipscore", model, ["right"], [["{0} {x} %s"]], template="{}")[0, 0] == pytest.approx(2.5)


@pytest.mark.parametrize("template", ["a photo of", "{} and {}", True])
def test_a_template_without_one_place_for_the_text_is_refused(template: object) -> None:
    with pytest.raises(SpecError, match=r"evaluation\.options\.clipscore\.template"):
        ready("clipscore", Table(VECTORS), template=template)


def test_a_text_that_was_cut_is_marked() -> None:
    model = Table({**VECTORS, "A photo depicts a long cat": (3.0, 4.0)})
    assert rows("clipscore", model, ["right", "right"], [["a long cat"], ["a cat"]])[:, 1].tolist() == [1.0, 0.0]


def test_images_against_reference_images() -> None:
    model = Table({"right": (3.0, 4.0), "near": (4.0, 3.0), "far": (-1.0, 0.0)})
    found = rows("clipscore", model, ["right", "far"], [[made("near"), made("far")], [made("near")]], against="image")
    assert found[:, 0] == pytest.approx([2.5 * 24 / 25, 0.0])
    score = ready("clipscore", model, against="image")
    assert score.prepared.against == "images"
    assert "against:image" in score.prepared.signature
    with pytest.raises(SpecError, match="one of text, image"):
        ready("clipscore", model, against="images")


def test_pickscore_is_scaled_and_no_softmax() -> None:
    """A candidate's score does not depend on the others."""
    model = Table(VECTORS)
    both, alone = rows("pickscore", model, ["right", "wrong"], [["a cat"]] * 2), rows("pickscore", model, ["right"], [["a cat"]])
    assert both[:, 0] == pytest.approx([80.0, 60.0])
    assert alone[0, 0] == both[0, 0]
    assert model.read == ["a cat", "a cat"]
    assert "softmax:no|scale:100" in ready("pickscore", model).prepared.signature


def test_hpsv2_is_a_hundred_cosines_of_images_by_their_longest_side() -> None:
    model = Table(VECTORS)
    assert rows("hpsv2", model, ["right", "against"], [["a dog"]] * 2)[:, 0] == pytest.approx([60.0, -60.0])
    rows("hpsv2", model, ["right"], [["a dog"]], resize="config")
    assert model.resizes == ["longest", "config"]
    assert "resize:longest" in ready("hpsv2", model).prepared.signature


def test_what_cannot_be_compared_has_no_score() -> None:
    """A vector of zeros or of NaN, and an item without a text."""
    model = Table({**VECTORS, "zero": (0.0, 0.0), "nan": (math.nan, 1.0), "A photo depicts nothing": (0.0, 0.0)})
    found = rows("clipscore", model, ["zero", "nan", "right", "right"], [["a cat"], ["a cat"], ["nothing"], []])
    assert np.isnan(found).all()
    assert np.isnan(rows("clipscore", model, ["right"], [[]])).all()
    assert rows("clipscore", model, [], []).shape == (0, 2)


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), st.floats(1e-3, 1e3))
def test_a_direction_does_not_depend_on_the_length(vector: list[float], factor: float) -> None:
    one, other = directions(np.array([vector])), directions(np.array([vector]) * factor)
    if np.linalg.norm(vector) > 1e-100:
        assert one == pytest.approx(other, abs=1e-9)
        assert np.linalg.norm(one) == pytest.approx(1.0)


def test_without_a_model_a_score_says_what_it_needs() -> None:
    for name, what in (("clipscore", "a CLIP model"), ("image_reward", "a BLIP model"), ("vqascore", "a vision-language model")):
        with pytest.raises(SpecError, match=f"the folder of {what}"):
            scoring.prepared([name], {})
    with pytest.raises(EnvironmentLacks, match="needs a model"):
        scoring.prepared(["clipscore"], {"clipscore.model": "x"})
