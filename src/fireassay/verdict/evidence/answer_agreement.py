"""Do equal prompts get equal answers, and how closely do they agree?

Prompts of the identity check (kinds identity, rerun, needle) are sent several times per launch: to every replica, again, and under load.
Each further answer is compared with the first:

    bitwise             equal text and equal log probabilities of its tokens
    token_identical     equal text
    near_tie            at the first differing token, the two log probabilities differ by at most twice the largest difference
                        before it: within reach of rounding
    distribution_close  log probabilities before that token differ by at most 0.1 (measured on a tiny Llama, at the first token:
                        bf16 0.03, int8 0.07, one corrupted weight 0.48)
    fail                more

A configuration gets its worst grade. If a server reports no log probabilities, some grades can be neither shown nor excluded: `shown` is
certain, `possible` the best case. The differing token is located by the characters of the chunks, which requires one token per chunk.
Cannot tell: near_tie by its full definition, which scores the first answer's own tokens on both sides; this is a necessary condition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.answers import commonprefix

GRADES: Final = ("fail", "distribution_close", "near_tie", "token_identical", "bitwise")  # ascending
KINDS: Final = ("identity", "rerun", "needle")
TEXT: Final = (1, 2, 3)  # chunk kinds that bear text
CLOSE: Final = 0.1  # of log probabilities, natural logarithm


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How the answers of one configuration agree."""

    shown: str  # at least this grade
    possible: str  # at most this one
    prompts: int  # answered more than once
    answers: int
    differing: int  # answers whose text differs from the first
    where: str  # the worst: "example 3 of launch 0, replica 1, after 12 characters"; empty if all texts are equal


def graded(agreement: Agreement) -> str:
    """The grade in words: a grade, or the range the record leaves open."""
    return agreement.shown if agreement.shown == agreement.possible else f"{agreement.shown} at least, {agreement.possible} at best"


def agreements(measured: RecordData) -> dict[str, Agreement]:
    """configuration -> agreement, for configurations that sent a prompt more than once."""
    prompts = measured.table("arrivals").filter(pl.col("kind").is_in(KINDS) & pl.col("example").is_not_null())
    answered = measured.table("requests").filter((pl.col("status") == "ok") & pl.col("text").is_not_null())
    columns = ("launch", "request", "replica", "text", "logprobs", "chunk_kind", "chunk_chars")
    rows = answered.select(columns).join(prompts.select("launch", "request", "example"), on=["launch", "request"])
    rows = rows.join(measured.timed.select("launch", "configuration"), on="launch").sort("launch", "request")
    by_name = {}
    for name in measured.configurations:
        answers = rows.filter(pl.col("configuration") == name)
        # empty answers are no evidence of agreement
        texts = answers.filter((pl.col("text").str.strip_chars() != "").any().over("launch", "example"))
        groups = [group for group in texts.partition_by("launch", "example", maintain_order=True) if group.height > 1]
        if groups:
            by_name[name] = _of(groups)
    return by_name


def _of(groups: Sequence[pl.DataFrame]) -> Agreement:
    pairs = [pair for group in groups for pair in _pairs(group)]
    differing = [pair for pair in pairs if pair.where]
    worst = min(differing, key=lambda pair: (pair.shown, pair.possible), default=None)
    return Agreement(
        shown=GRADES[min(pair.shown for pair in pairs)],
        possible=GRADES[min(pair.possible for pair in pairs)],
        prompts=len(groups),
        answers=sum(group.height for group in groups),
        differing=len(differing),
        where=worst.where if worst is not None else "",
    )


@dataclass(frozen=True, kw_only=True)
class _Pair:
    shown: int
    possible: int
    where: str = ""


def _pairs(group: pl.DataFrame) -> Iterator[_Pair]:
    first, *others = group.iter_rows(named=True)
    for other in others:
        if other["text"] == first["text"]:
            yield _equal(first["logprobs"], other["logprobs"])
        else:
            yield _apart(first, other)


def _equal(ours: Sequence[float], theirs: Sequence[float]) -> _Pair:
    if not ours or not theirs:
        return _Pair(shown=3, possible=4)
    same = 4 if list(ours) == list(theirs) else 3
    return _Pair(shown=same, possible=same)


def _apart(first: Mapping[str, Any], other: Mapping[str, Any]) -> _Pair:
    common = len(commonprefix([first["text"], other["text"]]))
    where = f"example {other['example']} of launch {other['launch']}, replica {other['replica']}, after {common} characters"
    indices = [_index(row, common) for row in (first, other)]
    if None in indices or indices[0] != indices[1]:
        return _Pair(shown=0, possible=2, where=where)
    grade = _graded(first["logprobs"], other["logprobs"], indices[0] or 0)
    return _Pair(shown=grade, possible=grade, where=where)


def _index(row: Mapping[str, Any], characters: int) -> int | None:
    """Index of the token at which the texts diverge; None if chunks are not tokens or log probabilities are missing."""
    lengths = [n for n, kind in zip(row["chunk_chars"], row["chunk_kind"], strict=True) if kind in TEXT]
    if not row["logprobs"] or len(lengths) != len(row["logprobs"]) or sum(lengths) != len(row["text"]):
        return None
    whole = sum(end <= characters for end in accumulate(lengths))
    return whole if whole < len(lengths) else None  # else one answer is a prefix of the other


def _graded(ours: Sequence[float], theirs: Sequence[float], index: int) -> int:
    before = max((abs(a - b) for a, b in zip(ours[:index], theirs[:index], strict=True)), default=0.0)
    if index and abs(ours[index] - theirs[index]) <= 2.0 * before:
        return 2
    return 1 if index and before <= CLOSE else 0
