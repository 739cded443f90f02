"""When to go on, when to leave a configuration out, when to give up: decisions on the launches that have ended."""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.runners.experiment import progress
from tests.runners.making import kill_fault, planned, row

PLAN = (planned(slot=0, workers=1), planned(slot=1, workers=2), planned(slot=2, workers=1), planned(slot=3, workers=2))


def test_only_aborted_launches_are_made_again() -> None:
    rows = [row("ok", slot=0), row("failed", slot=1), row("aborted", slot=2)]
    assert [one.slot for one in progress.remaining(PLAN, rows)] == [2, 3]
    assert progress.remaining(PLAN, [row(status, slot=at) for at, status in enumerate(("ok", "timeout", "skipped", "failed"))]) == []


def test_every_try_of_a_slot_counts() -> None:
    assert progress.attempt_of(2, []) == 0
    assert progress.attempt_of(2, [row("aborted", slot=2), row("aborted", slot=2, attempt=1), row("ok", slot=1, attempt=9)]) == 2


def test_a_configuration_is_skipped_after_two_failures_in_a_row_and_the_others_are_not() -> None:
    rows = [row("failed", workers=2, reason="first"), row("ok", workers=1), row("timeout", workers=2, reason="no end")]
    assert progress.skip_reason(PLAN[3], rows) == "the last two launches of workers=2 failed: no end"
    assert progress.skip_reason(PLAN[2], rows) == ""


def test_failures_that_are_not_in_a_row_skip_nothing() -> None:
    rows = [row("failed", workers=2), row("ok", workers=2), row("failed", workers=2)]
    assert progress.skip_reason(PLAN[3], rows) == ""


def test_failed_fault_launches_skip_nothing() -> None:
    rows = [row("failed", workers=2, role="fault"), row("failed", workers=2, role="fault")]
    assert progress.skip_reason(planned(workers=2, role="fault", fault=kill_fault()), rows) == ""
    assert progress.hopeless(rows) == ""


@pytest.mark.parametrize("status", ["failed", "timeout"])
def test_the_first_launch_failing_is_hopeless(status: str) -> None:
    assert progress.hopeless([row(status, slot=0, reason="exit 3", exit_code=3)]) == "no launch succeeded (1 failed). workers=2: exit 3"


@pytest.mark.parametrize("how", [{"exit_code": None}, {"exit_code": 1, "reason": "rank 0 of the script was ended by signal 9 (SIGKILL)"}])
def test_a_first_launch_that_was_ended_from_outside_gets_a_second(how: dict[str, Any]) -> None:
    killed = row("failed", slot=0, **how)
    assert progress.hopeless([killed]) == ""
    assert progress.hopeless([killed, row("failed", slot=1, **how)]).startswith("no launch succeeded (2 failed)")


def test_a_first_launch_that_was_aborted_or_disturbed_is_made_again() -> None:
    assert progress.hopeless([row("aborted"), row("contaminated", attempt=1)]) == ""


def test_one_success_anywhere_is_hope() -> None:
    assert progress.hopeless([row("ok", workers=1), *(row("failed", workers=2) for _ in range(5))]) == ""


def test_a_plan_of_one_launch_that_fails_has_failed_at_its_end() -> None:
    assert progress.all_failed([row("failed", reason="exit 3")]) == "no launch succeeded (1 failed). workers=2: exit 3"
    assert progress.all_failed([row("failed"), row("ok")]) == ""
    assert progress.all_failed([row("skipped")]) == ""
