"""How do the flags of `assay fleet` become an experiment?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fireassay.errors import Problem, SpecError, refuse
from fireassay.spec.fleet import DEFAULT, FIND_SHARE, PAIRS, fleet_arguments
from fireassay.spec.hosts_file import hosts_in, launcher_of
from fireassay.spec.load import checked

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from fireassay.spec.experiment import Experiment

ROUNDS: Final = 7
FLAG_OF: Final = {
    "launcher.hosts": "--hosts",
    "launcher.kind": "--launcher",
    "factor.levels": "--nodes",
    "launches.per_configuration": "--rounds",
    "launches.confidence": "--confidence",
    "name": "--name",
}
DEFAULTS: Final[Mapping[str, Any]] = {
    "hosts": None,
    "launcher": None,
    "nodes": None,
    "tests": ",".join(DEFAULT),
    "rounds": ROUNDS,
    "pairs": str(PAIRS),
    "transport": "tcp",
    "parallel": False,
    "find": FIND_SHARE,
    "confidence": 0.95,
    "name": "fleet",
}


def experiment_from(arguments: argparse.Namespace) -> Experiment:
    """The tests that the flags describe. Raises SpecError: a flag or the file is invalid."""
    words = [*(word for word in arguments.tests.split(",") if word), f"find={arguments.find:g}"]
    if fleet_arguments(words).of("direction", "pair", "ring"):
        words += [f"pairs={arguments.pairs}", f"transport={arguments.transport}", *(["parallel=yes"] if arguments.parallel else [])]
    fleet_arguments(words)
    launcher, nodes = _launcher(arguments)
    data = {
        "name": arguments.name,
        "workload": {"runner": "fleet", "script": "fleet", "arguments": words, "work": "rounds"},
        "launcher": launcher,
        "factor": {"levels": [nodes]},
        "gates": {"efficiency": "none"},
        "noise": {"sentinel_s": 0.0},
        "launches": {"per_configuration": arguments.rounds, "confidence": arguments.confidence},
    }
    try:
        return checked(data, Path(), "the flags")
    except SpecError as error:
        problems = tuple(Problem(FLAG_OF.get(p.where.partition("[")[0], p.where), p.found, p.allowed, p.fix) for p in error.problems)
        raise SpecError(problems, "the flags") from None


def _launcher(arguments: argparse.Namespace) -> tuple[dict[str, Any], int]:
    """The table `launcher`, and the number of workers, one on each node that is lent."""
    if (arguments.hosts is None) == (arguments.launcher is None):
        found = "neither" if arguments.hosts is None else "both"
        raise refuse("--hosts", f"{found} --hosts {'nor' if found == 'neither' else 'and'} --launcher", "one of them", source="the flags")
    if arguments.hosts is not None:
        if arguments.nodes is not None:
            raise refuse("--nodes", f"{arguments.nodes}, with --hosts", "the nodes that --hosts names, or --launcher", source="the flags")
        return {"kind": "nodes", "hosts": hosts_in(arguments.hosts)}, 1
    if arguments.nodes is None or arguments.nodes < 1:
        found = "nothing" if arguments.nodes is None else str(arguments.nodes)
        raise refuse("--nodes", found, "the number of nodes that --launcher lends", source="the flags")
    engine = launcher_of(arguments.launcher)
    return {**(engine if isinstance(engine, dict) else {"kind": engine}), "workers_per_node": 1}, arguments.nodes
