"""recovery: a fault launch must end well and train on after the fault."""

from __future__ import annotations

import pytest

from fireassay.verdict.gates.recovery import GATE
from tests.handmade import Handmade
from tests.struck import struck
from tests.verdict.making import gate, good, judged, pick

pytestmark = pytest.mark.slow


def with_fault(*, recovers: bool = True, status: str = "ok", hit: bool = True) -> Handmade:
    """A good record and the fault launch of `tests.struck`, under the next number."""
    made, fault = good(), struck(recovers=recovers)
    number = made.launch(workers=2, block=5, role="fault", wall_s=20.0, status=status, reason="" if status == "ok" else "exit 9")
    shift = made.begin[number] - fault.begin[0]
    for row in fault.rows["steps"]:
        made.rows["steps"].append((number, *row[1:4], row[4] + shift, row[5] + shift, *row[6:]))
    for row in fault.rows["events"]:
        if hit or row[6] != "fault":
            made.rows["events"].append((number, row[1] + shift, *row[2:]))
    return made


def test_without_a_fault_launch_there_is_no_gate_and_reliability_is_not_measured() -> None:
    judgement = judged(good())
    assert all(result.gate != "recovery" for result in judgement.verdict.gates)
    assert judgement.verdict.dimensions["workers=2"]["reliability"].status == "NOT_MEASURED"


def test_a_job_that_trains_on_after_the_fault_survived() -> None:
    """Killed at 10 s, regained at 18 s: 8 s and 3 steps (tests.struck)."""
    judgement = judged(with_fault())
    result = gate(judgement, "recovery", 2)
    assert result.status == "PASS"
    assert result.sentence.startswith("survived the fault: 8.00 s until progress was regained")
    assert result.sentence.endswith("3 steps lost")
    assert judgement.verdict.status == "GAIN"
    assert "one killed worker cost 8.00 s and 3 steps" in judgement.verdict.sentence
    assert judgement.verdict.dimensions["workers=2"]["reliability"].status == "PASS"
    assert judgement.verdict.dimensions["workers=1"]["reliability"].status == "NOT_MEASURED"


def test_a_job_that_ended_badly_after_the_fault_fails_the_verdict_and_is_recommended_for_nothing() -> None:
    judgement = judged(with_fault(recovers=False, status="failed"))
    assert gate(judgement, "recovery", 2).sentence == "the job did not survive 1 fault launch: exit 9"
    assert gate(judgement, "recovery", 2).status == "FAIL"
    assert judgement.verdict.status == "FAIL"
    assert "did not survive" in judgement.verdict.sentence
    assert {pick(judgement, goal) for goal in ("recommended", "fastest")} == {"workers=1"}


def test_a_fault_launch_that_hangs_until_its_time_is_over_did_not_survive() -> None:
    assert gate(judged(with_fault(recovers=False, status="timeout")), "recovery", 2).status == "FAIL"


def test_a_fault_that_never_struck_proves_nothing() -> None:
    judgement = judged(with_fault(hit=False))
    assert gate(judgement, "recovery", 2).status == "FAIL"
    assert gate(judgement, "recovery", 2).sentence == "the fault never struck: the job ended before the planned step"
    assert judgement.verdict.status == "FAIL"
    assert judgement.verdict.dimensions["workers=2"]["reliability"].status == "FAIL"
    assert pick(judgement, "recommended") == "workers=1"


def test_one_of_two_faults_that_never_struck_is_not_hidden_by_the_other() -> None:
    made = with_fault()
    made.launch(workers=2, block=5, role="fault", wall_s=20.0, reason="the fault could not act: no permission")
    found = gate(judged(made), "recovery", 2)
    assert (found.status, found.sentence) == ("FAIL", "1 of 2 faults never struck: the fault could not act: no permission")


def test_a_job_that_ended_well_without_training_on_is_undecided() -> None:
    assert gate(judged(with_fault(recovers=False)), "recovery", 2).status == "INCONCLUSIVE"


def test_a_fault_launch_never_enters_a_timing() -> None:
    with_, without = judged(with_fault()), judged(good())
    for metric in ("step_time", "wall_time", "speedup", "throughput", "quality"):
        assert with_.results[metric] == without.results[metric]


def test_a_fault_launch_that_failed_before_the_fault_says_why() -> None:
    made = Handmade(levels=(2,), blocks=1)
    made.launch(workers=2, role="fault", status="failed", reason="the script exited with code 3")
    (result,) = GATE.check(made.measured(), {})
    assert result.status == "FAIL"
    assert "the script exited with code 3" in result.sentence


# ---- of a load -------------------------------------------------------------------------------------------------------


def load_struck(*, status: str = "ok", back: bool = True, reason: str = "") -> list[tuple[str, str]]:
    """50 requests/s over 20 s; every second one fails from 5 s to 8 s, or to the end; 5 s before it all is well."""
    from fireassay.verdict.judge import check
    from tests.serving_made import ServingMade

    made = ServingMade(rate=(50.0,), blocks=1, seconds=20.0, objectives={"ttft_s": 0.5})
    made.request(made.launch(block=0), 0.0)
    launch = made.launch(block=1, role="fault", status=status, reason=reason, wall_s=30.0)
    for place in range(1000):
        due = 0.02 * place
        bad = due >= 5.0 and (due < 8.0 or not back) and place % 2 == 1
        made.request(launch, due, status="refused" if bad else "ok", replica=place % 2, done_s=0.3)
    made.event(launch, "fault", 5.0, value=1)
    if back:
        made.event(launch, "replica_up", 8.0, value=1)
    gates = check(made.measured())
    return [(one.status, one.sentence) for one in gates if one.gate == "recovery"]


def test_a_load_that_is_served_again_as_before_survived_and_says_what_it_cost() -> None:
    """75 of the requests from 5 to 8 s failed; the last of them was due at 7.98 s, the next one at 8.00 s."""
    ((status, sentence),) = load_struck()
    assert status == "PASS"
    assert sentence.startswith("survived the fault: 3")
    assert "75 requests lost" in sentence
    assert "before it 100 %" in sentence


def test_a_load_that_never_came_back_did_not_survive() -> None:
    ((status, sentence),) = load_struck(back=False)
    assert status == "FAIL"
    assert "had not recovered when the load ended" in sentence


def test_a_fault_launch_of_a_load_that_failed_did_not_survive() -> None:
    ((status, sentence),) = load_struck(status="failed", reason="the client died")
    assert (status, sentence) == ("FAIL", "the load did not survive 1 fault launch: the client died")


def test_too_few_requests_time_no_recovery_and_a_load_that_is_served_again_survived() -> None:
    """The simulated record: 4 requests a second, of which half fail for 5 s."""
    from fireassay.verdict.judge import check
    from tests.serving_made import simulated

    gates = check(simulated(outage=(5.0, 10.0), blocks=3).measured())
    ((status, sentence),) = [(one.status, one.sentence) for one in gates if one.gate == "recovery"]
    assert status == "PASS"
    assert sentence.startswith("survived the fault: served well after it as before, with too few requests to time the recovery; ")
