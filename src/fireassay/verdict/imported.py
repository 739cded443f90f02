"""Which questions can a record imported from another program not answer?

An import says nothing about the machine or the client, and often not when requests were sent or due. Audits that need these facts would
find nothing and report clear; here they are listed as not examined, with the reason. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from fireassay.frames.record_data import RecordData

ALWAYS: Final = ("sealed", "launches", "foreign", "looks", "cherry_picked")  # need totals only
OF_THE_CLIENT: Final = "another program sent this load, and its client is unknown"
OF_THE_MACHINE: Final = "another program made these measurements, and the machine was not monitored"
OF_TIMES: Final = "the imported file does not say when each request was sent"
OF_DUE: Final = "the imported file does not say when requests were due, only when they were sent"
TOTALS: Final = "the imported file holds totals only, no requests"


def unexamined(measured: RecordData, audits: Collection[str]) -> Mapping[str, str]:
    """Audit -> why it cannot run on this record; empty for our own records."""
    foreign = measured.foreign
    if foreign is None:
        return {}
    if measured.kind.sweeps:
        return {name: OF_THE_MACHINE for name in audits if name == "contention"}
    if not foreign.get("requests"):
        return {name: TOTALS for name in audits if name not in ALWAYS}
    reasons = {
        "client_ceiling": OF_THE_CLIENT,
        "transport": OF_THE_CLIENT,
        "contention": OF_THE_MACHINE,
        "mlperf": "MLPerf's rules apply to its own load generator and to loads that follow them",
    }
    if foreign.get("clock") != "scheduled":
        reasons["send_lag"] = OF_DUE
    if measured.timeless:
        reasons |= dict.fromkeys(("stall", "littles_law", "send_lag"), OF_TIMES)
    return {name: why for name, why in reasons.items() if name in audits}


def origin(measured: RecordData) -> str:
    """Ending of a sentence on an imported record: the tool, and where its latencies begin. Empty for our own records."""
    foreign = measured.foreign
    if foreign is None:
        return ""
    start = "when a request was due" if foreign.get("clock") == "scheduled" else "when a request was sent, not when it was due"
    content = f"latencies start {start}" if foreign.get("requests") else "the file holds totals only"
    return f" Imported from {titled(foreign)}, not measured by assay: {content}; anything the file does not state is unknown."


def titled(foreign: Mapping[str, Any]) -> str:
    """ "vLLM bench serve 0.11"."""
    return " ".join(str(word) for word in (foreign.get("title"), foreign.get("version")) if word)
