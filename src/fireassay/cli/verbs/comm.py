"""`assay comm`: how fast are collectives between these workers, and are their results right?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fireassay.cli.support.verb import Verb, add_root
from fireassay.cli.verbs.report import WITHOUT_NO_GAIN

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment

ASKED_FROM_S: Final = 30.0  # a lower bound: large messages on slow links take several times as long


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The operations, the sizes, and the flags of the verb."""
    from fireassay.cli.verbs.run import add_detect, add_display_flags
    from fireassay.spec.flags.comm import add_flags

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
    add_display_flags(parser)


SMALLER: Final = "assay comm --sizes 1K:1M --launches 3"  # a run of seconds


def _agreed(experiment: Experiment, arguments: argparse.Namespace) -> None:
    """Without a flag that says what to measure, ask before a long run.

    Raises:
        SpecError: nobody can be asked.
        Interrupted: the answer is no.
    """
    from fireassay.cli.support.progress import duration
    from fireassay.errors import Interrupted, refuse
    from fireassay.runners.experiment.progress import planned_seconds
    from fireassay.spec.flags.comm import VERB as FLAGS
    from fireassay.spec.flags.of_verb import flags_of, given
    from fireassay.spec.plan import plan

    seconds = (planned_seconds(experiment) or 0.0) * len(plan(experiment))
    described = given(arguments, flags_of(FLAGS)) or arguments.interface
    if arguments.yes or described or seconds < ASKED_FROM_S:
        return
    sizes = experiment.collectives_requested.every_size
    run = f"every default takes at least {duration(seconds)}: {len(sizes)} sizes up to {max(sizes) >> 20} MiB"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        remedy = f"Confirm it with --yes, or measure less:\n  {SMALLER}"
        raise refuse("assay comm", f"no flags, and {run}", fix=remedy, source="the flags")
    print(f"{run[0].upper()}{run[1:]}. Less: {SMALLER}", file=sys.stderr)
    print("Measure it? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Interrupted("nothing was measured")


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.cli.verbs.run import refuse_detect, show_dry_run, show_notes
    from fireassay.spec.flags.comm import experiment_from, under_flags

    if arguments.net:
        from fireassay.cli.support.network_probe import look

        return look(arguments)
    experiment = experiment_from(arguments)
    if arguments.toml:
        from fireassay.spec.load import to_toml

        print(to_toml(experiment), end="")
        return 0
    show_notes(experiment)
    if arguments.dry_run:
        return show_dry_run(experiment, arguments)
    refuse_detect(arguments)
    _agreed(experiment, arguments)
    from fireassay.cli.support.experiment_run import run
    from fireassay.cli.support.progress import display
    from fireassay.cli.verbs.report import judge_and_show
    from fireassay.record.arrow_import import without_pandas

    without_pandas()
    with display(sys.stderr, quiet=arguments.quiet) as show, under_flags():
        path = run(experiment, folder=Path(), root=arguments.root, on_progress=show)
    return judge_and_show(path, arguments)


VERB = Verb(
    name="comm",
    group="measure",
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
)
