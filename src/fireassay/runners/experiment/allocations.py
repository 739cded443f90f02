"""Which nodes do an experiment's launches share?  Those that the launcher's engine lends, from before the first launch to after the last.

Experiments of one session with equal launchers share one allocation, or the comparison would be one of nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from fireassay import catalog
from fireassay.launchers.support.base import Allocation, Launcher
from fireassay.runners.experiment.context import RunContext
from fireassay.runners.experiment.node_agents import NodeAgents
from fireassay.spec.experiment import Experiment


@contextmanager
def shared(contexts: Sequence[RunContext]) -> Iterator[list[RunContext]]:
    """The contexts, whose launchers have the nodes that were lent.

    Raises:
        EnvironmentLacks: the engine refuses.
        Interrupted: a request to stop came while it waited.
    """
    with ExitStack() as held:
        lent: list[tuple[Experiment, Allocation]] = []
        agents: dict[str, NodeAgents] = {}
        changed = []
        for context in contexts:
            found = next((allocation for experiment, allocation in lent if experiment.launcher == context.experiment.launcher), None)
            if found is None and (found := _allocate(context, contexts)) is not None:
                lent.append((context.experiment, found))
                held.callback(found.release)
            changed.append(context if found is None else _placed(context, found))
            if hosts := changed[-1].experiment.launcher.hosts:
                if str(hosts) not in agents:
                    agents[str(hosts)] = NodeAgents(hosts)
                    held.callback(agents[str(hosts)].close)
                changed[-1] = replace(changed[-1], agents=agents[str(hosts)])
                changed[-1].note_environment(nodes=agents[str(hosts)].facts)
        yield changed


def _allocate(context: RunContext, contexts: Sequence[RunContext]) -> Allocation | None:
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

    def waiting(why: str) -> bool:
        context.show(waiting=why)
        return context.stop.count > 0

    return launcher.allocate(widest, waiting)


def _levels(experiment: Experiment) -> tuple[int, ...]:
    """The numbers of processes that need nodes: of a load the clients, whose number does not vary."""
    return experiment.factor.levels if experiment.serving is None else (experiment.serving.client.processes,)


def _placed(context: RunContext, allocation: Allocation) -> RunContext:
    context.note_environment(allocation={**allocation.facts, "hosts": [host.name for host in allocation.hosts]})
    launcher = context.experiment.launcher.model_copy(update={"hosts": allocation.hosts, "workers_per_node": allocation.workers_per_node})
    return replace(context, experiment=context.experiment.model_copy(update={"launcher": launcher}), lost=allocation.lost)
