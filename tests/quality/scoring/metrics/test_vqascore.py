"""Probabilities of an answer, with a model that looks them up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fireassay.errors import SpecError
from tests.quality.scoring.made_pictures import Table, ready, rows

QUESTION = 'Does this figure show "{}"? Please answer yes or no.'  # t2v_metrics 3.0


def table(*answers: tuple[str, str, float, float]) -> Table:
    return Table(pairs={(image, QUESTION.replace("{}", text)): (share, error) for image, text, share, error in answers})


def test_it_is_the_probability_of_yes_to_the_published_question() -> None:
    model = table(("a", "two cats", 0.75, 0.0), ("b", "two cats", 0.125, 0.0))
    assert rows("vqascore", model, ["a", "b"], [["two cats"]] * 2).tolist() == [[0.75, 0.0], [0.125, 0.0]]
    assert model.read == ["Yes", *[QUESTION.replace("{}", "two cats")] * 2]


def test_of_several_texts_the_best_counts() -> None:
    model = table(("a", "one", 0.25, 0.0), ("a", "two", 0.5, 0.0002), ("a", "three", 0.125, 0.0))
    assert rows("vqascore", model, ["a"], [["one", "two", "three"]]).tolist() == [[0.5, 0.0002]]
    assert np.isnan(rows("vqascore", model, ["a"], [[]])).all()


def test_an_answer_that_was_not_listed_has_a_score_only_if_its_bound_is_small() -> None:
    model = table(("a", "x", 0.0005, 0.0005), ("b", "x", 0.0006, 0.0006), ("b", "y", 0.5, 0.0))
    found = rows("vqascore", model, ["a", "b", "b"], [["x"], ["x"], ["x", "y"]])
    assert found[0].tolist() == [0.0005, 0.0005]
    assert np.isnan(found[1]).all()
    assert found[2].tolist() == [0.5, 0.0]
    assert rows("vqascore", model, ["b"], [["x"]], bound=0.01).tolist() == [[0.0006, 0.0006]]
    assert np.isnan(rows("vqascore", model, ["a"], [["x"]], bound=0)).all()


def test_the_signature_says_template_answer_and_bound() -> None:
    signature = ready("vqascore", Table(), answer="yes", template="{}?", bound=0.5).prepared.signature
    assert signature == (
        "metric:vqascore|impl:fireassay@1|template:{}?|answer:yes|token:first|softmax:vocabulary|bound:0.5|refs:max|weights:sha256:table"
    )


@pytest.mark.parametrize(
    ("option", "value"), [("bound", -1), ("bound", 2.0), ("bound", True), ("bound", "x"), ("answer", ""), ("template", "Yes?")]
)
def test_an_option_that_makes_no_sense_is_refused(option: str, value: Any) -> None:
    with pytest.raises(SpecError, match=rf"evaluation\.options\.vqascore\.{option}"):
        ready("vqascore", Table(), **{option: value})
