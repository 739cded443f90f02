"""How does a record reach Prometheus' push gateway?  One group for each experiment, which the next record of it replaces.

PUT /metrics/job/fireassay/experiment@base64/NAME (README of prometheus/pushgateway).  A user and a password in the address are sent as HTTP
basic authentication and shown nowhere.
"""

from __future__ import annotations

import base64
import http.client
import urllib.request
from pathlib import Path
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit

from fireassay.api.senders.sender import Sender, Sent
from fireassay.errors import EnvironmentLacks, refuse
from fireassay.printable import one_line
from fireassay.reports.exports.export import Subject
from fireassay.reports.exports.prometheus import text

TIMEOUT_S: Final = 30
FORM: Final = "text/plain; version=0.0.4; charset=utf-8"


def send(subject: Subject, _: Path, destination: str) -> Sent:
    """Push the record. Raises SpecError: no address of a gateway; EnvironmentLacks: it does not answer, or refuses."""
    address = urlsplit(destination)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise refuse("--out", f"an address of {address.scheme}", "http://HOST:PORT of a push gateway", source="the command line")
    host = address.netloc.rpartition("@")[2]
    name = base64.urlsafe_b64encode(subject.head.name.encode()).decode()
    where = f"{address.scheme}://{host}{address.path.rstrip('/')}/metrics/job/fireassay/experiment@base64/{name}"
    request = urllib.request.Request(where, data=text(subject).encode(), method="PUT", headers={"Content-Type": FORM})
    if address.username is not None:
        user = f"{unquote(address.username)}:{unquote(address.password or '')}"
        request.add_header("Authorization", f"Basic {base64.b64encode(user.encode()).decode()}")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S):
            return Sent(where=where)
    except HTTPError as error:
        with error:
            said = one_line(error.read(500).decode(errors="replace"))
        raise EnvironmentLacks(f"the push gateway at {host} refused the record: {error.code} {said}") from None
    except (URLError, OSError, http.client.HTTPException) as error:
        raise EnvironmentLacks(f"no push gateway answers at {host}: {getattr(error, 'reason', error)}. Is the address right?") from None


SENDER = Sender(name="prometheus", title="Prometheus", summary="a push gateway", send=send)
