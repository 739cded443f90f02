"""How are requests sent when they are due, and each accounted for exactly once?

With the compiled core (`fireassay.traffic.wire.compiled`), requests are handed over ahead of time, followers as soon as their body is
built, and nothing done here delays a send or a timestamp.  Without it, each turn of the loop has an order: incoming data is timestamped and
queued; due requests are sent; only then, for less than a millisecond at a time, are finished answers parsed and recorded and the next
bodies built.  Memory holds requests in flight, replies waiting to be parsed (bounded), and some prebuilt bodies.

Nothing becomes due after the load's end.  Requests in flight are then awaited for at most `drain_s`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic_ns, time
from typing import Any, Final

from fireassay.errors import WorkloadError
from fireassay.traffic.client.accounting import WARM_UP, InFlight
from fireassay.traffic.client.due import NEVER, Liveness, Pauses
from fireassay.traffic.client.log import RequestLog
from fireassay.traffic.client.plan import NS, Made, Plan, Request
from fireassay.traffic.client.timer import Timer
from fireassay.traffic.wire.response import Exchange

SLICE_NS: Final = 50_000  # time slice for parsing and preparing before sockets are polled again
SEND_SLICE_NS: Final = 500_000  # the same for sending due requests
FOLLOW_SLICE_NS: Final = 150_000  # the same for sending followers, where that would delay other timestamps
FOLLOW_SLICE_STAMPED_NS: Final = 20_000_000  # ... with kernel timestamps: only sends can be delayed
AWAKE_NS: Final = 150_000  # with kernel timestamps: how long before a request is due the timer wakes up
SLICE_PER_REPLY_NS: Final = 2000  # added per reply beyond a wave, so that parsing keeps up without a long pause
REPLY_BYTES: Final = 1 << 14  # ... a long reply counts once per this many bytes
MAX_WAITING_BYTES: Final = 1 << 27  # of replies waiting to be parsed; beyond it, all are parsed
AHEAD: Final = 256  # prebuilt bodies of an open loop
AHEAD_BYTES: Final = 32 << 20
REFUSED_PAUSE_NS: Final = 100_000_000  # before the follower of a refused request, so as not to hammer a dead replica
SWEEP_S: Final = 0.02
LEAD_NS: Final = 200_000_000  # how early a request is handed to the core
ARMED_NS: Final = 300_000_000  # the same for followers: a busy machine may delay this process
MAX_ARMED: Final = 16  # armed requests per stream
CORE_SLICE_NS: Final = 2_000_000  # time slice for parsing and preparing when nothing waits for it


class Load(InFlight):
    """One client's part of a load."""

    def __init__(self, plan: Plan, log: RequestLog, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(plan, log)
        self.loop = loop
        self.state = "loading"
        self._ready: dict[int, Made] = {}  # prebuilt
        self._ready_bytes = 0
        self._to_make: deque[int] = deque()
        self._core = plan.core
        fixed = plan.balance != "least_in_flight" or len(plan.transports) == 1  # the replica is known in advance
        self._arms = plan.core is not None and fixed
        self._lead_ns = LEAD_NS if self._arms else 0
        self._to_arm: dict[int, Exchange] = {}  # request number -> its predecessor
        self._armed: dict[Exchange, Exchange] = {}  # -> its predecessor
        self._pauses, self._life = Pauses(plan.first_pause_s, plan.most_pause_s), Liveness(plan.dead_after_s)
        self._lasts_ns = ARMED_NS  # moving average of a request's duration
        self._following: deque[tuple[Exchange, int]] = deque()  # ended, with followers still to send
        self._working = False
        self._firing = False
        self._stopped = False
        self._over_ns: int | None = None  # since when nothing more can become due
        self._failure: Exception | None = None
        self._finished = asyncio.Event()
        self._cold_ended: asyncio.Event | None = None
        self._timer = Timer(loop, self._fire, AWAKE_NS if plan.stamped and plan.core is None else 0)
        self._slice_ns = SLICE_NS if plan.core is None else CORE_SLICE_NS
        self._follow_ns = FOLLOW_SLICE_STAMPED_NS if plan.stamped else FOLLOW_SLICE_NS

    # ---- start and stop

    def prepare(self, seconds: float) -> None:
        """Build the first bodies, for at most this long."""
        self._to_make.extend(self.agenda.cold[:1] or ())
        self._to_make.extend(self.agenda.first(AHEAD))
        self._make_ahead(monotonic_ns() + int(seconds * NS))

    async def cold(self) -> None:
        """Send the cold requests one after another."""
        sweep = self.loop.create_task(self._sweep())
        due = monotonic_ns()
        for number in self.agenda.cold:
            if self._stopped:
                break
            self._cold_ended = asyncio.Event()
            self._send(number, due)
            await self._cold_ended.wait()
            due = monotonic_ns()
            self._settle_all()
        self._cold_ended = None
        sweep.cancel()
        if self._failure is not None:
            raise self._failure

    async def run(self, t0_ns: int) -> None:
        """Run the load from `t0_ns` until its last request has ended."""
        if self._stopped:
            return
        self.state = "load"
        self._t0 = t0_ns
        self.agenda.begin(t0_ns, t0_ns + self.plan.lasts_ns)
        if self._core is not None:
            self._core.limit(self.agenda.end_ns)
        self._schedule()
        sweep = self.loop.create_task(self._sweep())
        self._look_for_the_end()
        try:
            await self._finished.wait()
        finally:
            sweep.cancel()
            self._timer.close()
        if self._failure is not None:
            raise self._failure

    def finish(self) -> None:
        """Record everything that has ended."""
        self._settle_all()
        self.log.flush()

    def hand_over(self) -> None:
        """Write out the rows recorded so far, soon."""
        self.log.cut()
        self._work_soon()

    def stop(self) -> None:
        """Stop sending; cancel requests in flight."""
        if self._stopped:
            return
        if self._core is not None:
            self._core.stop()
        self._stopped = True
        self._put_off_followers()
        self._never_sent(monotonic_ns())
        self.agenda.stop()
        self._give_up("cancelled", "the load was stopped")
        self._finished.set()

    def _put_off_followers(self) -> None:
        """Queue the followers of ended requests that had not been sent yet."""
        while self._following:
            exchange, number = self._following.popleft()
            for follower in self.agenda.followers(number):
                self.agenda.put_off(follower, self.agenda.after(follower, exchange.done_ns))

    def _never_sent(self, now: int) -> None:
        """Record requests that are due but unsent, so that a client that is late when stopped hides none."""
        while (item := self.agenda.pop(now)) is not None:
            number, due_ns = item
            self.window.due += 1
            self._unsent(number, due_ns)

    # ---- sending

    def _schedule(self) -> None:
        due = self.agenda.next_ns
        if due != NEVER:
            self._timer.set(due - self._lead_ns if due > self._horizon(0) else 1)

    def _fire(self) -> None:
        """Send due requests; poll the sockets in between if that takes long."""
        self._firing = False
        stop = monotonic_ns() + SEND_SLICE_NS
        now = monotonic_ns()
        while (item := self.agenda.pop(self._horizon(now))) is not None:
            self._send(*item)
            now = monotonic_ns()
            if now > stop:
                self._firing = True
                self.loop.call_soon(self._fire)
                return
        self._schedule()
        self._refill()
        self._look_for_the_end()

    def _horizon(self, now: int) -> int:
        """Requests due by then are sent or handed over; all those due at the start are handed over once the start is known."""
        return max(now + self._lead_ns, self._t0) if self._lead_ns else now

    def _refill(self) -> None:
        """Queue the bodies of the next requests."""
        if len(self._ready) + len(self._to_make) < AHEAD // 2:
            upcoming = self.agenda.ahead(AHEAD)
            queued = set(self._to_make)
            self._to_make.extend(n for n in upcoming if n not in self._ready and n not in queued)
            self._work_soon()

    def _send(self, number: int, due_ns: int) -> None:
        try:
            request, payload = self._request(number, due_ns)
        except Exception as error:  # the request cannot be built: the load cannot run
            self._failure = error
            self.stop()
            return
        exchange = self._exchange(request, payload)
        self._flown(exchange)
        self.plan.transports[request.replica].send(exchange)
        self._prepare_follower(exchange)

    def _exchange(self, request: Request, payload: Any) -> Exchange:
        exchange = Exchange(request, payload, self.plan.room, self._on_end)
        exchange.back = self._on_back
        exchange.number, exchange.due_ns, exchange.replica = request.number, request.due_ns, request.replica
        return exchange

    def _prepare_follower(self, exchange: Exchange) -> None:
        armed = 0
        while exchange.next is not None:
            exchange, armed = exchange.next, armed + 1
        if armed > min(MAX_ARMED - 1, ARMED_NS // self._lasts_ns):
            return
        following = self.agenda.next_of(exchange.number)
        if following >= 0 and self._session[following] < 0:
            if self._arms and self._t0 != NEVER and self.agenda.sole_follower(exchange.number) == following:
                self._to_arm[following] = exchange
            self._to_make.append(following)
            self._work_soon()

    def _arm(self, predecessor: Exchange, number: int, prepared: Made) -> bool:
        """Let the core send a request when its predecessor has ended. False: it already has."""
        if not predecessor.live or self._stopped:
            return False
        replica = self._choose(number)
        transport = self.plan.transports[replica]
        exchange = self._exchange(Request(number, 0, WARM_UP, replica, prepared), transport.payload(prepared))
        self._handed[number] = 1
        predecessor.next, self._armed[exchange] = exchange, predecessor
        transport.arm(predecessor, exchange, self.agenda.after(number, 0))
        self._prepare_follower(self._first_of(predecessor))
        return True

    def _first_of(self, exchange: Exchange) -> Exchange:
        """The request in flight at the head of a chain of armed ones."""
        while (predecessor := self._armed.get(exchange)) is not None and exchange not in self._flying:
            exchange = predecessor
        return exchange

    def _on_back(self, exchange: Exchange) -> None:
        """The core did not send it: its predecessor failed or ended late, or the load was stopped before it was due."""
        if exchange in self._flying:
            self._landed(exchange)
            self.window.due -= 1
        predecessor = self._armed.pop(exchange, None)
        self._handed[exchange.number] = 0
        if predecessor is None:
            if exchange.due_ns <= monotonic_ns():
                self.window.due += 1
                self._unsent(exchange.number, exchange.due_ns)
            return
        prepared = exchange.request.made
        self._ready[exchange.number] = prepared
        self._ready_bytes += prepared.size
        predecessor.next = None
        if not predecessor.live and not predecessor.returned:
            self._follow_soon(predecessor)

    def _request(self, number: int, due_ns: int) -> tuple[Request, Any]:
        prepared = self._ready.pop(number, None)
        if prepared is None:
            prepared = self._make(number)
        else:
            self._ready_bytes -= prepared.size
        if self._core is None:
            self._noted[number] = due_ns
        replica = self._choose(number)
        request = Request(number, due_ns, self._phase_of(number, due_ns), replica, prepared)
        return request, self.plan.transports[replica].payload(prepared)

    # ---- ended requests

    def _on_end(self, exchange: Exchange) -> None:
        """A request has ended: send its followers first, parse its answer later.

        Followers wait until all sockets ready in the same poll have been timestamped: a send takes as long as many reads.
        """
        if exchange not in self._flying:  # the core sent it, and it failed before its predecessor's end was reported
            self._flown(exchange)
        self._landed(exchange)
        self._is_alive(exchange)
        if exchange.sent_ns is not None:
            self._lasts_ns += (max(1, exchange.done_ns - exchange.sent_ns) - self._lasts_ns) // 8
        if self._armed.pop(exchange, None) is not None:
            request = exchange.request
            request.due_ns = exchange.due_ns
            request.phase = self._phase_of(request.number, request.due_ns)
        if self._cold_ended is not None:
            self._cold_ended.set()
        elif exchange.next is not None:
            self._next_is_under_way(exchange.next)
        elif not self._stopped:
            self._follow_soon(exchange)
        self._ended.append(exchange)
        self._ended_bytes += self.plan.room - exchange.room
        if self._ended_bytes > MAX_WAITING_BYTES:
            self._catch_up()
        self._work_soon()
        if not self._flying:
            self._look_for_the_end()

    def _is_alive(self, exchange: Exchange) -> None:
        """End the load if the target is dead: thousands of refusals say no more than a few."""
        if exchange.ns or exchange.answer is not None:
            self._life.heard()
        elif (
            exchange.ended in ("refused", "closed") and self._life.refuse(exchange.seen_ns) and self._failure is None and not self._stopped
        ):
            self._failure = WorkloadError(
                f"the target sent nothing for {self.plan.dead_after_s:g} s: {self._life.refused} requests in a row failed, the last with "
                f'"{exchange.why}". Start the server, or check its address; serving.client.dead_after_s sets the time limit'
            )
            self.loop.call_soon(self.stop)

    def _give_up_if_refused(self) -> None:
        """End the load if all that was answered so far are the same refusals."""
        if self.gave_up is not None and self._failure is None and not self._stopped:
            self._failure = WorkloadError(f"every request was refused: {self.gave_up.words}")
            self.loop.call_soon(self.stop)

    def _next_is_under_way(self, exchange: Exchange) -> None:
        if exchange.live and exchange not in self._flying:
            self._flown(exchange)
            self._prepare_follower(exchange)

    def _follow_soon(self, exchange: Exchange) -> None:
        if not self._following:
            self.loop.call_soon(self._follow_all)
        self._following.append((exchange, exchange.number))

    def _catch_up(self) -> None:
        """Parse all waiting replies; the core sends no followers meanwhile."""
        if self._core is not None:
            self._core.hold(True)
        self._settle_all()
        if self._core is not None:
            self._core.hold(False)

    def _follow_all(self) -> None:
        stop = monotonic_ns() + self._follow_ns
        while self._following:
            exchange, number = self._following.popleft()
            if not self._stopped:
                self._follow(exchange, number)
            if self._following and monotonic_ns() >= stop:
                self.loop.call_soon(self._follow_all)
                return
        if not self._flying:
            self._look_for_the_end()

    def _follow(self, exchange: Exchange, number: int) -> None:
        pause_ns = self._pause_ns(exchange, number)
        for follower in self.agenda.followers(number):
            due = self.agenda.after(follower, exchange.done_ns) + pause_ns
            if exchange.ended == "refused" and exchange.seen_ns + REFUSED_PAUSE_NS > due:
                due = exchange.seen_ns + REFUSED_PAUSE_NS
            if due >= self.agenda.end_ns:
                continue
            if self._session[number] >= 0 and self._session[follower] == self._session[number]:
                self._settle(exchange)  # its text is part of the next turn
            if due <= monotonic_ns() + self._lead_ns and not self._firing:
                self._send(follower, due)
            elif self.agenda.put_off(follower, due) and not self._firing:
                self._schedule()

    def _pause_ns(self, exchange: Exchange, number: int) -> int:
        head = exchange.head
        stream = self._stream[number] if self._stream[number] >= 0 else ~self._session[number]
        status, retry_after = (None, "") if head is None else (head.status, head.headers.get("retry-after", ""))
        return self._pauses.pause_ns(stream, status, retry_after, time())

    # ---- background work

    def _work_soon(self) -> None:
        if not self._working:
            self._working = True
            self.loop.call_soon(self._work)

    def _work(self) -> None:
        """One slice of deferrable work: bodies first, because they have a deadline, then answers."""
        ended = self._ended
        waiting = max(len(ended), self._ended_bytes // REPLY_BYTES) - self._wave
        stop = monotonic_ns() + self._slice_ns + max(0, waiting) * SLICE_PER_REPLY_NS
        self._make_ahead(stop)
        while self.log.pending and monotonic_ns() < stop:
            self.log.advance()
        while ended:
            self._settle(ended.popleft())
            if monotonic_ns() >= stop:
                break
        self._give_up_if_refused()
        self._working = bool(self._ended or self.log.pending or (self._to_make and self._ready_bytes < AHEAD_BYTES))
        if self._working:
            self.loop.call_soon(self._work)

    def _make_ahead(self, stop_ns: int) -> None:
        while self._to_make and self._ready_bytes < AHEAD_BYTES:
            number = self._to_make.popleft()
            predecessor = self._to_arm.pop(number, None)
            prepared = self._ready.pop(number, None)
            if prepared is not None:
                self._ready_bytes -= prepared.size
            elif self._handed[number]:
                continue
            else:
                try:
                    prepared = self._make(number)
                except Exception:  # reported when the request is due
                    continue
            if predecessor is not None and self._arm(predecessor, number, prepared):
                continue
            self._ready[number] = prepared
            self._ready_bytes += prepared.size
            if monotonic_ns() >= stop_ns:
                return

    # ---- end of the load

    async def _sweep(self, pause_s: float = SWEEP_S) -> None:
        """Time out requests that take too long."""
        while True:
            await asyncio.sleep(pause_s)
            now = monotonic_ns()
            self._time_out(now)
            if self._t0 != NEVER and self._over_ns is None and not self._following and not self.agenda.pending():
                if not self._leading:
                    self._over_ns = now
                elif now >= self.agenda.end_ns:
                    self._over_ns = self.agenda.end_ns
            if self._over_ns is not None and now >= self._over_ns + self.plan.drain_ns:
                self._drained()

    def _drained(self) -> None:
        reason = f"not finished {self.plan.drain_ns / NS:g} s after the last request was due"
        for exchange in list(self._flying):
            if exchange.connection is not None:
                exchange.connection.refresh(exchange)
            if exchange.sent_ns is None:
                self._abandon(exchange, "cancelled", "no connection became free for it")
            else:
                self._abandon(exchange, "timeout", reason)
        self._finished.set()

    def _look_for_the_end(self) -> None:
        if self._t0 != NEVER and not self._flying and not self._following and not self.agenda.pending():
            self._finished.set()
