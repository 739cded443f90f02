"""Do the server's token counts agree with the tokenizer's?

Token rates rest on these counts: the server's usage if reported, else the tokenizer's. Over the answered requests of a configuration,
output sums may differ by 2 % plus one token per request (a final token without text), prompts by 2 % plus four per request (the chat
template). More is a warning: wrong usage, or another model's tokenizer. With neither count, token rates are unknown. Cannot tell: which of
the two is right; tokenizing the text need not give back the generated tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import count, percent
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration
from fireassay.verdict.evidence.sent_requests import main, serving_of
from fireassay.verdict.types import Finding

MOST: Final = 0.02
FREE: Final = {"tokens_out": 1.0, "tokens_in": 4.0}  # tokens per request without text of their own
WORDS: Final = {"tokens_out": "output tokens", "tokens_in": "prompt tokens"}


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """A warning per configuration and side that disagree; a note if the counts do not come from the usage."""
    both = _both(measured)
    findings = [f for name, rows in by_configuration(measured, both) for f in _apart(name, rows)]
    return (*findings, *_source(measured, both))


def _both(measured: RecordData) -> pl.DataFrame:
    """Answered requests of the measured part: tokens by usage and, with suffix _counted, by the tokenizer."""
    counted = measured.table("token_counts").select("launch", "request", "tokens_in", "tokens_out")
    answered = main(measured, "status", "tokens_in", "tokens_out").filter(pl.col("status") == "ok")
    return answered.join(counted, on=["launch", "request"], how="left", suffix="_counted")


def _apart(name: str, rows: pl.DataFrame) -> Iterator[Finding]:
    for column, words in WORDS.items():
        known = rows.filter(pl.col(column).is_not_null() & pl.col(f"{column}_counted").is_not_null())
        if known.height == 0:
            continue
        reported, counted = int(known[column].sum()), int(known[f"{column}_counted"].sum())
        if abs(reported - counted) <= MOST * counted + FREE[column] * known.height:
            continue
        by = percent(abs(reported - counted) / counted) if counted else "all of them"
        evidence = (
            f"the server reports {reported:,} {words} for {count(known.height, 'requests')}, the tokenizer counts {counted:,}: "
            f"{'more' if reported > counted else 'fewer'} by {by}"
        )
        remedy = (
            "check whether serving.tokenizer is this model's own, and whether the server's template adds to the prompts; token rates "
            "use the server's count"
        )
        yield Finding("token_counts_differ", "warning", name, evidence, remedy)


def _source(measured: RecordData, both: pl.DataFrame) -> Iterator[Finding]:
    if both.height == 0 or both["tokens_out"].is_not_null().all():
        return
    if serving_of(measured).task not in ("chat", "completions"):
        return
    silent = both.filter(pl.col("tokens_out").is_null())
    uncounted = silent.filter(pl.col("tokens_out_counted").is_null()).height
    if uncounted:
        evidence = f"for {count(uncounted, 'answers')} of {both.height:,} neither the server nor a tokenizer counted output tokens"
        remedy = "set serving.tokenizer to the folder with the model's own tokenizer.json"
        yield Finding("token_counts_not_measured", "note", None, evidence, remedy)
    else:
        evidence = (
            f"for {count(silent.height, 'answers')} of {both.height:,} the server reports no usage; the tokenizer counted their tokens"
        )
        yield Finding("tokens_by_tokenizer", "note", None, evidence, "nothing, if the tokenizer is the model's own")


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind with a single count."""
    both = _both(measured)
    known = both.filter(pl.col("tokens_out").is_not_null() & pl.col("tokens_out_counted").is_not_null())
    return None if known.height else "no answer's tokens were counted both by the server and by the tokenizer (serving.tokenizer)"


AUDIT = Audit(
    name="token_counts",
    title="miscounted tokens",
    question="Do the server's token counts agree with those of the tokenizer?",
    examine=examine,
    about=("serving",),
    blind=blind,
)
