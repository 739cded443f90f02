"""How long may a load take?  As long as limits.launch_timeout_s says; an evaluation may take that long for its next answer.

The number of its items decides how long a pass takes, and a slow engine answers all of them in the end.
"""

from __future__ import annotations

from dataclasses import dataclass

from fireassay.units import NS_PER_S


@dataclass(kw_only=True)
class Deadline:
    """The limit of one load. `begin` starts it."""

    limit_s: float
    per_answer: bool
    begin_ns: int = 0
    done: int = 0

    def begin(self, ns: int) -> None:
        self.begin_ns = ns

    def passed(self, ns: int, done: int) -> str:
        """Why the load is to be ended; "" if it is not. `done`: how many requests have ended, whatever their outcome."""
        if self.per_answer and done > self.done:
            self.done, self.begin_ns = done, ns
        if (ns - self.begin_ns) / NS_PER_S <= self.limit_s:
            return ""
        limit = f"limits.launch_timeout_s = {self.limit_s:g} s"
        if self.per_answer:
            return f"no answer for {limit} ({self.done:,} requests had ended), and was ended"
        return f"still running after {limit}, and was ended"
