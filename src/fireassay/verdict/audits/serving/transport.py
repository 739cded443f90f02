"""Which client path did the requests take?

assay's own protocol uses the kernel's receive timestamp (kernel; Linux, without TLS) or stamps the socket read before parsing (lean); an
HTTP library (for proxies and HTTP/2) stamps later and costs the client more. Times from different paths differ by that cost, so mixed paths
in a configuration are a warning, and the slower path is a note. Imported results do not state their path. Cannot tell: the added delay;
`stamp_uncertainty` reports its known bounds.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from fireassay.estimates.format import percent
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.sent_requests import main
from fireassay.verdict.types import Finding

REMEDY: Final = 'set serving.client.transport = "lean" if neither a proxy nor HTTP/2 is needed'


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """A note on the library's path; a warning for mixed paths."""
    sent = main(measured, "sent_ns", "transport").filter(pl.col("sent_ns").is_not_null())
    paths = dict(sent.group_by("transport").len().sort("transport").iter_rows())
    if len(paths) > 1:
        shares = ", ".join(f"{percent(n / sent.height)} {path or 'unknown'}" for path, n in paths.items())
        mixed = f"requests took several paths ({shares}): their times differ by the client's cost of the path"
        return (Finding("transports_mixed", "warning", None, mixed, REMEDY),)
    if "library" in paths:
        slow = "all requests went through an HTTP library, which stamps later than the socket read and sustains less load"
        return (Finding("library_transport", "note", None, slow, REMEDY),)
    return ()


AUDIT = Audit(
    name="transport", title="slower client path", question="Which path did the requests take?", examine=examine, about=("serving",)
)
