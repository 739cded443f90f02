"""Are the answers as long as requested?

Throughput and latency depend on the generated lengths. An answer is off if its tokens are below 0.9 or above 1.1 times the requested number
and differ by more than 2. More than 5 % of such answers is a warning if answers were to continue to the requested length
(serving.ignore_eos), else a note: the model may stop earlier. In an evaluation it should, and nothing is said. MLPerf's TEST09 uses the same
bound of 10 %. Cannot tell: whether a shorter answer is worse; reference answers do (prompts.answer_field).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import count, given, percent
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration
from fireassay.verdict.evidence.sent_requests import main, number, planned, serving_of
from fireassay.verdict.types import Finding

MOST: Final = 0.05  # of the answers
FAR: Final = 0.1
FREE: Final = 2  # tokens


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding per configuration with answer lengths other than requested."""
    forced = serving_of(measured).ignore_eos
    if measured.kind.samples_items and not forced:
        return
    for name, rows in by_configuration(measured, lengths(measured)):
        apart = (pl.col("made") - pl.col("asked")).abs()
        far = rows.filter((apart > FAR * pl.col("asked")) & (apart > FREE))
        if far.height <= MOST * rows.height:
            continue
        shorter = far.filter(pl.col("made") < pl.col("asked")).height
        evidence = (
            f"{percent(far.height / rows.height)} of {count(rows.height, 'answers')} are more than {percent(FAR, 12)} from the requested length, "
            f"{shorter:,} of them shorter; median {given(number(rows['made']) or 0.0)} tokens, requested {given(number(rows['asked']) or 0.0)}"
        )
        remedy = (
            "compare only with records of the same lengths; check whether the engine supports ignore_eos or min_tokens"
            if forced
            else "nothing, if the model may stop by itself; else set serving.ignore_eos = true"
        )
        yield Finding("lengths_not_as_asked", "warning" if forced else "note", name, evidence, remedy)


def lengths(measured: RecordData) -> pl.DataFrame:
    """(configuration, made, asked): output tokens of answered requests, by usage, else by the tokenizer."""
    counted = measured.table("token_counts").select("launch", "request", pl.col("tokens_out").alias("counted"))
    requested = planned(measured, "tokens_out").rename({"tokens_out": "asked"})
    answered = main(measured, "status", "kind", "tokens_out").filter((pl.col("status") == "ok") & (pl.col("kind") != "canary"))
    joined = answered.join(counted, on=["launch", "request"], how="left").join(requested, on=["launch", "request"])
    produced = pl.coalesce("tokens_out", "counted").alias("made")
    return joined.select("launch", "configuration", produced, "asked").drop_nulls()


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind without requested or counted lengths."""
    return None if lengths(measured).height else "no answer's length was both requested and counted"


AUDIT = Audit(
    name="output_lengths",
    title="answers of another length",
    question="Are the answers as long as requested?",
    examine=examine,
    about=("serving",),
    blind=blind,
)
