"""METEOR as nltk computes it, with and without a WordNet."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import meteor_score

from fireassay.errors import SpecError
from tests.quality.scoring.scored import items, metric, pairs
from tests.tiers import examples


class Nothing:
    def synsets(self, _: str) -> list[Any]:
        return []


def test_the_published_value_of_a_wordnet_that_knows_nothing() -> None:
    """Of the first pair of texts of BLEU's published value, by exact matches and stems."""
    assert items("meteor", ["the cat sat on the mat"], [["the cat is on the mat"]]) == [pytest.approx(0.806667, abs=5e-7)]


@examples(60)
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


def written(folder: Path) -> Path:
    """In WordNet's format; files of other parts of speech are empty."""
    line = "00000000 06 n 02 car 0 auto 0 000 | a thing on wheels  \n"
    for part in ("noun", "verb", "adj", "adv"):
        (folder / f"data.{part}").write_text(line if part == "noun" else "  1 WordNet 3.0 Copyright 2006  \n")
        index = "auto n 1 0 1 0 00000000  \ncar n 1 0 1 0 00000000  \n"
        (folder / f"index.{part}").write_text(index if part == "noun" else "")
        (folder / f"{part}.exc").write_text("")
    (folder / "lexnames").write_text("".join(f"{number:02d}\tnoun.{number}\t1\n" for number in range(45)))
    return folder


SCORED = """
import sys
from fireassay.quality.scoring import scoring
for folder in ("", sys.argv[1]):
    (ready,) = scoring.prepared(["meteor"], {"meteor.wordnet": folder})
    (found,) = scoring.score_all((ready,), ["the red car stops"], [["the red auto stops"]])
    print(found.scores[0], ready.prepared.signature)
"""


def test_with_a_wordnet_synonyms_match_and_the_signature_says_so(tmp_path: Path) -> None:
    """All four words in one chunk: 1 - .5 / 64.  In a process of its own: nltk leaves a WordNet's files open until the end."""
    done = subprocess.run([sys.executable, "-c", SCORED, str(written(tmp_path))], capture_output=True, text=True, check=True)
    (plain, variant), (found, with_synonyms) = (line.split() for line in done.stdout.splitlines())
    assert float(plain) < 0.8
    assert float(found) == pytest.approx(1.0 - 0.5 / 64)
    assert "match:exact+stem|" in variant
    assert "match:exact+stem+synonyms|wordnet:sha256:" in with_synonyms
    assert metric("meteor").metric.title == "METEOR as in nltk"


def test_a_folder_that_is_no_wordnet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"meteor\.wordnet.*index\.noun, data\.noun"):
        metric("meteor", wordnet=str(tmp_path))
