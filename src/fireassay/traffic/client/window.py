"""How is a client doing right now?

Percentiles over its latest requests: for the live view, never for a result.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Any, Final

RECENT: Final = 512  # requests
MOST_MODELS: Final = 16
MORE_MODELS: Final = "(more)"
_SHARES: Final = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))


class Window:
    """Counts since the start, and times of the latest requests, ns."""

    def __init__(self) -> None:
        self.due = self.sent = self.done = self.ok = self.tokens = 0
        self.failed: Counter[str] = Counter()
        self.models: Counter[str] = Counter()  # answers by the model they name
        self.limits: dict[str, str] = {}  # rate limits reported by the first answers
        self.error: str | None = None  # the latest
        self._ttft: deque[int] = deque(maxlen=RECENT)
        self._tpot: deque[int] = deque(maxlen=RECENT)
        self._e2e: deque[int] = deque(maxlen=RECENT)
        self._lag: deque[int] = deque(maxlen=RECENT)

    def take(self, *, due_ns: int, sent_ns: int, first_ns: int | None, last_ns: int | None, tokens: int, closed: bool = False) -> None:
        """Add a successful request; in a closed loop its clock starts when it is sent."""
        self._lag.append(sent_ns - due_ns)
        self.tokens += tokens
        if first_ns is None or last_ns is None:
            return
        start_ns = sent_ns if closed else due_ns
        self._ttft.append(first_ns - start_ns)
        self._e2e.append(last_ns - start_ns)
        if tokens > 1:
            self._tpot.append((last_ns - first_ns) // (tokens - 1))

    def answered_by(self, model: str) -> None:
        """Count an answer by the model it names; "": none. Keeps only the first few names apart."""
        if model:
            self.models[model if model in self.models or len(self.models) < MOST_MODELS else MORE_MODELS] += 1

    def report(self, state: str, in_flight: int) -> dict[str, Any]:
        """The progress report for the runner."""
        lag = _percentiles(self._lag)
        return {
            "state": state,
            "due": self.due,
            "sent": self.sent,
            "done": self.done,
            "ok": self.ok,
            "failed": dict(self.failed),
            "in_flight": in_flight,
            "tokens": self.tokens,
            "error": self.error,
            "ttft_ms": _percentiles(self._ttft),
            "tpot_ms": _percentiles(self._tpot),
            "e2e_ms": _percentiles(self._e2e),
            "lag_ms_p99": lag.get("p99"),
        }


def _percentiles(values: deque[int]) -> dict[str, float]:
    """In milliseconds, by nearest rank; {} without values."""
    if not values:
        return {}
    ordered = sorted(values)
    return {name: ordered[min(len(ordered) - 1, int(share * len(ordered)))] / 1e6 for name, share in _SHARES}
