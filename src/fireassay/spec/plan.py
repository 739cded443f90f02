"""Which launches are made, in which order, with which seeds?

A pure function of the experiment.  Randomised complete blocks: each block holds every configuration once, in a random order
seeded by the experiment, so that slow drift of the machine affects all configurations alike (Fisher 1935, "The Design of
Experiments").  All launches of a block share one training seed, which pairs configurations on the same randomness.
Launches that calibrate communication or sweep collectives follow the timed ones, and fault launches come last: none of them is
timed, and damage done by faults cannot disturb another launch.

Equal on every machine and Python version: of the standard generator only `random()` after an integer seed is guaranteed to be
stable (Python documentation, "random", Notes on Reproducibility), so integers and the order (Fisher-Yates in Durstenfeld's
form, CACM 7(7):420, 1964) are derived from it here.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fireassay.errors import refuse
from fireassay.spec.sections.faults import Fault
from fireassay.spec.sections.scenario import DATASET
from fireassay.spec.sections.serving import Serving, Target

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment

Role = Literal["timed", "communication", "sweep", "profile", "fault"]
MAX_LAUNCHES = 100_000
SEEDS = 2**31  # training seeds are below this: valid for numpy, torch and C programs


@dataclass(frozen=True, kw_only=True)
class PlannedFault:
    """A fault with all random choices drawn."""

    kind: str
    rank: int  # the affected rank
    after_checkpoints: int
    delay_steps: int  # steps after the checkpoint at which it strikes
    signal: str
    serving: Fault | None = None  # of a load: the fault as specified; `rank` is then the replica
    training: Fault | None = None  # of a training: the fault as specified
    during_checkpoint: bool = False  # strikes the rank that saves the checkpoint after `after_checkpoints`
    times: int = 1  # once in each of the first `times` incarnations

    @property
    def may_strike_in_the_middle(self) -> bool:
        """True if it may strike mid-run if no checkpoint is saved, as the user set no other moment."""
        fault = self.training
        return fault is not None and fault.after_checkpoints is None and fault.at_step is None and not self.during_checkpoint

    @property
    def when(self) -> str:
        """When it strikes, in words."""
        if self.during_checkpoint:
            return f"while checkpoint {self.after_checkpoints + 1} is saved"
        if self.after_checkpoints:
            return f"{self.delay_steps} step{'s' if self.delay_steps != 1 else ''} after checkpoint {self.after_checkpoints}"
        return f"after step {self.delay_steps}" if self.delay_steps else "before the first step"


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """One level of the factor, with everything else fixed."""

    name: str  # "workers=2", "concurrency=8", "engine=b scenario=D(100,100) rate=5"
    workers: int  # worker processes; for an engine, replicas
    target: str = ""  # serving: the engine's name
    scenario: str = ""  # serving
    load: float | None = None  # serving: concurrency or requests per second; None: defined by the arrivals
    steps: int | None = None  # evaluation: its budget of reasoning tokens; None: the engine's own


@dataclass(frozen=True, kw_only=True)
class PlannedLaunch:
    """One planned start of one configuration."""

    slot: int  # index in the plan, from 0
    configuration: str  # its name
    workers: int
    block: int
    order: int  # index in the block
    role: Role
    seed: int  # shared by all launches of a block
    fault: PlannedFault | None = None


def configuration_name(workers: int) -> str:
    """The name of a configuration in records, reports and JSON."""
    return f"workers={workers}"


def configurations(experiment: Experiment) -> tuple[Configuration, ...]:
    """The configurations of a block: worker counts ascending, or engines, scenarios and loads in the given order."""
    if experiment.serving is not None and experiment.evaluation is not None:
        budgets = sorted(experiment.evaluation.steps.levels) if experiment.evaluation.steps.what == "reasoning_tokens" else ()
        return tuple(
            _evaluated(target, experiment.serving, step) for target in targets_of(experiment.serving) for step in budgets or (None,)
        )
    if experiment.serving is not None:
        return _loads(experiment.serving)
    if experiment.evaluation is not None:
        return tuple(Configuration(name=f"answers={file.name}", workers=1, target=file.name) for file in experiment.evaluation.answers)
    if experiment.timing.benchmarks:
        return tuple(Configuration(name=f"benchmark={name}", workers=1, target=name) for name in experiment.timing.benchmarks)
    return tuple(Configuration(name=configuration_name(level), workers=level) for level in sorted(experiment.factor.levels))


def _evaluated(target: Target, serving: Serving, steps: int | None) -> Configuration:
    """An engine that gets every item, with a budget of reasoning tokens if there are several."""
    load = serving.concurrency[0] if serving.concurrency else 1
    name = f"engine={target.name}" if steps is None else f"engine={target.name} reasoning_tokens={steps}"
    replicas = len(target.urls) or target.replicas
    return Configuration(name=name, workers=replicas, target=target.name, scenario=DATASET, load=load, steps=steps)


def targets_of(serving: Serving) -> tuple[Target, ...]:
    """The engines; if none is named, the one at the URL in workload.script."""
    return serving.targets or (Target(),)


def _loads(serving: Serving) -> tuple[Configuration, ...]:
    targets, scenarios = targets_of(serving), serving.scenarios
    load_key = "concurrency" if serving.concurrency else "rate" if serving.rate else ""
    loads: tuple[float | None, ...] = tuple(sorted(set(serving.concurrency or serving.rate))) or (None,)
    expanded = []
    for target, scenario, load in itertools.product(targets, scenarios, loads):
        parts = [
            *([f"engine={target.name}"] if len(targets) > 1 else []),
            *([f"scenario={scenario}"] if len(scenarios) > 1 else []),
            f"{load_key}={load:g}" if load is not None else serving.arrivals.process,
        ]
        expanded.append(
            Configuration(
                name=" ".join(parts), workers=len(target.urls) or target.replicas, target=target.name, scenario=scenario, load=load
            )
        )
    return tuple(expanded)


def configuration_of(experiment: Experiment, launch: PlannedLaunch) -> Configuration:
    """The configuration of a planned launch."""
    return next(configuration for configuration in configurations(experiment) if configuration.name == launch.configuration)


AFTER_A_FAULT_S = 20.0  # of load after a fault is undone: an engine takes seconds to restart


def measured_seconds(experiment: Experiment, launch: PlannedLaunch) -> float:
    """Duration of the measured part of a launch's load; with a fault, at least until well after its end."""
    assert experiment.serving is not None
    duration_s = experiment.serving.arrivals.duration_s
    fault = launch.fault.serving if launch.fault is not None else None
    if fault is None:
        return duration_s
    return fault.load_s if fault.load_s is not None else max(duration_s, fault.at_s + fault.for_s + AFTER_A_FAULT_S)


def refuse_endless(experiment: Experiment) -> None:
    """Refuse more launches than can be made: a short file from elsewhere may request more than memory holds.

    Raises:
        SpecError: more than `MAX_LAUNCHES`.
    """
    serving, each = experiment.serving, len(experiment.timing.benchmarks or experiment.factor.levels)
    if serving is not None:
        loads = len(serving.concurrency or serving.rate) or 1
        each = len(targets_of(serving)) * max(1, len(serving.scenarios)) * loads
        if experiment.evaluation is not None and experiment.evaluation.steps.what == "reasoning_tokens":
            each *= max(1, len(experiment.evaluation.steps.levels))
    elif experiment.evaluation is not None:
        each = len(experiment.evaluation.answers)
    faults = len(experiment.faults)
    if each * (experiment.blocks + faults) > MAX_LAUNCHES:
        raise refuse(
            "launches",
            f"{each:,} configurations in {experiment.blocks:,} rounds, with {faults:,} faults",
            f"at most {MAX_LAUNCHES:,} launches",
            "Make an experiment of its own of some of them.",
        )


def plan(experiment: Experiment) -> tuple[PlannedLaunch, ...]:
    """All launches in order. Equal experiments give equal plans; more launches per configuration only add blocks."""
    refuse_endless(experiment)
    untimed = (_communication_launches, _sweep_launches, _profile_launches, _fault_launches)
    kinds = (_timed_launches, *(() if experiment.launches.quick and experiment.serving is None else untimed))
    return tuple(
        PlannedLaunch(
            slot=slot,
            configuration=configuration.name,
            workers=configuration.workers,
            block=block,
            order=order,
            role=role,
            seed=seed,
            fault=fault,
        )
        for slot, (role, configuration, block, order, seed, fault) in enumerate(drawn for kind in kinds for drawn in kind(experiment))
    )


PLAN_COLUMNS = ("slot", "block", "order", "configuration", "role", "seed", "fault")


def plan_table(experiment: Experiment) -> tuple[tuple[str, ...], ...]:
    """The plan as rows of text under `PLAN_COLUMNS`."""
    return tuple(
        (
            str(launch.slot),
            str(launch.block),
            str(launch.order),
            launch.configuration,
            launch.role,
            str(launch.seed),
            _fault_words(launch.fault),
        )
        for launch in plan(experiment)
    )


def expected_seconds(experiment: Experiment, known: Mapping[str, float]) -> float | None:
    """Duration of the whole plan, from the seconds of one launch per configuration; None if one is unknown."""
    launches = plan(experiment)
    if any(launch.configuration not in known for launch in launches):
        return None
    return sum(known[launch.configuration] for launch in launches)


# role, configuration, block, order, seed, fault
Drawn = tuple[Role, Configuration, int, int, int, PlannedFault | None]


def _timed_launches(experiment: Experiment) -> Iterator[Drawn]:
    numbers = random.Random(experiment.launches.seed)
    if experiment.profile is not None and experiment.profile.only:
        return
    for block in range(experiment.blocks):
        seed = _below(numbers, SEEDS)
        # Levels as a set: their order does not change the experiment.
        for order, configuration in enumerate(_in_a_block(numbers, experiment)):
            yield "timed", configuration, block, order, seed, None


def _in_a_block(numbers: random.Random, experiment: Experiment) -> list[Configuration]:
    """Every configuration once, in random order; loads of an engine started by assay stay together, so it starts once."""
    drawn = _shuffled(numbers, configurations(experiment))
    serving = experiment.serving
    if serving is None or not any(target.command for target in targets_of(serving)):
        return drawn
    engines = list(dict.fromkeys(configuration.target for configuration in drawn))  # in their random order
    return sorted(drawn, key=lambda configuration: engines.index(configuration.target))


def _distributed(experiment: Experiment) -> list[Configuration]:
    return [configuration for configuration in configurations(experiment) if configuration.workers > 1]


# Untimed launches have generators of their own, so that more timed launches leave them unchanged.  Only integer seeds are
# guaranteed to be stable; timed seeds are below 2**63.


def _communication_launches(experiment: Experiment) -> Iterator[Drawn]:
    """Calibration launches of every configuration with several workers."""
    numbers = random.Random(experiment.launches.seed + 2**65)
    for repetition in range(experiment.workload.calibrate_communication):
        seed = _below(numbers, SEEDS)
        for order, configuration in enumerate(_shuffled(numbers, _distributed(experiment))):
            yield "communication", configuration, experiment.blocks + repetition, order, seed, None


def _sweep_launches(experiment: Experiment) -> Iterator[Drawn]:
    """One launch per configuration with several workers, timing collectives at several sizes."""
    numbers = random.Random(experiment.launches.seed + 2**67)
    for order, configuration in enumerate(_distributed(experiment) if experiment.measure.communication else ()):
        yield "sweep", configuration, experiment.blocks, order, _below(numbers, SEEDS), None


def _profile_launches(experiment: Experiment) -> Iterator[Drawn]:
    """One launch per profiled configuration."""
    numbers = random.Random(experiment.launches.seed + 2**66)
    levels = (experiment.profile.levels or experiment.factor.levels) if experiment.profile is not None else ()
    for order, configuration in enumerate(configuration for configuration in configurations(experiment) if configuration.workers in levels):
        yield "profile", configuration, experiment.blocks, order, _below(numbers, SEEDS), None


def _fault_launches(experiment: Experiment) -> Iterator[Drawn]:
    numbers = random.Random(experiment.launches.seed + 2**64)
    struck = ((fault, configuration) for fault in experiment.faults for configuration in _struck(experiment, fault))
    for order, (fault, configuration) in enumerate(struck):
        drawn = _drawn(numbers, fault, configuration.workers, experiment.serving is not None)
        yield "fault", configuration, experiment.blocks, order, _below(numbers, SEEDS), drawn


def _struck(experiment: Experiment, fault: Fault) -> list[Configuration]:
    """The configurations with a launch for this fault."""
    every = configurations(experiment)
    if experiment.serving is None:
        levels = fault.levels or (max(experiment.factor.levels),)
        return [configuration for level in levels for configuration in every if configuration.workers == level]
    struck = []
    for target, scenario in dict.fromkeys((configuration.target, configuration.scenario) for configuration in every):
        group = [configuration for configuration in every if (configuration.target, configuration.scenario) == (target, scenario)]
        if scenario == every[0].scenario and fault.target in ("", target):
            struck += [configuration for configuration in group if configuration.load == fault.load] or [group[(len(group) - 1) // 2]]
    return struck


def _drawn(numbers: random.Random, fault: Fault, workers: int, serving: bool) -> PlannedFault:
    rank, steps = _below(numbers, workers), _below(numbers, fault.within_steps)
    chosen = fault.replica if serving else fault.rank
    return PlannedFault(
        kind=fault.kind,
        rank=rank if chosen is None else chosen,
        after_checkpoints=0 if fault.at_step is not None else 1 if fault.after_checkpoints is None else fault.after_checkpoints,
        delay_steps=1 + steps if fault.at_step is None else fault.at_step,
        signal=fault.signal,
        serving=fault if serving else None,
        training=None if serving else fault,
        during_checkpoint=not serving and fault.during == "checkpoint",
        times=1 if serving else fault.times,
    )


def _below(numbers: random.Random, limit: int) -> int:
    """An integer from 0 to limit - 1, uniform up to 2**-53 * limit."""
    return int(numbers.random() * limit)


def _shuffled(numbers: random.Random, ordered: Sequence[Configuration]) -> list[Configuration]:
    items = list(ordered)
    for last in range(len(items) - 1, 0, -1):
        other = _below(numbers, last + 1)
        items[last], items[other] = items[other], items[last]
    return items


def _fault_words(fault: PlannedFault | None) -> str:
    if fault is None:
        return ""
    if fault.serving is not None:
        serving = fault.serving
        undone = f", undone after {serving.for_s:g} s" if serving.for_s else ""
        return f"{fault.kind} replica {fault.rank}, {serving.at_s:g} s into the load{undone}"
    who = "" if fault.during_checkpoint else f" rank {fault.rank},"
    return f"{fault.kind}{who} {fault.when}{_how(fault)}"


def _how(fault: PlannedFault) -> str:
    often = f", in each of the first {fault.times} incarnations" if fault.times > 1 else ""
    if fault.kind == "kill":
        return f", signal {fault.signal}{often}"
    undone = f", undone after {fault.training.for_s:g} s" if fault.training is not None and fault.training.for_s else ""
    return f"{undone}{often}"
