"""Is the right choice understood without a guess, and are a choice's lengths those that lm-evaluation-harness divides by?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay import catalog
from fireassay.errors import SpecError
from fireassay.quality.scoring.items import Item
from fireassay.quality.scoring.likelihoods import of_choice, of_text, right_choices, to_text


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
        ((" 1", " 0"), ("1",), ("1",)),  # an index, whatever the choices say
        ((" a", " b"), ("A", "b", "0"), ("0", "1")),
        ((" only",), (), ("0",)),
    ],
)
def test_a_reference_is_a_letter_an_index_or_a_text(choices: tuple[str, ...], references: tuple[str, ...], right: tuple[str, ...]) -> None:
    assert right_choices(item(choices, *references)) == right


@pytest.mark.parametrize(
    ("choices", "references", "words"),
    [
        ((" B", " A"), ("A",), "two of the choices, by text or by letter"),
        ((" x", " x"), ("x",), "two of the choices"),
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


@given(st.lists(st.text("AB01 x", min_size=1, max_size=2).filter(str.strip), min_size=2, max_size=4), st.data())
def test_an_index_is_never_another_choice(choices: list[str], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(choices) - 1))
    assert right_choices(item(tuple(choices), str(index))) == (str(index),)


def test_lengths_are_without_the_blank_before_and_scored_bytes_with_every_blank() -> None:
    entry = of_choice("Answer: ", " naïve 漢", [-1.0, -0.5], 3)
    assert entry == {"logprob": -1.5, "tokens": 2, "characters": 7, "bytes": 10, "scored_bytes": 12, "request": 3}
    (read,) = of_text(to_text([entry]))
    assert (read.logprob, read.tokens, read.characters, read.bytes, read.scored_bytes) == (-1.5, 2, 7, 10, 12)


@pytest.mark.parametrize("text", ["", "B", "[1]", '[{"logprob": -1}]', "{}x"])
def test_another_text_is_no_likelihood(text: str) -> None:
    with pytest.raises(ValueError, match="no log probabilities"):
        of_text(text)


def test_scores_of_likelihoods_say_so() -> None:
    names = catalog.names("quality.scoring.metrics")
    reading = {name for name in names if catalog.load("quality.scoring.metrics", name).reads == "likelihoods"}
    assert reading == {"acc", "acc_norm", "acc_bytes", "perplexity", "bits_per_byte"}
    signatures = {catalog.load("quality.scoring.metrics", name).prepare({}).signature for name in reading}
    assert len(signatures) == len(reading)
