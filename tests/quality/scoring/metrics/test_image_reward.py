"""Rewards of images for their prompts, with a model that looks them up."""

from __future__ import annotations

import numpy as np

from tests.quality.scoring.made_pictures import Table, ready, rows

PAIRS = {("a", "cat"): -0.5, ("a", "long dog"): 1.5, ("b", "cat"): 0.25}


def test_a_reward_is_the_best_over_an_items_texts() -> None:
    found = rows("image_reward", Table(pairs=PAIRS), ["a", "b", "a"], [["cat", "long dog"], ["cat"], ["cat"]])
    assert found.tolist() == [[1.5, 1.0], [0.25, 0.0], [-0.5, 0.0]]


def test_an_item_without_a_text_has_no_score() -> None:
    assert np.isnan(rows("image_reward", Table(), ["a"], [[]])).all()
    found = rows("image_reward", Table(pairs=PAIRS), ["a", "b"], [[], ["cat"]])
    assert np.isnan(found[0]).all()
    assert found[1].tolist() == [0.25, 0.0]


def test_the_signature_has_the_models() -> None:
    assert (
        ready("image_reward", Table()).prepared.signature
        == "metric:image_reward|impl:fireassay@1|resize:shortest|refs:max|weights:sha256:table"
    )
