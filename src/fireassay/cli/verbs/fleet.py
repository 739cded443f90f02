"""`assay fleet`: is this cluster fit, and which of its nodes are not?"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import nullcontext
from pathlib import Path

from fireassay.cli.support.detach import add_detach
from fireassay.cli.support.output import JSON, add_formats, plain_stdout, print_toml, write
from fireassay.cli.support.verb import Verb, add_root, share
from fireassay.exit_codes import EXIT_OF_STATUS
from fireassay.printable import say
from fireassay.spec.experiment import Experiment
from fireassay.spec.flags.fleet import DEFAULTS, experiment_from
from fireassay.spec.fleet import TESTS, TRANSPORTS, fleet_arguments, matchings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The nodes, the tests, and the flags of the verb."""
    parser.add_argument("--hosts", type=Path, metavar="FILE", help="the nodes: a name per line, or a TOML file")
    parser.add_argument(
        "--launcher", metavar="NAME", help="or the engine that lends them: slurm, ray, mpi, kubernetes; or a file with its [launcher]"
    )
    parser.add_argument("--nodes", type=int, metavar="N", help="how many it lends")
    parser.add_argument("--tests", metavar="LIST", help=f"of {', '.join(TESTS)} (default: {DEFAULTS['tests']})")
    parser.add_argument("--rounds", type=int, metavar="N", help=f"how often everything is tested (default: {DEFAULTS['rounds']})")
    parser.add_argument("--pairs", metavar="N", help=f"tests of links: pairs of each node, or all (default: {DEFAULTS['pairs']})")
    parser.add_argument("--transport", metavar="NAME", help=f"of links: {', '.join(TRANSPORTS)} (default: tcp)")
    parser.add_argument("--parallel", action="store_true", help="test disjoint pairs at once: sooner, and they share switches")
    parser.add_argument("--find", type=share, metavar="SHARE", help="slowness that a fit fleet must exclude (default: 5%%)")
    parser.add_argument("--confidence", type=share, metavar="SHARE", help="1 - the chance of any false alarm (default: 95%%)")
    parser.add_argument("--history", metavar="FOLDER", help="earlier records: is the fleet as a whole slower than it was?")
    parser.add_argument(
        "--drain-list", type=Path, metavar="FILE", help="write nodes and reasons: .json, .sh (Slurm health check), else text"
    )
    parser.add_argument("--name", metavar="NAME", help="name of the record (default: fleet)")
    parser.set_defaults(**DEFAULTS)
    add_root(parser, "where the record is made (default: records)")
    parser.add_argument("--dry-run", action="store_true", help="show what would be done; start nothing")
    parser.add_argument("--toml", action="store_true", help="print the experiment as a file for `assay run`; start nothing")
    add_detach(parser)
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    experiment = experiment_from(arguments)
    if arguments.toml:
        return print_toml(experiment)
    if arguments.dry_run:
        from fireassay.cli.support.dry_run import by_hand

        as_json = arguments.form == JSON
        print("\n".join([_planned(experiment, as_json=as_json), *([] if as_json else by_hand(experiment))]))
        return 0
    from fireassay.cli.support.progress import run_and_judge

    return run_and_judge(experiment, arguments, then=lambda path, code: _afterwards(path, code, arguments))


def _planned(experiment: Experiment, *, as_json: bool) -> str:
    from fireassay.estimates.format import count  # deferred: it loads numpy

    asked, rounds = fleet_arguments(experiment.workload.arguments), experiment.launches.per_configuration
    names = [host.name for host in experiment.launcher.hosts] or [f"{experiment.factor.levels[0]} nodes of {experiment.launcher.kind}"]
    linked = asked.of("direction", "pair")
    pairs = sum(map(len, matchings(names, asked.pairs, experiment.launches.seed))) if linked and experiment.launcher.hosts else None
    if as_json:
        return json.dumps({"nodes": names, "tests": list(asked.tests), "rounds": rounds, **({"pairs": pairs} if linked else {})})
    how = f"{'pairs' if pairs is None else count(pairs, 'pairs')}{' by matchings' if asked.parallel else ', one after the other'}"
    parts = [
        *([f"{', '.join(own)} on every one of {', '.join(names)}"] if (own := asked.of("node")) else []),
        *([f"{', '.join(linked)} over {asked.transport} on {how}"] if linked else []),
        *([f"the ring over {asked.transport}"] if asked.of("ring") else []),
    ]
    return f"{rounds} rounds; in each, {'; '.join(parts)}"


def _afterwards(path: Path, code: int, arguments: argparse.Namespace) -> int:
    """Write the drain list and compare with earlier records; returns the exit code."""
    from fireassay.frames.fleet import fleet
    from fireassay.frames.record_data import from_record
    from fireassay.kinds.fleet.drain import drain_list
    from fireassay.record.reader import open_record

    where = sys.stdout if plain_stdout(arguments) else sys.stderr
    if arguments.drain_list is not None:
        measured = from_record(open_record(path))
        at = str(measured.manifest.get("created_utc", ""))
        write(arguments.drain_list, drain_list(fleet(measured), arguments.drain_list.suffix, record=path.name, at=at))
        say(f"drain list: {arguments.drain_list}", file=where)
    if arguments.history is None:
        return code
    state, sentence = against_history(path, arguments)
    say(f"history: {sentence}", file=where)
    return code or {"pass": 0, "improvement": 0, "regression": EXIT_OF_STATUS["FAIL"]}.get(state, EXIT_OF_STATUS["INCONCLUSIVE"])


def against_history(path: Path, arguments: argparse.Namespace) -> tuple[str, str]:
    """State and sentence of the check of the whole fleet against earlier records of it: every test decides."""
    from fireassay.api.checking import Checking, Place

    checking = Checking(
        record=str(path),
        against=None,
        history=arguments.history,
        root=arguments.root,
        varying=(),
        force=False,
        primary=None,
        at=None,
        margin=arguments.find,
        day_to_day=None,
        everything=True,
        confirm="never",
        blocks=1,
        code=Place(folder=None, baseline=None, here=Path()),
        again=lambda _: nullcontext(lambda _: None),
    )
    found = checking.run().check
    return found.state, found.sentence


VERB = Verb(
    name="fleet",
    group="measure",
    call="fireassay.fleet",
    summary="test every node and link of a cluster, name the slow ones with a controlled rate of false alarms",
    description="""Test every node of a cluster in rounds of random order, seal the record, name the nodes to drain.

    assay fleet --hosts nodes.txt                        a name per line: reached by ssh
    assay fleet --hosts nodes.toml --tests bandwidth,latency,ring --pairs all
    assay fleet --launcher slurm --nodes 64 --history records

A node is slow if it is slower than the slowest node of an equally large fleet of equal nodes would be in 95 % of cases, over all nodes and
tests, and by at least 1 %. The ordinary spread between the nodes is measured, not assumed: 4 nodes or more of one kind, at most a
quarter of them slow, are compared with each other. What a slow node explains is no fault of its links; a link is slow by what is left,
among links of its class (of one switch, or of two: a second column of the file). The report has the smallest slowness that is found.
Every node needs this Python at the same path, with assay's files (a shared folder). One test at a time, about 3 s per node and 2 s per pair.
Drained nodes come with their evidence and the line for Slurm, also in --json (findings: slow_node, silent_node, slow_link, remedy).""",
    add_arguments=add_arguments,
    run=_run,
    usual={
        "measure": ("--hosts", "--launcher", "--nodes", "--tests", "--rounds", "--find"),
        "judge": ("--history", "--drain-list"),
        "plan": ("--dry-run",),
    },
    exits={0: "FIT", 1: "nodes to DRAIN", 3: "INVALID", 4: "INCONCLUSIVE"},
    tables=True,
)
