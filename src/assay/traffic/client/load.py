"""How are requests sent when they are due, and each accounted for exactly once?

Where the compiled core is built (`assay.traffic.wire.compiled`), requests are handed over ahead of their time, what follows another as
soon as
its body is made, and nothing that is done here delays a send or a stamp.  Else the loop's turn has an order: what came in is stamped
and put aside; what is due goes out; only then, and for less than a millisecond at a time, finished answers are parsed and written
down and the next bodies made.  Memory holds what is in flight, what waits to be parsed (bounded), and some bodies made ahead.

Nothing becomes due after the load's end.  What is under way is then waited for, for at most `drain_s`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic_ns, time
from typing import Any, Final

from assay.errors import WorkloadError
from assay.traffic.client.accounting import WARM_UP
from assay.traffic.client.back_off import Life, Pauses
from assay.traffic.client.due import NEVER
from assay.traffic.client.log import RequestLog
from assay.traffic.client.plan import NS, Made, Plan, Request
from assay.traffic.client.timer import Timer
from assay.traffic.client.under_way import UnderWay
from assay.traffic.wire.response import Exchange

SLICE_NS: Final = 50_000  # of parsing and preparing, before sockets are looked at again
SEND_SLICE_NS: Final = 500_000  # of sending what is due, likewise
FOLLOW_SLICE_NS: Final = 150_000  # of sending what follows something, where that would hold up the stamps of others
FOLLOW_SLICE_STAMPED_NS: Final = 20_000_000  # ... where the kernel stamps: nothing waits but what is to be sent
AWAKE_NS: Final = 150_000  # there the timer wakes up so much before a request is due
SLICE_PER_REPLY_NS: Final = 2000  # so much longer for every reply beyond a wave: the parsing keeps up, without a long halt
REPLY_BYTES: Final = 1 << 14  # ... a long reply counts as several of so many bytes
MOST_WAITING_BYTES: Final = 1 << 27  # of replies that wait to be parsed; beyond it, all of them are
AHEAD: Final = 256  # bodies of an open loop that are made ahead
AHEAD_BYTES: Final = 32 << 20
REFUSED_PAUSE_NS: Final = 100_000_000  # before what follows a refused request: a dead replica must not be hammered
SWEEP_S: Final = 0.02
LEAD_NS: Final = 200_000_000  # the core is given a request so much before it is due
ARMED_NS: Final = 300_000_000  # and what follows others for so long ahead: a busy machine may keep this process waiting
MOST_ARMED: Final = 16  # requests of a stream
CORE_SLICE_NS: Final = 2_000_000  # of parsing and preparing, where nothing waits for it


class Load(UnderWay):
    """One client's part of a load."""

    def __init__(self, plan: Plan, log: RequestLog, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(plan, log)
        self.loop = loop
        self.state = "loading"
        self._ready: dict[int, Made] = {}  # made ahead
        self._ready_bytes = 0
        self._to_make: deque[int] = deque()
        self._core = plan.core
        fixed = plan.balance != "least_in_flight" or len(plan.transports) == 1  # the replica is known beforehand
        self._arms = plan.core is not None and fixed
        self._lead_ns = LEAD_NS if self._arms else 0
        self._to_arm: dict[int, Exchange] = {}  # by number, what it follows
        self._armed: dict[Exchange, Exchange] = {}  # -> what it follows
        self._pauses, self._life = Pauses(plan.first_pause_s, plan.most_pause_s), Life(plan.dead_after_s)
        self._lasts_ns = ARMED_NS  # about how long a request takes
        self._following: deque[tuple[Exchange, int]] = deque()  # ended, and what follows them is not sent yet
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

    # ---- from begin to end

    def prepare(self, seconds: float) -> None:
        """Make the first bodies, for at most so long."""
        self._to_make.extend(self.agenda.cold[:1] or ())
        self._to_make.extend(self.agenda.first(AHEAD))
        self._make_ahead(monotonic_ns() + int(seconds * NS))

    async def cold(self) -> None:
        """Send the cold requests, each when the one before it has ended."""
        sweeping = self.loop.create_task(self._sweep())
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
        sweeping.cancel()
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
        sweeping = self.loop.create_task(self._sweep())
        self._look_for_the_end()
        try:
            await self._finished.wait()
        finally:
            sweeping.cancel()
            self._timer.close()
        if self._failure is not None:
            raise self._failure

    def finish(self) -> None:
        """Write down all that has ended."""
        self._settle_all()
        self.log.flush()

    def hand_over(self) -> None:
        """Let what has been written down so far leave this process soon."""
        self.log.cut()
        self._work_soon()

    def stop(self) -> None:
        """Send nothing more; what is in flight is cancelled."""
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
        """Let what follows something that has ended be due: its turn to be sent had not come."""
        while self._following:
            exchange, number = self._following.popleft()
            for after in self.agenda.followers(number):
                self.agenda.put_off(after, self.agenda.after(after, exchange.done_ns))

    def _never_sent(self, now: int) -> None:
        """Account for what is due and was not sent yet: a client that was late when it was stopped hides nothing."""
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
        """Send what is due; if that takes long, look at the sockets in between."""
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
        """What is due by then is sent, or handed over to be; all that is due at the begin is, as soon as that is known."""
        return max(now + self._lead_ns, self._t0) if self._lead_ns else now

    def _refill(self) -> None:
        """Bodies of the requests that come next."""
        if len(self._ready) + len(self._to_make) < AHEAD // 2:
            wanted = self.agenda.ahead(AHEAD)
            known = set(self._to_make)
            self._to_make.extend(n for n in wanted if n not in self._ready and n not in known)
            self._work_soon()

    def _send(self, number: int, due_ns: int) -> None:
        try:
            request, payload = self._request(number, due_ns)
        except Exception as error:  # what is to be sent cannot be made: no load can be run
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
        if armed > min(MOST_ARMED - 1, ARMED_NS // self._lasts_ns):
            return
        following = self.agenda.next_of(exchange.number)
        if following >= 0 and self._session[following] < 0:
            if self._arms and self._t0 != NEVER and self.agenda.sole_follower(exchange.number) == following:
                self._to_arm[following] = exchange
            self._to_make.append(following)
            self._work_soon()

    def _arm(self, before: Exchange, number: int, made: Made) -> bool:
        """Let the core send a request when the one that it follows has ended. False: that has ended already."""
        if not before.live or self._stopped:
            return False
        replica = self._choose(number)
        way = self.plan.transports[replica]
        exchange = self._exchange(Request(number, 0, WARM_UP, replica, made), way.payload(made))
        self._handed[number] = 1
        before.next, self._armed[exchange] = exchange, before
        way.arm(before, exchange, self.agenda.after(number, 0))
        self._prepare_follower(self._first_of(before))
        return True

    def _first_of(self, exchange: Exchange) -> Exchange:
        """The one under way that a chain of armed ones begins with."""
        while (before := self._armed.get(exchange)) is not None and exchange not in self._flying:
            exchange = before
        return exchange

    def _on_back(self, exchange: Exchange) -> None:
        """The core did not send it: what it followed ended badly or late, or the load was stopped before it was due."""
        if exchange in self._flying:
            self._landed(exchange)
            self.window.due -= 1
        before = self._armed.pop(exchange, None)
        self._handed[exchange.number] = 0
        if before is None:
            if exchange.due_ns <= monotonic_ns():
                self.window.due += 1
                self._unsent(exchange.number, exchange.due_ns)
            return
        made = exchange.request.made
        self._ready[exchange.number] = made
        self._ready_bytes += made.size
        before.next = None
        if not before.live and not before.returned:
            self._follow_soon(before)

    def _request(self, number: int, due_ns: int) -> tuple[Request, Any]:
        made = self._ready.pop(number, None)
        if made is None:
            made = self._make(number)
        else:
            self._ready_bytes -= made.size
        if self._core is None:
            self._noted[number] = due_ns
        replica = self._choose(number)
        request = Request(number, due_ns, self._phase_of(number, due_ns), replica, made)
        return request, self.plan.transports[replica].payload(made)

    # ---- what has ended

    def _on_end(self, exchange: Exchange) -> None:
        """A request has ended: what follows it comes first, its answer later.

        Not before the other sockets that were ready at the same look have their times: sending takes as long as many reads.
        """
        if exchange not in self._flying:  # the core sent it, and it failed before anything was told of what it followed
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
        if self._ended_bytes > MOST_WAITING_BYTES:
            self._catch_up()
        self._work_soon()
        if not self._flying:
            self._look_for_the_end()

    def _is_alive(self, exchange: Exchange) -> None:
        """End the load where the target is dead: thousands of refusals tell no more than some."""
        if exchange.ns or exchange.answer is not None:
            self._life.heard()
        elif (
            exchange.ended in ("refused", "closed") and self._life.refuse(exchange.seen_ns) and self._failure is None and not self._stopped
        ):
            self._failure = WorkloadError(
                f"nothing was heard of the target for {self.plan.dead_after_s:g} s: {self._life.refused} requests in a row failed, the last with "
                f'"{exchange.why}". Start it, or look at its address; serving.client.dead_after_s is how long it is waited for'
            )
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
        """Parse all that waits for it; nothing is asked for meanwhile."""
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
        for after in self.agenda.followers(number):
            due = self.agenda.after(after, exchange.done_ns) + pause_ns
            if exchange.ended == "refused" and exchange.seen_ns + REFUSED_PAUSE_NS > due:
                due = exchange.seen_ns + REFUSED_PAUSE_NS
            if due >= self.agenda.end_ns:
                continue
            if self._session[number] >= 0 and self._session[after] == self._session[number]:
                self._settle(exchange)  # its text is part of the next turn
            if due <= monotonic_ns() + self._lead_ns and not self._firing:
                self._send(after, due)
            elif self.agenda.put_off(after, due) and not self._firing:
                self._schedule()

    def _pause_ns(self, exchange: Exchange, number: int) -> int:
        head = exchange.head
        stream = self._stream[number] if self._stream[number] >= 0 else ~self._session[number]
        status, retry_after = (None, "") if head is None else (head.status, head.headers.get("retry-after", ""))
        return self._pauses.pause_ns(stream, status, retry_after, time())

    # ---- in between

    def _work_soon(self) -> None:
        if not self._working:
            self._working = True
            self.loop.call_soon(self._work)

    def _work(self) -> None:
        """A slice of what can wait: bodies first, for they will be needed at a time, then answers."""
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
        self._working = bool(self._ended or self.log.pending or (self._to_make and self._ready_bytes < AHEAD_BYTES))
        if self._working:
            self.loop.call_soon(self._work)

    def _make_ahead(self, stop_ns: int) -> None:
        while self._to_make and self._ready_bytes < AHEAD_BYTES:
            number = self._to_make.popleft()
            before = self._to_arm.pop(number, None)
            made = self._ready.pop(number, None)
            if made is not None:
                self._ready_bytes -= made.size
            elif self._handed[number]:
                continue
            else:
                try:
                    made = self._make(number)
                except Exception:  # it will be told of when the request is due
                    continue
            if before is not None and self._arm(before, number, made):
                continue
            self._ready[number] = made
            self._ready_bytes += made.size
            if monotonic_ns() >= stop_ns:
                return

    # ---- ends

    async def _sweep(self, pause_s: float = SWEEP_S) -> None:
        """End what takes too long."""
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
        why = f"not finished {self.plan.drain_ns / NS:g} s after the last request was due"
        for exchange in list(self._flying):
            if exchange.connection is not None:
                exchange.connection.refresh(exchange)
            if exchange.sent_ns is None:
                self._abandon(exchange, "cancelled", "no connection became free for it")
            else:
                self._abandon(exchange, "timeout", why)
        self._finished.set()

    def _look_for_the_end(self) -> None:
        if self._t0 != NEVER and not self._flying and not self._following and not self.agenda.pending():
            self._finished.set()
