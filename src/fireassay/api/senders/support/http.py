"""How is something sent to a server over HTTP?  Once, without following it elsewhere, and with an error that says what it answered."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Final

from fireassay.errors import EnvironmentLacks, refuse
from fireassay.printable import one_line
from fireassay.record.secrets.redact import redact

TIMEOUT_S: Final = 30.0
MAX_ANSWER: Final = 1 << 16  # bytes


class _Stay(urllib.request.HTTPRedirectHandler):
    """A redirection is an error: what is sent may hold a key."""

    def redirect_request(self, *_: object) -> None:
        return None


def send(url: str, body: bytes, headers: Mapping[str, str], *, method: str = "POST") -> bytes:
    """The answer. Raises SpecError: no address of HTTP; EnvironmentLacks: the server cannot be reached, or does not accept it."""
    shown = redact(url)
    if not url.startswith(("http://", "https://")):
        raise refuse("--out", shown, "an http:// or https:// address", source="the command line")
    try:
        request = urllib.request.Request(url, data=body, headers=dict(headers), method=method)
        with urllib.request.build_opener(_Stay).open(request, timeout=TIMEOUT_S) as answer:
            return bytes(answer.read(MAX_ANSWER))
    except urllib.error.HTTPError as error:
        said = one_line(redact(error.read(500).decode(errors="replace")))
        raise EnvironmentLacks(
            f"{shown} answered {error.code} {one_line(redact(str(error.reason)))}{f': {said}' if said else ''}"
        ) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = redact(one_line(str(getattr(error, "reason", error))))
        raise EnvironmentLacks(f"{shown} cannot be reached: {reason}.") from error
