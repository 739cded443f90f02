"""Did the engines serve as they should: evenly, warm, without refusals and errors?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import polars as pl

from fireassay.estimates.format import count, given, percent, reading
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.printable import one_line
from fireassay.spec.plan import targets_of
from fireassay.units import NS_PER_S, SECONDS
from fireassay.verdict.audits.audit import SERVING, Audits
from fireassay.verdict.evidence.affected import by_configuration, in_launches, most
from fireassay.verdict.evidence.sent_requests import main, number, requests_of, seconds, serving_of
from fireassay.verdict.types import Finding

AUDITS = Audits(about=SERVING)


# ---- replica imbalance ----

BUSIEST: Final = 1.25
SLOWEST: Final = 1.5
IMBALANCE_MIN_REQUESTS: Final = 20  # requests per replica


@AUDITS.add("replica_imbalance", "Did the replicas share the load, and are they equally fast?", title="uneven replicas")
def examine_imbalance(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration and kind.

    In most launches of a configuration: the busiest replica got more than 1.25 times its even share (with at least 20 requests each), or
    the slowest replica's median time to first text is more than 1.5 times the fastest's. A warning either way: latency then depends on the
    replica, and the whole is slower than its best part. With balance = "session" shares need not be even, and with "least_in_flight" a slow
    replica rightly gets less; only times are checked then. Cannot tell: what a router behind a single address does.
    """
    even = {target.name for target in targets_of(serving_of(measured)) if target.balance == "round_robin"}
    engines = {configuration.name: configuration.target for configuration in measured.varied}
    return tuple(
        f
        for name, rows in by_configuration(measured, _imbalance_launches(measured))
        for f in (*(_uneven(name, rows) if engines[name] in even else ()), *_unequal(name, rows))
    )


def _imbalance_launches(measured: RecordData) -> pl.DataFrame:
    """Per timed launch with several replicas: busiest (requests / even share), slowest (median / fastest median)."""
    routed = {target.name for target in targets_of(serving_of(measured)) if target.router}  # only the router is visible
    replicas = {one.name: 1 if one.target in routed else one.workers for one in measured.varied}
    sent = main(measured, "replica", "sent_ns", "first_token_ns", "done_ns", "status").filter(pl.col("replica").is_not_null())
    seen = sent.with_columns(pl.col("first_token_ns").fill_null(pl.col("done_ns")).alias("seen_ns"))
    each = seen.group_by("launch", "configuration", "replica").agg(
        pl.len().alias("sent"), seconds("seen_ns", "sent_ns").filter(pl.col("status") == "ok").median().alias("first")
    )
    folded = (
        each.sort("replica")
        .group_by("launch", "configuration")
        .agg(
            pl.col("sent").sum().alias("whole"),
            pl.col("sent").max().alias("most"),
            pl.col("replica").get(pl.col("sent").arg_max()).alias("who"),
            (pl.col("first").max() / pl.col("first").min()).alias("slowest"),
            pl.len().alias("seen"),
            pl.col("replica").get(pl.col("first").arg_max()).alias("slow"),
        )
    )
    known = pl.DataFrame({"configuration": list(replicas), "replicas": list(replicas.values())})
    joined = folded.join(known, on="configuration").filter(
        (pl.col("replicas") > 1) & (pl.col("whole") >= IMBALANCE_MIN_REQUESTS * pl.col("replicas"))
    )
    return joined.with_columns((pl.col("most") * pl.col("replicas") / pl.col("whole")).alias("busiest")).sort("launch")


def _uneven(name: str, rows: pl.DataFrame) -> Iterator[Finding]:
    uneven = rows.filter(pl.col("busiest") > BUSIEST)
    if uneven.height == 0 or not most(uneven.height, rows.height):
        return
    worst = uneven.sort("busiest").row(-1, named=True)
    evidence = (
        f"replica {worst['who']} was sent {given(worst['busiest'], 3)} times its even share ({worst['most']:,} of {worst['whole']:,} requests; "
        f"{uneven.height} of {count(rows.height, 'launches')}, {in_launches(uneven['launch'])})"
    )
    remedy = "find out why the others took less: a replica that was not ready, or connections that stick to one"
    yield Finding("replicas_uneven", "warning", name, evidence, remedy)


def _unequal(name: str, rows: pl.DataFrame) -> Iterator[Finding]:
    unequal = rows.filter((pl.col("slowest") > SLOWEST) & (pl.col("seen") > 1))
    if unequal.height == 0 or not most(unequal.height, rows.height):
        return
    worst = unequal.sort("slowest").row(-1, named=True)
    evidence = (
        f"replica {worst['slow']} takes {given(worst['slowest'], 3)} times as long to its first text as the fastest one "
        f"({unequal.height} of {count(rows.height, 'launches')}, {in_launches(unequal['launch'])})"
    )
    yield Finding("replicas_unequal", "warning", name, evidence, "check what that replica shares its processors or its device with")


@AUDITS.blind("replica_imbalance")
def blind_imbalance(measured: RecordData, _: Results) -> str | None:
    """Blind with one replica or too few requests."""
    return None if _imbalance_launches(measured).height else f"no launch sent {IMBALANCE_MIN_REQUESTS} requests to each of several replicas"


# ---- cold start ----

COLD_START_WORTH_SAYING: Final = 2.0


@AUDITS.add("cold_start", "How much longer does the first request after a start take?", title="cold start")
def examine_cold_start(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A note per configuration with much slower cold requests.

    Cold requests are sent one by one to each replica before the load and excluded from all other numbers. If their median time to first
    token is more than twice that of the load's requests, this reports it: a service started on demand has this latency. Cannot tell: a
    server used before the experiment and not restarted.
    """
    for name, requests in by_configuration(measured, _cold_start_first(measured)):
        cold, warm = (number(requests.filter((pl.col("phase") == "cold") == is_cold)["first"]) for is_cold in (True, False))
        if cold is None or not warm or cold <= COLD_START_WORTH_SAYING * warm:
            continue
        evidence = (
            f"the first requests after a start took {reading(cold, SECONDS)} to the first text, {given(cold / warm, 2)} times the load's median of "
            f"{reading(warm, SECONDS)}; they are in no other number"
        )
        yield Finding("cold_start", "note", name, evidence, "nothing; warm up a new replica before it gets traffic")


def _cold_start_first(measured: RecordData) -> pl.DataFrame:
    """(configuration, phase, first): seconds from sending to the first text, else to the end, of answered requests."""
    answered = requests_of(measured, "kind", "sent_ns", "first_token_ns", "done_ns", "status").filter(
        (pl.col("status") == "ok") & pl.col("phase").is_in(["cold", "main"]) & (pl.col("kind") == "normal")
    )  # other kinds in the cold phase are references for answers under load
    seen = answered.with_columns(pl.col("first_token_ns").fill_null(pl.col("done_ns")).alias("seen_ns"))
    return seen.select("launch", "configuration", "phase", seconds("seen_ns", "sent_ns").alias("first")).drop_nulls("first")


@AUDITS.blind("cold_start")
def blind_cold_start(measured: RecordData, _: Results) -> str | None:
    """Blind without cold requests."""
    return (
        None
        if _cold_start_first(measured).filter(pl.col("phase") == "cold").height
        else "no cold request was answered (serving.arrivals.cold)"
    )


# ---- warm cache ----

WARM_CACHE_MAX_SHARE: Final = 0.10


@AUDITS.add("warm_cache", "Did answers come from a warm cache although every prompt should be new?", title="warm cache")
def examine_warm_cache(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning per configuration with cached prompts.

    With prompts.cache = "bust" every prompt differs right after the shared prefix. It is a warning if the server took more than 10 % of the
    prompt tokens from its cache, beyond the shared prefix and (in conversations) beyond the first turn: prefill was then cheaper than for
    new users. Only engines that report `cached_tokens` can be checked. Cannot tell: a cache that the server does not report.
    """
    prompts = serving_of(measured).prompts
    if prompts.cache != "bust":
        return
    for name, rows in by_configuration(measured, _first_turns(measured)):
        beyond = int((rows["tokens_cached"] - prompts.prefix_tokens).clip(lower_bound=0).sum())
        share = beyond / max(1, int(rows["tokens_in"].sum()))
        if share > WARM_CACHE_MAX_SHARE:
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


@AUDITS.blind("warm_cache")
def blind_warm_cache(measured: RecordData, _: Results) -> str | None:
    """Blind unless the server reports cached tokens; most do not."""
    return None if _first_turns(measured).height else "the server does not report how many prompt tokens came from its cache"


# ---- repeated prompts ----

RAW: Final = (
    "embeddings",
    "rerank",
    "loglikelihood",
    "image_to_embeddings",
    "text_to_image",
    "text_to_speech",
)  # tasks whose rows of a file get no words of their own
REPEATED: Final = "an engine that caches prefixes or answers then looks faster the second time"


@AUDITS.add("repeated_prompts", "May an address have got the same prompts before?", title="prompts sent before")
def examine_repeated(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning if other launches, or other records, send an address the same prompts.

    With prompts.cache = "bust" every prompt begins with words of its record, launch and request. Prompts are repeated with "as_is", for rows
    of a file without text of their own (embeddings, rerank), and in records of earlier versions, whose words did not depend on the record.
    Engines that assay starts for every block or launch have seen none of them. Cannot tell: whether the engine has a cache, or what others
    have sent it.
    """
    serving = serving_of(measured)
    again = sorted(target.name for target in targets_of(serving) if not target.command or target.restart == "experiment")
    if measured.foreign is not None or measured.experiment.evaluation is not None or not again:
        return
    noted = [entry for entry in measured.manifest.get("schedules", {}).values() if isinstance(entry, Mapping)]
    if serving.prompts.cache == "as_is":
        why = 'prompts.cache = "as_is" sends the same prompts in every launch and every record'
    elif serving.task in RAW and serving.prompts.source != "synthetic":
        why = f"the rows of {serving.prompts.source} are sent as they are in every launch and every record"
    elif any("sha256" in entry and not entry.get("salted") for entry in noted):
        why = "this record is of a version that sent the same prompts in every record of one experiment"
    else:
        return
    remedy = "compare launches made in turn on an engine that is restarted, or switch its prefix cache off"
    yield Finding("prompts_repeat", "warning", None, f"{why} to {', '.join(again)}: {REPEATED}", remedy)


# ---- rate limited ----

LIMITS: Final = (429, 503)
RATE_LIMITED_MANY: Final = 0.01


@AUDITS.add("rate_limited", "Was the engine measured, or a rate limit in front of it?", title="rate limit")
def examine_rate_limited(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding per rate-limited configuration.

    Status 429 (too many requests) or 503 (unavailable) comes from a limit: a gateway, a quota or the engine's own queue. A warning from 1 %
    of a configuration's due requests, below that a note. In a closed loop the stream then waits (`Retry-After`, else
    serving.client.first_pause_s, doubled), so the load is smaller than requested; the wait is read from the due times of the following
    requests. Throughput and goodput are then the limit's. Sources: RFC 6585, section 4; RFC 9110, section 15.6.4. Cannot tell: a limit that
    delays answers instead of refusing them.
    """
    for name, rows in by_configuration(measured, main(measured, "http_status", "stream", "scheduled_ns", "done_ns")):
        limited = rows.filter(pl.col("http_status").is_in(LIMITS))
        if limited.height == 0:
            continue
        share = limited.height / rows.height
        kinds = ", ".join(f"{n:,} with {status}" for status, n in limited["http_status"].value_counts(sort=True).iter_rows())
        evidence = f"{count(limited.height, 'requests')} of {rows.height:,} were rejected ({percent(share)}: {kinds}){_waited(rows)}"
        remedy = "raise the limit, or reduce the load: these rates are the limit's, not the engine's"
        yield Finding("rate_limited", "warning" if share >= RATE_LIMITED_MANY else "note", name, evidence, remedy)


def _waited(rows: pl.DataFrame) -> str:
    """How long streams waited after these answers."""
    ordered = rows.drop_nulls(["stream", "done_ns"]).sort("launch", "stream", "request")
    following = pl.col("scheduled_ns").shift(-1).over("launch", "stream")
    limited = pl.col("http_status").is_in(LIMITS).fill_null(False)
    waited = ordered.select((following - pl.col("done_ns")).filter(limited).clip(lower_bound=0).sum() / NS_PER_S).item()
    return f"; streams waited {reading(float(waited), SECONDS)} after them in total" if waited else ""


# ---- server errors ----

SERVER_ERRORS_MANY: Final = 0.01
SERVER_ERRORS_MAX_LENGTH: Final = 100  # characters of a server's message
NOT_SERVERS: Final = ("ok", "cancelled", "unsent", "lost")  # the client's own: reported by `send_lag` and `ledger`


@AUDITS.add("server_errors", "Which requests failed, and with what message?", title="failed requests")
def examine_server_errors(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding per configuration with failed requests.

    A failed request misses every objective; here failures are counted by class, with the commonest message of each. A warning from 1 % of a
    configuration's due requests, below that a note. Server messages are untrusted text: shown on one line, without control characters,
    truncated. Cannot tell: a wrong answer with status 200; `cross_talk`, `output_lengths` and quality check for those.
    """
    for name, rows in by_configuration(measured, main(measured, "status", "error")):
        failed = rows.filter(~pl.col("status").is_in(NOT_SERVERS))
        if failed.height == 0:
            continue
        share = failed.height / rows.height
        evidence = f"{failed.height:,} of {rows.height:,} requests due failed ({percent(share)}): {_classes(failed)}"
        remedy = "read the server's log at these times; failed requests count as misses, and their time is in no latency"
        yield Finding("server_errors", "warning" if share >= SERVER_ERRORS_MANY else "note", name, evidence, remedy)


def _classes(failed: pl.DataFrame) -> str:
    """ "12 5xx ("out of memory"), 3 timeout"; the commonest class first."""
    classes = failed.group_by("status").agg(pl.len().alias("n"), _commonest().alias("said")).sort("n", "status", descending=[True, False])
    return ", ".join(f"{row['n']:,} {row['status']}{_quoted(row['said'])}" for row in classes.iter_rows(named=True))


def _commonest() -> pl.Expr:
    return pl.col("error").drop_nulls().mode().sort().first()


def _quoted(words: str | None) -> str:
    if not words:
        return ""
    shown = one_line(words)
    return f' ("{shown if len(shown) <= SERVER_ERRORS_MAX_LENGTH else shown[: SERVER_ERRORS_MAX_LENGTH - 1] + "…"}")'


# ---- certificates ----


@AUDITS.add("certificates", "Did the intended engine answer?", title="unverified engine")
def examine_certificates(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One warning for a load with certificate checks disabled.

    With `serving.client.verify_tls = false` (`--no-verify-tls`) an encrypted connection accepts any peer: a proxy, a cache or another
    server may have answered. Cannot tell: who did. Plain http proves no identity either, but the URL shows that.
    """
    if serving_of(measured).client.verify_tls:
        return ()
    evidence = "certificates were not checked (--no-verify-tls), so anyone may have answered instead of the engine"
    remedy = "give the client the authority that signed the engine's certificate (SSL_CERT_FILE), and omit --no-verify-tls"
    return (Finding("certificates_unchecked", "warning", None, evidence, remedy),)
