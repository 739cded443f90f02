"""Did the engine answer in the requested form?

    not_streamed        a stream was requested, but the answer came as one JSON: a single chunk with everything, without a separate finish
                        reason or end mark. Its time to first token is that of the whole answer
    usage_impossible    the reported usage does not fit the text: fewer tokens than chunks with text, or (without reasoning
                        tokens) more than the text has bytes, at up to four per character

A warning from 1 % of a configuration's answers, below that a note. Engines that continue past their end mark (ignore_eos) may generate
tokens without text: the upper limit is not checked then. Cannot tell: smaller errors of the usage; `token_counts` compares it with a
tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import count, percent
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.stamp_uncertainty import TEXT
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration
from fireassay.verdict.evidence.sent_requests import main, serving_of
from fireassay.verdict.types import Finding

MANY: Final = 0.01
LONGEST_TOKEN: Final = 32  # characters per token, for text without a token count
MOST_BYTES: Final = 4  # per character
STREAM: Final = "their token times are unknown: TTFT is that of the whole answer. Check whether a gateway buffers the stream"
USAGE: Final = "do not quote token rates; set serving.tokenizer so that assay counts the tokens"


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """At most one finding per configuration and kind."""
    serving = serving_of(measured)
    answers = main(
        measured,
        "status",
        "tokens_out",
        whole=whole(),
        wrong=impossible(padded=serving.ignore_eos).fill_null(False),
        chunks=pl.col("chunk_chars").list.len(),
        chars=pl.col("chunk_chars").list.sum(),
    )
    for name, rows in by_configuration(measured, answers.filter(pl.col("status") == "ok")):
        if serving.stream and serving.task in ("chat", "completions", "image_chat"):
            yield from _named(
                "not_streamed", name, rows, rows.filter("whole"), "came as one JSON document although a stream was requested", STREAM
            )
        wrong = rows.filter("wrong")
        yield from _named("usage_impossible", name, rows, wrong, f"report a usage that their text cannot have{_example(wrong)}", USAGE)


def whole() -> pl.Expr:
    """Whether an answer came as one JSON document: a single chunk with more than one token, or more text than a token holds."""
    several = pl.coalesce(pl.col("tokens_out") > 1, pl.col("chunk_chars").list.sum() > LONGEST_TOKEN)
    return (pl.col("chunk_kind").list.len() == 1) & pl.col("chunk_kind").list.first().is_in(TEXT) & several


def impossible(*, padded: bool) -> pl.Expr:
    """Whether the text cannot hold the reported tokens; null without usage. `padded`: tokens may carry no text."""
    texts = pl.col("chunk_kind").list.eval(pl.element().is_in(TEXT)).list.sum()
    visible = pl.col("tokens_out") - pl.col("tokens_reasoning").fill_null(0)
    too_few = pl.col("tokens_out") < texts
    if padded:
        return too_few
    return too_few | (visible > MOST_BYTES * pl.col("chunk_chars").list.sum() + 1)  # the end mark has no text


def _example(wrong: pl.DataFrame) -> str:
    if wrong.height == 0:
        return ""
    row = wrong.row(0, named=True)
    return f" (request {row['request']}: {row['tokens_out']} tokens, {row['chars']} characters in {row['chunks']} chunks)"


def _named(rule: str, name: str, rows: pl.DataFrame, wrong: pl.DataFrame, what: str, remedy: str) -> list[Finding]:
    if wrong.height == 0:
        return []
    share = wrong.height / rows.height
    evidence = f"{count(wrong.height, 'answers')} of {rows.height:,} ({percent(share)}) {what}"
    return [Finding(rule, "warning" if share >= MANY else "note", name, evidence, remedy)]


AUDIT = Audit(
    name="answers_as_asked",
    title="answers in another form",
    question="Did the engine answer in the requested form?",
    examine=examine,
    about=("serving",),
)
