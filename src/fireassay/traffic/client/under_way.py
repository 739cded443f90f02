"""Which requests are in flight, on which replica, and which have timed out?"""

from __future__ import annotations

from time import monotonic_ns

from fireassay.traffic.client.accounting import Accounting
from fireassay.traffic.client.log import RequestLog
from fireassay.traffic.client.plan import NS, Plan
from fireassay.traffic.parts import Ended
from fireassay.traffic.wire.response import Exchange


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
