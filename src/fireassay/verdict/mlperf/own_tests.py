"""Would a load of assay's own client pass MLPerf's compliance tests?  TEST01, TEST04 and TEST05, done with assay's own requests.

TEST01: the answers of the performance run are those of an accuracy run of the same samples; if not, the scores of both on these samples
differ by at most 1 %.  TEST04: a prompt that was sent before is not answered faster, by more than 10 %, than one that was not.  LoadGen
compares a run of one sample with a run of many; a load has both among its requests, so that they meet the same machine: the prompts of
`serving.correctness.identity` are sent again and again, all others begin differently (`prompts.cache = "bust"`).  Times are medians per
output token, as samples have lengths.  TEST05: with another seed the score stays within 10 %.
Source: mlcommons/inference at b66003e1, compliance/.  Cannot tell: a cache that recognises similar prompts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl

from fireassay.estimates.format import count, given, reading
from fireassay.frames.record_data import RecordData
from fireassay.verdict.evidence.sent_requests import main, number, planned, serving_of
from fireassay.verdict.mlperf.types import Rule, rule, unchecked

REFERENCE: Final = "mlcommons/inference compliance/"
LEAST: Final = 10  # answers of each sort for a median
FASTER: Final = 0.9  # of the time of a fresh prompt, below which a repeated one comes from a cache
NEAR: Final = 0.10  # relative, of the score with another seed
APART: Final = 1.0  # %, of the scores of answers that differ
SAME_ANSWERS: Final = "the answers of an accuracy run"
AGAIN: Final = "rerun"  # kind of the requests whose prompt was sent before in the same launch
OWN: Final = ("name", "launches", "quality", "gates")  # parts of an experiment that may differ between two seeds of one load


def compliance(measured: RecordData, others: Sequence[RecordData]) -> Iterator[Rule]:
    """The rules of the tests. `others`: the same load with another seed, or accuracy runs: loads or evaluations with the same samples."""
    accuracy = [other for other in others if not _another_seed(measured, other)]
    for other in accuracy:
        yield _same_answers(measured, other)
    if not accuracy:
        yield unchecked("TEST01: answers", SAME_ANSWERS, "no accuracy run given: assay mlperf check PERFORMANCE ACCURACY", REFERENCE)
    yield _cached(measured)
    for other in others:
        if _another_seed(measured, other):
            yield _near(measured, other)


def _another_seed(measured: RecordData, other: RecordData) -> bool:
    ours, theirs = (one.experiment.model_dump(exclude=set(OWN)) for one in (measured, other))
    return ours == theirs and measured.experiment.launches.seed != other.experiment.launches.seed


# ---- TEST01 ----------------------------------------------------------------------------------------------------------


def _same_answers(measured: RecordData, other: RecordData) -> Rule:
    name = other.experiment.name
    if any(one.experiment.serving is not None and serving_of(one).prompts.cache == "bust" for one in (measured, other)):
        return rule(
            "TEST01: answers", False, "equal prompts in both runs", "each prompt begins differently: --cache as_is", name, REFERENCE
        )
    ours, theirs = _texts(measured), _texts(other)
    if not ours.height:
        return rule("TEST01: answers", False, SAME_ANSWERS, "no answers of a data set: --prompts FILE --scenario dataset", name, REFERENCE)
    both = ours.join(theirs, on="example", how="left", suffix="_other")
    lacking, equal = both["texts_other"].null_count(), both.filter(pl.col("texts") == pl.col("texts_other")).height
    if lacking:
        return rule("TEST01: answers", False, SAME_ANSWERS, f"{lacking:,} of {both.height:,} samples are not in it", name, REFERENCE)
    found = f"{equal:,} of {both.height:,} answers equal"
    if equal == both.height:
        return rule("TEST01: answers", True, SAME_ANSWERS, found, name, REFERENCE)
    metric = measured.experiment.quality.metric if measured.experiment.quality is not None else ""
    before, after = (_mean_score(one, metric, both["example"].to_list()) for one in (other, measured))
    required = f"{SAME_ANSWERS}, or scores at most {APART:g} % apart"
    if not isinstance(before, float) or not isinstance(after, float):
        first = both.filter(pl.col("texts") != pl.col("texts_other"))["example"][0]
        return rule(
            "TEST01: answers", False, f"{required} (--answer-field, --quality-metric)", f"{found}; not that to {first}", name, REFERENCE
        )
    held = after > 0.0 and abs(1.0 - before / after) * 100.0 <= APART
    return rule("TEST01: answers", held, required, f"{found}; scores {given(before, 5)} and {given(after, 5)}", name, REFERENCE)


def _mean_score(measured: RecordData, metric: str, examples: Sequence[str]) -> object:
    """The mean of a load's or an evaluation's scores of these samples; None: it has none by this metric."""
    scores = measured.scores
    if measured.experiment.serving is None:
        scores = measured.table("scores").filter(pl.col("metric") == metric).rename({"item": "example"})
    return scores.filter(pl.col("example").is_in(list(examples)))["score"].mean()


def _texts(measured: RecordData) -> pl.DataFrame:
    """(example, texts): the different answers to each sample of the data set."""
    if measured.experiment.serving is not None:
        answers = main(measured, "status", "text").filter(pl.col("status") == "ok")
        rows = answers.join(planned(measured, "example"), on=["launch", "request"]).select("example", "text")
    else:
        rows = measured.table("answers").select(pl.col("item").alias("example"), "text")
    return rows.drop_nulls().group_by("example").agg(pl.col("text").unique().sort().alias("texts")).sort("example")


# ---- TEST04 ----------------------------------------------------------------------------------------------------------


def _cached(measured: RecordData) -> Rule:
    required = f"a repeated prompt takes >= {100 * FASTER:g} % of the time of a fresh one"
    if serving_of(measured).prompts.cache != "bust":
        return unchecked("TEST04: cached answers", required, "no prompt is certain to be fresh: --cache bust, --identity 10", REFERENCE)
    rows = _times(measured)
    fresh, again = rows.filter(pl.col("kind") == "normal")["time_s"], rows.filter(pl.col("kind") == AGAIN)["time_s"]
    if min(len(fresh), len(again)) < LEAST:
        reason = f"{count(len(again), 'repeated prompts')} and {len(fresh):,} fresh, at least {LEAST} of each: --identity {LEAST}"
        return unchecked("TEST04: cached answers", required, reason, REFERENCE)
    before, after = number(fresh) or 0.0, number(again) or 0.0
    words = f"{reading(after, 's')} a token, fresh {reading(before, 's')} (medians of {len(again):,} and {len(fresh):,})"
    return rule("TEST04: cached answers", after >= FASTER * before, required, words, source=REFERENCE)


def _times(measured: RecordData) -> pl.DataFrame:
    """(launch, kind, time_s) of the answers: seconds per output token, from sending."""
    rows = main(measured, "status", "kind", "sent_ns", "last_token_ns", "done_ns", "tokens_out").filter(pl.col("status") == "ok")
    whole = (pl.coalesce("last_token_ns", "done_ns") - pl.col("sent_ns")) / 1e9
    return rows.select("launch", "kind", (whole / pl.max_horizontal(pl.col("tokens_out").fill_null(1), 1)).alias("time_s")).drop_nulls()


# ---- TEST05 ----------------------------------------------------------------------------------------------------------


def _near(measured: RecordData, other: RecordData) -> Rule:
    """The median time per token with another seed is near."""
    ours, theirs = (number(_times(one)["time_s"]) for one in (measured, other))
    name = other.experiment.name
    if not ours or theirs is None:
        return rule("TEST05: another seed", False, "answers in both runs", "none", name, REFERENCE)
    found = f"{reading(theirs, 's')} a token, {100 * abs(theirs / ours - 1):.1f} % apart"
    return rule(
        "TEST05: another seed", abs(theirs / ours - 1.0) <= NEAR, f"within {100 * NEAR:g} % of {reading(ours, 's')}", found, name, REFERENCE
    )
