"""Which launches will be made, in which order, with which seeds?  A pure function of the experiment.

Randomised complete blocks: each block holds every configuration once, in a random order whose seed is the
experiment's.  A slow drift of the machine then hits all configurations alike (methodology section 1c).
All launches of a block share one training seed, so that configurations are compared on paired randomness.
Fault launches come last: they are never timed, and what they break cannot disturb a timed launch.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from assay.spec.experiment import Experiment

Role = Literal["timed", "fault"]


@dataclass(frozen=True, kw_only=True)
class PlannedFault:
    """A fault with everything random already drawn."""

    kind: str
    rank: int  # the rank that is hit
    after_checkpoints: int
    delay_steps: int  # steps after the checkpoint at which it strikes
    signal: str


@dataclass(frozen=True, kw_only=True)
class PlannedLaunch:
    """One start of one configuration, before it has happened."""

    slot: int  # place in the plan, from 0
    configuration: str  # "workers=2"
    workers: int
    block: int
    order: int  # place inside the block
    role: Role
    seed: int  # shared by all launches of a block
    fault: PlannedFault | None = None


def configuration_name(workers: int) -> str:
    """The name of a configuration in records, reports and JSON."""
    return f"workers={workers}"


def plan(experiment: Experiment) -> tuple[PlannedLaunch, ...]:
    """All launches in order. Equal experiments give equal plans, on every machine and Python version."""
    random_numbers = random.Random(experiment.launches.seed)
    launches: list[PlannedLaunch] = []
    for block in range(experiment.launches.per_configuration):
        seed = random_numbers.getrandbits(31)
        levels = list(experiment.factor.levels)
        random_numbers.shuffle(levels)
        for order, workers in enumerate(levels):
            launches.append(_launch(len(launches), workers, block, order, "timed", seed, None))
    block = experiment.launches.per_configuration
    for fault in experiment.faults:
        for order, workers in enumerate(fault.levels or (max(experiment.factor.levels),)):
            planned = PlannedFault(
                kind=fault.kind,
                rank=random_numbers.randrange(workers),
                after_checkpoints=fault.after_checkpoints,
                delay_steps=random_numbers.randint(1, fault.within_steps),
                signal=fault.signal,
            )
            seed = random_numbers.getrandbits(31)
            launches.append(_launch(len(launches), workers, block, order, "fault", seed, planned))
    return tuple(launches)


def _launch(
    slot: int, workers: int, block: int, order: int, role: Role, seed: int, fault: PlannedFault | None
) -> PlannedLaunch:
    return PlannedLaunch(
        slot=slot, configuration=configuration_name(workers), workers=workers,
        block=block, order=order, role=role, seed=seed, fault=fault,
    )  # fmt: skip
