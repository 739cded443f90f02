"""`assay comm`: how fast are collectives between these workers, and are their results right?  Or, with --net: how good is the network?"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from fireassay.cli.support.detach import add_detach
from fireassay.cli.support.output import JSON, add_formats, print_toml
from fireassay.cli.support.trust import can_ask
from fireassay.cli.support.verb import Verb, add_detect, add_root
from fireassay.errors import Interrupted, Problem, SpecError, refuse
from fireassay.exit_codes import WITHOUT_NO_GAIN
from fireassay.spec.experiment import Experiment
from fireassay.spec.flags import of_verb
from fireassay.spec.flags.comm import VERB as FLAGS
from fireassay.spec.flags.comm import add_flags, as_flag, experiment_from, under_flags
from fireassay.spec.load import checked

ASKED_FROM_S: Final = 30.0  # a lower bound: large messages on slow links take several times as long
SMALLER: Final = "assay comm --sizes 1K:1M --launches 3"  # a run of seconds
ROUNDS: Final = 5  # of a probe of the network
OTHERS: Final = ("--launches", "--seconds", "--name", "--confidence", "--seed")  # flags that apply to it too


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The operations, the sizes, and the flags of the verb."""
    add_flags(parser)
    parser.add_argument(
        "--net",
        nargs="+",
        metavar="HOST",
        help="probe the network instead: echoes, transfers there and back, interfaces; HOST or HOST:PORT of iperf3",
    )
    add_root(parser, "where the record is made (default: records)")
    parser.add_argument("--dry-run", action="store_true", help="show the plan and its time; start nothing")
    parser.add_argument("--toml", action="store_true", help="print the experiment as a file for `assay run`; start nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask before a run of minutes that no flag describes")
    add_detect(parser)
    add_detach(parser)
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.net:
        return _probe(arguments)
    experiment = experiment_from(arguments)
    if arguments.toml:
        return print_toml(experiment)
    from fireassay.cli.support.dry_run import all_seconds, refuse_detect, show_dry_run, show_notes

    show_notes(experiment)
    if arguments.dry_run:
        return show_dry_run(experiment, arguments)
    refuse_detect(arguments)
    _agreed(experiment, all_seconds(experiment), arguments)
    from fireassay.cli.support.progress import run_and_judge

    return run_and_judge(experiment, arguments, within=under_flags())


def _agreed(experiment: Experiment, seconds: float, arguments: argparse.Namespace) -> None:
    """Without a flag that says what to measure, ask before a long run.

    Raises:
        SpecError: nobody can be asked.
        Interrupted: the answer is no.
    """
    from fireassay.estimates.format import duration

    described = of_verb.given(arguments, of_verb.flags_of(FLAGS)) or arguments.interface
    if arguments.yes or described or seconds < ASKED_FROM_S:
        return
    sizes = experiment.collectives_requested.every_size
    run = f"every default takes at least {duration(seconds)}: {len(sizes)} sizes up to {max(sizes) >> 20} MiB"
    if not can_ask():
        remedy = f"Confirm it with --yes, or measure less:\n  {SMALLER}"
        raise refuse("assay comm", f"no flags, and {run}", fix=remedy, source="the flags")
    print(f"{run[0].upper()}{run[1:]}. Less: {SMALLER}", file=sys.stderr)
    print("Measure it? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Interrupted("nothing was measured")


# ---- the network: rounds of echoes and transfers, judged and shown like any record -----------------------------------


def _probe(arguments: argparse.Namespace) -> int:
    from fireassay.runners.network import hosts_and_seconds

    experiment = probe_from(arguments)
    targets, seconds = hosts_and_seconds(experiment)
    if arguments.toml:
        return print_toml(experiment)
    if arguments.dry_run:
        rounds, hosts = experiment.launches.per_configuration, [target.name for target in targets]
        words = f"{rounds} rounds; in each, of {', '.join(hosts)}: echoes, a transfer of {seconds:g} s there and one back (iperf3)"
        print(json.dumps({"rounds": rounds, "hosts": hosts, "seconds": seconds}) if arguments.form == JSON else words)
        return 0
    from fireassay.cli.support.progress import run_and_judge

    return run_and_judge(experiment, arguments)


def probe_from(arguments: argparse.Namespace) -> Experiment:
    """The probe of the network that the flags describe. Raises SpecError: a host is malformed, or a flag does not apply to --net."""
    texts = of_verb.given(arguments, of_verb.flags_of(FLAGS))
    given = {item.name: text for item, text in texts.items()}
    if arguments.interface is not None:
        given["--interface"] = arguments.interface
    sections: dict[str, Any] = {"launches": {"per_configuration": ROUNDS, "confidence": 0.95}}
    problems = [
        *(
            Problem(
                where=name, found=f"{text} together with --net", allowed="not with --net, which times no collectives", fix="Leave it out."
            )
            for name, text in given.items()
            if name not in OTHERS
        ),
        *of_verb.put_all(sections, {item: text for item, text in texts.items() if item.name in OTHERS}),
    ]
    if problems:
        raise SpecError(tuple(problems), "the flags")
    words = [*arguments.net, *([f"seconds={given['--seconds']}"] if "--seconds" in given else [])]
    data = {
        "name": given.get("--name", "network"),
        "workload": {"runner": "network", "script": "network", "arguments": words, "work": "looks"},
        "factor": {"levels": [1]},
        "gates": {"efficiency": "none"},
        "noise": {"sentinel_s": 0.0},
        "launches": sections["launches"],
    }
    try:
        return checked(data, Path(), "the flags")
    except SpecError as error:
        raise SpecError(tuple(as_flag(problem) for problem in error.problems), "the flags") from None


VERB = Verb(
    name="comm",
    group="measure",
    call="fireassay.comm",
    summary="time collectives between workers: bandwidth as nccl-tests, latency, data checked",
    description="""Time collectives over torch.distributed, check the data of every timed call, seal the record, judge it.

    assay comm --workers 2,4 --ops all_reduce,all_gather --sizes 1K:256M
    assay comm --workers 8 --backend nccl --ops all --sizes 8:1G --factor 2
    assay comm --workers 8 --matrix              every pair of ranks, and classes of pairs
    assay comm --net node1 node2                 round trip, bandwidth, interfaces' counters
    assay comm --workers 2 --interface eth0 --nodes 2 --rendezvous-endpoint host0:29400

Sizes, algbw and busbw are those of nccl-tests; the time is that of the slowest rank over back-to-back calls. Latency
(alpha) and time per byte (beta) of a link are fitted over the sizes, with intervals over launches.
A wrong result fails the record and is reported with operation, size, ranks, and what happened to the data.
Operations: all_reduce, all_gather, reduce_scatter, all_to_all, gather, scatter, broadcast, reduce, send_recv.
--net needs ping and iperf3 here, and `iperf3 -s` on the other hosts; the error for a missing tool names the command that installs it.
Operations that the backend does not offer are reported as such. As a file: runner = "collectives" and [collectives] (--toml prints one).
Ctrl-C ends the launch cleanly and keeps all measurements; `assay resume RECORD` continues.""",
    add_arguments=add_arguments,
    run=_run,
    usual={"measure": ("--workers", "--ops", "--sizes", "--launches"), "network": ("--net",), "plan": ("--yes", "--dry-run")},
    exits=WITHOUT_NO_GAIN,
    tables=True,
)
