"""Which findings say that a timed function was not waited for?"""

from __future__ import annotations

import pytest

from fireassay.reports.build_view import build
from fireassay.reports.pages.record import page
from fireassay.verdict.judge import judge
from fireassay.verdict.pitfalls import of_record
from tests.handmade import Handmade
from tests.metrics.trials_made import timing
from tests.reports.pages.screens import flat

pytestmark = pytest.mark.slow


def function(*states: str, processor_s: float = 0.05, returned_s: float = 132e-6) -> Handmade:
    """One launch per state of a function that returns in 132 us."""
    made = timing(*[[returned_s, returned_s]] * len(states))
    workload = made.experiment.workload.model_copy(update={"runner": "function", "script": "work:step"})
    made.experiment = made.experiment.model_copy(update={"workload": workload})
    for launch, state in enumerate(states):
        if state:
            made.reading(launch, "process", f"after_return_{state}", 0.0 if state == "quiet" else processor_s, method="self")
            made.reading(launch, "process", "returned", returned_s, method="self")
    return made


def findings(made: Handmade) -> dict[str, str]:
    return {finding.rule: finding.evidence for finding in judge(made.measured()).verdict.findings}


def pitfall(made: Handmade) -> tuple[str, str]:
    (one,) = [pitfall for pitfall in of_record(made.measured()) if pitfall.name == "missing_synchronisation"]
    return one.state, one.reason


def test_work_after_the_return_is_a_finding_on_the_first_screen() -> None:
    made = function(*["follows"] * 5)
    said = "a call returned after 132 µs; 50 ms of processor time followed in other threads or child processes, which is not in the time"
    assert findings(made)["work_after_return"] == f"{said} (5 of 5 launches)"
    assert pitfall(made) == ("fallen into", "")
    measured = made.measured()
    assert said in flat(page(build(measured, judge(measured))))


def test_most_launches_must_show_it() -> None:
    assert "work_after_return" not in findings(function("follows", "follows", "quiet", "quiet", "quiet"))
    assert "work_after_return" in findings(function("follows", "follows", "follows", "quiet", "quiet"))


def test_work_that_did_not_end_is_said_to_go_on() -> None:
    said = findings(function(*["unfinished"] * 5, processor_s=2.0))["work_after_return"]
    assert "other threads still worked after 2 s of processor time" in said


def test_what_was_not_examined_is_not_clear() -> None:
    assert pitfall(function(*["quiet"] * 5)) == ("clear", "")
    state, reason = pitfall(function(*["unexamined"] * 5))
    assert (state, reason.partition(",")[0]) == ("not examined", "no launch could be observed")
    assert pitfall(function(*[""] * 5))[0] == "not examined"
    assert pitfall(timing([1.0]))[1].startswith("a command was timed until its process ended")


def test_a_device_that_came_into_use_too_late_is_named() -> None:
    made = function(*["quiet"] * 5)
    made.reading(0, "cuda:0", "not_waited_for", 1.0, unit="count", method="self")
    assert findings(made)["device_not_waited_for"].startswith(
        "no trial waited for cuda:0 (it came into use after the warm-up), in 1 launch"
    )


def test_two_timings_that_waited_for_different_things_differ_in_it() -> None:
    from fireassay.kinds.calls.conditions import waited_for

    bare, waited = function(*["quiet"] * 5), function(*["quiet"] * 5)
    for launch in range(5):
        waited.reading(launch, "cuda:0", "synchronise", 5e-6, method="self")
    assert [waited_for(made.measured(), judge(made.measured()).results) for made in (bare, waited)] == ["the return", "cuda"]
