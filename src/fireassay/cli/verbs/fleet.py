"""`assay fleet`: is this cluster fit, and which of its nodes are not?"""

from __future__ import annotations

import argparse
import json
import tomllib
from pathlib import Path
from typing import Any, Final

from fireassay.cli.support.output import JSON, add_formats, print_toml
from fireassay.cli.support.verb import Verb, add_root, share
from fireassay.errors import Problem, SpecError, refuse
from fireassay.spec.experiment import Experiment
from fireassay.spec.fleet import DEFAULT, FIND_SHARE, TESTS, fleet_arguments
from fireassay.spec.load import checked

ROUNDS: Final = 7
FLAG_OF: Final = {
    "launcher.hosts": "--hosts",
    "launches.per_configuration": "--rounds",
    "launches.confidence": "--confidence",
    "name": "--name",
}
FORMS: Final = 'a name per line (reached by ssh), or TOML: hosts = [{ name = "a", address = "10.0.0.1", prefix = ["ssh", "a"] }]'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The nodes, the tests, and the flags of the verb."""
    parser.add_argument("--hosts", type=Path, required=True, metavar="FILE", help="the nodes: a name per line, or a TOML file")
    parser.add_argument("--tests", metavar="LIST", default=",".join(DEFAULT), help=f"of {', '.join(TESTS)} (default: {','.join(DEFAULT)})")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"how often every node is tested (default: {ROUNDS})")
    parser.add_argument(
        "--find", type=share, default=FIND_SHARE, metavar="SHARE", help="slowness that a fit fleet must exclude (default: 5%%)"
    )
    parser.add_argument("--confidence", type=share, default=0.95, metavar="SHARE", help="1 - the chance of any false alarm (default: 95%%)")
    parser.add_argument("--name", default="fleet", metavar="NAME", help="name of the record (default: fleet)")
    add_root(parser, "where the record is made (default: records)")
    parser.add_argument("--dry-run", action="store_true", help="show what would be done; start nothing")
    parser.add_argument("--toml", action="store_true", help="print the experiment as a file for `assay run`; start nothing")
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    experiment = experiment_from(arguments)
    if arguments.toml:
        return print_toml(experiment)
    if arguments.dry_run:
        tests, _ = fleet_arguments(experiment.workload.arguments)
        plan = {"nodes": [host.name for host in experiment.launcher.hosts], "tests": list(tests), "rounds": arguments.rounds}
        words = f"{arguments.rounds} rounds; in each, {', '.join(tests)} on every one of {', '.join(plan['nodes'])}"
        print(json.dumps(plan) if arguments.form == JSON else words)
        return 0
    from fireassay.cli.support.progress import run_and_judge

    return run_and_judge(experiment, arguments)


def experiment_from(arguments: argparse.Namespace) -> Experiment:
    """The tests that the flags describe. Raises SpecError: a flag or the file is invalid."""
    words = [*(word for word in arguments.tests.split(",") if word), f"find={arguments.find:g}"]
    fleet_arguments(words)
    data = {
        "name": arguments.name,
        "workload": {"runner": "fleet", "script": "fleet", "arguments": words, "work": "rounds"},
        "launcher": {"kind": "nodes", "hosts": hosts_in(arguments.hosts)},
        "factor": {"levels": [1]},
        "gates": {"efficiency": "none"},
        "noise": {"sentinel_s": 0.0},
        "launches": {"per_configuration": arguments.rounds, "confidence": arguments.confidence},
    }
    try:
        return checked(data, Path(), "the flags")
    except SpecError as error:
        problems = tuple(Problem(FLAG_OF.get(p.where.partition("[")[0], p.where), p.found, p.allowed, p.fix) for p in error.problems)
        raise SpecError(problems, "the flags") from None


def hosts_in(path: Path) -> list[dict[str, Any]]:
    """The nodes that a file names. Raises SpecError: it cannot be read, or names none."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise refuse("--hosts", f"{path}: {why}", f"a file of nodes: {FORMS}", source="the flags") from None
    if "=" not in text:
        names = [line.partition("#")[0].strip() for line in text.splitlines()]
        hosts: Any = [{"name": name, "address": name, "prefix": ["ssh", name]} for name in names if name]
    else:
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise refuse("--hosts", f"{path}: {error}", FORMS, source="the flags") from None
        launcher = data.get("launcher", data)
        hosts = launcher.get("hosts") if isinstance(launcher, dict) else None
    if not isinstance(hosts, list) or not hosts:
        raise refuse("--hosts", f"{path}, which names no node", FORMS, source="the flags")
    return hosts


VERB = Verb(
    name="fleet",
    group="measure",
    summary="test every node of a cluster, name the slow ones with a controlled rate of false alarms",
    description="""Test every node of a cluster in rounds of random order, seal the record, name the nodes to drain.

    assay fleet --hosts nodes.txt                        a name per line: reached by ssh
    assay fleet --hosts nodes.toml --rounds 10 --find 3%
    assay fleet --hosts nodes.txt --tests matrix,memory,disk,device

A node is slow if it is slower than the slowest node of an equally large fleet of equal nodes would be in 95 % of cases, over all nodes and
tests, and by at least 1 %. The ordinary spread between the nodes is measured, not assumed: 4 nodes or more of one kind, at most a
quarter of them slow, are compared with each other. A fleet is fit if no node is slow and the tests would have found one that is --find
slower; the report has the smallest slowness that each test finds.
Every node needs this Python at the same path, with assay's files (a shared folder). One node is tested at a time, about 3 s per round.
Drained nodes come with their evidence and the line for Slurm, also in --json (findings: slow_node, silent_node, remedy).""",
    add_arguments=add_arguments,
    run=_run,
    usual={"measure": ("--hosts", "--tests", "--rounds", "--find"), "plan": ("--dry-run",)},
    exits={0: "FIT", 1: "nodes to DRAIN", 3: "INVALID", 4: "INCONCLUSIVE"},
    tables=True,
)
