"""Which nodes do an experiment's launches share?  Those that the launcher's engine lends, from before the first launch to after the last.

Experiments of one session with equal launchers share one allocation, or the comparison would be one of nodes.
The manifest lists every allocation of a record (`allocations`): how long it waited in the queue, how long it was held, how it ended.  One
without an end was held by a process that was killed; the next one says so, or that Slurm requeued its job.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from fireassay import catalog
from fireassay.errors import RecordError
from fireassay.launchers.support.base import Allocation, Launcher
from fireassay.runners.experiment.context import RunContext
from fireassay.runners.experiment.node_agents import NodeAgents
from fireassay.spec.experiment import Experiment
from fireassay.units import NS_PER_S


@contextmanager
def shared(contexts: Sequence[RunContext]) -> Iterator[list[RunContext]]:
    """The contexts, whose launchers have the nodes that were lent.

    Raises:
        EnvironmentLacks: the engine refuses.
        Interrupted: a request to stop came while it waited.
    """
    with ExitStack() as held:
        lent: list[tuple[Experiment, Allocation, dict[str, Any]]] = []
        agents: dict[str, NodeAgents] = {}
        changed = []
        for context in contexts:
            found = next((one for one in lent if one[0].launcher == context.experiment.launcher), None)
            if found is None and (found := _allocate(context, contexts)) is not None:
                lent.append(found)
                held.callback(found[1].release)
            changed.append(context if found is None else _placed(context, found[1]))
            if found is not None:
                held.enter_context(_noted(changed[-1], *found[1:]))
            if hosts := changed[-1].experiment.launcher.hosts:
                if str(hosts) not in agents:
                    agents[str(hosts)] = NodeAgents(hosts, partial(_waits, changed[-1]))
                    held.callback(agents[str(hosts)].close)
                changed[-1] = replace(changed[-1], agents=agents[str(hosts)])
                changed[-1].note_environment(nodes=agents[str(hosts)].facts)
        yield changed


def _waits(context: RunContext, words: str) -> bool:
    """Show what the run waits for; whether to give up."""
    if words:
        context.show(waiting=words)
    return context.stop.count > 0


@contextmanager
def _noted(context: RunContext, allocation: Allocation, asked: dict[str, Any]) -> Iterator[None]:
    """List the allocation in the record, and at last how it ended."""
    begun_ns = context.clock.now_ns()
    entry = {**asked, "hosts": [host.name for host in allocation.hosts], "begin_utc": context.begin_utc()}
    former = _ended(context.record.manifest.get("allocations") or (), entry)
    context.record.note(allocations=[*former, entry])
    try:
        yield
    finally:
        lost, stopped = allocation.lost(0.0), context.stop.reason
        end = lost.state if lost is not None else f"given back, stopped by {stopped}" if stopped else "given back"
        held_s = (context.clock.now_ns() - begun_ns) / NS_PER_S
        with suppress(RecordError):  # a full disk; what was measured is kept
            context.record.note(allocations=[*former, {**entry, "end": end, "lost": lost is not None, "held_s": held_s}])


def _ended(former: Sequence[dict[str, Any]], entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The allocations before this one; those that nobody saw end are ended."""
    same = [one.get("job_id") == entry.get("job_id") and one.get("restart_count") != entry.get("restart_count") for one in former]
    requeued = {"end": "REQUEUED", "lost": True}
    unseen = {"end": "unknown: the process that held it was killed", "lost": False}
    return [
        {**one, **(requeued if again and not one.get("lost") else unseen if "end" not in one else {})}
        for one, again in zip(former, same, strict=True)
    ]


def _allocate(context: RunContext, contexts: Sequence[RunContext]) -> tuple[Experiment, Allocation, dict[str, Any]] | None:
    kind = context.experiment.launcher.kind
    if kind == type(context.experiment.launcher)().kind:  # this machine: nothing is loaded for it
        return None
    launcher: Launcher = catalog.load("launchers", kind)
    if launcher.allocate is None:
        return None
    levels = sorted(
        {level for other in contexts if other.experiment.launcher == context.experiment.launcher for level in _levels(other.experiment)}
    )
    widest = context.experiment.model_copy(update={"factor": context.experiment.factor.model_copy(update={"levels": tuple(levels)})})

    asked_utc, asked_ns = context.begin_utc(), context.clock.now_ns()
    found = launcher.allocate(widest, partial(_waits, context))
    waited_s = (context.clock.now_ns() - asked_ns) / NS_PER_S if found.waited_s is None else found.waited_s
    facts = {name: found.facts[name] for name in ("engine", "job_id", "restart_count") if name in found.facts}
    return context.experiment, found, {**facts, "asked_utc": asked_utc, "waited_s": waited_s}


def _levels(experiment: Experiment) -> tuple[int, ...]:
    """The numbers of processes that need nodes: of a load the clients, whose number does not vary."""
    return experiment.factor.levels if experiment.serving is None else (experiment.serving.client.processes,)


def _placed(context: RunContext, allocation: Allocation) -> RunContext:
    context.note_environment(allocation={**allocation.facts, "hosts": [host.name for host in allocation.hosts]})
    launcher = context.experiment.launcher.model_copy(update={"hosts": allocation.hosts, "workers_per_node": allocation.workers_per_node})
    return replace(context, experiment=context.experiment.model_copy(update={"launcher": launcher}), lost=allocation.lost)
