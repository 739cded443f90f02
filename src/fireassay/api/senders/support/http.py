"""How is something sent to a server over HTTP?  Once, without following it elsewhere, and with an error that says what it answered."""

from __future__ import annotations

import base64
import http.client
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import quote_plus, unquote, urlsplit

from fireassay.errors import EnvironmentLacks, refuse
from fireassay.printable import one_line
from fireassay.record.secrets.redact import REDACTED, redact

TIMEOUT_S: Final = 30.0
SCHEMES: Final = ("basic", "bearer", "digest", "token")
MAX_ANSWER: Final = 1 << 16  # bytes
SHORTEST: Final = 4  # characters of a credential that is not shown: shorter ones are words


class Stay(urllib.request.HTTPRedirectHandler):
    """A redirection is an error: what is sent may hold a key."""

    def redirect_request(self, *_: object) -> None:
        return None


def send(url: str, body: bytes, form: str, keys: Mapping[str, str], *, method: str = "POST") -> bytes:
    """The answer to a body of a content type.  `keys`: headers whose values no message shows, though the server repeats them.

    A user and a password in the address are sent as basic authentication.
    Raises SpecError: no address of HTTP; EnvironmentLacks: the server cannot be reached, or does not accept it.
    """
    where, sign_in = apart(url)
    shown, keys = redact(where), {**sign_in, **keys}
    try:
        request = urllib.request.Request(where, data=body, headers={"Content-Type": form, **keys}, method=method)
        with urllib.request.build_opener(Stay).open(request, timeout=TIMEOUT_S) as answer:
            return bytes(answer.read(MAX_ANSWER))
    except urllib.error.HTTPError as error:
        with error:
            said = told(error.read(500), keys)
        raise EnvironmentLacks(f"{shown} answered {error.code} {told(error.reason, keys)}{f': {said}' if said else ''}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise EnvironmentLacks(f"{shown} cannot be reached: {told(getattr(error, 'reason', error), keys)}.") from None


def apart(url: str) -> tuple[str, dict[str, str]]:
    """An address without user and password, and the header that says them. Raises SpecError: no address of HTTP."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise refuse("--out", redact(url.rpartition("@")[2]), "http://HOST:PORT or https://HOST", source="the command line")
    where = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return where, {"Authorization": f"Basic {base64.b64encode(user.encode()).decode()}"} if user != ":" else {}


def told(answer: object, keys: Mapping[str, str]) -> str:
    """What a server or the network says, in a line without what it was sent to know us by: of 4 characters or more, also as the answer decodes it."""
    text = answer.decode(errors="replace") if isinstance(answer, bytes) else str(answer)
    sent = {part for value in keys.values() for part in _credentials(value) if len(part) >= SHORTEST}
    for part in sorted(sent | set(map(quote_plus, sent)), key=len, reverse=True):
        text = text.replace(part, REDACTED)
    return one_line(redact(text, sent))


def _credentials(value: str) -> Iterator[str]:
    """A header's value, its words without a scheme, and of basic authentication user and password."""
    scheme, _, coded = value.partition(" ")
    yield from (value, *(word for word in value.split() if word.casefold() not in SCHEMES))
    if scheme.casefold() == "basic":
        with suppress(ValueError):
            pair = base64.b64decode(coded, validate=True).decode()
            yield from (pair, *pair.split(":", 1))
