"""When is it pointless to continue?  Pure functions of the launches that have ended.

* A configuration whose last two launches failed is skipped from then on; the others continue.
* If the first launch fails by itself, no other is started: its error is usually that of all, and the user waits for it. If something
  ended it (a signal, a lost guard or engine), a second failure decides.
Fault launches do not count: they break things on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fireassay.runners.launching.watch import BY_SIGNAL
from fireassay.spec.plan import PlannedLaunch

FAILED = ("failed", "timeout")
FINAL = frozenset({"ok", "failed", "timeout", "skipped"})  # a slot with such a row is not retried


def remaining(plan: Sequence[PlannedLaunch], rows: Sequence[Mapping[str, Any]]) -> list[PlannedLaunch]:
    """The launches whose slot has no final row. Aborted and contaminated ones are repeated."""
    done = {row["slot"] for row in rows if row["status"] in FINAL}
    return [planned for planned in plan if planned.slot not in done]


def attempt_of(slot: int, rows: Sequence[Mapping[str, Any]]) -> int:
    """The number of the slot's next attempt, from 0."""
    return 1 + max((row["attempt"] for row in rows if row["slot"] == slot), default=-1)


def disturbed_tries(slot: int, rows: Sequence[Mapping[str, Any]]) -> int:
    """How many attempts of the slot were disturbed so far."""
    return sum(row["slot"] == slot and row["status"] == "contaminated" for row in rows)


def skip_reason(planned: PlannedLaunch, rows: Sequence[Mapping[str, Any]]) -> str:
    """Why this launch is to be skipped; empty if it is not."""
    last = _timed(rows, planned.configuration)[-2:]
    if len(last) == 2 and all(row["status"] in FAILED for row in last):
        return f"the last two launches of {planned.configuration} failed: {last[-1]['reason']}"
    return ""


def hopeless(rows: Sequence[Mapping[str, Any]]) -> str:
    """Why the whole experiment has failed: a timed launch failed by itself, or two failed, before any succeeded. Empty if it has not."""
    timed = [row for row in rows if row["role"] == "timed" and row["status"] in (*FAILED, "ok")]
    return "" if len(timed) == 1 and _ended_from_outside(timed[0]) else all_failed(timed)


def _ended_from_outside(row: Mapping[str, Any]) -> bool:
    return row["status"] == "failed" and (row.get("exit_code") is None or BY_SIGNAL in row["reason"])


def all_failed(rows: Sequence[Mapping[str, Any]]) -> str:
    """Why no launch succeeded; empty if any did or none was tried."""
    finished = [row for row in rows if row["status"] in (*FAILED, "ok")]
    if not finished or any(row["status"] == "ok" for row in finished):
        return ""
    return f"no launch succeeded ({len(finished)} failed). {_sentence(finished[0])}"


def _timed(rows: Sequence[Mapping[str, Any]], configuration: str) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["configuration"] == configuration and row["role"] == "timed" and row["status"] in (*FAILED, "ok")]


def _sentence(row: Mapping[str, Any]) -> str:
    return f"{row['configuration']}: {row['reason']}"
