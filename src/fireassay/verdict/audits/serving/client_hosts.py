"""Did clients on several hosts put one load on the engine?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import polars as pl

from fireassay.estimates.format import count, percent, reading
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.client_clocks import client_clocks, client_hosts
from fireassay.metrics.metric import Results
from fireassay.printable import one_line
from fireassay.units import NS_PER_S, SECONDS
from fireassay.verdict.audits.audit import SERVING, Audits
from fireassay.verdict.evidence.affected import by_configuration, in_launches
from fireassay.verdict.evidence.sent_requests import main, requests_of, serving_of
from fireassay.verdict.types import Finding

AUDITS = Audits(about=SERVING)
ONE_HOST: Final = "all clients ran on one host"


def _events(measured: RecordData, kind: str) -> pl.DataFrame:
    """(launch, configuration, client_host, detail) of the coordinator's events about clients on hosts."""
    events = measured.table("events").filter(pl.col("kind") == kind).select("launch", "detail")
    host = pl.col("detail").str.json_path_match("$.client_host").alias("client_host")
    return events.with_columns(host).join(measured.table("launches").select("launch", "configuration"), on="launch")


def _hosted(rows: pl.DataFrame, measured: RecordData) -> pl.DataFrame:
    """Rows of requests with `client_host`; only of launches whose clients ran on hosts of their own."""
    placed = [(launch, client, host) for launch, hosts in client_hosts(measured.tables).items() for client, host in enumerate(hosts)]
    schema = {"launch": pl.Int32, "client": pl.Int32, "client_host": pl.String}
    return rows.join(pl.DataFrame(placed, schema=schema, orient="row"), on=["launch", "client"])


# ---- one schedule ----


@AUDITS.add("client_split", "Did several clients send what one would have sent?", title="clients that sent other requests")
def examine_split(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding per configuration.

    After a load by several clients the runner makes the requests of each again, as one client would have, and compares a digest of number, due
    time, path and body (`traffic/client/sent_digest.py`). A client whose requests differ had other files, another release or another seed: its
    load was not the one in the schedule. Cannot tell: later turns of conversations, whose text holds the server's answers; of more than 10,000
    requests every n-th is compared.
    """
    noted = {int(launch): sent["others"] for launch, sent in _sent(measured).items() if sent.get("others")}
    launches = measured.table("launches").filter(pl.col("launch").is_in(sorted(noted)))
    for name, rows in by_configuration(measured, launches):
        first = int(rows["launch"].min())  # type: ignore[arg-type]
        hosts = client_hosts(measured.tables).get(first, ())
        who = ", ".join(f"{client}{f' on {hosts[client]}' if client < len(hosts) else ''}" for client in noted[first])
        evidence = f"client {who} sent other requests than the schedule's ({in_launches(rows['launch'])})"
        yield Finding(
            "client_split", "invalid", name, evidence, "give all hosts the same files of assay, of the prompts and of the tokenizer"
        )


def _sent(measured: RecordData) -> dict[str, Mapping[str, Any]]:
    """Launch -> the digest of what was sent; empty in older records."""
    schedules = measured.manifest.get("schedules")
    entries = schedules.items() if isinstance(schedules, Mapping) else ()
    return {launch: entry["sent"] for launch, entry in entries if isinstance(entry, Mapping) and isinstance(entry.get("sent"), Mapping)}


@AUDITS.blind("client_split")
def blind_split(measured: RecordData, _: Results) -> str | None:
    """Blind with one client, or where nothing was digested."""
    return None if any("others" in sent for sent in _sent(measured).values()) else "one client process sent every request"


# ---- clocks ----


@AUDITS.add("client_clocks", "Can times of clients on several hosts be compared?", title="clocks of the clients' hosts")
def examine_client_clocks(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One warning per configuration whose launches have a refused window.

    Each latency, gap and lag is taken by one client on one host. Rates, requests in flight together and times around a fault join the clocks
    of all hosts: their error is at most the sum of two bounds (`frames/serving/client_clocks.py`), and a window shorter than ten of those, or
    a clock without a bound, is refused; these numbers are then absent. Cannot tell: a clock that jumped between two readings and back.
    """
    launches = measured.table("launches").filter(pl.col("launch").is_in(sorted(measured.served.apart)))
    clocks = client_clocks(measured.tables) if launches.height else {}
    for name, rows in by_configuration(measured, launches):
        launch = int(rows["launch"].min())  # type: ignore[arg-type]
        host, clock = max(((host, clock) for (at, host), clock in clocks.items() if at == launch), key=lambda pair: pair[1].bound_ns)
        known = clock.trouble or f"it is known to {reading(clock.bound_ns / NS_PER_S, SECONDS, way='up')} only"
        evidence = f"the clock of {host} cannot carry rates ({in_launches(rows['launch'])}): {one_line(known)}"
        yield Finding("client_clocks", "warning", name, evidence, "make the connection to the host quicker, or let loads run longer")


@AUDITS.blind("client_clocks")
def blind_client_clocks(measured: RecordData, _: Results) -> str | None:
    """Blind where there is one clock."""
    return None if client_hosts(measured.tables) else ONE_HOST


# ---- hosts ----

BUSY: Final = 0.9  # of a host's processors, or of one by a client process
LAG_QUANTILE: Final = 0.99


@AUDITS.add("client_host", "Which client's host was late, busy or lost?", title="hosts of the clients")
def examine_hosts(measured: RecordData, _: Results) -> Iterator[Finding]:
    """At most one warning per configuration and rule, which names the hosts: late (p99 of the send lag beyond what `send_lag` allows), busy
    (90 % of its processors, or of one by a client process), lost amid a load.

    `send_lag` decides over the load as a whole. The requests of a lost host have the status lost, count as no error of the server, and the
    measured window ends before the first of them was due. Cannot tell: a busy network on a host.
    """
    yield from _late(measured)
    yield from _busy(measured)
    yield from _lost(measured)


def _late(measured: RecordData) -> Iterator[Finding]:
    client = serving_of(measured).client
    if not client_hosts(measured.tables) or serving_of(measured).arrivals.process in ("closed", "single_stream"):
        return
    rows = _hosted(main(measured, "client", "scheduled_ns", "sent_ns", "connect_ns", "done_ns", "status"), measured)
    lag = pl.col("sent_ns") - pl.col("scheduled_ns") - pl.col("connect_ns").fill_null(0)
    latency = (pl.col("done_ns") - pl.col("scheduled_ns")).filter(pl.col("status") == "ok").median()
    seen = rows.group_by("launch", "configuration", "client_host").agg(
        (lag.quantile(LAG_QUANTILE, "lower") / NS_PER_S).alias("lag_s"), (latency / NS_PER_S).alias("latency_s")
    )
    late = seen.filter(pl.col("lag_s") > pl.max_horizontal(client.most_lag * pl.col("latency_s"), pl.lit(client.free_lag_s)))
    for name, group in by_configuration(measured, late):
        worst = group.group_by("client_host").agg(pl.col("lag_s").max()).sort("lag_s", "client_host", descending=[True, False])
        hosts = ", ".join(f"{host} by {reading(lag_s, SECONDS)}" for host, lag_s in worst.iter_rows())
        evidence = f"clients sent late on {hosts} (p99 of the lag; {in_launches(group['launch'])})"
        yield Finding("client_host_late", "warning", name, evidence, "give that host more processors or fewer client processes")


def _busy(measured: RecordData) -> Iterator[Finding]:
    use = _events(measured, "client_use").with_columns(
        pl.col("detail").str.json_path_match(f"$.{key}").cast(pl.Float64).alias(key) for key in ("host_busy", "cpu_share")
    )
    busy = use.filter((pl.col("host_busy") > BUSY) | (pl.col("cpu_share") > BUSY))
    for name, group in by_configuration(measured, busy):
        worst = group.group_by("client_host").agg(pl.col("host_busy").max(), pl.col("cpu_share").max()).sort("client_host")
        words = [
            f"{host} (all processors {percent(all_of_it or 0.0)}, a client process {percent(own or 0.0)} of one)"
            for host, all_of_it, own in worst.iter_rows()
        ]
        evidence = f"busy during the load: {', '.join(words)}"
        yield Finding(
            "client_host_busy", "warning", name, evidence, "use more hosts, more client processes (--processes N), or a quiet host"
        )


def _lost(measured: RecordData) -> Iterator[Finding]:
    gone = requests_of(measured, "client", "status", role=None).filter(pl.col("status") == "lost")
    for name, group in by_configuration(measured, _events(measured, "client_lost")):
        hosts = ", ".join(group["client_host"].unique().sort().to_list())
        lost = gone.join(group.select("launch").unique(), on="launch").height
        why = json.loads(group["detail"][0]).get("why", "")
        evidence = f"{hosts} died ({in_launches(group['launch'])}: {one_line(why)}): {count(lost, 'requests')} lost; measured until then"
        yield Finding("client_host_lost", "warning", name, evidence, "read the client's log in the record")


@AUDITS.blind("client_host")
def blind_hosts(measured: RecordData, _: Results) -> str | None:
    """Blind where the clients ran beside the coordinator."""
    return None if client_hosts(measured.tables) else ONE_HOST
