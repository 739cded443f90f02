"""How is every request recorded exactly once, whether answered, failed or never sent?

An answer is parsed after its end, in slices while nothing is due, or at once if a follow-up request contains its text.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Sequence
from typing import Final

from fireassay.traffic.client.due import NEVER
from fireassay.traffic.client.log import RequestLog, Row, Times, times_of
from fireassay.traffic.client.plan import Made, Plan, Request
from fireassay.traffic.client.window import Window
from fireassay.traffic.parts import Answer, Json, Prompt
from fireassay.traffic.replies.openai_json import model_named, rate_limits, status_of
from fireassay.traffic.wire.response import Exchange

MODEL_WITHIN: Final = 1024  # first bytes of an answer searched for the model's name
COLD, WARM_UP, MAIN = range(3)


class Accounting:
    """Finished requests and what is kept of them: rows, counts, conversations."""

    def __init__(self, plan: Plan, log: RequestLog) -> None:
        self.plan, self.log, self.agenda = plan, log, plan.agenda
        self.window = Window()
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
