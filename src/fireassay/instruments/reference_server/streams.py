"""Which answers are in flight, which wait for a slot, and which faults strike them?"""

from __future__ import annotations

import contextlib
import random
import socket
import time
from collections import deque
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from fireassay.instruments.reference_server.faults import Fault, parse
from fireassay.instruments.reference_server.http import Inbox
from fireassay.instruments.reference_server.plans import SECOND, Plan, Planner
from fireassay.instruments.reference_server.settings import Settings
from fireassay.instruments.reference_server.truth import Entry


class Connection:
    """A client's connection."""

    __slots__ = ("fd", "inbox", "keep", "link", "number", "stream", "unsent")

    def __init__(self, link: socket.socket, number: int) -> None:
        self.link, self.number, self.fd = link, number, link.fileno()
        self.inbox = Inbox(link)
        self.stream: Stream | None = None
        self.unsent = bytearray()
        self.keep = True


class Stream:
    """An answer in flight."""

    __slots__ = ("at", "base", "connection", "entry", "key", "plan", "stuck")

    def __init__(self, connection: Connection, plan: Plan, entry: Entry, key: int) -> None:
        self.connection, self.plan, self.entry, self.key = connection, plan, entry, key
        self.base, self.at = 0, 0
        self.stuck = False  # the connection is full: wait for room


class Streams:
    """A server's answers: due, waiting and finished."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._planner = Planner(settings)
        self.log: list[Entry] = []
        self._heap: list[tuple[int, int, Stream]] = []
        self._waiting: deque[Stream] = deque()
        self._half_swapped: Stream | None = None
        self._in_service = self._ended = self._tokens_out = 0
        self._set_faults([parse(text) for text in settings.fault])

    def _drop(self, due: int, key: int, stream: Stream) -> None:
        """Remove a stream from the heap."""
        heap = self._heap
        if heap and heap[0][2] is stream:
            heappop(heap)
        elif (due, key, stream) in heap:
            heap.remove((due, key, stream))
            heapify(heap)

    def _end(self, stream: Stream, outcome: str) -> None:
        """An answer has ended with this outcome; its slot is free."""
        stream.connection.stream = None
        stream.entry.outcome = outcome
        self._ended += 1
        if stream.entry.begin_ns is None:
            with contextlib.suppress(ValueError):
                self._waiting.remove(stream)
            return
        self._in_service -= 1
        self._tokens_out += stream.entry.tokens_out if outcome == "complete" else 0
        if self.settings.truth == "ends":
            del stream.entry.sent_ns[stream.entry.first_text + 1 : -2]
            stream.entry.texts = min(2, stream.entry.texts)
        while self._waiting and self._in_service < self.settings.slots:
            self._begin_service(self._waiting.popleft(), time.monotonic_ns())

    def _begin_service(self, stream: Stream, base: int) -> None:
        stream.base = stream.entry.begin_ns = base
        self._in_service += 1
        heappush(self._heap, (base + stream.plan.offsets[0], stream.key, stream))

    def _set_faults(self, faults: Sequence[Fault]) -> None:
        self._faults = [fault for fault in faults if fault.name != "stall"]
        self._stalls = sorted((fault.at_s or 0.0, fault.for_s or 0.0) for fault in faults if fault.name == "stall")
        self._draws = [random.Random(f"{self.settings.seed} {index}") for index in range(len(self._faults))]
        self._begin, self._began, self._stalled_until = 0, False, 0

    def _struck(self, number: int, now: int) -> list[Fault]:
        """The faults that strike this request."""
        seconds, in_flight = (now - self._begin) / SECOND, self._in_service + len(self._waiting)
        draws = [draw.random() for draw in self._draws]
        return [fault for fault, draw in zip(self._faults, draws, strict=True) if fault.strikes(number, seconds, in_flight, draw)]

    def _swap(self, stream: Stream, faults: Sequence[Fault]) -> None:
        """Exchange the words of two struck answers that were not sent yet."""
        if not any(fault.name == "swap" for fault in faults) or stream.plan.answer is None:
            return
        other, self._half_swapped = self._half_swapped, stream
        if other is None or other.at or other.connection.stream is not other or other.plan.answer is None:
            return
        self._half_swapped = None
        mine, theirs = stream.plan.answer, other.plan.answer
        mine.words, theirs.words = theirs.words, mine.words
        for swapped, answer in ((stream, mine), (other, theirs)):
            offsets = swapped.plan.offsets
            swapped.plan = self._planner.pieces_of(answer)
            swapped.plan.offsets = offsets if len(offsets) == len(swapped.plan.pieces) else swapped.plan.offsets
            swapped.entry.texts, swapped.entry.tokens_out = swapped.plan.texts, swapped.plan.tokens_out
