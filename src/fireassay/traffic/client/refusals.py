"""When do refusals end a load, and what cures them?

A load whose first answers are all the same error, all unreadable, or that no server accepted, measures nothing: ten say what a thousand
would.  Once anything was answered well the load goes on, since a refusal is then a result.  `PATIENCE` ask for it and end nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

GIVE_UP_AFTER: Final = 10  # refusals in a row, per client
PATIENCE: Final = (408, 425, 429, 502, 503, 504, 529)
MAX_WORDS: Final = 200  # characters of the server's
UNREADABLE: Final = ("malformed", "truncated")  # statuses of an answer that came, with an HTTP status below 400
NO_SERVER: Final = 0  # in place of a status: the connection was refused, or closed before an answer
NO_PATH: Final = (404, 405)
KEEP_GOING: Final = "--keep-going sends them all"
CHECK: Final = "Check the flags that make the requests"
KEY: Final = "Give the key's variable: --api-key-env OPENAI_API_KEY"
LOG: Final = "Read the server's log"
API: Final = "Check that the URL is the engine's API: its port, its path, --task and --backend"
BODY: Final = "Check --model, --task and the lengths (--scenario)"
CURES: Final[Mapping[int, str]] = {
    NO_SERVER: "Start the server, or check its address: host, port, http or https",
    400: BODY,
    401: KEY,
    403: KEY,
    404: "Check the URL's path and --model",
    405: "Check the URL's path and --task",
    422: BODY,
    500: LOG,
}


@dataclass(frozen=True, kw_only=True)
class Refused:
    """What ended a load: the status, the server's words."""

    status: int
    words: str

    def report(self) -> dict[str, Any]:
        """As JSON, for the runner."""
        return asdict(self)


class Refusals:
    """Counts identical refusals until a request is answered well. `after`: None never gives up."""

    def __init__(self, after: int | None) -> None:
        self._after, self._status, self._count = after, -1, 0

    def answered(self) -> None:
        """A request succeeded: refusals are results from now on."""
        self._after = None

    def refused(self, status: int | None, words: str) -> Refused | None:
        """Count a failed request, of a `status` that is no success or came with an unreadable answer; not None: the load is over."""
        if self._after is None:
            return None
        counts = status is not None and status not in PATIENCE
        self._count = self._count + 1 if counts and status == self._status else int(counts)
        self._status = -1 if status is None else status
        return Refused(status=self._status, words=words) if self._count >= self._after else None


def elsewhere(url: str) -> str:
    """The address to write where a server knows no path below the one given; empty without one."""
    parts = urlsplit(url)
    return "" if parts.path.rstrip("/") in ("", "/v1") else f"write {parts.scheme}://{parts.netloc} if the server answers there"


def sentence(url: str, refused: Mapping[str, Any], sent: int, budget: Mapping[str, object] | None = None) -> str:
    """Three lines: the server's words, how many requests were sent, and the cure. `budget`: the key and value that the engine may not allow."""
    status, words = int(refused["status"]), str(refused["words"])
    words = " ".join(re.sub(r"<[^<>]*>", " ", words.removeprefix(f"HTTP {status}").removeprefix(":")).split())[
        :MAX_WORDS
    ]  # of a page, its text
    said = f': "{words}"' if words else ""
    what = f"{url} answers {f'{status} {_phrase(status)}'.strip()}{said}" if status else f"no server at {url}{said}"
    refusable = budget if CURES.get(status) == BODY else None
    limits = [
        f"the engine may not allow {key.removeprefix('body.')} = {value} (--steps, --step-field)"
        for key, value in (refusable or {}).items()
    ]
    cures = [CURES.get(status, CHECK if status // 100 == 4 else API), elsewhere(url) if status in NO_PATH else "", *limits]
    return f"{what}\n{sent:,} requests were sent, none counted ({KEEP_GOING}).\n{'; '.join(filter(None, cures))}"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
