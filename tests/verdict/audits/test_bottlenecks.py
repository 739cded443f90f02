"""Where does the time go, and which setting gets it back?  Notes on what holds a training back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from fireassay import catalog
from fireassay.estimates.estimate import Absent, Estimate
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.parallelism import Kind, Parallelism
from fireassay.metrics.training.lost_time import METRICS
from fireassay.metrics.training.time import STEP_TIME_MEAN
from fireassay.spec.sections.workload import Launcher
from fireassay.verdict.audits.bottlenecks import knob
from fireassay.verdict.types import Finding
from tests.builders import estimate
from tests.handmade import Handmade
from tests.metrics.straggling import Training, record
from tests.verdict.judging import concluded

# ---- bottleneck communication ----
# Exposed communication is told with what would be gained without it.

BOTTLENECK_COMMUNICATION = catalog.load("verdict.audits", "bottleneck_communication")
HERE = "workers=1"


def at(value: float, half: float = 0.0, unit: str = "s") -> dict[str, Estimate]:
    return {HERE: estimate(value, half, unit)}


def trained() -> Handmade:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    return made


def test_a_part_is_told_from_a_tenth_on_with_its_gain_and_its_knob_communication() -> None:
    assert tuple(BOTTLENECK_COMMUNICATION.examine(trained().measured(), {"step_time": at(1.0), "comm_exposed": at(0.09)})) == ()
    (found,) = BOTTLENECK_COMMUNICATION.examine(trained().measured(), {"step_time": at(1.0), "comm_exposed": at(0.5)})
    assert (found.rule, found.severity, found.configuration) == (BOTTLENECK_COMMUNICATION.name, "note", HERE)
    assert "50 % of it; without it a step would be at most 2 times as fast" in found.evidence
    assert "assay tune" in found.remedy


def test_a_wide_interval_is_the_shares_too_and_the_seconds_are_not_rounded_by_it() -> None:
    """35.5 ms of 68 ms is 52%; rounded by its interval it read "40 ms [0, 160]" beside that, which is 59%."""
    wide = replace(estimate(0.0355, 0.1245, "s"), low=0.0)
    (found,) = BOTTLENECK_COMMUNICATION.examine(trained().measured(), {"step_time": at(0.068), "comm_exposed": {HERE: wide}})
    assert "takes 35.5 ms of every step, 52 % of it [0, 100]; without it" in found.evidence
    narrow = {"step_time": at(0.068), "comm_exposed": at(0.034, 0.0068)}
    assert (
        "takes 34 ms of every step, 50 % of it [40, 60];"
        in next(iter(BOTTLENECK_COMMUNICATION.examine(trained().measured(), narrow))).evidence
    )


def test_what_was_not_measured_is_no_bottleneck_communication() -> None:
    absent = {HERE: Absent(reason="not_measured", detail="")}
    assert tuple(BOTTLENECK_COMMUNICATION.examine(trained().measured(), {"step_time": at(1.0), "comm_exposed": absent})) == ()
    assert tuple(BOTTLENECK_COMMUNICATION.examine(trained().measured(), {})) == ()


def test_what_is_waiting_is_taken_off_the_gain() -> None:
    """0.3 of 0.4 s exposed and 0.15 s waiting, of which 0.1 may have been hidden: without the other 0.25 s a step of 1 s is 1.33 times as
    fast.
    """
    results = {
        "step_time": at(1.0),
        "comm_exposed": at(0.3),
        "overlap": at(0.25, 0.0, "fraction"),
        "comm_wait": at(0.15),
        "comm_total": at(0.4),
    }
    (found,) = BOTTLENECK_COMMUNICATION.examine(trained().measured(), results)
    assert "(25% of all communication is hidden)" in found.evidence
    assert "30 % of it, of which 50.0 ms is waiting for slower ranks; without the rest a step would be at most 1.33" in found.evidence


def test_waiting_for_no_rank_in_particular_has_a_name_and_knobs_of_its_own() -> None:
    results = {"step_time": at(1.0), "comm_exposed": at(0.3), "comm_wait": at(0.25, 0.05), "comm_total": at(0.3)}
    (found,) = BOTTLENECK_COMMUNICATION.examine(trained().measured(), results)
    assert found.rule == "bottleneck_waiting"
    assert "250 ms of every step for the latest of them, 25 % of it, and no rank is consistently slow" in found.evidence
    assert "at most 1.333 times as fast [1.250, 1.429]" in found.evidence
    assert "a faster network does not help" in found.remedy


def test_waiting_that_computing_hides_is_not_taken_off() -> None:
    """0.2 s exposed, the transfer of the last bucket; 0.4 s of waiting lies under the backward pass: a faster network gains all of the
    0.2.
    """
    results = {"step_time": at(1.0), "comm_exposed": at(0.2), "comm_wait": at(0.4), "comm_total": at(0.6)}
    (found,) = BOTTLENECK_COMMUNICATION.examine(trained().measured(), results)
    assert (found.rule, "waiting" in found.evidence) == (BOTTLENECK_COMMUNICATION.name, False)
    assert "at most 1.25 times as fast" in found.evidence


@pytest.mark.slow
@pytest.mark.parametrize("leave_out", [(), ("collectives",)])
def test_what_is_waiting_for_a_slow_rank_is_told_once_and_not_as_communication(leave_out: tuple[str, ...]) -> None:
    """All wait for rank 1, 120 ms late in its backward pass of a step of 190 ms: a faster network would gain next to nothing."""
    late = record(Training(ranks=3, seed=3, late={(1, "backward"): 120.0}), launches=3, leave_out=leave_out)
    judged = concluded(late.measured())
    rules = [found.rule for found in judged.verdict.findings if found.rule.startswith(("straggler", "bottleneck"))]
    assert rules == ["straggler"]
    assert judged.results["comm_exposed"]["workers=3"].value > 0.1 * judged.results["step_time"]["workers=3"].value  # type: ignore[union-attr]


@pytest.mark.slow
def test_communication_is_still_told_beside_a_slow_rank() -> None:
    """Short work between four transfers of 5 ms, and rank 0 late in loading: both are so."""
    work = {"data": 1.0, "forward": 5.0, "backward": 5.0, "optimizer": 1.0, "between": 0.5}
    made = record(Training(ranks=2, seed=3, late={(0, "data"): 20.0}, usual_ms=work), launches=3)
    rules = [found.rule for found in concluded(made.measured()).verdict.findings if found.rule.startswith(("straggler", "bottleneck"))]
    assert sorted(set(rules) - {"bottleneck_data", "bottleneck_handbook_communication"}) == ["bottleneck_communication", "straggler"]


@pytest.mark.parametrize(
    ("kind", "evidence", "word"),
    [
        ("data", "DistributedDataParallel over 2 ranks", "bucket_cap_mb"),
        ("data", "collectives as large as the gradients in 8 of 8 steps", "DistributedDataParallel does both"),
        ("sharded", "FSDP over 2 ranks", "reshard_after_forward"),
        ("tensor", "DTensor", "sequence parallelism"),
        (None, "not known", "fewer and larger calls"),
    ],
)
def test_the_advice_is_of_the_parallelism_that_there_is(kind: Kind | None, evidence: str, word: str) -> None:
    said = knob(Parallelism(kind=kind, by="recognised", evidence=evidence))
    assert word in said
    assert ("bucket_cap_mb" in said) == (word == "bucket_cap_mb")


# ---- bottleneck data ----
# Waiting for data is told with what would be gained without it, and against the base.

BOTTLENECK_DATA = catalog.load("verdict.audits", "bottleneck_data")
DATA_ONE = "workers=1"


def data_found(waits: Mapping[int, Sequence[Sequence[float]]], step: float = 0.1) -> tuple[Finding, ...]:
    """workers -> for each launch what its steps wait, in turn, 60 steps of `step` seconds."""
    made = Handmade(levels=tuple(waits), blocks=len(next(iter(waits.values()))))
    for workers, launches in waits.items():
        for block, own in enumerate(launches):
            number = made.launch(workers=workers, block=block)
            for rank in range(workers):
                for place in range(60):
                    wait = {"data": own[place % len(own)]}
                    made.steps(number, rank=rank, seconds=[step], first=place, start_s=place * step, phases_s=wait)
    return tuple(BOTTLENECK_DATA.examine(made.measured(), {}))


def test_a_part_is_told_from_a_tenth_on_with_its_gain_and_its_knob_data() -> None:
    assert data_found({1: [[0.009]] * 3}) == ()
    (one,) = data_found({1: [[0.05]] * 3})
    assert (one.rule, one.severity, one.configuration) == (BOTTLENECK_DATA.name, "note", DATA_ONE)
    assert "takes 50 ms of a step on average, 50 % of it; without it a step would be at most 2 times as fast" in one.evidence
    assert "bursts" not in one.evidence
    assert "assay tune" in one.remedy


def test_a_loader_that_lets_every_fourth_step_wait_is_told_although_the_usual_step_does_not() -> None:
    """80 of 100 ms in every fourth step: 20 ms of a step on average, 1.25 times."""
    (one,) = data_found({1: [[0.0, 0.0, 0.0, 0.08]] * 3})
    assert "a typical step waits 0 s: waiting comes in bursts" in one.evidence
    assert "20.0 ms of a step on average, 20 % of it; without it a step would be at most 1.25 times as fast" in one.evidence


def test_the_gain_has_an_interval_from_the_launches() -> None:
    (one,) = data_found({1: [[0.02], [0.03], [0.04]]})
    assert "30 % of it [5, 55]; without it a step would be at most 1.43 times as fast [1.05, 2.22]" in one.evidence


@pytest.mark.parametrize("launches", [1, 3])
def test_what_was_not_measured_is_no_bottleneck_data(launches: int) -> None:
    made = Handmade(levels=(1,), blocks=launches)
    for block in range(launches):
        made.steps(made.launch(workers=1, block=block), seconds=[0.1] * 60)
    assert tuple(BOTTLENECK_DATA.examine(made.measured(), {})) == ()


def test_data_that_does_not_scale_is_told_against_the_base() -> None:
    (one,) = data_found({1: [[0.005]] * 3, 2: [[0.015]] * 3})
    assert one.configuration == "workers=2"
    assert "3 times that of the base" in one.evidence


def test_of_steps_that_took_no_time_there_is_no_share() -> None:
    assert data_found({1: [[0.5]] * 3}, step=0.0) == ()


# ---- bottleneck launches ----
# A device that idles between short kernels is told; one that idles for another reason, or works, is not.

BOTTLENECK_LAUNCHES = catalog.load("verdict.audits", "bottleneck_launches")
LAUNCHES_ONE = "workers=1"
MS = 1_000_000


def profiled(*idle_ms: int, kernel_us: float, on_device: bool = True) -> RecordData:
    """Steps of 100 ms that idle so long, and 1,000 kernels of a length."""
    made = Handmade(levels=(1,), blocks=1)
    launch = made.launch(workers=1, role="profile")
    steps = [{"window_ns": 100 * MS, "idle_ns": one * MS} for one in idle_ms]
    kernels = [
        {"name": "ncclDevKernel_AllReduce", "class": "communication", "calls": 4, "ns": 40 * MS},  # its length is no kernel's that computes
        {"name": "k", "class": "matmul", "calls": 1000, "ns": round(1000 * kernel_us * 1000)},
    ]
    rank: dict[str, Any] = {"rank": 0, "on_device": on_device, "steps": steps, "kernels": kernels}
    return replace(made.measured(), profiles=({"launch": launch, "ranks": [rank], "nsys": []},))


def test_a_device_that_idles_between_short_kernels_is_told_with_the_most_that_could_be_gained() -> None:
    """50 of 100 ms on average, 40 at least and 60 at most: 2 times, 1.67 to 2.5."""
    (found,) = BOTTLENECK_LAUNCHES.examine(profiled(40, 60, kernel_us=5.0), {})
    assert (found.rule, found.configuration) == ("bottleneck_launches", LAUNCHES_ONE)
    assert "idles 50% of the profiled steps (40% to 60% of each)" in found.evidence
    assert "without it a step would be at most 2.00 times as fast [1.66, 2.50]" in found.evidence
    assert "torch.compile" in found.remedy


@pytest.mark.parametrize(
    ("idle", "kernel_us", "on_device"),
    [((5, 8), 5.0, True), ((40, 60), 200.0, True), ((40, 60), 5.0, False)],
    ids=["busy", "long kernels", "on processors"],
)
def test_otherwise_nothing_is_told(idle: tuple[int, ...], kernel_us: float, on_device: bool) -> None:
    measured = profiled(*idle, kernel_us=kernel_us, on_device=on_device)
    assert tuple(BOTTLENECK_LAUNCHES.examine(measured, {})) == ()


def test_waiting_for_data_is_taken_off() -> None:
    """45 of 50 ms idle are data: 5 % are left."""
    data = {"data_time": {LAUNCHES_ONE: estimate(0.045, 0.0, "s")}}
    assert tuple(BOTTLENECK_LAUNCHES.examine(profiled(50, 50, kernel_us=5.0), data)) == ()


def test_without_a_profile_nothing_is_told() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    assert tuple(BOTTLENECK_LAUNCHES.examine(made.measured(), {})) == ()


# ---- bottleneck memory ----
# Memory that is nearly used up is a warning, memory that lies idle a note.

BOTTLENECK_MEMORY = catalog.load("verdict.audits", "bottleneck_memory")
MEMORY_ONE = "workers=1"


def memory_of(value: float, half: float = 0.0, unit: str = "s") -> dict[str, Estimate]:
    return {MEMORY_ONE: estimate(value, half, unit)}


def memory_measured() -> Handmade:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    return made


GIB = 1024**3


@pytest.mark.parametrize(
    ("device", "host", "rules"),
    [(0.95, 0.1, ["bottleneck_memory"]), (0.4, 0.1, ["memory_unused"]), (0.7, 0.5, []), (0.7, 0.96, ["bottleneck_memory"])],
)
def test_memory_that_is_full_or_idle(device: float, host: float, rules: list[str]) -> None:
    made = memory_measured()
    made.manifest["environment"]["before"] = {
        "gpu": {"nvidia": {"devices": [{"memory_bytes": 80 * GIB}, {"memory_bytes": 100 * GIB}]}},
        "memory": {"total_bytes": 64 * GIB},
        "cgroup": {"memory_limit": {"limit": "bytes", "bytes": 32 * GIB}},
    }
    results = {"memory_peak": memory_of(device * 80 * GIB, 0.0, "B"), "host_memory_peak": memory_of(host * 32 * GIB, 0.0, "B")}
    assert [one.rule for one in BOTTLENECK_MEMORY.examine(made.measured(), results)] == rules


def test_memory_of_a_machine_that_is_not_known_limits_nothing() -> None:
    results = {"memory_peak": memory_of(1e12, 0.0, "B"), "host_memory_peak": memory_of(1e12, 0.0, "B")}
    assert tuple(BOTTLENECK_MEMORY.examine(memory_measured().measured(), results)) == ()


def test_ranks_of_two_hosts_do_not_share_the_memory_of_one() -> None:
    """4 ranks of 12 GiB: 24 GiB on each of two hosts of 32 GiB is enough, 48 GiB on one is not."""
    for hosts, rules in ((("a", "a", "b", "b"), []), (("a", "a", "a", "a"), ["bottleneck_memory"])):
        made = Handmade(levels=(4,), blocks=1)
        number = made.launch(workers=4)
        for rank, host in enumerate(hosts):
            made.event(number, "first_step", 1.0, rank=rank, host=host)
        made.manifest["environment"]["before"] = {"memory": {"total_bytes": 32 * GIB}}
        results = {"host_memory_peak": {"workers=4": estimate(12.0 * GIB, 0.0, "B")}}
        assert [one.rule for one in BOTTLENECK_MEMORY.examine(made.measured(), results)] == rules


# ---- bottleneck processors ----
# Workers that share processors cannot shrink their computing: the floor is by hand, and silent where processors suffice.

BOTTLENECK_PROCESSORS = catalog.load("verdict.audits", "bottleneck_processors")


def processors_found(
    processors: int | None, *, device: bool = False, threads: int = 1, transfer: bool = True, simulated: bool = False
) -> list[Finding]:
    """A base that computes 80 ms of 100; four workers that compute 45 ms each."""
    made = Handmade(levels=(1, 4), blocks=3)
    made.experiment = made.experiment.model_copy(update={"launcher": Launcher(threads_per_worker=threads)})
    made.manifest["environment"] = {"before": {"cpu": {"usable": {"count": processors} if processors else {"absent": "no affinity"}}}}
    made.manifest |= {"simulated": {}} if simulated else {}
    for block in range(3):
        for workers, each, computing in ((1, 0.1, 0.08), (4, 0.05, 0.045)):
            number = made.launch(workers=workers, block=block)
            for rank in range(workers):
                made.steps(
                    number, rank=rank, seconds=[each] * 20, phases_s={"data": 0.0, "forward": computing, "backward": 0.0, "optimizer": 0.0}
                )
    data = made.measured()
    results = {STEP_TIME_MEAN.name: STEP_TIME_MEAN.compute(data, {})}
    for metric in METRICS:
        results[metric.name] = metric.compute(data, results)
    if transfer:
        results["lost_transfer"] = {"workers=4": estimate(0.001, 0.0, "s")}
    if device:
        results["memory_peak"] = {"workers=4": estimate(1e9, 0.0, "B")}
    return list(BOTTLENECK_PROCESSORS.examine(data, results))


def test_four_workers_on_two_processors_compute_at_least_half_of_the_base() -> None:
    """80 / 2 - 80 / 4 = 20 ms, of 45 - 80 / 4 = 25 ms that did not shrink."""
    (finding,) = processors_found(2)
    assert finding.configuration == "workers=4"
    assert finding.evidence == (
        "4 workers share 2 usable processors, which explains 20 ms of the 25 ms [25, 25] of computing that did not shrink"
    )
    assert "a machine with 4 processors" in finding.remedy


@pytest.mark.parametrize(("processors", "device"), [(4, False), (8, False), (None, False), (2, True)])
def test_enough_processors_unknown_ones_or_a_device_say_nothing(processors: int | None, device: bool) -> None:
    assert processors_found(processors, device=device) == []


def test_the_processors_of_a_simulating_machine_explain_nothing() -> None:
    assert processors_found(2, simulated=True) == []


def test_threads_count_too() -> None:
    (finding,) = processors_found(4, threads=2)
    assert "4 workers with 2 threads each share 4 usable processors" in finding.evidence


def test_without_a_measured_transfer_the_lost_computing_holds_communication_too() -> None:
    (finding,) = processors_found(2, transfer=False)
    assert finding.evidence.endswith("20 ms of the 25 ms [25, 25] of computing and communication that did not shrink")


# ---- bottleneck start ----
# A long start is told with the length of a job for which it would not matter.

BOTTLENECK_START = catalog.load("verdict.audits", "bottleneck_start")
START_ONE = "workers=1"


def start_of(value: float, half: float = 0.0, unit: str = "s") -> dict[str, Estimate]:
    return {START_ONE: estimate(value, half, unit)}


def start_measured() -> Handmade:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    return made


@pytest.mark.slow
def test_a_long_start_says_how_long_a_job_must_be_for_it_not_to_matter() -> None:
    """4 of 10 s before the first step: 2 % once a job takes 200 rank-seconds."""
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1, wall_s=10.0)
    made.steps(0, seconds=[0.5] * 12, start_s=4.0)
    (found,) = BOTTLENECK_START.examine(made.measured(), {})
    assert found.evidence.startswith("40% of the paid time")
    assert "once a job takes 200 rank-seconds instead of 10" in found.evidence
    made.steps(0, seconds=[1.5], first=12, start_s=0.0, incarnation=0)  # it trained from the beginning
    assert tuple(BOTTLENECK_START.examine(made.measured(), {})) == ()


# ---- bottleneck utilisation ----
# A low utilisation is told only where its whole interval is low.

BOTTLENECK_UTILISATION = catalog.load("verdict.audits", "bottleneck_utilisation")
UTILISATION_ONE = "workers=1"


def utilisation_of(value: float, half: float = 0.0, unit: str = "s") -> dict[str, Estimate]:
    return {UTILISATION_ONE: estimate(value, half, unit)}


def utilisation_measured() -> Handmade:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    return made


def test_a_low_utilisation_is_told_only_where_its_whole_interval_is_low() -> None:
    made = utilisation_measured().measured()
    (found,) = BOTTLENECK_UTILISATION.examine(made, {"mfu": utilisation_of(0.1, 0.02, "fraction")})
    assert "10.0 times as fast [8.3, 12.5]" in found.evidence  # 1 / 0.12 and 1 / 0.08
    assert tuple(BOTTLENECK_UTILISATION.examine(made, {"mfu": utilisation_of(0.19, 0.02, "fraction")})) == ()
    assert tuple(BOTTLENECK_UTILISATION.examine(made, {"mfu": {UTILISATION_ONE: Absent(reason="not_measured", detail="")}})) == ()
