"""How is every request recorded exactly once, whether answered, failed or never sent?

An answer is parsed after its end, in slices while nothing is due, or at once if a follow-up request contains its text.

How is a client doing right now?

Percentiles over its latest requests: for the live view, never for a result.

Which requests are in flight, on which replica, and which have timed out?
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Sequence
from http import HTTPStatus
from time import monotonic_ns
from typing import Any, Final

from fireassay.traffic.client.due import NEVER
from fireassay.traffic.client.log import LogRow, RequestLog, Times, times_of
from fireassay.traffic.client.plan import NS, Made, Plan, Request
from fireassay.traffic.client.refusals import NO_SERVER, UNREADABLE, Refusals, Refused
from fireassay.traffic.client.sent_digest import SentDigest
from fireassay.traffic.parts import Answer, Ended, Json, Prompt
from fireassay.traffic.replies.openai_json import model_named, rate_limits, status_of
from fireassay.traffic.wire.response import Exchange

RECENT: Final = 512  # requests
MAX_MODELS: Final = 16
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
            self.models[model if model in self.models or len(self.models) < MAX_MODELS else MORE_MODELS] += 1

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


MODEL_WITHIN: Final = 1024  # first bytes of an answer searched for the model's name
COLD, WARM_UP, MAIN = range(3)


def _refusal(exchange: Exchange, answer: Answer) -> int | None:
    """The status with which a failed request was refused; None: by none, such as one that was cancelled."""
    status = None if exchange.head is None else exchange.head.status
    if exchange.ended == "refused" or (exchange.ended == "closed" and status is None):
        return NO_SERVER
    return status if status is not None and (status >= HTTPStatus.BAD_REQUEST or answer.status in UNREADABLE) else None


class Accounting:
    """Finished requests and what is kept of them: rows, counts, conversations."""

    def __init__(self, plan: Plan, log: RequestLog) -> None:
        self.plan, self.log, self.agenda = plan, log, plan.agenda
        self.window = Window()
        self.sent_digest = SentDigest(plan.schedule)
        self._refusals = Refusals(plan.give_up_after)
        self.gave_up: Refused | None = None
        schedule = plan.schedule
        self._phase, self._kind = memoryview(schedule.phase), memoryview(schedule.kind)  # type: ignore[arg-type]
        self._stream, self._session = memoryview(schedule.stream), memoryview(schedule.session)  # type: ignore[arg-type]
        self._turn, self._due = memoryview(schedule.turn), memoryview(schedule.due_ns)  # type: ignore[arg-type]
        # due time of each request; 0: not due yet
        self._noted = plan.noted if plan.noted is not None else memoryview(array("q", bytes(8 * len(schedule))))
        self._ended: deque[Exchange] = deque()  # to parse
        self._ended_bytes = 0
        self._history: dict[int, Sequence[Json]] = {}
        self._t0 = NEVER

    def _unsent(self, number: int, due_ns: int) -> None:
        """Record a request that was due and will not be sent."""
        self._noted[number] = due_ns
        row = LogRow(
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

    def _phase_of(self, number: int, due_ns: int) -> int:
        phase: int = self._phase[number]
        if phase != COLD and (self._stream[number] >= 0 or self._due[number] < 0):
            return WARM_UP if due_ns < self._t0 + self.plan.warm_up_ns else MAIN
        return phase

    def _settle_all(self) -> None:
        while self._ended:
            self._settle(self._ended.popleft())

    def _settle(self, exchange: Exchange) -> None:
        """Parse an answer and record its request. Idempotent."""
        request = exchange.request
        if request is None:
            return
        exchange.request = None
        self._ended_bytes -= self.plan.room - exchange.room
        first_byte_ns = exchange.ns[0] if exchange.ns else None
        answer, http_status, size = self._answer(exchange, request)
        times = times_of(answer)
        number = request.number
        row = LogRow(
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
        if exchange.sent_ns is not None:
            self.sent_digest.add(number, request.due_ns - self._t0, request.made.wire)
        self._count(request, exchange, answer, times.first_token_ns, times.last_token_ns)
        if self._session[number] >= 0:
            self._remember(number, request.made.prompt, answer.text if answer.status == "ok" else None)

    def _answer(self, exchange: Exchange, request: Request) -> tuple[Answer, int | None, int]:
        if exchange.answer is not None:
            return exchange.answer, None, 0
        if exchange.sent_ns is None and exchange.ended not in ("refused", "timeout", "closed"):
            reason = exchange.why if exchange.ended == "cancelled" else "no connection became free for it"
            return Answer(status="unsent", error=reason or None), None, 0
        reply = exchange.reply()
        if not (self.window.ok or self.window.limits):
            self.window.limits = rate_limits(reply.headers)
        if (coding := reply.headers.get("content-encoding", "identity").strip().lower()) not in ("", "identity"):
            reason = (
                f"the server compressed its answer ({coding[:40]}) despite accept-encoding: identity, so its tokens have no separate times"
            )
            return Answer(status=status_of(reply) or "malformed", error=reason), reply.http_status, reply.size
        begin = reply.begin(MODEL_WITHIN)
        try:
            answer = self.plan.read(reply, request.made.ask)
        except Exception as error:  # a dialect must not end the load, whatever the server sends
            answer = Answer(status="malformed", error=f"the answer could not be parsed: {type(error).__name__}: {error}")
        if answer.status == "ok":
            self.window.answered_by(model_named(begin))
        return answer, reply.http_status, reply.size

    def _count(self, request: Request, exchange: Exchange, answer: Answer, first_ns: int | None, last_ns: int | None) -> None:
        window = self.window
        window.done += 1
        if exchange.sent_ns is not None:
            window.sent += 1
        if answer.status != "ok":
            window.failed[answer.status] += 1
            window.error = answer.error
            self.gave_up = self.gave_up or self._refusals.refused(_refusal(exchange, answer), answer.error or "")
            return
        window.ok += 1
        self._refusals.answered()
        tokens = answer.tokens_out if answer.tokens_out is not None else sum(1 for chars in answer.chunk_chars if chars)
        window.take(
            due_ns=request.due_ns,
            sent_ns=exchange.sent_ns or 0,
            first_ns=first_ns,
            last_ns=last_ns,
            tokens=tokens,
            closed=self._stream[request.number] >= 0,
        )

    def _remember(self, number: int, prompt: Prompt, text: str | None) -> None:
        """Keep a conversation until its next turn."""
        session = int(self._session[number])
        if self.agenda.has_later_turn(number):
            self._history[session] = self.plan.after(prompt, text)
        else:
            self._history.pop(session, None)

    def _make(self, number: int) -> Made:
        session = self._session[number]
        history = self._history.get(int(session), ()) if session >= 0 else ()
        return self.plan.make(number, history)


class InFlight(Accounting):
    """Requests that were handed over and have not ended."""

    def __init__(self, plan: Plan, log: RequestLog) -> None:
        super().__init__(plan, log)
        self._replica = memoryview(plan.schedule.replica)  # type: ignore[arg-type]
        self._handed = bytearray(len(plan.schedule))  # whether it was sent or handed to the core
        self._flying: dict[Exchange, int] = {}  # -> when it was handed over
        self._wave = 0  # most in flight so far, all of which may end at once
        self._busy = [0] * len(plan.transports)  # in flight, per replica
        self._turns = plan.client  # round-robin position
        self._leading = 0  # in flight with a follower

    @property
    def in_flight(self) -> int:
        """Number of requests handed over that have not ended."""
        return len(self._flying)

    def _give_up(self, ended: Ended, reason: str) -> None:
        for exchange in list(self._flying):
            self._abandon(exchange, ended, reason)

    def _abandon(self, exchange: Exchange, ended: Ended, reason: str) -> None:
        if exchange.connection is not None:
            exchange.connection.give_up(exchange, ended, reason)
        exchange.finish(ended, reason)

    def _flown(self, exchange: Exchange) -> None:
        """Count a request as in flight, or handed to the core."""
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

    def _choose(self, number: int) -> int:
        """Choose the replica for a request."""
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
            return min(range(count), key=lambda replica: (self._busy[replica], (replica - turn) % count))
        return self._turns

    def _time_out(self, now: int) -> None:
        plan = self.plan
        limit = plan.timeout_ns if plan.first_byte_ns is None else min(plan.timeout_ns, plan.first_byte_ns)
        overdue: list[tuple[Exchange, str]] = []
        for exchange, handed_ns in self._flying.items():
            if handed_ns + limit > now:
                break
            if exchange.connection is not None:
                exchange.connection.refresh(exchange)
            sent = exchange.sent_ns
            if sent is None:
                continue
            if sent + plan.timeout_ns <= now:
                overdue.append((exchange, f"not finished in {plan.timeout_ns / NS:g} s"))
            elif plan.first_byte_ns is not None and not (exchange.ns or exchange.heard) and sent + plan.first_byte_ns <= now:
                overdue.append((exchange, f"no response within {plan.first_byte_ns / NS:g} s"))
        for exchange, reason in overdue:
            self._abandon(exchange, "timeout", reason)
