"""Is the choice chosen by its own normalisation, and are perplexity and bits per byte those of all texts together?"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import pytest

from fireassay import catalog
from fireassay.quality.scoring.text_metric import Array, TextMetric

ACCURACIES = ("acc", "acc_norm", "acc_bytes")


def metric(name: str) -> TextMetric:
    loaded: TextMetric = catalog.load("quality.scoring.metrics", name)
    return loaded


def statistics(name: str, answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
    return metric(name).prepare({}).statistics(answers, references)


def choices(*those: tuple[float, int, int]) -> str:
    """Log probability, characters and bytes of each choice."""
    return json.dumps(
        [{"logprob": value, "tokens": 3, "characters": chars, "bytes": size, "scored_bytes": size + 1} for value, chars, size in those]
    )


def text(*those: tuple[float, int, int]) -> str:
    """Log probability, tokens and bytes of each choice."""
    return json.dumps(
        [{"logprob": value, "tokens": tokens, "characters": 1, "bytes": 1, "scored_bytes": size} for value, tokens, size in those]
    )


@pytest.mark.parametrize(("name", "chosen"), [*zip(ACCURACIES, "021", strict=True)])
def test_its_own_normalisation_chooses(name: str, chosen: str) -> None:
    # sums: the first; per character -3/1, -4/2, -6/4: the third; per byte -3/1, -4/8, -6/4: the second
    answers = [choices((-3.0, 1, 1), (-4.0, 2, 8), (-6.0, 4, 4))] * 3
    assert statistics(name, answers, [("0",), ("1",), ("2",)])[:, 0].tolist() == [float(key == chosen) for key in "012"]
    assert metric(name).score(statistics(name, answers, [(chosen,), ("0", "1", "2"), ("3",)])) == 2 / 3


@pytest.mark.parametrize("name", ACCURACIES)
def test_the_first_of_equal_choices_is_chosen(name: str) -> None:
    assert statistics(name, [choices((-1.0, 1, 1), (-1.0, 1, 1))], [("1",)])[0, 0] == 0.0


@pytest.mark.parametrize("name", ACCURACIES)
def test_it_says_what_it_reads_and_how_it_normalises(name: str) -> None:
    assert metric(name).reads == "likelihoods"
    assert metric(name).prepare({}).signature.startswith(f"metric:{name}|")


@pytest.mark.parametrize(("name", "score"), [("perplexity", 256.0), ("bits_per_byte", 8.0)])
def test_a_uniform_model_over_bytes(name: str, score: float) -> None:
    """256 equally probable bytes: perplexity 256, 8 bits; over all items, not a mean of means."""
    rows = statistics(name, [text((-n * math.log(256), n, n)) for n in (1, 5, 90)], [("0",)] * 3)
    assert metric(name).score(rows) == pytest.approx(score, rel=1e-12)
    assert metric(name).item_scores(rows) == pytest.approx([score] * 3)


@pytest.mark.parametrize(("name", "score"), [("perplexity", math.exp(0.5)), ("bits_per_byte", 0.5 / math.log(2))])
def test_totals_are_weighted_by_length(name: str, score: float) -> None:
    rows = statistics(name, [text((-1.0, 1, 1)), text((-1.0, 3, 3))], [("0",)] * 2)
    assert metric(name).score(rows) == pytest.approx(score)


@pytest.mark.parametrize(("name", "row"), [("perplexity", [3.0, 3.0]), ("bits_per_byte", [3.0, 2.0])])
def test_of_several_right_choices_the_most_probable_is_the_text(name: str, row: list[float]) -> None:
    assert statistics(name, [text((-3.0, 3, 2), (-4.0, 3, 9), (-2.0, 3, 9))], [("0", "1")]).tolist() == [row]
