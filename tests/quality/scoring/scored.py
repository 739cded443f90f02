"""Texts that scores are held against other programs with, and the scores themselves."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from fireassay.quality.scoring import scoring
from fireassay.quality.scoring.scoring import Scored
from fireassay.quality.scoring.text_metric import Encoder, TextMetric

WORDS = (
    "the",
    "cat",
    "cats",
    "sat",
    "Sat",
    "on",
    "a",
    "mat",
    "running",
    "runs",
    "run",
    ".",
    ",",
    "it's",
    "é",
    "東京",
    "1,000",
    "<b>",
    "&amp;",
    "\n",
    "",
)
words = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)
texts = st.one_of(words, words, st.text(max_size=30))
pairs = st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=3)), min_size=1, max_size=6)
labels = st.sampled_from(["0", "1", "2", " 1", "none of them"])


def metric(name: str, encoder: Encoder | None = None, **options: str | int | bool) -> scoring.Score:
    """One score with its options set."""
    given = {f"{name}.{option}": value for option, value in options.items()}
    (ready,) = scoring.prepared([name], given, None if encoder is None else lambda _: encoder)
    return ready


def score(
    name: str, answers: Sequence[str], references: Sequence[Sequence[str]], encoder: Encoder | None = None, **options: str | int | bool
) -> tuple[TextMetric, Scored]:
    """The declaration, and the rows of these answers."""
    ready = metric(name, encoder, **options)
    (scored,) = scoring.score_all((ready,), answers, references)
    return ready.metric, scored


def value(name: str, answers: Sequence[str], references: Sequence[Sequence[str]], **options: str | int | bool) -> float:
    """The score of all these answers."""
    declared, scored = score(name, answers, references, None, **options)
    return declared.score(scored.rows)


def items(name: str, answers: Sequence[str], references: Sequence[Sequence[str]], **options: str | int | bool) -> list[float]:
    """The score of each answer alone."""
    return [float(one) for one in score(name, answers, references, None, **options)[1].scores]
