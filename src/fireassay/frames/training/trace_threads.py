"""What is known of a trace that names neither operators nor kernels: how long was each thread busy, and with which category of events?

A thread is busy while at least one of its events is open (the union of their intervals, not the sum: events are nested), a category while at
least one of its events is, on any thread.  Shares are of the time from the first event's begin to the last one's end.
Cannot tell: computing from communication, or work from waiting: an event may be a wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from fireassay.frames.training.communication.kernel_trace import Operator, length, union

TOP: Final = 20


def threads(events: Iterable[Operator], names: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The busiest threads: name, number of events, nanoseconds busy. `names`: the trace's own (`process_name`, `thread_name`)."""
    processes, of_threads = names.get("process_name") or {}, names.get("thread_name") or {}

    def name_of(event: Operator) -> str:
        process = event.thread.partition("/")[0]
        known = [words for words in (processes.get(process), of_threads.get(event.thread)) if words]
        return ", ".join(dict.fromkeys(known)) or f"thread {event.thread}"

    return _busy(events, name_of)


def categories(events: Iterable[Operator]) -> list[dict[str, Any]]:
    """The categories with the longest union of intervals: name, number of events, nanoseconds."""
    return _busy(events, lambda event: event.category or "no category")


def _busy(events: Iterable[Operator], key: Callable[[Operator], str]) -> list[dict[str, Any]]:
    spans: dict[str, list[tuple[int, int]]] = {}
    for event in events:
        spans.setdefault(key(event), []).append((event.begin, event.end))
    rows: list[dict[str, Any]] = [{"name": name, "calls": len(some), "ns": length(union(some))} for name, some in spans.items()]
    return sorted(rows, key=lambda row: (-row["ns"], row["name"]))[:TOP]
