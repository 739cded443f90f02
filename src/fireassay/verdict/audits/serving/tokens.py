"""Were tokens counted as they should be, and are outputs as long as asked?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import count, given, percent
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.audit import SERVING, Audits
from fireassay.verdict.evidence.affected import by_configuration
from fireassay.verdict.evidence.sent_requests import main, number, planned, serving_of
from fireassay.verdict.types import Finding

AUDITS = Audits(about=SERVING)


# ---- token counts ----

COUNTS_MAX_SHARE: Final = 0.02
COUNTS_FREE: Final = {"tokens_out": 1.0, "tokens_in": 4.0}  # tokens per request without text of their own
COUNTS_WORDS: Final = {"tokens_out": "output tokens", "tokens_in": "prompt tokens"}


@AUDITS.add("token_counts", "Do the server's token counts agree with those of the tokenizer?", title="miscounted tokens")
def examine_token_counts(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """A warning per configuration and side that disagree; a note if the counts do not come from the usage.

    Token rates rest on these counts: the server's usage if reported, else the tokenizer's. Over the answered requests of a configuration,
    output sums may differ by 2 % plus one token per request (a final token without text), prompts by 2 % plus four per request (the chat
    template). More is a warning: wrong usage, or another model's tokenizer. With neither count, token rates are unknown. Cannot tell: which
    of the two is right; tokenizing the text need not give back the generated tokens.
    """
    both = _both(measured)
    findings = [f for name, rows in by_configuration(measured, both) for f in _apart(name, rows)]
    return (*findings, *_token_counts_source(measured, both))


def _both(measured: RecordData) -> pl.DataFrame:
    """Answered requests of the measured part: tokens by usage and, with suffix _counted, by the tokenizer."""
    counted = measured.table("token_counts").select("launch", "request", "tokens_in", "tokens_out")
    answered = main(measured, "status", "tokens_in", "tokens_out").filter(pl.col("status") == "ok")
    return answered.join(counted, on=["launch", "request"], how="left", suffix="_counted")


def _apart(name: str, rows: pl.DataFrame) -> Iterator[Finding]:
    for column, words in COUNTS_WORDS.items():
        known = rows.filter(pl.col(column).is_not_null() & pl.col(f"{column}_counted").is_not_null())
        if known.height == 0:
            continue
        reported, counted = int(known[column].sum()), int(known[f"{column}_counted"].sum())
        if abs(reported - counted) <= COUNTS_MAX_SHARE * counted + COUNTS_FREE[column] * known.height:
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


def _token_counts_source(measured: RecordData, both: pl.DataFrame) -> Iterator[Finding]:
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


@AUDITS.blind("token_counts")
def blind_token_counts(measured: RecordData, _: Results) -> str | None:
    """Blind with a single count."""
    both = _both(measured)
    known = both.filter(pl.col("tokens_out").is_not_null() & pl.col("tokens_out_counted").is_not_null())
    return None if known.height else "no answer's tokens were counted both by the server and by the tokenizer (serving.tokenizer)"


# ---- output lengths ----

LENGTHS_MAX_SHARE: Final = 0.05  # of the answers
LENGTHS_FAR: Final = 0.1
LENGTHS_FREE: Final = 2  # tokens


@AUDITS.add("output_lengths", "Are the answers as long as requested?", title="answers of another length")
def examine_output_lengths(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding per configuration with answer lengths other than requested.

    Throughput and latency depend on the generated lengths. An answer is off if its tokens are below 0.9 or above 1.1 times the requested
    number and differ by more than 2. More than 5 % of such answers is a warning if answers were to continue to the requested length
    (serving.ignore_eos), else a note: the model may stop earlier. In an evaluation it should, and nothing is said. MLPerf's TEST09 uses the
    same bound of 10 %. Cannot tell: whether a shorter answer is worse; reference answers do (prompts.answer_field).
    """
    forced = serving_of(measured).ignore_eos
    if measured.kind.unit == "item" and not forced:
        return
    for name, rows in by_configuration(measured, answer_lengths(measured)):
        apart = (pl.col("made") - pl.col("asked")).abs()
        far = rows.filter((apart > LENGTHS_FAR * pl.col("asked")) & (apart > LENGTHS_FREE))
        if far.height <= LENGTHS_MAX_SHARE * rows.height:
            continue
        shorter = far.filter(pl.col("made") < pl.col("asked")).height
        evidence = (
            f"{percent(far.height / rows.height)} of {count(rows.height, 'answers')} are more than {percent(LENGTHS_FAR, 12)} from the requested "
            f"length, {shorter:,} of them shorter; median {given(number(rows['made']) or 0.0)} tokens, requested {given(number(rows['asked']) or 0.0)}"
        )
        remedy = (
            "compare only with records of the same lengths; check whether the engine supports ignore_eos or min_tokens"
            if forced
            else "nothing, if the model may stop by itself; else set serving.ignore_eos = true"
        )
        yield Finding("lengths_not_as_asked", "warning" if forced else "note", name, evidence, remedy)


def answer_lengths(measured: RecordData) -> pl.DataFrame:
    """(configuration, made, asked): output tokens of answered requests, by usage, else by the tokenizer."""
    counted = measured.table("token_counts").select("launch", "request", pl.col("tokens_out").alias("counted"))
    requested = planned(measured, "tokens_out").rename({"tokens_out": "asked"})
    answered = main(measured, "status", "kind", "tokens_out").filter((pl.col("status") == "ok") & (pl.col("kind") != "canary"))
    joined = answered.join(counted, on=["launch", "request"], how="left").join(requested, on=["launch", "request"])
    produced = pl.coalesce("tokens_out", "counted").alias("made")
    return joined.select("launch", "configuration", produced, "asked").drop_nulls()


@AUDITS.blind("output_lengths")
def blind_output_lengths(measured: RecordData, _: Results) -> str | None:
    """Blind without requested or counted lengths."""
    return None if answer_lengths(measured).height else "no answer's length was both requested and counted"
