"""Do requests that check answers stand where they should, without changing the load?"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fireassay.traffic.arrivals import make
from fireassay.traffic.arrivals.make import nonce
from fireassay.traffic.arrivals.schedule import CANARY, COLD, IDENTITY, MAIN, NEEDLE, NORMAL, RERUN, WARM_UP, Schedule
from tests.traffic.planned import S, planned

CHECKS = {"identity": 3, "reruns": 2}


def of(schedule: Schedule, *kinds: int) -> np.ndarray:
    return np.flatnonzero(np.isin(schedule.kind, kinds))


def test_cold_requests_come_first_and_to_every_replica() -> None:
    schedule = planned("poisson", load=5.0, cold=2, replicas=3)
    assert schedule.phase[:6].tolist() == [COLD] * 6
    assert schedule.replica[:6].tolist() == [0, 1, 2, 0, 1, 2]
    assert schedule.due_ns[:6].tolist() == [-1] * 6
    assert make.predecessors(schedule)[:6].tolist() == [-1, 0, 1, 2, 3, 4]
    assert schedule.tokens_in[:6].tolist() == [100] * 6
    assert len(set(schedule.seed.tolist())) == len(schedule)
    assert (schedule.phase[6:] != COLD).all()


def test_equal_prompts_go_to_every_replica_as_often_as_asked() -> None:
    schedule = planned("poisson", load=20.0, replicas=2, correctness=CHECKS, scenario="N(480,240)/(300,150)")
    checks = of(schedule, IDENTITY, RERUN)
    places = zip(schedule.example[checks], schedule.replica[checks], schedule.kind[checks], strict=True)
    assert Counter((int(e), int(r), int(k)) for e, r, k in places) == {
        (example, replica, kind): 1 for example in range(3) for replica in range(2) for kind in (IDENTITY, RERUN)
    }
    for example in range(3):
        same = checks[schedule.example[checks] == example]
        for name in ("seed", "tokens_in", "tokens_out"):
            assert len(set(getattr(schedule, name)[same].tolist())) == 1


def test_equal_prompts_are_the_same_in_every_launch() -> None:
    one, other = (planned("poisson", load=20.0, seed=seed, correctness=CHECKS, scenario="U(9,99)/(9,99)") for seed in (1, 2))
    first, second = of(one, IDENTITY), of(other, IDENTITY)
    for name in ("seed", "tokens_in", "tokens_out", "example"):
        assert getattr(one, name)[first].tolist() == getattr(other, name)[second].tolist()


def test_checks_take_the_place_of_requests_so_that_the_load_stays_as_it_is() -> None:
    plain = planned("poisson", load=20.0, warm_up_s=2.0, replicas=2)
    checked = planned("poisson", load=20.0, warm_up_s=2.0, replicas=2, correctness=CHECKS)
    assert checked.due_ns.tolist() == plain.due_ns.tolist()
    assert checked.phase.tolist() == plain.phase.tolist()
    times = checked.due_ns[of(checked, IDENTITY, RERUN)]
    assert len(times) == 12
    assert (times >= 2 * S).all()
    assert (np.diff(times) > S).all()  # 30 s in twelve parts
    others = of(checked, NORMAL)
    assert set(checked.seed[others].tolist()) < set(plain.seed.tolist())


def test_checks_are_added_where_there_are_too_few_requests_to_give_way() -> None:
    plain = planned("constant", load=0.5, duration_s=10.0)
    checked = planned("constant", load=0.5, duration_s=10.0, correctness=CHECKS)
    assert len(plain) == 5
    assert len(checked) == 5 + 6
    assert checked.due_ns[of(checked, NORMAL)].tolist() == plain.due_ns.tolist()
    assert (np.diff(checked.due_ns) >= 0).all()
    assert (checked.due_ns < 10 * S).all()


def test_a_conversation_gives_way_as_a_whole() -> None:
    prompts = {"turns": 3, "think_s": 1.0}
    schedule = planned("constant", load=4.0, duration_s=10.0, correctness=CHECKS, prompts=prompts)
    assert len(of(schedule, IDENTITY, RERUN)) == 6
    assert len(schedule) == 6 + (40 - 6) * 3
    sessions = Counter(schedule.session[schedule.session >= 0].tolist())
    assert set(sessions.values()) == {3}
    follows = make.predecessors(schedule)
    led = follows >= 0
    assert (schedule.session[led] == schedule.session[follows[led]]).all()


def test_checks_of_a_closed_loop_come_early_and_between_conversations() -> None:
    schedule = planned("closed", load=2, duration_s=1.0, correctness=CHECKS)
    assert schedule.kind[:14].tolist() == [
        NORMAL,
        NORMAL,
        IDENTITY,
        IDENTITY,
        NORMAL,
        NORMAL,
        IDENTITY,
        RERUN,
        NORMAL,
        NORMAL,
        RERUN,
        RERUN,
        NORMAL,
        NORMAL,
    ]
    assert schedule.stream[:14].tolist() == [0, 1] * 7
    assert schedule.due_ns[2:14].tolist() == [-1] * 12
    talking = planned("closed", load=2, duration_s=1.0, correctness=CHECKS, prompts={"turns": 2})
    mine = talking.stream == 0
    assert talking.turn[mine][:8].tolist() == [0, 1, -1, 0, 1, -1, 0, 1]
    assert talking.session[mine][:8].tolist() == [0, 0, -1, 2, 2, -1, 4, 4]


@pytest.mark.parametrize("load", [1, 3, 6])
def test_checks_are_spread_over_a_closed_loop_of_known_length(load: int) -> None:
    schedule = planned("closed", load=load, requests=60, correctness=CHECKS)
    assert len(schedule) == 60
    checks = of(schedule, IDENTITY, RERUN)
    assert len(checks) == 6
    assert checks.min() >= load
    assert checks.max() - checks.min() >= 40 - 6 * load
    first = [int(np.flatnonzero(schedule.stream == stream)[0]) for stream in range(load)]
    assert schedule.due_ns[first].tolist() == [0] * load
    assert (schedule.due_ns == 0).sum() == load


def test_checks_of_users_wait_for_the_end_of_a_conversation() -> None:
    prompts = {"turns": 2, "think_s": 0.5}
    schedule = planned("users", load=3, duration_s=20.0, correctness=CHECKS, prompts=prompts)
    checks = of(schedule, IDENTITY, RERUN)
    assert len(checks) == 6
    follows = make.predecessors(schedule)
    assert (follows[checks] >= 0).all()
    for check in checks:
        before = follows[check]
        assert schedule.turn[before] == 1
        assert schedule.stream[before] == schedule.stream[check]


def test_needles_are_sent_alone_first_and_then_under_load() -> None:
    schedule = planned("poisson", load=20.0, cold=1, replicas=2, correctness={**CHECKS, "needle": True})
    assert schedule.phase[:14].tolist() == [COLD] * 14
    assert schedule.kind[:14].tolist() == [NORMAL] * 2 + [IDENTITY] * 6 + [RERUN] * 6
    needles = of(schedule, NEEDLE)
    assert len(needles) == 12
    assert (schedule.phase[needles] == MAIN).all()
    assert len(of(schedule, IDENTITY, RERUN)) == 12
    for name in ("seed", "example", "tokens_in", "replica"):
        assert getattr(schedule, name)[needles].tolist() == getattr(schedule, name)[2:14].tolist()


def test_canaries_are_the_share_asked_for_and_spread_evenly() -> None:
    schedule = planned("constant", load=100.0, duration_s=20.0, warm_up_s=5.0, correctness={"canaries": 0.05})
    canaries = of(schedule, CANARY)
    assert len(canaries) == 100  # of 2000 measured ones
    assert (schedule.phase[canaries] == MAIN).all()
    # One in each twenty, at random.
    assert ((canaries - 500) // 20).tolist() == list(range(100))
    assert len(set(((canaries - 500) % 20).tolist())) > 10
    assert (of(schedule, NORMAL) < 500).sum() == (schedule.phase == WARM_UP).sum() == 500


@pytest.mark.slow
def test_every_canary_has_a_nonce_of_its_own_made_from_its_seed() -> None:
    schedule = planned("constant", load=1000.0, duration_s=20.0, correctness={"canaries": 0.5})
    canaries = of(schedule, CANARY)
    assert len(set(schedule.expected.values())) == len(canaries) == 10_000
    assert all(text.isalnum() and text == text.lower() and len(text) == 12 for text in schedule.expected.values())
    first = int(canaries[0])
    assert schedule.expected[first] == nonce(int(schedule.seed[first]))


def test_few_requests_still_hold_a_canary_if_any_are_asked_for() -> None:
    assert len(of(planned("constant", load=1.0, duration_s=9.0, correctness={"canaries": 0.01}), CANARY)) == 1
    assert len(of(planned("constant", load=1.0, duration_s=9.0), CANARY)) == 0


def test_only_first_turns_are_canaries() -> None:
    prompts = {"turns": 4, "think_s": 0.1}
    schedule = planned("constant", load=50.0, duration_s=10.0, prompts=prompts, correctness={"canaries": 0.2})
    assert set(schedule.turn[of(schedule, CANARY)].tolist()) == {0}
    assert len(of(schedule, CANARY)) == 100
