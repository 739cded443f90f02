"""Milliseconds that were planted in a step come back in their row of *why not faster*: ten causes and their mixtures.

Ranks with clocks of their own make steps of 40 ms of computing, divided by the workers; they meet in the backward pass, where the later
ones are waited for. What is planted stands in the test; what a perfect split would divide is planted at every worker count.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from fireassay import catalog
from fireassay.estimates.estimate import Estimate
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.metrics.training.lost_time import METRICS
from fireassay.metrics.training.time import STEP_TIME_MEAN
from tests.handmade import Handmade

MS = 1_000_000
STEPS, WORK = 50, 40.0
SAVING_ALONE = catalog.load("verdict.audits", "saving_alone")


@dataclass(frozen=True, kw_only=True)
class Planted:
    """Milliseconds per step, or per event of every fourth step (`every`)."""

    data: float = 0.0
    serial: float = 0.0
    one_rank: float = 0.0  # the last of several
    inside: float = 0.0  # transfer in the backward pass, between the phases, and after the optimizer
    between: float = 0.0
    outside: float = 0.0
    saves: float = 0.0  # rank 0 alone; so does it evaluate
    evaluates: float = 0.0
    every: int = 4
    steps: int = STEPS
    sleeps: float = 0.0  # all ranks, in no phase
    sleeps_alone: float = 0.0  # rank 0, where there are several
    all_save: float = 0.0
    turns: float = 0.0  # another rank in each step


@dataclass
class Rank:
    """One rank's clock, ms, and what its current step consists of."""

    now: float = 0.0
    begin: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)
    waits: dict[str, float] = field(default_factory=dict)
    pause: float = 0.0

    def spend(self, phase: str, ms: float) -> None:
        self.now += ms
        if phase != "between":
            self.phases[phase] = self.phases.get(phase, 0.0) + ms


def meet(made: Handmade, launch: int, step: int, call: int, ranks: list[Rank], phase: str, transfer: float) -> None:
    """A collective: it begins with the last rank, and takes as long as the transfer."""
    end = max(rank.now for rank in ranks) + transfer
    origin = made.begin[launch]
    for number, rank in enumerate(ranks):
        begin, length = origin + round(rank.now * MS), end - rank.now
        rank.waits[phase] = rank.waits.get(phase, 0.0) + length
        rank.spend(phase, length)
        what = ("all_reduce", len(ranks), 4, "float32", "", None)
        row = (launch, number, 0, "0", call, step, *what, begin, origin + round(end * MS), None, None, None, "host")
        made.rows["collectives"].append(row)


def train(made: Handmade, planted: Planted, workers: int, block: int) -> None:
    launch = made.launch(workers=workers, block=block, wall_s=60.0)
    ranks, call = [Rank() for _ in range(workers)], 0
    for step in range(planted.steps):
        event = step % planted.every == planted.every - 1
        for number, rank in enumerate(ranks):
            rank.begin, rank.phases, rank.waits, rank.pause = rank.now, {}, {}, 0.0
            slow = planted.one_rank if workers > 1 and number == workers - 1 else 0.0
            slow += planted.turns if workers > 1 and step % workers == number else 0.0
            rank.spend("data", planted.data)
            rank.spend("forward", WORK / workers + planted.serial + slow)
            rank.spend("backward", 0.0)
        for phase, ms in (("backward", planted.inside), ("between", planted.between), ("optimizer", 0.0), ("between", planted.outside)):
            if phase == "optimizer":
                for rank in ranks:
                    rank.spend("optimizer", 1.0 / workers)
            elif workers > 1 and (phase == "backward" or ms):
                meet(made, launch, step, call, ranks, phase, ms)
                call += 1
        for number, rank in enumerate(ranks):
            alone = planted.saves + planted.evaluates if number == 0 else 0.0
            rank.pause = alone + planted.all_save if event else 0.0
            slept = planted.sleeps + (planted.sleeps_alone if workers > 1 and number == 0 else 0.0)
            rank.spend("between", rank.pause + (slept if event else 0.0))
            write(made, launch, step, number, rank, 8.0 / workers, several=workers > 1)
            if event and number == 0 and planted.saves:
                made.event(launch, "checkpoint_save", rank.now / 1e3, rank=0, incarnation=0, duration_s=planted.saves / 1e3, step=step)


def write(made: Handmade, launch: int, step: int, number: int, rank: Rank, items: float, *, several: bool) -> None:
    """The rows of a rank's step as the hooks write them."""
    origin = made.begin[launch]
    phases = [round(rank.phases[name] * MS) for name in ("data", "forward", "backward", "optimizer")]
    times = (origin + round(rank.begin * MS), origin + round(rank.now * MS))
    waited = sum(round(ms * MS) for ms in rank.waits.values())
    exposed = waited if several else None
    made.rows["steps"].append((launch, number, 0, step, *times, *phases, round(rank.pause * MS), exposed, items, "monotonic"))
    if several:
        made.rows["communication"].append((launch, number, 0, step, "group", waited, waited, None, 4))
        made.rows["waits"] += [(launch, number, 0, step, phase, 0, round(ms * MS)) for phase, ms in rank.waits.items()]


def measured(planted: Planted, workers: int, blocks: int = 2) -> RecordData:
    made = Handmade(levels=(1, workers), blocks=blocks)
    for block in range(blocks):
        for level in (1, workers):
            train(made, planted, level, block)
    return made.measured()


def rows(planted: Planted, workers: int) -> dict[str, float]:
    data = measured(planted, workers)
    found: Results = {STEP_TIME_MEAN.name: STEP_TIME_MEAN.compute(data, {})}
    for metric in METRICS:
        found[metric.name] = metric.compute(data, found)
    values = {name.removeprefix("lost_"): value[f"workers={workers}"] for name, value in found.items()}
    return {name: 1e3 * value.value for name, value in values.items() if isinstance(value, Estimate)}


def undivided(ms: float, p: int) -> float:
    """What the same time at every worker count costs beyond a perfect split."""
    return ms - ms / p


# planted -> the rows that are not 0, for p workers
CASES = {
    "data": (Planted(data=10.0), lambda p: {"data": undivided(10.0, p)}),
    "serial": (Planted(serial=10.0), lambda p: {"computing": undivided(10.0, p)}),
    "one rank": (Planted(one_rank=20.0), lambda p: {"computing": 20.0 / p, "waiting": 20.0 * (p - 1) / p}),
    "in turn": (Planted(turns=20.0), lambda p: {"computing": 20.0 / p, "waiting": 20.0 * (p - 1) / p}),
    "transfer inside": (Planted(inside=16.6), lambda p: {"transfer": 16.6}),
    "transfer between": (Planted(between=16.6), lambda p: {"transfer": 16.6}),
    "transfer outside": (Planted(outside=16.6), lambda p: {"transfer": 16.6}),
    "saves of every fourth step": (Planted(saves=72.0), lambda p: {"pauses": 18.0}),
    "saves of every step": (Planted(saves=72.0, every=1), lambda p: {"pauses": 72.0}),
    "evaluation on one rank": (Planted(evaluates=40.0), lambda p: {"pauses": 10.0}),
    "saves on all ranks": (Planted(all_save=40.0), lambda p: {}),
    "sleeps": (Planted(sleeps=40.0), lambda p: {"unexplained": undivided(10.0, p)}),
    "sleeps of one rank": (Planted(sleeps_alone=40.0), lambda p: {"unexplained": 10.0 / p, "waiting": 10.0 * (p - 1) / p}),
    "serial, between and saves": (
        Planted(serial=6.0, between=8.0, saves=48.0),
        lambda p: {"computing": undivided(6.0, p), "transfer": 8.0, "pauses": 12.0},
    ),
    "data, one rank and outside": (
        Planted(data=6.0, one_rank=12.0, outside=9.0),
        lambda p: {"data": undivided(6.0, p), "computing": 12.0 / p, "waiting": 12.0 * (p - 1) / p, "transfer": 9.0},
    ),
    "all": (
        Planted(data=6.0, serial=5.0, inside=7.0, between=8.0, outside=9.0, saves=60.0, every=2, sleeps=10.0),
        lambda p: {
            "data": undivided(6.0, p),
            "computing": undivided(5.0, p),
            "transfer": 24.0,
            "pauses": 30.0,
            "unexplained": undivided(5.0, p),
        },
    ),
}


@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.parametrize("case", CASES)
def test_planted_milliseconds_come_back_in_their_rows(case: str, workers: int) -> None:
    planted, expected = CASES[case]
    right = {"data": 0.0, "computing": 0.0, "transfer": 0.0, "waiting": 0.0, "pauses": 0.0, "uneven": 0.0, "unexplained": 0.0}
    found = rows(planted, workers)
    mean = found.pop("step_time_mean")
    for name, value in {**right, **expected(workers)}.items():
        assert found[name] == pytest.approx(value, rel=0.1, abs=0.6), (name, found)  # the first step waits for no pause
    assert sum(found.values()) == pytest.approx(mean - base_mean(planted) / workers)


@pytest.mark.parametrize(
    ("every", "saves", "share"), [(1, "90 per launch of 72 ms each", "58 %"), (2, "45 per launch of 72 ms each", "40 %")]
)
def test_saves_are_as_much_of_the_steps_as_they_take(every: int, saves: str, share: str) -> None:
    """Two workers, 90 steps of 52 ms each: (40 + 1) / 2 and 31.5 undivided.

    All saves but the last are waited for: 89 of 72 ms are 57.8 % of 11,088 ms, 44 are 40.4 % of 7,848 ms.
    """
    planted = Planted(serial=31.5, saves=72.0, every=every, steps=90)
    (found,) = SAVING_ALONE.examine(measured(planted, 2), {})
    assert found.evidence == f"rank 0 alone saves the checkpoints, {saves}, and the other ranks wait for it: {share} of their steps"
    lost = rows(planted, 2)
    assert lost["pauses"] == pytest.approx(72.0 / every, abs=0.9)
    assert lost["waiting"] == pytest.approx(0.0, abs=0.9)  # no ranks that take turns


def base_mean(planted: Planted) -> float:
    """A step of one worker: what is planted at every count, and 41 ms of its own work."""
    return WORK + 1.0 + planted.data + planted.serial + planted.sleeps * (STEPS // planted.every) / STEPS
