"""Did different prompts get the same answer?

A cache of whole answers in front of an engine makes it look fast, and an engine that always returns the same text does no work. Within a
launch, an answer of at least 24 characters also given to another prompt is a duplicate; more than 5 % of them is a warning. Prompts count
as different unless they are the same example or come from the same seed. Cannot tell: a short answer (a class, a number) that many prompts
rightly share; a tiny model with random weights also repeats itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import count, percent
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration, in_launches
from fireassay.verdict.evidence.sent_requests import main, planned
from fireassay.verdict.types import Finding

MOST: Final = 0.05
LONG: Final = 24  # characters
FEWEST: Final = 20  # answers


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning per configuration with repeated answers."""
    for name, rows in by_configuration(measured, _answers(measured)):
        twice = rows.filter(pl.col("prompts") > 1)
        if rows.height < FEWEST or twice.height <= MOST * rows.height:
            continue
        evidence = (
            f"{percent(twice.height / rows.height)} of {count(rows.height, 'answers')} were also given to another prompt "
            f"({in_launches(twice['launch'])}): a cache of answers, or answers that do not depend on the prompt"
        )
        remedy = "examine the texts in the record; switch off caches of whole answers in front of the engine"
        yield Finding("answers_repeat", "warning", name, evidence, remedy)


def _answers(measured: RecordData) -> pl.DataFrame:
    """(launch, configuration, prompts): per long answer, the number of different prompts of its launch that got it."""
    prompt = pl.coalesce(pl.col("example"), pl.format("seed {}", pl.col("seed")))
    prompts = planned(measured, "seed", "example").select("launch", "request", prompt.alias("prompt"))
    answers = main(measured, "status", "kind", "text").filter(
        (pl.col("status") == "ok") & pl.col("kind").is_in(["normal", "canary"]) & (pl.col("text").str.len_chars() >= LONG)
    )
    joined = answers.select("launch", "configuration", "request", pl.col("text").hash(seed=0)).join(prompts, on=["launch", "request"])
    return joined.with_columns(pl.col("prompt").n_unique().over("launch", "text").alias("prompts"))


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind without answer texts."""
    return None if _answers(measured).height else f"no answer of {LONG} characters or more was kept (serving.client.keep_text)"


AUDIT = Audit(
    name="duplicate_answers",
    title="answers from a cache",
    question="Did different prompts get the same answer?",
    examine=examine,
    about=("serving",),
    blind=blind,
)
