"""Which keys of a fault contradict each other, or the workload they break?

Requirements of a kind of fault on its own keys are rules of the kind (`fireassay.faults.support.base.Fault.rule`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from fireassay import catalog
from fireassay.errors import Problem
from fireassay.spec.explain import did_you_mean, shown
from fireassay.spec.rules.partial import broken, right
from fireassay.spec.sections.faults import Fault, kind_names, kind_of
from fireassay.spec.sections.serving import Target

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment


def _as_its_kind_demands(fault: Fault, _: Experiment) -> Iterator[Problem]:
    if (kind := kind_of(fault)) is not None:
        yield from kind.rule(fault)


def _restarts(experiment: Experiment) -> Iterator[Problem]:
    kinds = [kind for _, fault in right(experiment.faults) if (kind := kind_of(fault)) is not None]
    if experiment.launcher.max_restarts == 0 and any(kind.ends_worker for kind in kinds):
        yield Problem(
            "launcher.max_restarts",
            "0",
            "a whole number of at least 1 if there are faults",
            "Remove it (default 3), or remove the faults: without a restart nothing recovers.",
        )


def _strikes(fault: Fault, experiment: Experiment) -> Iterator[Problem]:
    kind, most = kind_of(fault), experiment.launcher.max_restarts
    if fault.times > max(1, most):
        fix = f"Write launcher.max_restarts = {fault.times}: after the last strike nothing would start the workers again."
        yield Problem("times", str(fault.times), f"at most launcher.max_restarts, which is {most}", fix)
    if fault.times > 1 and kind is not None and kind.ends_worker is False:
        fix = "Remove it: it strikes again after each restart of the workers, and this fault restarts none."
        yield Problem("times", str(fault.times), f"1 for a fault that ends no worker (here: {kind.name})", fix)


def _finds_its_target(fault: Fault, experiment: Experiment) -> Iterator[Problem]:
    assert experiment.serving is not None
    targets = tuple(target for _, target in right(experiment.serving.targets)) or (Target(),)
    names = [target.name for target in targets]
    if fault.target not in ("", *names):
        yield Problem("target", shown(fault.target), f"one of the engines {', '.join(names)}", did_you_mean(fault.target, names))
        return
    struck = [target for target in targets if fault.target in ("", target.name)]
    kind = kind_of(fault)
    strange = [target for target in struck if not target.command]
    if kind is not None and kind.needs == "pids" and strange:
        started = [name for name in kind_names() if catalog.load("faults", name).needs == "pids"]
        yield Problem(
            "kind",
            f"{shown(kind.name)} for {strange[0].name}, which assay does not start",
            f"{', '.join(started)} only if the target has a command",
            'Add command to the target, or write kind = "command" with a line that reaches the server.',
        )
    replica = fault.replica
    for target in islice((target for target in struck if replica is not None and replica >= _replicas(target)), 1):
        allowed = f"a number below the replicas of {target.name}: {_replicas(target)}"
        yield Problem("replica", shown(replica), allowed, "Replicas are numbered from 0.")


def _replicas(target: Target) -> int:
    return len(target.urls) or target.replicas


def _falls_into_the_load(fault: Fault, experiment: Experiment) -> Iterator[Problem]:
    assert experiment.serving is not None
    serving = experiment.serving
    if fault.load_s is not None and 0 < fault.load_s <= fault.at_s:
        allowed = f"less than load_s of this fault, {fault.load_s:g}"
        yield Problem("at_s", f"{fault.at_s:g}", allowed, "Strike earlier, or let the load last longer.")
    loads = [load for _, load in (*right(serving.concurrency), *right(serving.rate))]
    if fault.load is not None and fault.load > 0 and fault.load not in loads:
        allowed = f"one of the loads {', '.join(f'{load:g}' for load in loads)}" if loads else "none, since there are no loads"
        yield Problem("load", f"{fault.load:g}", allowed, "Remove it to use the middle one.")


def _of_each(experiment: Experiment, *rules: Callable[[Fault, Experiment], Iterator[Problem]]) -> Iterator[Problem]:
    """The problems of every fault, under its keys."""
    for index, fault in right(experiment.faults):
        for problem in broken(rules, fault, experiment):
            yield replace(problem, where=f"faults[{index}].{problem.where}")


def fault_problems(experiment: Experiment) -> Iterator[Problem]:
    """Every contradiction of the faults."""
    yield from _of_each(experiment, _as_its_kind_demands)
    yield from broken((_restarts,), experiment)
    yield from _of_each(experiment, _strikes)
    if experiment.serving is not None and experiment.serving.model_fields_set:
        yield from _of_each(experiment, _finds_its_target, _falls_into_the_load)
