"""How long does a stream wait that a server has told to come later, and when is a target given up as dead?

429 and 503 say "not now": what follows in the same stream waits as long as `Retry-After` says (seconds or a date, RFC 9110, 10.2.3), at
most `most_s`, else twice as long after each refusal in a row, from `first_s` on.  An answer of another kind ends the row.  What has a
due time of its own (an open loop) is sent when it is due all the same: the load would else be another.

A target is dead once nothing at all has been heard of any replica for `dead_after_s` while requests were refused.
"""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import Final

NS: Final = 1_000_000_000
LATER: Final = (429, 503)
MOST_DOUBLINGS: Final = 30


def retry_after_s(told: str, now_s: float) -> float | None:
    """Seconds that a header asks for, by its number or until its date; None where it says neither."""
    told = told.strip()
    if told.isascii() and told.isdigit():
        return float(told[:9])
    try:
        return max(0.0, parsedate_to_datetime(told).timestamp() - now_s)
    except (ValueError, TypeError, OverflowError):
        return None


class Pauses:
    """The streams of a client that were told to come later."""

    def __init__(self, first_s: float, most_s: float) -> None:
        self._first_ns, self._most_ns = round(first_s * NS), round(most_s * NS)
        self._in_a_row: dict[int, int] = {}

    def pause_ns(self, stream: int, status: int | None, retry_after: str, now_s: float) -> int:
        """How long a stream waits behind an answer of this status; `now_s`: seconds since 1970."""
        if status not in LATER:
            self._in_a_row.pop(stream, None)
            return 0
        row = self._in_a_row[stream] = self._in_a_row.get(stream, 0) + 1
        asked = retry_after_s(retry_after, now_s) if retry_after else None
        if asked is not None:
            return min(self._most_ns, round(asked * NS))
        return min(self._most_ns, self._first_ns << min(row - 1, MOST_DOUBLINGS))


class Life:
    """Whether anything has been heard of the target."""

    def __init__(self, dead_after_s: float | None) -> None:
        self._dead_after_ns = None if dead_after_s is None else round(dead_after_s * NS)
        self._silent_since: int | None = None
        self.refused = 0  # in a row

    def heard(self) -> None:
        """Something came."""
        self._silent_since, self.refused = None, 0

    def refuse(self, now_ns: int) -> bool:
        """A request was refused, or its connection ended without a word. True: the target is dead."""
        self.refused += 1
        if self._silent_since is None:
            self._silent_since = now_ns
        return self._dead_after_ns is not None and now_ns - self._silent_since >= self._dead_after_ns
