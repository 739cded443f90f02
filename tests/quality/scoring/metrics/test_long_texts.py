"""Does a text that a score cannot read in reasonable time and memory cost its own item only?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay import catalog
from fireassay.quality.scoring.scoring import unscored
from fireassay.quality.scoring.text_metric import MAX_CHARACTERS
from tests.answered import rows, scored
from tests.quality.scoring.scored import metric

TEXTS = sorted(
    name
    for name in catalog.names("quality.scoring.metrics")
    if (found := catalog.load("quality.scoring.metrics", name)).reads == "texts" and found.prepare_with is None
)


@pytest.mark.slow
def test_ten_megabytes_are_one_items_outcome(tmp_path: Path) -> None:
    measured = scored(tmp_path, {"a": rows(["yes", "yes!" * 2_500_000])}, metrics=["ter"])
    outcomes = measured.table("answers").sort("item")["outcome"].to_list()
    assert outcomes == ["ok", "no score: 10,000,000 characters, at most 3,000 (TER)"]
    assert measured.table("scores")["item"].to_list() == ["0"]


def test_the_screen_says_which_items_have_no_score_and_why(tmp_path: Path) -> None:
    """They were answered: a remedy for failed requests would mislead, and many lengths are not many kinds of failure."""
    answers = [*["word " * number for number in range(700, 705)], *["yes"] * 5]
    measured = scored(tmp_path, {"a": rows([None, *answers[1:]])}, metrics=["ter"])
    (finding,) = catalog.load("verdict.audits", "unanswered_items").examine(measured, {})
    assert (
        "1 of 10 items were not answered (1 missing); 4 of 10 items have no score (item 1: 3,504 characters, at most 3,000 (TER), "
        "item 2: 3,509 characters, at most 3,000 (TER), item 3: 3,514 characters, at most 3,000 (TER) and 1 more)"
    ) in finding.evidence
    assert finding.severity == "invalid"
    (alone,) = catalog.load("verdict.audits", "unanswered_items").examine(
        scored(tmp_path / "b", {"a": rows(answers[4:])}, metrics=["ter"]), {}
    )
    assert "1 of 6 items has no score (item 0:" in alone.evidence
    assert alone.remedy == "score without the metric that cannot compare such texts, or split the texts"


@pytest.mark.parametrize("name", TEXTS)
def test_no_score_reads_ten_megabytes(name: str) -> None:
    assert unscored((metric(name),), "yes!" * 2_500_000, ["1"]).startswith("no score: 10,000,000 characters, at most ")


@pytest.mark.parametrize(
    ("name", "answer", "reference", "words"),
    [
        ("exact_match", "a" * MAX_CHARACTERS, "a", ""),
        ("exact_match", "a", "a" * (MAX_CHARACTERS + 1), "no score: 500,001 characters, at most 500,000 (Exact match)"),
        ("ter", "a " * 1500, "a", ""),
        ("ter", "a " * 1501, "a", "no score: 3,002 characters, at most 3,000 (TER)"),
        ("rouge_lsum", "a\n" * 2000, "b\n" * 2000, ""),
        ("rouge_lsum", "a\n" * 3000, "b\n" * 3000, "no score: 3,000 and 3,000 lines, which is too much to compare (ROUGE-Lsum)"),
    ],
)
def test_where_the_limit_is(name: str, answer: str, reference: str, words: str) -> None:
    assert unscored((metric(name),), answer, ["", reference]) == words
