"""Did a warm cache serve prompts that should all be new?

With prompts.cache = "bust" every prompt differs right after the shared prefix. It is a warning if the server took more than 10 % of the
prompt tokens from its cache, beyond the shared prefix and (in conversations) beyond the first turn: prefill was then cheaper than for new
users. Only engines that report `cached_tokens` can be checked. Cannot tell: a cache that the server does not report.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import percent
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration
from fireassay.verdict.evidence.sent_requests import main, serving_of
from fireassay.verdict.types import Finding

MOST: Final = 0.10


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning per configuration with cached prompts."""
    prompts = serving_of(measured).prompts
    if prompts.cache != "bust":
        return
    for name, rows in by_configuration(measured, _first_turns(measured)):
        beyond = int((rows["tokens_cached"] - prompts.prefix_tokens).clip(lower_bound=0).sum())
        share = beyond / max(1, int(rows["tokens_in"].sum()))
        if share > MOST:
            evidence = (
                f"{percent(share)} of the prompt tokens came from the server's cache, beyond the {prompts.prefix_tokens:,} tokens that prompts share, "
                "although every prompt should be new"
            )
            remedy = 'switch the prefix cache off, or set prompts.cache = "as_is" if a warm cache is intended'
            yield Finding("cache_was_warm", "warning", name, evidence, remedy)


def _first_turns(measured: RecordData) -> pl.DataFrame:
    """First turns sent once: intended repeats may come from a cache."""
    rows = main(measured, "status", "kind", "turn", "tokens_in", "tokens_cached")
    first = (pl.col("turn").fill_null(0) == 0) & pl.col("kind").is_in(["normal", "canary"])
    return rows.filter((pl.col("status") == "ok") & first).drop_nulls(["tokens_in", "tokens_cached"])


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind unless the server reports cached tokens; most do not."""
    return None if _first_turns(measured).height else "the server does not report how many prompt tokens came from its cache"


AUDIT = Audit(
    name="warm_cache",
    title="warm cache",
    question="Did answers come from a warm cache although every prompt should be new?",
    examine=examine,
    about=("serving",),
    blind=blind,
)
