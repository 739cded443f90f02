"""How does one thread keep many streams on schedule?

epoll, a heap of absolute due times, and a wait that ends by spinning on the clock. The clock is read just before every send(); sockets
are polled after every few sends, so that a burst of sends delays no read for long. The kernel's own arrival time is kept where
available, so that the truth does not depend on when this program read the request.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import select
import socket
import struct
import time
from heapq import heappush, heapreplace
from pathlib import Path
from typing import Any, Final

from fireassay.instruments.machine.memory import resident
from fireassay.instruments.reference_server.answers import parse_request, problem, reply
from fireassay.instruments.reference_server.faults import parse
from fireassay.instruments.reference_server.http import Head, Refused, stamped
from fireassay.instruments.reference_server.media import PATHS, parse_media
from fireassay.instruments.reference_server.plans import SECOND
from fireassay.instruments.reference_server.settings import Settings
from fireassay.instruments.reference_server.streams import Connection, Stream, Streams
from fireassay.instruments.reference_server.truth import Entry, lines
from fireassay.record.machine import Machine

ANSWERS: Final = {"/v1/chat/completions": True, "/v1/completions": False}
SENDS_BETWEEN: Final = 4  # polls of the sockets
BACKLOG: Final = 4096

# result of sending a piece
NEXT, LAST, STUCK = range(3)


class Server(Streams):
    """The server. `run` serves in the calling thread until `stop` is called, by any thread or signal handler.

    Raises:
        ValueError: a fault is invalid.
        OSError: the address is in use.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._listener = socket.create_server((settings.host, settings.port), backlog=BACKLOG)
        self._listener.setblocking(False)
        stamped(self._listener)  # inherited by connections, so that even their first bytes have a timestamp
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll = select.epoll()
        for fd in (self._listener.fileno(), self._wake):
            self._epoll.register(fd, select.EPOLLIN)
        host, port = self._listener.getsockname()[:2]
        self.url = f"http://{host}:{port}"
        self._links: dict[int, Connection] = {}
        self._stopped = False
        self._ends_with = -1
        self._connections = self._requests = self._sends = self._tokens_in = 0

    # ---- the loop ----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Serve until stopped, then close everything and write the truth."""
        try:
            while not self._stopped:
                self._wait(self._timeout())
                self._stall()
                self._send_due()
        finally:
            self.close()

    def stop(self) -> None:
        """Let `run` end."""
        self._stopped = True
        with contextlib.suppress(OSError):
            os.eventfd_write(self._wake, 1)

    def stop_with(self, fd: int) -> None:
        """Also stop when this pipe has no writer left."""
        self._ends_with = fd
        self._epoll.register(fd, select.EPOLLIN)

    def close(self) -> None:
        """Close all sockets; write the truth file, if configured."""
        for connection in list(self._links.values()):
            self._close(connection)
        if not self._epoll.closed:
            self._listener.close()
            self._epoll.close()
            os.close(self._wake)
            if self.settings.truth_file:
                with Path(self.settings.truth_file).open("wb") as file:
                    file.writelines(lines(self.log))

    def _timeout(self) -> int | None:
        """Nanoseconds until the next due time; None if nothing is due."""
        dues = [self._heap[0][0]] if self._heap else []
        dues += [self._begin + round(self._stalls[0][0] * SECOND)] if self._stalls and self._began else []
        return max(0, min(dues) - time.monotonic_ns()) if dues else None

    def _wait(self, timeout: int | None) -> None:
        """Wait for a socket or until the timeout, then read.

        epoll waits in whole milliseconds; select on the epoll's own descriptor waits in microseconds. The last part spins on the clock,
        since the kernel wakes up late by some tens of microseconds.
        """
        spin = round(self.settings.spin_s * SECOND)
        if timeout is None or timeout > spin:
            select.select([self._epoll], [], [], None if timeout is None else (timeout - spin) / SECOND)
        self._read(self._epoll.poll(0))
        if timeout is not None and timeout <= spin and timeout > 0:
            end = time.monotonic_ns() + timeout
            while time.monotonic_ns() < end:
                pass

    def _read(self, events: list[tuple[int, int]]) -> None:
        for fd, event in events:
            connection = self._links.get(fd)
            if connection is None:
                if fd == self._wake or (fd == self._ends_with and not os.read(fd, 4096)):
                    self._stopped = True
                    return
                if fd == self._listener.fileno():
                    self._accept()
                continue
            try:
                if event & select.EPOLLOUT:
                    self._flush(connection)
                if event & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                    self._take(connection)
            except OSError:
                self._gone(connection)

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except (BlockingIOError, ConnectionError):
                return
            link.setblocking(False)
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(link, self._connections)
            self._connections += 1
            self._links[connection.fd] = connection
            self._epoll.register(connection.fd, select.EPOLLIN)

    def _stall(self) -> None:
        """Sleep through a stall that has begun, then shift all due times by its length."""
        while self._stalls and self._began and not self._stopped:
            at_s, for_s = self._stalls[0]
            end = self._begin + round((at_s + for_s) * SECOND)
            if time.monotonic_ns() < self._begin + round(at_s * SECOND):
                return
            self._stalls.pop(0)
            begin = time.monotonic_ns()
            while (left := end - time.monotonic_ns()) > 0 and not self._stopped:
                select.select([self._wake], [], [], left / SECOND)
            moved = time.monotonic_ns() - begin
            self._stalled_until = time.monotonic_ns()
            for _, _, stream in self._heap:
                stream.base += moved
            self._heap = [(due + moved, key, stream) for due, key, stream in self._heap]

    # ---- sending -----------------------------------------------------------------------------------------------------

    def _send_due(self) -> None:
        """Send every due piece, the most overdue first."""
        clock, heap = time.monotonic_ns, self._heap
        sends = 0
        now = clock()
        while heap and heap[0][0] <= now:
            due, key, stream = heap[0]
            what = self._send(stream)
            if what == NEXT:
                heapreplace(heap, (stream.base + stream.plan.offsets[stream.at], key, stream))
            else:
                # the end of an answer may have put another stream's start before it, so search for its entry
                self._drop(due, key, stream)
                if what == LAST:
                    self._finish(stream)
            sends += 1
            if sends % SENDS_BETWEEN == 0:
                if events := self._epoll.poll(0):
                    self._read(events)
                if self._stopped:
                    return
            now = clock()

    def _send(self, stream: Stream) -> int:
        """Send the next piece: NEXT if there is another one, LAST if not, STUCK if the connection is full."""
        connection, pieces, at = stream.connection, stream.plan.pieces, stream.at
        if connection.stream is not stream or at >= len(pieces):
            return LAST
        if connection.unsent:
            stream.stuck = True
            return STUCK
        piece = pieces[at]
        stamps = stream.entry.sent_ns
        stamps.append(time.monotonic_ns())
        try:
            sent = connection.link.send(piece)
        except BlockingIOError:
            sent = 0
        except OSError:
            stamps.pop()
            self._gone(connection)
            return LAST
        if sent < len(piece):
            self._keep(connection, piece[sent:])
            stream.entry.blocked += 1
        if at == stream.entry.first_text:
            stream.entry.first_left_ns = time.monotonic_ns()
        self._sends += 1
        stream.at = at + 1
        return NEXT if stream.at < len(pieces) else LAST

    def _keep(self, connection: Connection, rest: bytes) -> None:
        """Keep the bytes that the kernel did not take."""
        connection.unsent += rest
        self._epoll.modify(connection.fd, select.EPOLLIN | select.EPOLLOUT)

    def _flush(self, connection: Connection) -> None:
        """The kernel has room again."""
        if connection.unsent:
            with contextlib.suppress(BlockingIOError):
                del connection.unsent[: connection.link.send(connection.unsent)]
            if connection.unsent:
                return
        self._epoll.modify(connection.fd, select.EPOLLIN)
        stream = connection.stream
        if stream is None and not connection.keep:
            self._close(connection)
        elif stream is not None and stream.stuck:
            stream.stuck = False
            heappush(self._heap, (stream.base + stream.plan.offsets[stream.at], stream.key, stream))

    def _finish(self, stream: Stream) -> None:
        """The last piece was sent, or the client is gone."""
        connection, ending = stream.connection, stream.plan.ending
        if connection.stream is not stream:
            return
        if ending == "hang":
            stream.entry.outcome = "hang"  # the connection and the slot stay taken
            return
        self._end(stream, "complete" if ending == "keep" else ending)
        if ending == "reset":
            connection.link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._close(connection)
        elif ending == "close" or not connection.keep:
            connection.keep = False
            if not connection.unsent:
                self._close(connection)
        elif connection.inbox.waiting:
            self._requests_of(connection)

    # ---- reading -----------------------------------------------------------------------------------------------------

    def _take(self, connection: Connection) -> None:
        if not connection.inbox.read():
            self._gone(connection)
            return
        if connection.stream is not None:
            self._refuse(connection, Refused(400, "the request arrived before the previous answer had ended"))
            return
        self._requests_of(connection)

    def _requests_of(self, connection: Connection) -> None:
        try:
            request = connection.inbox.request()
            while request is not None:
                if connection.stream is not None:
                    raise Refused(400, "the request arrived before the previous answer had ended")
                self._route(connection, *request)
                request = connection.inbox.request() if connection.fd in self._links and connection.inbox.waiting else None
            if connection.fd in self._links and connection.stream is not None and connection.inbox.waiting:
                raise Refused(400, "the request arrived before the previous answer had ended")
        except Refused as refused:
            self._refuse(connection, refused)

    def _refuse(self, connection: Connection, refused: Refused) -> None:
        """Send the reason and close: later bytes on this connection cannot be framed."""
        if connection.stream is not None:
            self._end(connection.stream, "invalid")
        else:
            self._say(connection, problem(refused.status, str(refused), b"connection: close\r\n"))
        connection.keep = False
        if not connection.unsent:
            self._close(connection)

    def _say(self, connection: Connection, data: bytes) -> None:
        """Send a response that is not a model's answer."""
        sent = 0
        if not connection.unsent:
            with contextlib.suppress(BlockingIOError):
                sent = connection.link.send(data)
        if sent < len(data):
            self._keep(connection, data[sent:])

    def _route(self, connection: Connection, head: Head, body: bytes) -> None:
        connection.keep = head.keep
        if (head.path in ANSWERS or head.path in PATHS) and head.method == "POST":
            self._admit(connection, head, body)
            return
        self._say(connection, self._other(head, body))
        if not head.keep and not connection.unsent:
            self._close(connection)

    def _other(self, head: Head, body: bytes) -> bytes:
        """The response to a request outside the model API."""
        if head.path in ANSWERS or head.path in PATHS:
            return problem(405, "POST is needed")
        if head.path == "/reference/faults" and head.method == "POST":
            try:
                self._set_faults([parse(text) for text in body.decode("utf-8", "replace").splitlines() if text.strip()])
            except ValueError as error:
                return problem(400, str(error))
            self._begin, self._began = time.monotonic_ns(), True
            return reply(200, {"faults": len(self._faults) + len(self._stalls)})
        if head.path == "/v1/models":
            return reply(200, {"object": "list", "data": [{"id": self.settings.model_name(), "object": "model", "owned_by": "assay"}]})
        if head.path == "/metrics":
            return reply(200, self._metrics(), mime="text/plain; version=0.0.4")
        if head.path == "/reference/truth":
            return reply(200, b"".join(lines(self.log)), mime="application/jsonl")
        if head.path == "/reference/state":
            return reply(200, self.state())
        return reply(200, b"", mime="text/plain") if head.path == "/health" else problem(404, f"no such path: {head.path}")

    def state(self) -> dict[str, Any]:
        """Totals so far, and their cost to this process."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "ns": time.monotonic_ns(),
            "cpu_s": used.ru_utime + used.ru_stime,
            "requests": self._requests,
            "ended": self._ended,
            "sends": self._sends,
            "connections": self._connections,
            "open": len(self._links),
            "in_service": self._in_service,
            "waiting": len(self._waiting),
        }

    def _metrics(self) -> bytes:
        """A few counters under vLLM's names."""
        values = (
            ("num_requests_running", "gauge", self._in_service),
            ("num_requests_waiting", "gauge", len(self._waiting)),
            ("prompt_tokens_total", "counter", self._tokens_in),
            ("generation_tokens_total", "counter", self._tokens_out),
            ("request_success_total", "counter", self._ended),
        )
        rows = [
            f'# TYPE vllm:{name} {kind}\nvllm:{name}{{model_name="{self.settings.model_name()}"}} {value}\n' for name, kind, value in values
        ]
        if (held := resident(Machine(), os.getpid())) is not None:
            rows.append(f"# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes {held}\n")
        return "".join(rows).encode()

    # ---- answering ---------------------------------------------------------------------------------------------------

    def _admit(self, connection: Connection, head: Head, body: bytes) -> None:
        """Plan the answer of a model request, then start or queue it."""
        now = time.monotonic_ns()
        if not self._began:
            self._begin, self._began = now, True
        try:
            made = head.path in PATHS
            request = parse_media(head.path, body, self.settings) if made else parse_request(body, chat=ANSWERS[head.path])
            extra = (parse(head.fault),) if head.fault else ()
        except ValueError as error:
            self._say(connection, problem(400, str(error)))
            return
        number = self._requests
        faults = (*self._struck(number, now), *extra) if self._faults or extra else ()
        plan = self._planner.plan(request, number, faults)
        entry = Entry(
            number,
            head.id,
            hashlib.sha256(body).hexdigest()[:16],
            self.settings.name,
            connection.number,
            request.stream,
            connection.inbox.arrived_ns,
            now,
            None,
            first_text=plan.first_text,
            texts=plan.texts,
            tokens_in=plan.tokens_in,
            tokens_out=plan.tokens_out,
            fault="+".join(fault.name for fault in faults),
        )
        if self.settings.truth != "none":
            self.log.append(entry)
        self._requests += 1
        self._tokens_in += request.tokens_in
        stream = connection.stream = Stream(connection, plan, entry, number)
        self._swap(stream, faults)
        if not self.settings.slots or self._in_service < self.settings.slots:
            # during a stall the server could not have received the request
            came = now if connection.inbox.arrived_ns is None else connection.inbox.arrived_ns
            self._begin_service(stream, max(came, self._stalled_until))
        elif 0 <= self.settings.queue <= len(self._waiting):
            self._end(stream, "refused")
            self._say(connection, problem(503, "the queue is full", b"retry-after: 1\r\n"))
        else:
            self._waiting.append(stream)

    # ---- ends of connections -----------------------------------------------------------------------------------------

    def _gone(self, connection: Connection) -> None:
        """The client has closed its side: drop the rest."""
        if connection.stream is not None:
            hung = connection.stream.entry.outcome == "hang"
            self._end(connection.stream, "hang" if hung else "abandoned")
        self._close(connection)

    def _close(self, connection: Connection) -> None:
        if self._links.pop(connection.fd, None) is not None:
            self._epoll.unregister(connection.fd)
            connection.link.close()
