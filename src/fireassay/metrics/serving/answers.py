"""Are answers right, identical, and returned to their sender?

A canary carries a nonce unique to its request (serving.correctness.canaries): its answer should contain it, and must contain no
other. Equal prompts are those of kind identity, rerun and needle (serving.correctness.identity), launch by launch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.over_launches import exact, no_launch
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.answers import answered, repeated, strangers
from fireassay.metrics.metric import Metric, Results
from fireassay.metrics.serving.pooled import shares, tally
from fireassay.units import COUNT, FRACTION

ANSWERS = partial(Metric, dimension="correctness", about=("serving",))
NO_CANARIES: Final = Absent(
    "not_measured", "no request carried a nonce, or answers were not kept; set serving.correctness.canaries and client.keep_text"
)


def _cross_talk(measured: RecordData, _: Results) -> Mapping[str, Value]:
    canaries = measured.table("arrivals").filter(pl.col("kind") == "canary")
    launches = measured.table("launches").filter(pl.col("status") == "ok").select("launch", "configuration")
    wrong = strangers(measured.tables).join(launches, on="launch")
    texts = measured.table("requests").filter(pl.col("text").is_not_null()).select("launch").join(launches, on="launch")
    values: dict[str, Value] = {}
    for name in measured.configurations:
        members = launches.filter(pl.col("configuration") == name)
        answers = texts.filter(pl.col("configuration") == name)
        if members.height == 0:
            values[name] = no_launch(name)
        elif canaries.join(members, on="launch", how="semi").height == 0 or answers.height == 0:
            values[name] = NO_CANARIES
        else:
            values[name] = exact(
                float(wrong.filter(pl.col("configuration") == name).height),
                unit=COUNT,
                name=CROSS_TALK.name,
                n_launches=members.height,
                n_trials=answers.height,
                how=f"every answer of {members.height} launches was searched for the nonces of the others",
            )
    return values


def _identical(measured: RecordData, _: Results) -> Mapping[str, Value]:
    prompts = repeated(measured.tables)
    values = shares(
        measured,
        tally(prompts, pl.col("same")),
        name=ANSWERS_IDENTICAL.name,
        aggregate="prompts with one answer / prompts asked again",
        missing="no prompt was answered more than once; set serving.correctness.identity",
    )
    named = prompts.join(measured.timed.select("launch", "configuration"), on="launch")
    return {name: _with_divergence(value, named.filter(pl.col("configuration") == name)) for name, value in values.items()}


def _with_divergence(value: Value, prompts: pl.DataFrame) -> Value:
    """Add the earliest divergence to the method."""
    if not isinstance(value, Estimate):
        return value
    other = prompts.filter(~pl.col("same"))
    if other.height == 0:
        return replace(value, method=f"{value.method}; no answer differed")
    first = other.sort("common").row(0, named=True)
    where = f"example {first['example']} of launch {first['launch']} after {first['common']} characters"
    return replace(value, method=f"{value.method}; {other.height} differed, the earliest: {where}")


def _canaries(measured: RecordData, _: Results) -> Mapping[str, Value]:
    canaries = answered(measured.tables).filter((pl.col("kind") == "canary") & pl.col("text").is_not_null())
    return shares(
        measured,
        tally(canaries, pl.col("text").str.contains(pl.col("expected"), literal=True)),
        name=CANARIES_ANSWERED.name,
        aggregate="answers with their own nonce / answers of canaries",
        missing="no canary was answered, or answers were not kept; set serving.correctness.canaries and client.keep_text",
    )


CROSS_TALK: Final = ANSWERS(
    name="cross_talk",
    title="Misrouted responses",
    unit=COUNT,
    kind="count",
    better="lower",
    formula="answers with the nonce of another request",
    question="How many responses reached the wrong client?",
    caveat="An exact count over all successful launches, including those with faults. A single one fails the audit cross_talk. It cannot "
    "see a mix-up of requests without a nonce.",
    compute=_cross_talk,
    rank=200,
)
ANSWERS_IDENTICAL: Final = ANSWERS(
    name="answers_identical",
    title="Identical answers",
    unit=FRACTION,
    kind="ratio",
    better="higher",
    formula="prompts whose answers were all equal / prompts asked again",
    question="Do equal prompts get equal answers, whichever replica and whenever?",
    caveat="The method names the earliest divergence. Equal text at temperature 0 is more than a model's quality needs: near ties flip "
    "with the batch; the grades of agreement tell them apart (`fireassay.verdict.evidence.answer_agreement`).",
    compute=_identical,
    rank=201,
)
CANARIES_ANSWERED: Final = ANSWERS(
    name="canaries_answered",
    title="Canaries answered",
    unit=FRACTION,
    kind="ratio",
    better="higher",
    formula="answers with their own nonce / answers of canaries",
    question="What share of the canaries came back with their nonce?",
    caveat="Over all requests of the timed launches. A model need not follow its instructions; but if few do, few could have shown that "
    "their answer went to another client (cross_talk).",
    compute=_canaries,
    rank=202,
)
METRICS = (CROSS_TALK, ANSWERS_IDENTICAL, CANARIES_ANSWERED)
