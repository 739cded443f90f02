"""How does a collector get a record?  Over OTLP/HTTP: the files of `fireassay.reports.exports.otlp`, span by some hundred spans.

Headers, such as a key, come from OTEL_EXPORTER_OTLP_HEADERS, as for every OpenTelemetry program.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from fireassay.api.senders.sender import Sender, Sent
from fireassay.api.senders.support import http
from fireassay.errors import EnvironmentLacks, refuse
from fireassay.record.files import pieces
from fireassay.record.secrets.redact import redact
from fireassay.reports.exports import otlp
from fireassay.reports.exports.export import Subject
from fireassay.reports.exports.support.protobuf import fields

HEADERS: Final = "OTEL_EXPORTER_OTLP_HEADERS"
FORM: Final = "application/x-protobuf"


def send(subject: Subject, _: Path, address: str) -> Sent:
    """Raises EnvironmentLacks: the collector is not there, or did not take everything."""
    exported = otlp.files(subject)
    keys = _headers()
    for name, content in exported.files.items():
        url = f"{address.rstrip('/')}/v1/{name.removesuffix('.pb')}"
        for piece in pieces(content):
            _accepted(url, http.send(url, piece, FORM, keys), keys)
    return Sent(where=redact(http.apart(address)[0]), notes=exported.notes)


def _headers() -> dict[str, str]:
    """NAME=VALUE, comma-separated, percent-encoded. Raises SpecError: something else, which may be a key and is not shown."""
    pairs = [part.partition("=") for part in os.environ.get(HEADERS, "").split(",") if part.strip()]
    if any(not equals or not name.strip() for name, equals, _ in pairs):
        raise refuse(HEADERS, "a part without NAME=", "NAME=VALUE,NAME=VALUE, percent-encoded", source="the environment")
    return {name.strip(): unquote(value.strip()) for name, _, value in pairs}


def _accepted(url: str, answer: bytes, keys: Mapping[str, str]) -> None:
    """A partial success is a failure: something that was measured is not there."""
    where, sign_in = http.apart(url)
    try:
        partial = dict(fields(answer)).get(1, b"")
        found = dict(fields(partial)) if isinstance(partial, bytes) else {}
    except ValueError:
        raise EnvironmentLacks(f"{redact(where)} answered in no protobuf. Is it an OTLP/HTTP receiver (port 4318, not 4317)?") from None
    number = found.get(1, 0)
    if isinstance(number, int) and number:
        said = found.get(2, b"")
        why = http.told(said, {**sign_in, **keys}) if isinstance(said, bytes) else ""
        raise EnvironmentLacks(f"{redact(where)} rejected {number:,} of what it was sent{f': {why}' if why else ''}")


SENDER = Sender(name="otlp", title="OpenTelemetry", summary=otlp.EXPORT.summary, options=otlp.EXPORT.options, send=send)
