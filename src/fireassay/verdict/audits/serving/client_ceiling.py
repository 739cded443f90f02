"""Was the load within this client's capacity on this machine?

`assay doctor client` measures the requests and chunks per second that one client process sustains against a server that answers at once;
every record carries the result (`environment.before.doctor.client`). A load above that ceiling was not sustained: INVALID. Above half of it
the client's own queueing delay grows: a warning. Without a calibration it is a note, and only `send_lag` protects the result. Cannot tell:
the client cost of other request sizes or encrypted connections.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import polars as pl

from fireassay.estimates.format import count, given, percent
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.printable import one_line
from fireassay.units import NS_PER_S
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration
from fireassay.verdict.evidence.sent_requests import main, number, serving_of
from fireassay.verdict.types import Finding

HALF: Final = 0.5
CEILINGS: Final = {"requests": "requests_per_s", "chunks": "chunks_per_s"}  # counted unit -> key of the calibration
FEWEST: Final = 2  # requests


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """A finding per configuration with a load near the ceiling; a note without a ceiling."""
    known = ceilings(measured)
    if not known:
        evidence = "this client's capacity on this machine is unknown: it was never calibrated"
        remedy = "run `assay doctor client` once; every later record carries the result"
        return (Finding("client_not_calibrated", "note", None, evidence, remedy),)
    return (
        *(f for name, rows in by_configuration(measured, asked(measured)) for f in _near(measured, name, rows, known)),
        *_stale(measured),
    )


def _stale(measured: RecordData) -> Iterator[Finding]:
    stale = calibration(measured).get("stale")
    if isinstance(stale, str):
        evidence = f"what this client can do on this machine is {one_line(stale)}"
        yield Finding("client_calibration_stale", "note", None, evidence, "run `assay doctor client` again")


def calibration(measured: RecordData) -> Mapping[str, Any]:
    """The result of `assay doctor client` on the machine; empty if it never ran."""
    doctor = measured.before.get("doctor")
    client = doctor.get("client") if isinstance(doctor, Mapping) else None
    return client if isinstance(client, Mapping) else {}


def ceilings(measured: RecordData) -> dict[str, float]:
    """Requests and chunks -> maximum per second of one client process."""
    measured_client = calibration(measured)
    ceiling = measured_client.get("ceiling")
    among: Mapping[str, Any] = ceiling if isinstance(ceiling, Mapping) else measured_client
    values = {what: among.get(key) for what, key in CEILINGS.items()}
    return {what: float(value) for what, value in values.items() if isinstance(value, int | float) and value > 0}


def asked(measured: RecordData) -> pl.DataFrame:
    """(launch, configuration, requests, chunks): rates per second in the measured part of each timed launch."""
    rows = main(measured, "scheduled_ns", "chunk_ns")
    span = (pl.col("scheduled_ns").max() - pl.col("scheduled_ns").min()) / NS_PER_S
    folded = (
        rows.with_columns(pl.col("chunk_ns").list.len().alias("chunks"))
        .group_by("launch", "configuration")
        .agg((pl.len() / span).alias("requests"), (pl.col("chunks").sum() / span).alias("chunks"), pl.len().alias("n"), span.alias("span"))
    )
    return folded.filter((pl.col("n") >= FEWEST) & (pl.col("span") > 0.0)).sort("launch")


def _near(measured: RecordData, name: str, rows: pl.DataFrame, known: Mapping[str, float]) -> Iterator[Finding]:
    processes = serving_of(measured).client.processes
    for what, ceiling in known.items():
        rate = number(rows[what])
        most = ceiling * processes
        if rate is None or rate <= HALF * most:
            continue
        above = rate > most
        evidence = (
            f"{given(rate, 3)} {what} per second are {percent(rate / most)} of what {count(processes, 'client processes') if processes > 1 else 'the client'} "
            f"can carry here ({given(most, 3)}, by assay doctor client)"
        )
        remedy = "give the client more processes (serving.client.processes), or use a larger machine for it"
        yield Finding("client_ceiling", "invalid" if above else "warning", name, evidence, remedy)


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind without a calibration."""
    return None if ceilings(measured) else "the client was never calibrated (assay doctor client)"


AUDIT = Audit(
    name="client_ceiling",
    title="load beyond the client's capacity",
    question="Was the load within this client's capacity on this machine?",
    examine=examine,
    about=("serving",),
    blind=blind,
)
