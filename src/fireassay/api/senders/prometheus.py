"""How does a record reach Prometheus' push gateway?  One group for each experiment, which the next record of it replaces.

PUT /metrics/job/fireassay/experiment@base64/NAME (README of prometheus/pushgateway).  A user and a password in the address are sent as HTTP
basic authentication and shown nowhere.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Final

from fireassay.api.senders.sender import Sender, Sent
from fireassay.api.senders.support import http
from fireassay.record.secrets.redact import redact
from fireassay.reports.exports.export import Subject
from fireassay.reports.exports.prometheus import text

FORM: Final = "text/plain; version=0.0.4; charset=utf-8"


def send(subject: Subject, _: Path, address: str) -> Sent:
    """Push the record. Raises SpecError: no address of HTTP; EnvironmentLacks: the gateway does not answer, or refuses."""
    name = base64.urlsafe_b64encode(subject.head.name.encode()).decode()
    group = f"{address.rstrip('/')}/metrics/job/fireassay/experiment@base64/{name}"
    http.send(group, text(subject).encode(), FORM, {}, method="PUT")
    return Sent(where=redact(http.apart(group)[0]))


SENDER = Sender(name="prometheus", title="Prometheus", summary="a push gateway", send=send)
