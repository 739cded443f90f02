"""How long does a stream back off after 429 or 503, and when is a target given up as dead?

The stream's next request waits for `Retry-After` (seconds or a date, RFC 9110, 10.2.3), at most `most_s`; without it, for twice as
long after each consecutive refusal, starting at `first_s`.  Any other answer resets the count.  Requests with their own due time (open loop)
are sent when due regardless, since the load would otherwise change.

A target is dead once no replica has sent anything for `dead_after_s` while requests were refused.
"""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import Final

NS: Final = 1_000_000_000
LATER: Final = (429, 503)
MAX_DOUBLINGS: Final = 30


def retry_after_s(header: str, now_s: float) -> float | None:
    """Delay of a Retry-After header, in seconds or until a date; None if it is neither."""
    header = header.strip()
    if header.isascii() and header.isdigit():
        return float(header[:9])
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - now_s)
    except (ValueError, TypeError, OverflowError):
        return None


class Pauses:
    """Back-off state of a client's streams."""

    def __init__(self, first_s: float, most_s: float) -> None:
        self._first_ns, self._most_ns = round(first_s * NS), round(most_s * NS)
        self._in_a_row: dict[int, int] = {}

    def pause_ns(self, stream: int, status: int | None, retry_after: str, now_s: float) -> int:
        """How long a stream waits after an answer with this status; `now_s`: seconds since 1970."""
        if status not in LATER:
            self._in_a_row.pop(stream, None)
            return 0
        row = self._in_a_row[stream] = self._in_a_row.get(stream, 0) + 1
        requested_s = retry_after_s(retry_after, now_s) if retry_after else None
        if requested_s is not None:
            return min(self._most_ns, round(requested_s * NS))
        return min(self._most_ns, self._first_ns << min(row - 1, MAX_DOUBLINGS))


class Liveness:
    """Liveness of the target."""

    def __init__(self, dead_after_s: float | None) -> None:
        self._dead_after_ns = None if dead_after_s is None else round(dead_after_s * NS)
        self._silent_since: int | None = None
        self.refused = 0  # consecutive

    def heard(self) -> None:
        """The target sent something."""
        self._silent_since, self.refused = None, 0

    def refuse(self, now_ns: int) -> bool:
        """A request was refused, or its connection closed without a response. True: the target is dead."""
        self.refused += 1
        if self._silent_since is None:
            self._silent_since = now_ns
        return self._dead_after_ns is not None and now_ns - self._silent_since >= self._dead_after_ns
