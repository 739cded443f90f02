"""Did the intended engine answer?

With `serving.client.verify_tls = false` (`--no-verify-tls`) an encrypted connection accepts any peer: a proxy, a cache or another server
may have answered. Cannot tell: who did. Plain http proves no identity either, but the URL shows that.
"""

from __future__ import annotations

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.sent_requests import serving_of
from fireassay.verdict.types import Finding


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One warning for a load with certificate checks disabled."""
    if serving_of(measured).client.verify_tls:
        return ()
    evidence = "certificates were not checked (--no-verify-tls), so anyone may have answered instead of the engine"
    remedy = "give the client the authority that signed the engine's certificate (SSL_CERT_FILE), and omit --no-verify-tls"
    return (Finding("certificates_unchecked", "warning", None, evidence, remedy),)


AUDIT = Audit(
    name="certificates", title="unverified engine", question="Did the intended engine answer?", examine=examine, about=("serving",)
)
