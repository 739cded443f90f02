"""Is everything that a launch sends fixed before it begins, by the experiment and the seed alone?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.spec.plan import Configuration
from fireassay.spec.sections.serving import Arrivals, Correctness, Prompts, Serving
from fireassay.traffic.arrivals import make
from fireassay.traffic.arrivals.schedule import CANARY, COLD, MAIN, NORMAL, WARM_UP, Schedule
from tests.tiers import examples
from tests.traffic.planned import S, equal, planned

EVERY: dict[str, dict[str, Any]] = {
    "closed": {"load": 4},
    "constant": {"load": 7.0},
    "poisson": {"load": 7.0},
    "gamma": {"load": 7.0, "cv": 2.0},
    "stages": {"stages": [{"duration_s": 5, "rate": 5, "rate_to": 20}, {"duration_s": 5, "rate": 9}]},
    "users": {"load": 4, "prompts": {"turns": 3, "think_s": 1.0, "tool_steps": 1, "tool_s": 0.5}},
    "single_stream": {},
    "multi_stream": {"samples_per_query": 3},
    "server": {"load": 7.0},
    "offline": {"requests": 40},
}
RICH = {"canaries": 0.1, "identity": 2, "reruns": 2}


def made(process: str, **more: Any) -> Schedule:
    keys = {"duration_s": 10.0, "requests": 60, "replicas": 2, "cold": 1, "correctness": RICH, **EVERY[process], **more}
    return planned(process, **keys)


@pytest.mark.parametrize("process", EVERY)
def test_the_same_seed_gives_the_same_schedule_and_another_one_another(process: str) -> None:
    assert equal(made(process), made(process))
    assert make.digest(made(process)) != make.digest(made(process, seed=2))


def test_digests_are_equal_in_another_process() -> None:
    code = (
        "from tests.traffic.arrivals.test_make import EVERY, made; from fireassay.traffic.arrivals import make\n"
        "print(*(make.digest(made(process)) for process in EVERY))"
    )
    here = [make.digest(made(process)) for process in EVERY]
    hashes = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"  # unlike here, so nothing may depend on a set's order
    environment = {"PYTHONHASHSEED": hashes, "PYTHONPATH": ":".join(path for path in sys.path if path)}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert found.stdout.split() == here


@pytest.mark.parametrize("process", EVERY)
def test_a_number_of_requests_is_kept_exactly(process: str) -> None:
    most = EVERY[process].get("requests", 60)
    schedule = made(process, duration_s=1000.0)
    assert (schedule.phase != COLD).sum() == most
    assert (schedule.phase == COLD).sum() == 2


@pytest.mark.slow
@examples(60)
@given(
    st.sampled_from(sorted(EVERY)),
    st.integers(0, 2**31),
    st.integers(1, 9),
    st.integers(1, 3),
    st.integers(1, 4),
    st.booleans(),
    st.floats(0.0, 0.5),
)
def test_every_request_has_one_client_and_what_follows_has_the_same(
    process: str, seed: int, clients: int, replicas: int, turns: int, needle: bool, canaries: float
) -> None:
    correctness = {"canaries": canaries, "identity": 3, "reruns": 2, "needle": needle}
    prompts = {"turns": turns, "think_s": 0.2}
    schedule = made(process, seed=seed, replicas=replicas, correctness=correctness, prompts=prompts)
    parts = [make.mine(schedule, k, clients) for k in range(clients)]
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(schedule)))
    owner = np.empty(len(schedule), dtype=int)
    for k, part in enumerate(parts):
        owner[part] = k
    follows = make.predecessors(schedule)
    led = follows >= 0
    assert (owner[led] == owner[follows[led]]).all()
    assert (follows < np.arange(len(schedule))).all()
    # Only the first cold request, and what is due at a time, follows nothing.
    assert led[schedule.phase != COLD].tolist() == (schedule.due_ns[schedule.phase != COLD] < 0).tolist()
    # The order of the numbers is an order in which a client can work.
    due = schedule.due_ns[schedule.due_ns >= 0]
    assert schedule.stream.max() >= 0 or (np.diff(due) >= 0).all()
    assert (schedule.seed >= 0).all()
    assert (schedule.pause_ns >= 0).all()
    assert set(schedule.expected) == set(np.flatnonzero(schedule.kind == CANARY).tolist())


@pytest.mark.parametrize("process", ["poisson", "closed", "users"])
def test_asking_for_canaries_moves_no_arrival_and_changes_no_text(process: str) -> None:
    plain, checked = made(process, correctness={}), made(process, correctness={"canaries": 0.2})
    for name in ("due_ns", "pause_ns", "seed", "tokens_in", "tokens_out", "session", "stream", "phase", "replica"):
        assert getattr(plain, name).tolist() == getattr(checked, name).tolist()
    assert (checked.kind != plain.kind).any()


def test_asking_for_cold_requests_moves_nothing_else() -> None:
    none, three = made("poisson", cold=0, correctness={}), made("poisson", cold=3, correctness={})
    assert three.due_ns[6:].tolist() == none.due_ns.tolist()
    assert three.seed[6:].tolist() == none.seed.tolist()
    assert three.tokens_in[6:].tolist() == none.tokens_in.tolist()


@pytest.mark.parametrize(("process", "loads"), [("poisson", (5.0, 10.0)), ("closed", (1, 8))])
def test_loads_of_a_block_send_the_same_texts_in_the_same_order(process: str, loads: tuple[float, float]) -> None:
    one, other = (planned(process, load=load, requests=50, duration_s=100.0, scenario="N(480,240)/(300,150)") for load in loads)
    for name in ("seed", "tokens_in", "tokens_out"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()


def test_lengths_are_those_of_the_scenario() -> None:
    assert set(made("poisson", scenario="D(480,300)").tokens_in.tolist()) == {480}
    assert set(made("poisson", scenario="D(480,300)").tokens_out.tolist()) == {300}
    assert set(made("poisson", scenario="E(1024)").tokens_out.tolist()) == {-1}
    drawn = planned("poisson", load=100.0, duration_s=100.0, scenario="U(50,100)/(200,300)")
    assert (drawn.tokens_in.min(), drawn.tokens_in.max()) == (50, 100)
    assert (drawn.tokens_out.min(), drawn.tokens_out.max()) == (200, 300)


def test_what_is_due_in_the_warm_up_is_told_apart() -> None:
    schedule = planned("constant", load=2.0, warm_up_s=2.0, duration_s=3.0)
    assert schedule.due_ns.tolist() == [place * S // 2 for place in range(10)]
    assert schedule.phase.tolist() == [WARM_UP] * 4 + [MAIN] * 6
    assert schedule.kind.tolist() == [NORMAL] * 10


def test_a_server_of_mlperf_is_poisson() -> None:
    assert equal(planned("server", load=5.0), planned("poisson", load=5.0))


def test_everything_offline_is_due_when_the_measured_part_begins() -> None:
    schedule = planned("offline", requests=5, warm_up_s=2.0)
    assert schedule.due_ns.tolist() == [2 * S] * 5
    assert schedule.phase.tolist() == [MAIN] * 5
    checked = planned("offline", requests=20, warm_up_s=2.0, correctness={"identity": 2, "reruns": 2})
    assert checked.due_ns.tolist() == [2 * S] * 20
    assert (checked.kind != NORMAL).sum() == 4


def test_rows_of_a_file_may_be_given_a_length_of_their_answers() -> None:
    asked = Serving(
        scenarios=("dataset",),
        rate=(5.0,),
        arrivals=Arrivals(process="constant", duration_s=2.0, warm_up_s=0.0, cold=2),
        correctness=Correctness(identity=1),
        prompts=Prompts(source="prompts.jsonl", answer_tokens=32),
    )
    one = Configuration(name="x", workers=1, target="server", scenario="dataset", load=5.0)
    schedule = make.build(asked, one, 7, 1, Path())
    assert set(schedule.tokens_out.tolist()) == {32}
    assert set(schedule.tokens_in.tolist()) == {-1}
    free = asked.model_copy(update={"prompts": Prompts(source="prompts.jsonl")})
    assert set(make.build(free, one, 7, 1, Path()).tokens_out.tolist()) == {-1}
