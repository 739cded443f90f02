"""A record of collectives over simulated links, whose truth is known: T = rounds alpha + share bytes beta, times a factor of noise.

made = Made(ops=("all_reduce",), levels=(2, 4), alpha=30e-6, beta=1e-9)
made.measured()

Rows are those that the worker writes: a barrier, calls back to back, a barrier; the rank that is slowest takes T, the others less.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fireassay.estimates.estimate import Estimate, Value
from fireassay.frames.links import network_probe
from fireassay.frames.links.collective_calls import asked_cells
from fireassay.frames.record_data import RecordData
from fireassay.record.tables import TABLES
from fireassay.spec.experiment import Experiment, Factor, Launches
from fireassay.spec.plan import plan
from fireassay.spec.sections.collectives import Cell, Collectives, cells
from fireassay.spec.sections.workload import Workload
from tests.builders import frame

S = 1_000_000_000
LOOPS, CALLS = 3, 4

Wrong = Callable[[Cell, int, int, int], tuple[int | None, str | None]]  # cell, launch, rank, call of the loop


def all_right(cell: Cell, launch: int, rank: int, call: int) -> tuple[int | None, str | None]:
    """Every rank that gets a result finds it right."""
    return 0, None


@dataclass
class Made:
    """What was simulated."""

    ops: tuple[Any, ...] = ("all_reduce",)
    levels: tuple[int, ...] = (2,)
    blocks: int = 5
    sizes: tuple[str, ...] = ("1K:16M",)
    alpha: float = 50e-6
    beta: float = 1e-9
    noise: float = 0.02  # standard deviation of a loop's logarithm
    luck: float = 0.0  # likewise of a launch's
    fast: float = 0.9  # of the slowest rank's time, what the others take
    seed: int = 1
    wrong: Wrong = all_right
    unsupported: dict[str, str] = field(default_factory=dict)
    backend: Any = "gloo"
    environment: dict[str, str] = field(default_factory=dict)

    def experiment(self) -> Experiment:
        """What was asked for."""
        return Experiment(
            name="made",
            workload=Workload(runner="collectives", work="calls", environment=self.environment),
            factor=Factor(levels=self.levels),
            launches=Launches(per_configuration=self.blocks),
            collectives=Collectives(operations=self.ops, sizes=self.sizes, backend=self.backend),
        )

    def measured(self) -> RecordData:
        """The record as metrics see it."""
        experiment, numbers = self.experiment(), random.Random(self.seed)
        assert experiment.collectives is not None
        rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
        for launch, planned in enumerate(plan(experiment)):
            begin = (launch + 1) * 1000 * S
            rows["launches"].append(
                (
                    launch,
                    planned.slot,
                    0,
                    planned.configuration,
                    planned.workers,
                    planned.block,
                    planned.order,
                    "timed",
                    planned.seed,
                    begin,
                    begin + 10 * S,
                    "2026-01-01T00:00:00Z",
                    "ok",
                    "",
                    0,
                    0,
                    "{}",
                )
            )
            for op, why in self.unsupported.items():
                detail = json.dumps({"op": op, "place": "out", "backend": self.backend, "why": why})
                rows["events"].append((launch, begin, None, "host", 0, 0, "not_supported", None, None, detail))
            self._launch(rows["collectives"], launch, list(cells(experiment.collectives, planned.workers)), begin, numbers)
        return RecordData(
            experiment=experiment,
            manifest={"environment": {"before": {}, "after": {}}, "reason": ""},
            state="complete",
            sealed=True,
            tables={name: frame(name, own) for name, own in rows.items()},
        )

    def _launch(self, rows: list[tuple[Any, ...]], launch: int, asked: list[Cell], now: int, numbers: random.Random) -> None:
        luck, call = numbers.gauss(0.0, self.luck), 0
        for cell in asked:
            if cell.op in self.unsupported:
                continue
            truth = network_probe.predicted(cell.op, cell.workers, cell.nbytes, self.alpha, self.beta) or self.alpha
            for loop in range(LOOPS + 1):  # the first warms up, and takes ten times as long
                each = truth * 2.718281828 ** (numbers.gauss(0.0, self.noise) + luck) * (10.0 if loop == 0 else 1.0)
                slowest = numbers.randrange(cell.workers)
                for rank in range(cell.workers):
                    own = each if rank == slowest else each * self.fast
                    self._loop(rows, launch, cell, rank, call, now, own, "warm_up" if loop == 0 else "timed")
                call += CALLS + 2
                now += round(each * CALLS * S) + 1000

    def _loop(self, rows: list[tuple[Any, ...]], launch: int, cell: Cell, rank: int, call: int, now: int, each: float, phase: str) -> None:
        who, place = (launch, rank, 0, "world"), int(cell.place == "in")
        barrier = (None, "barrier", cell.workers, 0, "float32", phase, None)
        rows.append((*who, call, *barrier, now - 500, now, None, None, None, "host"))
        for number in range(CALLS):
            times = (now + round(number * each * S), now + round((number + 1) * each * S))
            wrong, fault = self.wrong(cell, launch, rank, number) if phase == "timed" else (0, None)
            rows.append(
                (
                    *who,
                    call + 1 + number,
                    None,
                    cell.op,
                    cell.workers,
                    cell.nbytes,
                    "float32",
                    phase,
                    place,
                    *times,
                    None,
                    wrong,
                    fault,
                    "host",
                )
            )
        end = now + round(CALLS * each * S)
        rows.append((*who, call + CALLS + 1, *barrier, end, end + 500, None, None, None, "host"))


def known(value: Value) -> Estimate:
    """The estimate, which must be one."""
    assert isinstance(value, Estimate), value
    return value


def one(measured: RecordData, **asked: object) -> Cell:
    """The first cell that is so."""
    return next(cell for cell in asked_cells(measured) if all(getattr(cell, name) == value for name, value in asked.items()))
