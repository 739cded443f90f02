"""`assay simulate`: how would a training run on a given cluster, with known links and serial work?"""

from __future__ import annotations

import argparse
import sys

from fireassay.cli.support.output import add_formats, plain_stdout
from fireassay.cli.support.verb import Verb, add_root
from fireassay.printable import say
from fireassay.spec.flags.simulate import DEFAULTS

DESCRIPTION = """\
Compute the step times of a synchronous data-parallel training on a fully known cluster, print the closed-form prediction, and
write an ordinary sealed record of simulated launches, judged and shown like any other.

    assay simulate --workers 1,2,4,...,64 --step-time 1.0 --serial 0.03
    assay simulate --workers 1,8,64 --step-time 250ms --gbps 400 --gradient 4e8
    assay simulate --workers 1,90,8100 --step-time 0.8 --alpha 5us --weak

A simulated record is marked in its manifest, its environment and every row, and its verdict is INVALID: none of its numbers is a
measurement. It answers "what if", and shows how reports and models treat a cluster whose true parameters are known."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--workers", required=True, metavar="1,2,4", help="worker counts; 1,2,4,...,4096 continues by the same factor")
    add("--step-time", required=True, metavar="S", help="time of a step on one worker: 1.0, 250ms")
    add("--serial", type=float, metavar="F", help="serial share of the step (default: 0)")
    add("--alpha", metavar="S", help="latency of a message between two workers (default: 20us)")
    add("--gbps", "--beta-gbps", dest="gbps", type=float, metavar="N", help="bandwidth of a link, gigabits per second (default: 10)")
    add("--gradient", type=float, metavar="BYTES", help="bytes reduced over the workers in a step (default: 1e8)")
    add("--buckets", type=int, metavar="N", help="number of buckets they are reduced in (default: 1)")
    add("--overlap", type=float, metavar="F", help="share of the computation that communication may overlap (default: 0)")
    add("--jitter", type=float, metavar="F", help="scatter of a worker's time from step to step (default: 0.02)")
    add("--noise", type=float, metavar="F", help="scatter between launches (default: 0.01)")
    add("--stragglers", type=float, metavar="F", help="share of the workers that are always slow (default: 0)")
    add("--slowdown", type=float, metavar="X", help="slowdown factor of these workers (default: 1.5)")
    add("--weak", action="store_true", help="the work grows with the workers")
    add("--steps", type=int, metavar="N", help="steps per launch (default: 20)")
    add("--launches", type=int, metavar="N", help="launches per worker count (default: 5)")
    add("--seed", type=int, metavar="N", help="random seed; the same seed gives the same times")
    add("--name", metavar="NAME", help="name of the record (default: simulated)")
    parser.set_defaults(**DEFAULTS)
    add_root(parser, "where the record is made (default: records)")
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api.jobs.cluster import answer, cluster_of
    from fireassay.cli.support.judged import judge_and_show
    from fireassay.runners.experiment.run import run

    cluster, experiment = cluster_of(arguments)
    say(answer(cluster, experiment.factor.levels), file=sys.stdout if plain_stdout(arguments) else sys.stderr)
    path = run(experiment, root=arguments.root)
    judge_and_show(path, arguments)
    return 0  # its verdict is INVALID by design, not by failure


VERB = Verb(
    name="simulate",
    group="measure",
    call="fireassay.simulate",
    summary="simulate a training on a cluster with known links, serial work and jitter",
    description=DESCRIPTION,
    add_arguments=_add_arguments,
    run=_run,
    usual={
        "program": ("--workers", "--step-time", "--serial", "--gradient"),
        "links": ("--alpha", "--gbps"),
        "machines": ("--stragglers",),
    },
    exits={0: "done"},
    tables=True,
)
