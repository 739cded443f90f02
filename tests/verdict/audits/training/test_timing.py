"""Do step times show the work of all ranks, in a steady state?"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest

from fireassay import catalog
from fireassay.frames.training.rank_phases import BETWEEN, THROUGHOUT
from fireassay.verdict.audits.training import timing as audited
from fireassay.verdict.audits.training.timing import STRAGGLERS_REMEDY, STRAGGLERS_WHERE
from fireassay.verdict.types import Finding
from tests.handmade import Handmade
from tests.metrics.clocks_made import clock, collect, look, two_hosts
from tests.metrics.straggling import PHASES, Training, add, record
from tests.verdict.making import estimate, good, judged, rules_of

rules = rules_of(audited.AUDITS)

# ---- warm up ----
# warm_up: leading slow steps are left out and told; launches without a steady state are named.


def lasting(seconds: Callable[[int], float], *, steps: int, launches: tuple[int, ...] | None = None) -> Handmade:
    """Step times by step, for some launches of workers=2; flat ones of 1 s and 0.6 s for the others."""
    made = good(leave_out=("steps", "samples"))
    for number, row in enumerate(made.rows["launches"]):
        workers = row[4]
        odd = workers == 2 and (launches is None or number in launches)
        for rank in range(workers):
            flat = 1.0 if workers == 1 else 0.6
            times = [seconds(step) if odd else flat for step in range(steps)]
            made.steps(number, rank=rank, seconds=times, items=8.0 / workers)
    return made


@pytest.mark.slow
def test_a_flat_series_has_no_warm_up() -> None:
    assert rules(judged(lasting(lambda _: 0.6, steps=40))) == {}


@pytest.mark.slow
def test_the_first_slow_steps_are_a_note_and_left_out_of_the_step_time() -> None:
    judgement = judged(lasting(lambda step: 6.0 if step < 3 else 0.6, steps=40))
    assert rules(judgement)["warm_up"] == [None]
    (finding,) = (one for one in judgement.verdict.findings if one.rule == "warm_up")
    assert finding.severity == "note"
    assert finding.evidence.startswith("up to 3 steps at the beginning of a launch")
    assert estimate(judgement, "step_time", 2).value == pytest.approx(0.6)


@pytest.mark.slow
def test_a_level_that_still_changes_late_is_no_steady_state() -> None:
    """The level falls at step 32 of 40: what a longer launch would show is not known."""
    judgement = judged(lasting(lambda step: 1.0 if step < 32 else 0.5, steps=40))
    assert rules(judgement)["no_steady_state"] == ["workers=2"]
    assert judgement.verdict.status in ("PASS", "NO_GAIN")  # a warning alone forces no status


@pytest.mark.slow
def test_a_level_that_rises_is_a_slow_down() -> None:
    judgement = judged(lasting(lambda step: 0.5 if step < 12 else 0.6, steps=40))
    assert rules(judgement)["slow_down"] == ["workers=2"]


@pytest.mark.slow
def test_less_than_half_of_the_launches_is_not_worth_naming() -> None:
    """Launches 1 and 3 of the five with two workers (1, 3, 5, 7, 9); three would be named."""

    def slower(step: int) -> float:
        return 0.5 if step < 12 else 0.6

    assert "slow_down" not in rules(judged(lasting(slower, steps=40, launches=(1, 3))))
    assert rules(judged(lasting(slower, steps=40, launches=(1, 3, 5))))["slow_down"] == ["workers=2"]


# ---- missing synchronisation ----
# missing_synchronisation: the signs of a queue that nobody waited for.

RULES = {"steps_shorter_than_phases", "last_step_drains_queue", "time_outside_steps"}


def launches(
    seconds: Sequence[float], *, phases: dict[str, float] | None = None, gap_s: float = 0.0, evaluation_s: float | None = None
) -> Handmade:
    """Five launches of one worker with these steps; `gap_s` of nothing after half of them."""
    made = Handmade(levels=(1,), blocks=5)
    half = len(seconds) // 2
    for block in range(5):
        number = made.launch(workers=1, block=block, wall_s=500.0)
        made.steps(number, seconds=seconds[:half], items=8.0, phases_s=phases)
        pause = sum(seconds[:half]) + gap_s
        made.steps(number, seconds=seconds[half:], first=half, start_s=pause, items=8.0, phases_s=phases)
        if evaluation_s is not None:
            made.event(number, "evaluation", pause - evaluation_s, rank=0, incarnation=0, duration_s=evaluation_s)
    return made


def signs(made: Handmade) -> set[str]:
    return RULES & set(rules(judged(made)))


@pytest.mark.slow
def test_even_steps_show_no_sign() -> None:
    assert signs(launches([1.0] * 10)) == set()
    assert signs(launches([1.0] * 10, phases={"forward": 0.4, "backward": 0.5, "optimizer": 0.1})) == set()


@pytest.mark.slow
def test_steps_that_are_shorter_than_their_phases_did_not_wait_for_the_device() -> None:
    """0.4 + 0.6 + 0.2 s of phases in a step of 1 s: 20 % more than there is."""
    assert signs(launches([1.0] * 10, phases={"forward": 0.4, "backward": 0.6, "optimizer": 0.2})) == {"steps_shorter_than_phases"}


@pytest.mark.slow
@pytest.mark.parametrize(("last", "named"), [(30.0, True), (9.0, False), (2.0, False)])
def test_a_last_step_in_which_the_queue_drains_is_named(last: float, named: bool) -> None:
    """9 steps of 1 s and one of 30 s: 30 medians, 77 % of the time."""
    assert signs(launches([*[1.0] * 9, last])) == ({"last_step_drains_queue"} if named else set())


@pytest.mark.slow
def test_a_last_step_of_a_kind_that_came_before_is_none() -> None:
    """Local SGD's averages in every eighth step: 24 steps, of which three take 30 s."""
    assert signs(launches([*[1.0] * 7, 30.0] * 3)) == set()


@pytest.mark.slow
def test_a_long_last_step_among_very_many_is_none() -> None:
    """200 steps of 1 s and one of 20 s: 9 % of the time."""
    assert signs(launches([*[1.0] * 200, 20.0])) == set()


@pytest.mark.slow
@pytest.mark.parametrize(("gap", "named"), [(12.0, True), (8.0, False)])
def test_time_in_no_step_is_named_above_a_half(gap: float, named: bool) -> None:
    """10 s of steps and a gap: 12/22 = 55 %, 8/18 = 44 %."""
    assert signs(launches([1.0] * 10, gap_s=gap)) == ({"time_outside_steps"} if named else set())


@pytest.mark.slow
def test_an_evaluation_between_the_steps_is_no_gap() -> None:
    assert signs(launches([1.0] * 10, gap_s=12.0, evaluation_s=12.0)) == set()


@pytest.mark.slow
def test_seven_steps_show_nothing() -> None:
    assert signs(launches([*[1.0] * 6, 30.0])) == set()


# ---- stragglers ----
# stragglers: the finding names rank, phase, excess with its interval, and what to look at.

STRAGGLERS = catalog.load("verdict.audits", "stragglers")


def stragglers_found(made: Handmade) -> list[Finding]:
    return list(STRAGGLERS.examine(made.measured(), {}))


@pytest.mark.slow
def test_the_finding_says_who_where_and_by_how_much() -> None:
    (finding,) = stragglers_found(record(Training(ranks=4, seed=3, late={(2, "backward"): 50.0}), launches=5))
    assert (finding.rule, finding.severity, finding.configuration) == ("straggler", "warning", "workers=4")
    assert finding.evidence.startswith("rank 2 takes 49.")  # milliseconds of the 50
    assert " ms [48." in finding.evidence
    assert "computing its gradients" in finding.evidence
    assert "(5 of 5 launches, launches 0, 1, 2, 3, 4)" in finding.evidence
    assert "processor or device" in finding.remedy


@pytest.mark.slow
def test_a_single_launch_has_the_interval_of_its_steps() -> None:
    (finding,) = stragglers_found(record(Training(ranks=2, seed=3, late={(1, "data"): 50.0})))
    assert "rank 1 takes 49.99 ms [" in finding.evidence
    assert "waiting for its batches" in finding.evidence
    assert "inf" not in finding.evidence


@pytest.mark.slow
def test_slow_in_one_launch_of_five_is_a_note() -> None:
    made = Handmade(levels=(2,), blocks=5)
    for block in range(5):
        late = {(0, "optimizer"): 50.0} if block == 3 else {}
        add(made, made.launch(workers=2, block=block), Training(ranks=2, seed=block, late=late))
    (finding,) = stragglers_found(made)
    assert finding.severity == "note"
    assert "1 of 5 launches, launch 3" in finding.evidence


@pytest.mark.slow
def test_a_clean_record_is_clear_and_examined() -> None:
    made = record(Training(ranks=3, seed=5), launches=3)
    assert stragglers_found(made) == []
    assert STRAGGLERS.blind is not None
    assert STRAGGLERS.blind(made.measured(), {}) is None


@pytest.mark.slow
def test_what_cannot_be_examined_says_why() -> None:
    assert STRAGGLERS.blind is not None
    unseen = record(Training(ranks=2), leave_out=("waits", "communication", "collectives"))
    assert "waited for communication" in str(STRAGGLERS.blind(unseen.measured(), {}))
    assert "are needed" in str(STRAGGLERS.blind(record(Training(ranks=2, steps=6)).measured(), {}))
    alone = Handmade(levels=(1,), blocks=1)
    alone.launch(workers=1)
    assert "one worker" in str(STRAGGLERS.blind(alone.measured(), {}))
    empty = Handmade(levels=(2,), blocks=1)
    empty.launch(workers=2)
    assert "no timed launch" in str(STRAGGLERS.blind(empty.measured(), {}))


@pytest.mark.slow
def test_every_phase_has_its_words() -> None:
    assert set(STRAGGLERS_WHERE) == set(STRAGGLERS_REMEDY) == {*PHASES, BETWEEN, THROUGHOUT}
    assert "stragglers" in catalog.names("verdict.audits")


# ---- host clocks ----
# host_clocks: whether times of different hosts can be compared.

HOST_CLOCKS = catalog.load("verdict.audits", "host_clocks")


def host_clocks_record(*, looks: int = 120, there_s: float = 1.0, calls_s: float | None = None) -> Handmade:
    made = Handmade(levels=(4,), blocks=1)
    number = made.launch(workers=4)
    two_hosts(made, number)
    look(made, number, clock(there_s, 0.0), count=looks)
    if calls_s is not None:
        collect(made, number, clock(calls_s, 0.0))
    return made


def test_clocks_that_are_known_are_clear_however_far_apart() -> None:
    assert tuple(HOST_CLOCKS.examine(host_clocks_record(there_s=5.0, calls_s=5.0).measured(), {})) == ()
    assert HOST_CLOCKS.blind is not None
    assert HOST_CLOCKS.blind(host_clocks_record().measured(), {}) is None


def test_clocks_that_nobody_looked_at_are_noted() -> None:
    (finding,) = HOST_CLOCKS.examine(host_clocks_record(looks=0).measured(), {})
    assert (finding.rule, finding.severity, finding.configuration) == ("clocks_unknown", "note", "workers=4")
    assert finding.evidence.startswith("times of b cannot be compared")


def test_looks_and_collectives_that_disagree_are_a_warning() -> None:
    (finding,) = HOST_CLOCKS.examine(host_clocks_record(there_s=1.0, calls_s=1.2).measured(), {})
    assert (finding.rule, finding.severity) == ("clocks_disagree", "warning")
    assert re.search(r"disagree by (199\.9|200\.0)\d+ ms", finding.evidence)


def test_one_host_cannot_be_examined() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.event(made.launch(workers=1), "worker_start", 0.0, rank=0, incarnation=0)
    assert HOST_CLOCKS.blind is not None
    assert "one host" in str(HOST_CLOCKS.blind(made.measured(), {}))
