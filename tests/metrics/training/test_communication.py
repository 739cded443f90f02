"""How much of a step is communication, exposed, hidden?"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import polars as pl
import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.frames.training.communication.step_communication import METHODS
from fireassay.metrics.training.communication import COMM_EXPOSED, COMM_TO_COMPUTE, OVERLAP, by_method
from fireassay.metrics.training.communication_steps import COMM_TOTAL
from fireassay.metrics.training.ranks import BACKWARD_TIME, DATA_TIME, FORWARD_TIME, OPTIMIZER_TIME, UNKNOWN_TIME
from fireassay.metrics.training.time import STEP_TIME
from tests.handmade import Handmade
from tests.metrics.communication_made import calls, ms, told
from tests.metrics.narrow import absence, estimated

pytestmark = pytest.mark.slow


# ---- Exposed communication by several methods: which one is used. Times are worked out by hand.

RANKS = (0, 1)


def timed(*, steps: int = 3, blocks: int = 1) -> tuple[Handmade, list[int]]:
    """Launches of two ranks whose steps take 100 ms."""
    made = Handmade(levels=(1, 2), blocks=blocks)
    numbers = [made.launch(workers=2, block=block) for block in range(blocks)]
    for number in numbers:
        for rank in RANKS:
            made.steps(number, rank=rank, seconds=[0.1] * steps, phases_s={"data": 0.01})
    return made, numbers


def exposed(made: Handmade) -> Estimate:
    return estimated(COMM_EXPOSED.compute(made.measured(), {})["workers=2"])


def test_the_mean_over_ranks_the_median_over_steps() -> None:
    """Ranks 10 and 30 ms, then 20 and 40, then 10 and 90: 20, 30, 50 a step; the median is 30."""
    made, (number,) = timed()
    for step, pair in enumerate(((10, 30), (20, 40), (10, 90))):
        for rank in RANKS:
            told(made, number, rank, step, "engine", pair[rank])
    found = exposed(made)
    assert ms(found) == pytest.approx(30.0)
    assert "comm_exposed|by:engine" in found.signature
    assert METHODS["engine"] in found.method


def test_the_best_method_is_used_and_the_others_are_listed() -> None:
    made, (number,) = timed()
    for step in range(3):
        for rank in RANKS:
            calls(made, number, rank, step, [(40, 90)])
            for method, value in (("ddp_logging", 7.0), ("engine", 8.0), ("group", 9.0)):
                told(made, number, rank, step, method, value)
    found = exposed(made)
    assert ms(found) == pytest.approx(9.0)
    assert found.method.endswith("other methods: engine 8 ms, ddp_logging 7 ms")
    assert [ms(value) for value in by_method(made.measured(), "workers=2").values()] == pytest.approx([9.0, 8.0, 7.0])
    assert list(by_method(made.measured(), "workers=2")) == ["group", "engine", "ddp_logging"]


def test_exposed_time_is_capped_at_the_total_and_the_method_says_so() -> None:
    """After the last gradient 12 ms, of which a collective lasted 10: 10, in one of two ranks."""
    made, (number,) = timed(steps=1)
    for rank in RANKS:
        calls(made, number, rank, 0, [(50, 60)])
    told(made, number, 0, 0, "group", 12.0)
    told(made, number, 1, 0, "group", 4.0)
    found = exposed(made)
    assert ms(found) == pytest.approx(7.0)
    assert "capped at the time in which collectives were in progress in 50.0% of them" in found.method


def test_one_worker_and_no_sight_of_collectives_are_absent_each_for_its_reason() -> None:
    made, _ = timed()
    alone = made.launch(workers=1)
    made.steps(alone, seconds=[0.1] * 3)
    values = COMM_EXPOSED.compute(made.measured(), {})
    one, two = absence(values["workers=1"]), absence(values["workers=2"])
    assert one.reason == "not_applicable"
    assert two.reason == "not_measured"
    assert "workload.attach" in two.detail


def test_collectives_without_an_end_ask_for_a_profile() -> None:
    made, (number,) = timed()
    for rank in RANKS:
        calls(made, number, rank, 0, [(40, None)])
    assert "assay profile" in absence(COMM_EXPOSED.compute(made.measured(), {})["workers=2"]).detail


def test_a_failed_configuration_says_so() -> None:
    made = Handmade(levels=(2,), blocks=1)
    made.launch(workers=2, status="failed")
    assert "no timed launch" in absence(COMM_EXPOSED.compute(made.measured(), {})["workers=2"]).detail


def test_kernels_of_profiled_steps_go_before_what_the_hooks_saw() -> None:
    """A profiled launch is not a timed one; its numbers are the kernels'."""
    made, (number,) = timed()
    profiled = made.launch(workers=2, role="profile")
    for rank in RANKS:
        made.steps(profiled, rank=rank, seconds=[0.2] * 3)
        told(made, number, rank, 1, "ddp_logging", 9.0)
        for step in (1, 2):
            told(made, profiled, rank, step, "kineto", 5.0 + step, total_ms=20.0, compute_ms=50.0)
    found = exposed(made)
    assert ms(found) == pytest.approx(6.5)
    assert found.n_trials == 2
    assert "ddp_logging 9 ms" in found.method


def test_on_a_gpu_ddps_log_is_used_until_a_profile_exists() -> None:
    """The hooks see neither when its collectives end nor what it waits for: what they write down has no exposed time."""
    made, (number,) = timed()
    for step in range(3):
        for rank in RANKS:
            calls(made, number, rank, step, [(40, None)])
            told(made, number, rank, step, "group", None)
            told(made, number, rank, step, "ddp_logging", 7.0, total_ms=28.0)
    found = exposed(made)
    assert (ms(found), "by:ddp_logging" in found.signature) == (pytest.approx(7.0), True)
    assert estimated(OVERLAP.compute(made.measured(), {})["workers=2"]).value == pytest.approx(0.75)
    assert isinstance(COMM_TOTAL.compute(made.measured(), {})["workers=2"], Absent)
    profiled = made.launch(workers=2, role="profile")
    for rank in RANKS:
        told(made, profiled, rank, 1, "kineto", 6.0, total_ms=24.0, compute_ms=50.0)
    assert "by:kineto" in exposed(made).signature
    assert ms(COMM_TOTAL.compute(made.measured(), {})["workers=2"]) == pytest.approx(24.0)


def test_on_a_processor_waits_go_before_a_profile() -> None:
    made, (number,) = timed()
    profiled = made.launch(workers=2, role="profile")
    for rank in RANKS:
        told(made, number, rank, 1, "group", 9.0)
        told(made, profiled, rank, 1, "kineto", 60.0, total_ms=70.0)
    assert ms(exposed(made)) == pytest.approx(9.0)


def in_turn(
    made: Handmade,
    together_ms: Sequence[float],
    alone_ms: Sequence[float],
    *,
    blocks: int = 3,
    length: int = 4,
    warm: int = 6,
    drift_ms: float = 0.0,
    first_ms: float = 500.0,
    tail: int = 0,
    role: str = "communication",
) -> int:
    """A launch in which blocks of steps with (ms of each rank) and without synchronising take turns. The first step of every block takes
    `first_ms`, and every step takes `drift_ms` longer than the one before."""
    number = made.launch(workers=2, role=role)
    kinds = [True] * warm + ([False] * length + [True] * length) * blocks + [True] * tail
    for rank in RANKS:
        lengths = []
        for step, together in enumerate(kinds):
            own = (together_ms if together else alone_ms)[rank] + drift_ms * step
            lengths.append(first_ms if step == 0 or kinds[step - 1] != together else own)
            if not together:
                told(made, number, rank, step, "unsynchronised", None)
        made.steps(number, rank=rank, seconds=[one / 1e3 for one in lengths])
    return number


def test_the_cost_of_synchronising_is_the_difference_of_blocks_without_their_first_steps() -> None:
    """Ranks 100 and 110 ms with, 70 and 90 ms without: 30 and 20, mean 25; the steps of 500 ms that pay for the change do not count."""
    made, (number,) = timed()
    told(made, number, 0, 1, "group", 3.0)
    in_turn(made, (100.0, 110.0), (70.0, 90.0))
    found = exposed(made)
    assert ms(found) == pytest.approx(25.0)
    assert found.n_launches == 1
    assert "comm_exposed|by:unsynchronised" in found.signature
    assert found.method.endswith("other methods: group 3 ms")


def test_a_steady_drift_of_the_machine_cancels() -> None:
    """Every step 0.5 ms longer than the last: blocks before and after lie symmetrically, but for the last, which has both too."""
    made, _ = timed()
    in_turn(made, (100.0, 100.0), (70.0, 70.0), drift_ms=0.5)
    assert ms(exposed(made)) == pytest.approx(30.0)


def test_warm_up_before_and_a_long_rest_after_do_not_count() -> None:
    """Of the first block only what lies beside a free one counts, of the last likewise: slow first steps and a fast rest are left out."""
    made, _ = timed()
    number = in_turn(made, (100.0, 100.0), (70.0, 70.0), blocks=3, warm=8, tail=0)
    rows = made.rows["steps"]
    for place, row in enumerate(rows):
        if row[0] == number and row[3] < 4:  # the four slowest, before the block
            rows[place] = (*row[:5], row[4] + 10**12, *row[6:])
    for rank in RANKS:
        made.steps(number, rank=rank, seconds=[0.001] * 50, first=32, start_s=10_000.0)
    assert ms(exposed(made)) == pytest.approx(30.0)


def test_an_interval_does_not_go_where_no_time_and_no_share_can_be() -> None:
    """10 and 60 ms of 100 in two launches: Student's t with one degree of freedom reaches from -283 to 353 ms, and overlap far beyond
    both ends.
    """
    made, numbers = timed(blocks=2)
    for number, value in zip(numbers, (10.0, 60.0), strict=True):
        for step in range(3):
            for rank in RANKS:
                calls(made, number, rank, step, [(0, 100)])
                told(made, number, rank, step, "group", value)
    found = exposed(made)
    assert (ms(found), found.low) == (pytest.approx(35.0), 0.0)
    assert found.high == pytest.approx(0.035 + 12.706 * 0.025, rel=1e-3)
    hidden = estimated(OVERLAP.compute(made.measured(), {})["workers=2"])
    assert (hidden.low, hidden.high) == (0.0, 1.0)


def noisy(made: Handmade, noise_ms: float, *, blocks: int = 12, bursts: int = 0, scale: float = 1.0) -> int:
    """Steps of 100 ms with and 70 without, times `scale`; every block is off by as much as its turn in a fixed row says, some by 200 ms."""
    number = in_turn(made, (100.0 * scale, 100.0 * scale), (70.0 * scale, 70.0 * scale), blocks=blocks)
    rng = random.Random(3)
    off = [rng.gauss(0.0, noise_ms) + (200.0 if block in range(3, 3 + 5 * bursts, 5) else 0.0) for block in range(2 * blocks + 3)]
    moved, late = [], dict.fromkeys(RANKS, 0)
    for row in made.rows["steps"]:
        if row[0] == number:
            mine = round(off[(row[3] + 2) // 4] * 1e6)
            row = (*row[:4], row[4] + late[row[1]], row[5] + late[row[1]] + mine, *row[6:])
            late[row[1]] += mine
        moved.append(row)
    made.rows["steps"] = moved
    return number


def test_a_burst_in_some_blocks_does_not_move_it() -> None:
    """Two of 25 blocks last 200 ms longer a step: of the twelve differences four are off by 100 or 200 ms on both sides."""
    made, _ = timed()
    noisy(made, 0.5, bursts=2)
    assert ms(exposed(made)) == pytest.approx(30.0, abs=1.0)


def test_inconsistent_differences_are_inconclusive_and_reported() -> None:
    """Blocks off by 25 ms: half of the interval is far above 3 ms; the hooks' value is used instead, or none."""
    made, (number,) = timed()
    noisy(made, 25.0)
    nothing = absence(COMM_EXPOSED.compute(made.measured(), {})["workers=2"])
    assert "are inconclusive: " in nothing.detail
    assert "more steps or a quieter machine" in nothing.detail
    told(made, number, 0, 1, "group", 3.0)
    found = exposed(made)
    assert ms(found) == pytest.approx(3.0)
    assert "comm_exposed|by:group" in found.signature
    assert "are inconclusive: " in found.method


def test_two_blocks_are_too_few_to_tell() -> None:
    made, _ = timed()
    in_turn(made, (100.0, 100.0), (70.0, 70.0), blocks=2)
    assert isinstance(COMM_EXPOSED.compute(made.measured(), {})["workers=2"], Absent)


def phased(made: Handmade, with_ms: Mapping[str, float], without_ms: Mapping[str, float], *, asks: Sequence[str], noise_ms: float) -> None:
    """Twelve blocks of steps whose phases take so long with and without synchronising; the optimizer, the forward pass and what lies
    between are off by noise."""
    number, rng, places = (made.launch(workers=2, role="communication"), random.Random(5), ("data", "forward", "backward", "optimizer"))
    now = made.begin[number]
    for step in range(6 + 8 * 12):
        alone = step >= 6 and (step - 6) // 4 % 2 == 0
        own = without_ms if alone else with_ms
        noise = {name: abs(rng.gauss(0.0, noise_ms)) for name in ("forward", "optimizer", "between")}
        phases = [round(1e6 * (own.get(name, 0.0) + noise.get(name, 0.0))) for name in places]
        end = now + sum(phases) + round(1e6 * (own.get("between", 0.0) + noise["between"]))
        for rank in RANKS:
            made.rows["steps"].append((number, rank, 0, step, now, end, *phases, None, None, None, "monotonic"))
            made.rows["waits"] += [(number, rank, 0, step, name, 1000, 0) for name in asks]
            if alone:
                told(made, number, rank, step, "unsynchronised", None)
        now = end


def test_phases_without_collectives_add_no_noise() -> None:
    """30 ms in the backward pass; the forward pass, the optimizer and what lies between are off by 25 ms, and no collective is asked for
    there.
    """
    made, _ = timed()
    phased(
        made,
        {"data": 5.0, "forward": 20.0, "backward": 70.0},
        {"data": 5.0, "forward": 20.0, "backward": 40.0},
        asks=["backward"],
        noise_ms=25.0,
    )
    assert ms(exposed(made)) == pytest.approx(30.0, abs=1e-6)


def test_phases_with_collectives_count() -> None:
    """10 of 40 ms are in the forward pass (buffers are sent there), which then blurs it."""
    made, _ = timed()
    two = {"data": 5.0, "forward": 20.0, "backward": 40.0}
    phased(made, {**two, "forward": 30.0, "backward": 70.0}, two, asks=["forward", "backward"], noise_ms=0.5)
    assert ms(exposed(made)) == pytest.approx(40.0, abs=0.5)
    made, _ = timed()
    phased(made, {**two, "between": 10.0, "backward": 70.0}, two, asks=["between", "backward"], noise_ms=0.0)
    assert ms(exposed(made)) == pytest.approx(40.0)


def test_a_loader_that_works_ahead_takes_some_of_it_back() -> None:
    """Synchronising lengthens the backward pass by 30 ms, in which the next batch comes nearer: 20 less to wait for. It adds 10."""
    made, _ = timed()
    phased(made, {"data": 5.0, "backward": 70.0}, {"data": 25.0, "backward": 40.0}, asks=["backward"], noise_ms=3.0)
    assert ms(exposed(made)) == pytest.approx(10.0, abs=1e-6)


def test_a_long_steps_exposed_time_is_sure_to_a_fiftieth_of_it() -> None:
    """Steps of 2 s, blocks off by 15 ms: half of the interval is above 2 ms and below 60 (a tenth of 600) and 40 (a fiftieth of the
    step).
    """
    made, _ = timed()
    noisy(made, 15.0, scale=20.0)
    assert ms(exposed(made)) == pytest.approx(600.0, abs=25.0)


def test_an_inconclusive_launch_yields_to_a_conclusive_one() -> None:
    made, (number,) = timed()
    told(made, number, 0, 1, "group", 3.0)
    noisy(made, 25.0)
    in_turn(made, (100.0, 100.0), (70.0, 70.0))
    found = exposed(made)
    assert ms(found) == pytest.approx(30.0)
    assert found.n_launches == 1
    assert "are inconclusive: " in found.method


def test_a_negative_value_is_raised_to_0_and_the_method_says_so() -> None:
    made, _ = timed()
    in_turn(made, (70.0, 70.0), (71.0, 71.0))
    found = exposed(made)
    assert ms(found) == 0.0
    assert "raised to 0 from below" in found.method


def test_a_failed_launch_is_ignored() -> None:
    made, (number,) = timed()
    told(made, number, 0, 1, "group", 3.0)
    in_turn(made, (100.0, 100.0), (70.0, 70.0))
    row = made.rows["launches"][-1]
    made.rows["launches"][-1] = (*row[:12], "failed", *row[13:])
    assert ms(exposed(made)) == pytest.approx(3.0)


def test_calibrating_launches_change_no_timed_number() -> None:
    made, _ = timed()
    before = made.measured().steady_steps
    in_turn(made, (100.0, 100.0), (70.0, 70.0))
    assert made.measured().steady_steps.equals(before)
    assert isinstance(made.measured().communicated.calls, pl.DataFrame)


# ---- comm_exposed is a part of the phases, not another one: phases and the rest still make the step.


def test_phases_make_the_step_with_the_exposed_part_inside() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    for rank in (0, 1):
        made.steps(number, rank=rank, seconds=[0.1] * 3, phases_s={"data": 0.01, "forward": 0.02, "backward": 0.05, "optimizer": 0.015})
        for step in range(3):
            calls(made, number, rank, step, [(50, 80)])
            told(made, number, rank, step, "group", 12.0)
    measured = made.measured()
    values = {
        metric.name: ms(metric.compute(measured, {})["workers=2"])
        for metric in (DATA_TIME, FORWARD_TIME, BACKWARD_TIME, OPTIMIZER_TIME, UNKNOWN_TIME, STEP_TIME, COMM_EXPOSED)
    }
    assert values["comm_exposed"] == pytest.approx(12.0)
    assert sum(values[f"{name}_time"] for name in ("data", "forward", "backward", "optimizer", "unknown")) == pytest.approx(
        values["step_time"]
    )
    assert values["comm_exposed"] <= values["backward_time"]


# ---- overlap: 1 - exposed / total, both by the same way.


def made_with(exposed_ms: float, span: tuple[float, float] | None, method: str = "group") -> Handmade:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    for rank in (0, 1):
        made.steps(number, rank=rank, seconds=[0.1] * 3)
        for step in range(3):
            calls(made, number, rank, step, [span or (0, 0)])
            told(made, number, rank, step, method, exposed_ms)
    return made


@pytest.mark.parametrize(("exposed", "share"), [(0.0, 1.0), (10.0, 0.75), (40.0, 0.0), (50.0, 0.0)])
def test_overlap_is_the_share_not_exposed(exposed: float, share: float) -> None:
    """Of 40 ms of communication."""
    found = estimated(OVERLAP.compute(made_with(exposed, (20, 60)).measured(), {})["workers=2"])
    assert found.value == pytest.approx(share)
    assert "overlap|by:group" in found.signature


def test_no_communication_has_no_hidden_share() -> None:
    assert absence(OVERLAP.compute(made_with(0.0, None).measured(), {})["workers=2"]).reason == "undefined"


def test_by_steps_in_turn_the_total_is_of_the_same_launch() -> None:
    """30 ms of its own 40 are exposed, whatever the timed launches had."""
    made = made_with(1.0, (20, 60))
    number = in_turn(made, (100.0, 100.0), (70.0, 70.0))
    free = {row[3] for row in made.rows["communication"] if row[0] == number}
    for row in [row for row in made.rows["steps"] if row[0] == number and row[3] not in free]:
        calls(made, number, row[1], row[3], [(10, 50)], step_s=0.0)
    found = estimated(OVERLAP.compute(made.measured(), {})["workers=2"])
    assert found.value == pytest.approx(0.25)
    assert "overlap|by:unsynchronised" in found.signature


def test_one_way_without_totals_is_absent() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    for rank in (0, 1):
        made.steps(number, rank=rank, seconds=[0.1] * 3)
        told(made, number, rank, 1, "ddp_logging", 5.0)
    assert absence(OVERLAP.compute(made.measured(), {})["workers=2"]).reason == "not_measured"


# ---- comm_to_compute: what is communicated for what is computed.


def test_computing_is_the_step_without_its_waits() -> None:
    """100 ms, 10 of them for data and 30 exposed: 60 of computing; 45 of communicating: 0.75."""
    made = Handmade(levels=(1, 2), blocks=1)
    number = made.launch(workers=2)
    for rank in (0, 1):
        made.steps(number, rank=rank, seconds=[0.1] * 3, phases_s={"data": 0.01})
        for step in range(3):
            calls(made, number, rank, step, [(40, 85)])
            told(made, number, rank, step, "group", 30.0)
    values = COMM_TO_COMPUTE.compute(made.measured(), {})
    assert estimated(values["workers=2"]).value == pytest.approx(0.75)
    assert isinstance(values["workers=1"], Absent)


def test_by_kernels_both_are_kernels() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2, role="profile")
    made.steps(made.launch(workers=2), seconds=[0.1] * 3)
    for rank in (0, 1):
        told(made, number, rank, 1, "kineto", 5.0, total_ms=20.0, compute_ms=50.0)
    assert estimated(COMM_TO_COMPUTE.compute(made.measured(), {})["workers=2"]).value == pytest.approx(0.4)
