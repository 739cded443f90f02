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
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic_ns, time
from typing import Any, Final, Protocol

from assay.errors import WorkloadError
from assay.traffic.arrivals.schedule import Schedule
from assay.traffic.client.back_off import Life, Pauses
from assay.traffic.client.due import NEVER, Agenda
from assay.traffic.client.log import RequestLog, Row, Times, times_of
from assay.traffic.client.timer import Timer
from assay.traffic.client.window import Window
from assay.traffic.parts import Answer, Ask, Ended, Json, Prompt, Reply, Wire
from assay.traffic.replies.events import status_of
from assay.traffic.replies.openai_json import limits_told, model_told
from assay.traffic.wire.compiled import Core
from assay.traffic.wire.response import Exchange

NS: Final = 1_000_000_000
MODEL_WITHIN: Final = 1024  # bytes of an answer
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
COLD, WARM_UP, MAIN = range(3)


@dataclass(slots=True)
class Made:
    """A request's content."""

    prompt: Prompt
    ask: Ask
    wire: Wire | None  # None: there is no server

    @property
    def size(self) -> int:
        """Bytes of the body."""
        return 0 if self.wire is None else len(self.wire.body)


class Transport(Protocol):
    """The way to one replica."""

    def send(self, exchange: Exchange) -> None:
        """Send the request now, or as soon as it can be."""

    def payload(self, made: Made) -> Any:
        """What will be sent, as the transport has it."""

    def arm(self, before: Exchange, exchange: Exchange, pause_ns: int) -> None:
        """Let a request follow another that is under way; only where there is a core."""


@dataclass(kw_only=True)
class Plan:
    """What a load needs to know. Times in ns."""

    schedule: Schedule
    agenda: Agenda
    make: Callable[[int, Sequence[Json]], Made]  # request, history -> its content
    after: Callable[[Prompt, str | None], Sequence[Json]]  # a turn and its answer -> the history for the next
    read: Callable[[Reply, Ask], Answer]
    transports: Sequence[Transport]  # one per replica
    balance: str = "round_robin"
    warm_up_ns: int = 0
    lasts_ns: int = 0  # warm-up included
    drain_ns: int = 0
    timeout_ns: int = NEVER
    first_byte_ns: int | None = None
    room: int = 1 << 26  # bytes of the largest answer
    client: int = 0
    stamped: bool = False  # the kernel says when a read's last bytes came, however late it is read
    noted: memoryview | None = None  # a place for the due time of each request, which outlives the process
    first_pause_s: float = 0.25  # of a stream behind 429 or 503 without Retry-After
    most_pause_s: float = 60.0
    dead_after_s: float | None = None  # None: a target that refuses everything is not given up
    core: Core | None = None  # what sends and stamps below the interpreter; it writes to `noted` itself


class Request:
    """A request that became due."""

    __slots__ = ("due_ns", "made", "number", "phase", "replica")

    def __init__(self, number: int, due_ns: int, phase: int, replica: int, made: Made) -> None:
        self.number, self.due_ns, self.phase, self.replica, self.made = number, due_ns, phase, replica, made


class Load:
    """One client's part of a load."""

    def __init__(self, plan: Plan, log: RequestLog, loop: asyncio.AbstractEventLoop) -> None:
        self.plan, self.log, self.loop = plan, log, loop
        self.window = Window()
        self.agenda = plan.agenda
        self.state = "loading"
        schedule = plan.schedule
        self._phase, self._kind = memoryview(schedule.phase), memoryview(schedule.kind)  # type: ignore[arg-type]
        self._stream, self._session = memoryview(schedule.stream), memoryview(schedule.session)  # type: ignore[arg-type]
        self._turn, self._replica = memoryview(schedule.turn), memoryview(schedule.replica)  # type: ignore[arg-type]
        self._due = memoryview(schedule.due_ns)  # type: ignore[arg-type]
        self._ready: dict[int, Made] = {}  # made ahead
        self._ready_bytes = 0
        self._to_make: deque[int] = deque()
        # when it became due, 0: not yet
        self._noted = plan.noted if plan.noted is not None else memoryview(array("q", bytes(8 * len(schedule))))
        self._handed = bytearray(len(schedule))  # whether it was sent, or handed over to be
        self._core = plan.core
        fixed = plan.balance != "least_in_flight" or len(plan.transports) == 1  # the replica is known beforehand
        self._arms = plan.core is not None and fixed
        self._lead_ns = LEAD_NS if self._arms else 0
        self._to_arm: dict[int, Exchange] = {}  # by number, what it follows
        self._armed: dict[Exchange, Exchange] = {}  # -> what it follows
        self._pauses, self._life = Pauses(plan.first_pause_s, plan.most_pause_s), Life(plan.dead_after_s)
        self._lasts_ns = ARMED_NS  # about how long a request takes
        self._following: deque[tuple[Exchange, int]] = deque()  # ended, and what follows them is not sent yet
        self._ended: deque[Exchange] = deque()  # to be parsed
        self._ended_bytes = 0
        self._flying: dict[Exchange, int] = {}  # -> when it was handed over
        self._wave = 0  # most that were in flight: so many may end at once
        self._busy = [0] * len(plan.transports)  # in flight, per replica
        self._turns = plan.client  # round robin
        self._history: dict[int, Sequence[Json]] = {}
        self._working = False
        self._firing = False
        self._stopped = False
        self._t0 = NEVER
        self._leading = 0  # in flight, and followed by something
        self._over_ns: int | None = None  # since when nothing more can become due
        self._failure: Exception | None = None
        self._finished = asyncio.Event()
        self._cold_ended: asyncio.Event | None = None
        self._timer = Timer(loop, self._fire, AWAKE_NS if plan.stamped and plan.core is None else 0)
        self._slice_ns = SLICE_NS if plan.core is None else CORE_SLICE_NS
        self._follow_ns = FOLLOW_SLICE_STAMPED_NS if plan.stamped else FOLLOW_SLICE_NS

    # ---- from begin to end

    @property
    def in_flight(self) -> int:
        """Requests that were handed over and have not ended."""
        return len(self._flying)

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
        while (found := self.agenda.pop(now)) is not None:
            number, due_ns = found
            self.window.due += 1
            self._unsent(number, due_ns)

    def _unsent(self, number: int, due_ns: int) -> None:
        """Write down what was due and is not sent any more."""
        self._noted[number] = due_ns
        row = Row(
            request=number,
            phase=self._phase_of(number, due_ns),
            kind=self._kind[number],
            stream=self._stream[number],
            session=self._session[number],
            turn=self._turn[number],
            scheduled_ns=due_ns,
        )
        self.log.add(row, Answer(status="unsent", error="the load was stopped before it was sent"), Times())
        self.window.done += 1
        self.window.failed["unsent"] += 1

    def _give_up(self, ended: Ended, why: str) -> None:
        for exchange in list(self._flying):
            self._abandon(exchange, ended, why)

    def _abandon(self, exchange: Exchange, ended: Ended, why: str) -> None:
        if exchange.connection is not None:
            exchange.connection.give_up(exchange, ended, why)
        exchange.finish(ended, why)

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
        while (found := self.agenda.pop(self._horizon(now))) is not None:
            self._send(*found)
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

    def _flown(self, exchange: Exchange) -> None:
        """It is under way, or is handed over to be."""
        number = exchange.number
        self._flying[exchange] = monotonic_ns()
        if len(self._flying) > self._wave:
            self._wave = len(self._flying)
        self._busy[exchange.replica] += 1
        self._handed[number] = 1
        self.window.due += 1
        if self.agenda.next_of(number) >= 0:
            self._leading += 1

    def _landed(self, exchange: Exchange) -> None:
        del self._flying[exchange]
        self._busy[exchange.replica] -= 1
        if self.agenda.next_of(exchange.number) >= 0:
            self._leading -= 1

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

    def _phase_of(self, number: int, due_ns: int) -> int:
        phase: int = self._phase[number]
        if phase != COLD and (self._stream[number] >= 0 or self._due[number] < 0):
            return WARM_UP if due_ns < self._t0 + self.plan.warm_up_ns else MAIN
        return phase

    def _choose(self, number: int) -> int:
        """The replica that a request goes to."""
        fixed = self._replica[number]
        count = len(self._busy)
        if fixed >= 0:
            return int(fixed) % count
        if count == 1:
            return 0
        balance = self.plan.balance
        if balance == "session" and self._session[number] >= 0:
            return int(self._session[number]) % count
        self._turns = (self._turns + 1) % count
        if balance == "least_in_flight":
            turn = self._turns
            return min(range(count), key=lambda one: (self._busy[one], (one - turn) % count))
        return self._turns

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
        status, told = (None, "") if head is None else (head.status, head.headers.get("retry-after", ""))
        return self._pauses.pause_ns(stream, status, told, time())

    def _settle_all(self) -> None:
        while self._ended:
            self._settle(self._ended.popleft())

    def _settle(self, exchange: Exchange) -> None:
        """Read an answer and write the request down. Once, however often it is called."""
        request = exchange.request
        if request is None:
            return
        exchange.request = None
        self._ended_bytes -= self.plan.room - exchange.room
        first_byte_ns = exchange.ns[0] if exchange.ns else None
        answer, http_status, size = self._answer(exchange, request)
        times = times_of(answer)
        number = request.number
        row = Row(
            request=number,
            phase=request.phase,
            kind=self._kind[number],
            stream=self._stream[number],
            session=self._session[number],
            turn=self._turn[number],
            replica=exchange.replica,
            transport="empty" if exchange.sent_ns is None else exchange.transport,
            scheduled_ns=request.due_ns,
            sent_ns=exchange.sent_ns,
            connect_ns=exchange.connect_ns,
            first_byte_ns=first_byte_ns,
            done_ns=exchange.done_ns,
            http_status=http_status,
            bytes_out=request.made.size,
            bytes_in=size,
        )
        self.log.add(row, answer, times)
        self._count(request, exchange, answer, times.first_token_ns, times.last_token_ns)
        if self._session[number] >= 0:
            self._remember(number, request.made.prompt, answer.text if answer.status == "ok" else None)

    def _answer(self, exchange: Exchange, request: Request) -> tuple[Answer, int | None, int]:
        if exchange.answer is not None:
            return exchange.answer, None, 0
        if exchange.sent_ns is None and exchange.ended not in ("refused", "timeout", "closed"):
            why = exchange.why if exchange.ended == "cancelled" else "no connection became free for it"
            return Answer(status="unsent", error=why or None), None, 0
        reply = exchange.reply()
        if not (self.window.ok or self.window.limits):
            self.window.limits = limits_told(reply.headers)
        if (coding := reply.headers.get("content-encoding", "identity").strip().lower()) not in ("", "identity"):
            why = f"the server compressed its answer ({coding[:40]}) though it was asked not to: its tokens have no times of their own"
            return Answer(status=status_of(reply) or "malformed", error=why), reply.http_status, reply.size
        begin = reply.begin(MODEL_WITHIN)
        try:
            answer = self.plan.read(reply, request.made.ask)
        except Exception as error:  # a dialect must not end the load, whatever a server sent it
            answer = Answer(status="malformed", error=f"the answer could not be read: {type(error).__name__}: {error}")
        if answer.status == "ok":
            self.window.answered_by(model_told(begin))
        return answer, reply.http_status, reply.size

    def _count(self, request: Request, exchange: Exchange, answer: Answer, first_ns: int | None, last_ns: int | None) -> None:
        window = self.window
        window.done += 1
        if exchange.sent_ns is not None:
            window.sent += 1
        if answer.status != "ok":
            window.failed[answer.status] += 1
            window.error = answer.error
            return
        window.ok += 1
        tokens = answer.tokens_out if answer.tokens_out is not None else sum(1 for chars in answer.chunk_chars if chars)
        window.take(
            due_ns=request.due_ns,
            sent_ns=exchange.sent_ns or 0,
            first_ns=first_ns,
            last_ns=last_ns,
            tokens=tokens,
            closed=self._stream[request.number] >= 0,
        )

    def _remember(self, number: int, prompt: Prompt, said: str | None) -> None:
        """Keep a conversation for its next turn, and no longer."""
        session = int(self._session[number])
        if self.agenda.has_later_turn(number):
            self._history[session] = self.plan.after(prompt, said)
        else:
            self._history.pop(session, None)

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

    def _make(self, number: int) -> Made:
        session = self._session[number]
        history = self._history.get(int(session), ()) if session >= 0 else ()
        return self.plan.make(number, history)

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

    def _time_out(self, now: int) -> None:
        plan = self.plan
        limit = plan.timeout_ns if plan.first_byte_ns is None else min(plan.timeout_ns, plan.first_byte_ns)
        late: list[tuple[Exchange, str]] = []
        for exchange, handed_ns in self._flying.items():
            if handed_ns + limit > now:
                break
            if exchange.connection is not None:
                exchange.connection.refresh(exchange)
            sent = exchange.sent_ns
            if sent is None:
                continue
            if sent + plan.timeout_ns <= now:
                late.append((exchange, f"not finished in {plan.timeout_ns / NS:g} s"))
            elif plan.first_byte_ns is not None and not (exchange.ns or exchange.heard) and sent + plan.first_byte_ns <= now:
                late.append((exchange, f"nothing was said in {plan.first_byte_ns / NS:g} s"))
        for exchange, why in late:
            self._abandon(exchange, "timeout", why)

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
