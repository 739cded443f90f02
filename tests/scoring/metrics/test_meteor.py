"""METEOR as nltk computes it, with and without a WordNet."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import meteor_score

from fireassay.errors import SpecError
from fireassay.scoring.metrics import meteor
from tests.scoring.scored import items, metric, pairs


class Nothing:
    def synsets(self, _: str) -> list[Any]:
        return []


def test_the_published_value_of_a_wordnet_that_knows_nothing() -> None:
    """Of the first pair of texts of BLEU's published value, by exact matches and stems."""
    assert items("meteor", ["the cat sat on the mat"], [["the cat is on the mat"]]) == [pytest.approx(0.806667, abs=5e-7)]


@settings(max_examples=60)
@given(pairs)
def test_it_is_nltks_with_exact_words_and_stems(drawn: list[tuple[str, list[str]]]) -> None:
    found = items("meteor", [answer for answer, _ in drawn], [references for _, references in drawn], tokenize="split")
    expected = [
        meteor_score([one.split() for one in references], answer.split(), stemmer=PorterStemmer(), wordnet=Nothing())
        for answer, references in drawn
    ]
    assert found == pytest.approx(expected, abs=1e-9)


def test_words_are_split_from_punctuation_unless_requested_otherwise() -> None:
    assert items("meteor", ["It rains."], [["it rains"]])[0] > items("meteor", ["It rains."], [["it rains"]], tokenize="split")[0]
    assert math.isnan(items("meteor", ["x"], [[]])[0])


@pytest.fixture
def wordnet(tmp_path: Path) -> Iterator[str]:
    """The folder of a WordNet with one synset, the nouns car and auto; closed afterwards, which nltk leaves to the end of the process."""
    yield str(written(tmp_path))
    reader, _ = meteor._loaded(str(tmp_path))
    for file in reader._data_file_map.values():
        file.close()
    meteor._loaded.cache_clear()


def written(folder: Path) -> Path:
    """In WordNet's format; files of other parts of speech are empty."""
    line = "00000000 06 n 02 car 0 auto 0 000 | a thing on wheels  \n"
    for part in ("noun", "verb", "adj", "adv"):
        (folder / f"data.{part}").write_text(line if part == "noun" else "")
        index = "auto n 1 0 1 0 00000000  \ncar n 1 0 1 0 00000000  \n"
        (folder / f"index.{part}").write_text(index if part == "noun" else "")
        (folder / f"{part}.exc").write_text("")
    (folder / "lexnames").write_text("".join(f"{number:02d}\tnoun.{number}\t1\n" for number in range(45)))
    return folder


def test_with_a_wordnet_synonyms_match(wordnet: str) -> None:
    """A hundred per cent of words, in one chunk of four: 1 - .5 / 64."""
    assert items("meteor", ["the red car stops"], [["the red auto stops"]], wordnet=wordnet) == [pytest.approx(1.0 - 0.5 / 64)]
    assert items("meteor", ["the red car stops"], [["the red auto stops"]])[0] < 0.8


def test_the_signature_says_which_variant_it_is(wordnet: str) -> None:
    plain, with_synonyms = (metric("meteor", wordnet=folder).prepared.signature for folder in ("", wordnet))
    assert "match:exact+stem|" in plain
    assert "match:exact+stem+synonyms|wordnet:sha256:" in with_synonyms
    assert metric("meteor").metric.title == "METEOR as in nltk"


def test_a_folder_that_is_no_wordnet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"meteor\.wordnet.*index\.noun, data\.noun"):
        metric("meteor", wordnet=str(tmp_path))
