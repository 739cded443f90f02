"""Is the right choice understood without a guess, and are a choice's lengths those that lm-evaluation-harness divides by?"""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay import catalog
from fireassay.errors import SpecError
from fireassay.scoring.items import Item
from fireassay.scoring.likelihoods import of_choice, of_text, reference_to, right_choices, to_text
from fireassay.scoring.metrics import acc, acc_bytes, acc_norm, bits_per_byte, perplexity


def item(choices: tuple[str, ...], *references: str) -> Item:
    return Item(id="7", prompt="q", choices=choices, references=references)


@pytest.mark.parametrize(
    ("choices", "references", "right"),
    [
        ((" A", " B", " C"), ("B",), ("1",)),  # letter and text at once
        ((" red", " green"), ("B",), ("1",)),
        ((" red", " green"), ("0",), ("0",)),
        ((" red", " green"), ("green",), ("1",)),
        ((" 14", " 15"), ("1",), ("1",)),
        ((" 14", " 15"), ("15",), ("1",)),
        ((" 0", " 1"), ("1",), ("1",)),  # text and index agree
        ((" a", " b"), ("A", "b", "0"), ("0", "1")),
        ((" only",), (), ("0",)),
    ],
)
def test_a_reference_is_a_letter_an_index_or_a_text(choices: tuple[str, ...], references: tuple[str, ...], right: tuple[str, ...]) -> None:
    assert right_choices(item(choices, *references)) == right


@pytest.mark.parametrize(
    ("choices", "references", "words"),
    [
        ((" 1", " 0"), ("1",), "the text of one choice and the index or letter of another"),
        ((" x", " x"), ("x",), "the text of one choice"),
        ((" x", " y"), ("z",), "no choice"),
        ((" x", " y"), ("2",), "no choice"),
        ((" x", " y"), (), "no reference"),
        ((), ("0",), "without choices"),
        ((" x", ""), ("0",), "an empty choice"),
    ],
)
def test_a_reference_that_is_not_clear_is_refused(choices: tuple[str, ...], references: tuple[str, ...], words: str) -> None:
    with pytest.raises(SpecError, match=words) as refused:
        right_choices(item(choices, *references))
    assert "item 7" in str(refused.value)


@given(st.lists(st.text("AB01 x", min_size=1, max_size=2).filter(str.strip), min_size=2, max_size=4, unique_by=str.strip), st.data())
def test_a_written_reference_is_never_another_choice(choices: list[str], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(choices) - 1))
    try:
        right = right_choices(item(tuple(choices), reference_to(index, choices)))
    except SpecError:
        return
    assert right == (str(index),)


def test_lengths_are_without_the_blank_before_and_scored_bytes_with_every_blank() -> None:
    entry = of_choice("Answer: ", " naïve 漢", [-1.0, -0.5], 3)
    assert entry == {"logprob": -1.5, "tokens": 2, "characters": 7, "bytes": 10, "scored_bytes": 12, "request": 3}
    (read,) = of_text(to_text([entry]))
    assert (read.logprob, read.tokens, read.characters, read.bytes, read.scored_bytes) == (-1.5, 2, 7, 10, 12)


@pytest.mark.parametrize("text", ["", "B", "[1]", '[{"logprob": -1}]', "{}x"])
def test_another_text_is_no_likelihood(text: str) -> None:
    with pytest.raises(ValueError, match="no log probabilities"):
        of_text(text)


def answer(*choices: tuple[float, int, int]) -> str:
    return json.dumps(
        [{"logprob": value, "tokens": 3, "characters": chars, "bytes": size, "scored_bytes": size + 1} for value, chars, size in choices]
    )


def test_three_normalisations_choose_three_ways() -> None:
    # sums: the first; per character -3/1, -4/2, -6/4: the third; per byte -3/1, -4/8, -6/4: the second
    given_answer = answer((-3.0, 1, 1), (-4.0, 2, 8), (-6.0, 4, 4))
    for metric, right in ((acc, "0"), (acc_norm, "2"), (acc_bytes, "1")):
        assert metric.statistics([given_answer] * 3, [("0",), ("1",), ("2",)])[:, 0].tolist() == [float(right == key) for key in "012"]


def test_the_first_of_equal_choices_is_chosen() -> None:
    assert acc.statistics([answer((-1.0, 1, 1), (-1.0, 1, 1))], [("1",)])[0, 0] == 0.0


def test_perplexity_and_bits_per_byte_of_a_uniform_model() -> None:
    """256 equally probable bytes: ln 256 a token, perplexity 256, 8 bits a byte; over all items, not a mean of means."""
    answers = [
        json.dumps([{"logprob": -n * math.log(256), "tokens": n, "characters": n, "bytes": n, "scored_bytes": n, "request": 0}])
        for n in (1, 5, 90)
    ]
    references = [("0",)] * 3
    assert perplexity.METRIC.score(perplexity.statistics(answers, references)) == pytest.approx(256.0, rel=1e-12)
    assert bits_per_byte.METRIC.score(bits_per_byte.statistics(answers, references)) == pytest.approx(8.0, rel=1e-12)
    assert perplexity.METRIC.item_scores(perplexity.statistics(answers, references)) == pytest.approx([256.0] * 3)


def test_totals_are_weighted_by_length() -> None:
    rows = perplexity.statistics(
        [json.dumps([{"logprob": -nll, "tokens": n, "characters": 1, "bytes": 1, "scored_bytes": 1}]) for nll, n in ((1.0, 1), (1.0, 3))],
        [("0",)] * 2,
    )
    assert perplexity.METRIC.score(rows) == pytest.approx(math.exp(0.5))


def test_the_right_one_of_several_choices_is_the_given_text() -> None:
    rows = bits_per_byte.statistics([answer((-3.0, 1, 1), (-4.0, 2, 8), (-2.0, 2, 8))], [("0", "1")])
    assert rows.tolist() == [[3.0, 2.0]]  # the most probable of the right ones


def test_scores_of_likelihoods_say_so() -> None:
    names = catalog.names("scoring.metrics")
    reading = {name for name in names if catalog.load("scoring.metrics", name).reads == "likelihoods"}
    assert reading == {"acc", "acc_norm", "acc_bytes", "perplexity", "bits_per_byte"}
    signatures = {catalog.load("scoring.metrics", name).prepare({}).signature for name in reading}
    assert len(signatures) == len(reading)
