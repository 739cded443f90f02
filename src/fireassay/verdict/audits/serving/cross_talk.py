"""Did an answer go to the wrong request?

Canaries carry a unique nonce. An answer with another request's nonce was swapped or mixed: FAIL, one suffices. A canary's answer without
its own nonce proves nothing, since a model may ignore the instruction; the number that returned it is reported, since only they could have
shown a swap of their own. All launches are checked, including fault launches. Cannot tell: a mix-up of requests without a nonce
(serving.correctness.canaries is the share with one).
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
from fireassay.verdict.evidence.sent_requests import planned, rows
from fireassay.verdict.types import Finding

SHORTEST: Final = 6  # characters; a shorter nonce could occur in any text
FEW: Final = 0.5  # of the canaries' answers


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """A failure per configuration with an answer that contains another request's nonce; notes on undetectable cases."""
    nonces = _nonces(measured)
    if nonces.height == 0:
        evidence = "no request carried a nonce, so a misrouted response would go unnoticed"
        remedy = "set serving.correctness.canaries = 0.02, which lets one request in fifty carry one"
        return (Finding("cross_talk_not_measured", "note", None, evidence, remedy),)
    answers = rows(measured, "text", role=None).filter(pl.col("text").is_not_null())
    swapped = _swapped(answers, nonces)
    return (*(_wrong(name, requests) for name, requests in by_configuration(measured, swapped)), *_unanswered(measured, answers, nonces))


def _nonces(measured: RecordData) -> pl.DataFrame:
    """(launch, request, nonce) of the canaries of successful launches."""
    canaries = planned(measured, "kind", "expected").filter((pl.col("kind") == "canary") & (pl.col("expected").str.len_chars() >= SHORTEST))
    ok = measured.table("launches").filter(pl.col("status") == "ok")
    return canaries.join(ok, on="launch", how="semi").select("launch", "request", pl.col("expected").alias("nonce"))


def _swapped(answers: pl.DataFrame, nonces: pl.DataFrame) -> pl.DataFrame:
    """(launch, request, configuration, owner): answers with the nonce of another request of their launch."""
    every = nonces["nonce"].unique().sort().to_list()
    held = answers.select("launch", "request", "configuration", pl.col("text").str.extract_many(every, overlapping=True).alias("nonce"))
    held = held.explode("nonce").drop_nulls("nonce").unique()
    swapped = held.join(nonces.rename({"request": "owner"}), on=["launch", "nonce"]).filter(pl.col("owner") != pl.col("request"))
    mine = nonces.rename({"nonce": "mine"})
    # One nonce may be a prefix of another ("n1", "n12"): ignore matches inside the request's own nonce.
    swapped = swapped.join(mine, on=["launch", "request"], how="left")
    inside = pl.col("mine").fill_null("").str.contains(pl.col("nonce"), literal=True)
    return swapped.filter(~inside).sort("launch", "request")


def _wrong(name: str, swapped: pl.DataFrame) -> Finding:
    first = swapped.row(0, named=True)
    answers = swapped.select("launch", "request").n_unique()
    evidence = (
        f"{count(answers, 'answers')} contain another request's nonce, the first: request {first['request']} of launch "
        f"{first['launch']} got the nonce of request {first['owner']}"
    )
    remedy = "do not serve with this engine: responses reach the wrong client; check its batching and caches, and the proxy in front of it"
    return Finding("cross_talk", "fail", name, evidence, remedy)


def _unanswered(measured: RecordData, answers: pl.DataFrame, nonces: pl.DataFrame) -> Iterator[Finding]:
    canaries = answers.join(nonces, on=["launch", "request"])
    echoed = canaries.filter(pl.col("text").str.contains(pl.col("nonce"), literal=True)).height
    if canaries.height == 0:
        evidence = "no canary has an answer whose text was kept"
        yield Finding("cross_talk_not_measured", "note", None, evidence, "set serving.client.keep_text = true")
    elif echoed < FEW * canaries.height:
        evidence = (
            f"{percent(echoed / canaries.height)} of {canaries.height:,} answers to canaries contain their nonce: the model ignores the instruction, and a "
            "swap is visible in those answers only"
        )
        yield Finding("canaries_unanswered", "note", None, evidence, "use a model that follows instructions, or an engine's own echo")


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind unless some canary's answer returned its nonce."""
    nonces = _nonces(measured)
    if nonces.height == 0:
        return "no request carried a nonce (serving.correctness.canaries)"
    texts = rows(measured, "text", role=None).join(nonces, on=["launch", "request"])
    seen = texts.filter(pl.col("text").str.contains(pl.col("nonce"), literal=True)).height
    return None if seen else "no answer contains the nonce of its request, so a swap would look the same"


AUDIT = Audit(
    name="cross_talk",
    title="misrouted responses",
    question="Did a response reach the wrong client?",
    examine=examine,
    about=("serving",),
    blind=blind,
)
