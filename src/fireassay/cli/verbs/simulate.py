"""`assay simulate`: how would a training run on a given cluster, with known links and serial work?"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from fireassay.cli.support.output import add_formats, plain_stdout
from fireassay.cli.support.verb import Verb, add_root
from fireassay.errors import Problem, SpecError, refuse_any
from fireassay.printable import say

if TYPE_CHECKING:
    from fireassay.runners.simulation.cluster import Cluster
    from fireassay.spec.experiment import Experiment
    from fireassay.stats.models.communication_wall import Curve

BITS = 8.0
GIGA = 1e9
LEAST_BITS = 8.0  # per second: one byte
SLOWDOWN = 1.5  # of slow workers, unless --slowdown is given
FLAG_OF = {
    "step_s": "--step-time",
    "alpha_s": "--alpha",
    "beta_s": "--gbps",
    "factor.levels": "--workers",
    "launches.per_configuration": "--launches",
    "launches.seed": "--seed",
    "name": "--name",
}
TIME = "a time above 0, for example 20us, 250ms or 1.0 (seconds)"
DESCRIPTION = """\
Compute the step times of a synchronous data-parallel training on a fully known cluster, print the closed-form prediction, and
write an ordinary sealed record of simulated launches, judged and shown like any other.

    assay simulate --workers 1,2,4,...,64 --step-time 1.0 --serial 0.03
    assay simulate --workers 1,8,64 --step-time 250ms --gbps 400 --gradient 4e8
    assay simulate --workers 1,100,10000 --step-time 0.8 --alpha 5us --weak

A simulated record is marked in its manifest, its environment and every row, and its verdict is INVALID: none of its numbers is a
measurement. It answers "what if", and shows how reports and models treat a cluster whose true parameters are known."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--workers", required=True, metavar="1,2,4", help="worker counts; 1,2,4,...,10000 continues by the same factor")
    add("--step-time", required=True, metavar="S", help="time of a step on one worker: 1.0, 250ms")
    add("--serial", type=float, default=0.0, metavar="F", help="serial share of the step (default: 0)")
    add("--alpha", default="20us", metavar="S", help="latency of a message between two workers (default: 20us)")
    add(
        "--gbps",
        "--beta-gbps",
        dest="gbps",
        type=float,
        default=10.0,
        metavar="N",
        help="bandwidth of a link, gigabits per second (default: 10)",
    )
    add("--gradient", type=float, default=1e8, metavar="BYTES", help="bytes reduced over the workers in a step (default: 1e8)")
    add("--buckets", type=int, default=1, metavar="N", help="number of buckets they are reduced in (default: 1)")
    add("--overlap", type=float, default=0.0, metavar="F", help="share of the computation that communication may overlap (default: 0)")
    add("--jitter", type=float, default=0.02, metavar="F", help="scatter of a worker's time from step to step (default: 0.02)")
    add("--noise", type=float, default=0.01, metavar="F", help="scatter between launches (default: 0.01)")
    add("--stragglers", type=float, default=0.0, metavar="F", help="share of the workers that are always slow (default: 0)")
    add("--slowdown", type=float, metavar="X", help="slowdown factor of these workers (default: 1.5)")
    add("--weak", action="store_true", help="the work grows with the workers")
    add("--steps", type=int, default=20, metavar="N", help="steps per launch (default: 20)")
    add("--launches", type=int, default=5, metavar="N", help="launches per worker count (default: 5)")
    add("--seed", type=int, default=20260101, metavar="N", help="random seed; the same seed gives the same times")
    add("--name", default="simulated", metavar="NAME", help="name of the record (default: simulated)")
    add_root(parser, "where the record is made (default: records)")
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.cli.support.judged import judge_and_show
    from fireassay.runners.experiment.run import run

    cluster, experiment = asked(arguments)
    say(answer(cluster, experiment.factor.levels), file=sys.stdout if plain_stdout(arguments) else sys.stderr)
    path = run(experiment, root=arguments.root)
    judge_and_show(path, arguments)
    return 0  # its verdict is INVALID by design, not by failure


def asked(arguments: argparse.Namespace) -> tuple[Cluster, Experiment]:
    """The cluster and the experiment that the flags describe.

    Raises:
        SpecError: a flag is invalid.
    """
    from fireassay.runners.simulated import outside
    from fireassay.runners.simulation.cluster import Cluster

    problems: list[Problem] = []
    levels: tuple[int, ...] = (1,)
    step_s, alpha_s, bits = 1.0, 0.0, arguments.gbps * GIGA
    try:
        levels = worker_counts(arguments.workers)
    except ValueError as error:
        problems.append(_problem("--workers", repr(arguments.workers), f"worker counts, {_why(error)}"))
    try:
        step_s = seconds(arguments.step_time)
    except ValueError:
        problems.append(_problem("--step-time", repr(arguments.step_time), TIME))
    try:
        alpha_s = seconds(arguments.alpha)
    except ValueError:
        problems.append(_problem("--alpha", repr(arguments.alpha), TIME))
    if not bits >= LEAST_BITS:
        problems.append(_problem("--gbps", f"{arguments.gbps:g}", "a number above 0"))
    slowdown = arguments.slowdown
    if slowdown is not None and not arguments.stragglers:
        problems.append(
            _problem(
                "--slowdown", f"{slowdown:g} and no slow workers", "only with --stragglers F, F above 0: the share of workers that are slow"
            )
        )
    elif slowdown is None:
        slowdown = SLOWDOWN
    cluster = Cluster(
        step_s=step_s,
        serial=arguments.serial,
        alpha_s=alpha_s,
        beta_s=BITS / bits if bits >= LEAST_BITS else 0.0,
        gradient=arguments.gradient,
        buckets=arguments.buckets,
        overlap=arguments.overlap,
        jitter=arguments.jitter,
        noise=arguments.noise,
        stragglers=arguments.stragglers,
        slowdown=slowdown if arguments.stragglers else 1.0,
        weak=arguments.weak,
    )
    problems += [
        _problem(FLAG_OF.get(name, f"--{name}"), f"{value:g}", allowed)
        for name, value, allowed in outside(cluster, arguments.steps, levels)
    ]
    refuse_any(problems, "the command line")
    return cluster, _experiment(arguments, cluster, levels)


def _experiment(arguments: argparse.Namespace, cluster: Cluster, levels: tuple[int, ...]) -> Experiment:
    from fireassay.runners.simulated import SCRIPT
    from fireassay.runners.simulated import arguments as words
    from fireassay.spec.experiment import Experiment

    data = {
        "name": arguments.name,
        "workload": {
            "runner": "simulated",
            "script": SCRIPT,
            "arguments": words(cluster, arguments.steps),
            "work": "steps",
            "attach": False,
        },
        "factor": {"levels": levels},
        "scaling": {"mode": "weak" if arguments.weak else "strong"},
        "gates": {"efficiency": None},
        "launches": {"per_configuration": arguments.launches, "seed": arguments.seed},
        "noise": {"sentinel_s": 0.0},
        "conditions": {"simulated": True},
        "measure": {"communication": True},
    }
    try:
        return Experiment.model_validate(data)
    except SpecError as error:
        named = (replace(problem, where=FLAG_OF.get(problem.where.partition("[")[0], problem.where)) for problem in error.problems)
        raise SpecError(tuple(named), "the command line") from None


def answer(cluster: Cluster, levels: tuple[int, ...]) -> str:
    """The closed-form prediction for the cluster, as a table and a sentence."""
    from fireassay.estimates.format import count, given

    curve = curve_of(cluster)
    lines = [
        "SIMULATED, not measured. Closed-form prediction from the given numbers:",
        "  workers          step   communication   speedup  efficiency",
    ]
    for p in sorted(levels):
        speedup = curve.speedup(p)
        lines.append(
            f"{p:>9,}{given(curve.at(p), 4) + ' s':>14}{given(curve.exposed_s(p), 3) + ' s':>16}{given(speedup, 4):>10}{speedup / p:>11.1%} "
        )
    best = curve.fastest()
    if cluster.weak:
        lines.append("The work grows with the workers, so no worker count has the shortest step.")
    elif best is None:
        lines.append("A step gets shorter with every worker, up to a million.")
    else:
        lines.append(
            f"The step is shortest with {count(best, 'workers')} ({given(curve.at(best), 4)} s, "
            f"speedup {given(curve.speedup(best), 4)}); more make it longer."
        )
    if cluster.stragglers:
        lines.append("The table leaves out stragglers; the record includes them.")
    return "\n".join([*lines, ""])


def curve_of(cluster: Cluster) -> Curve:
    """The model of a fully known cluster, without its stragglers."""
    from fireassay.stats.models.communication_wall import Curve

    parallel_s = cluster.step_s * (1.0 - cluster.serial)
    return Curve(
        serial_s=cluster.step_s * cluster.serial,
        parallel_s=parallel_s,
        hideable_s=parallel_s * cluster.overlap,
        spread=cluster.jitter,
        weak=cluster.weak,
        total=lambda p: cluster.transfer_s(p),
    )


def worker_counts(text: str) -> tuple[int, ...]:
    """ "1,2,4", or "1,2,4,...,64", which continues by the factor of the last two up to the end.

    Raises:
        ValueError: the text has another form.
    """
    parts = [part.strip() for part in text.split(",")]
    if "..." not in parts:
        return tuple(int(part) for part in parts)
    index = parts.index("...")
    if index < 2 or index != len(parts) - 2:
        raise ValueError("as in 1,2,4,...,64: two counts or more before the dots, one after them")
    counts, last = [int(part) for part in parts[:index]], int(parts[-1])
    factor = counts[-1] / counts[-2] if counts[-2] else 0.0
    if factor <= 1.0:
        raise ValueError("ascending counts before the dots")
    if last < counts[-1]:
        raise ValueError("an end that is not below the counts before the dots")
    while round(counts[-1] * factor) < last:
        counts.append(round(counts[-1] * factor))
    return (*counts, last) if last > counts[-1] else tuple(counts)


def seconds(text: str) -> float:
    """ "20us", "250ms", "1.5" (seconds).

    Raises:
        ValueError: the text has another form.
    """
    for unit, factor in (("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("", 1.0)):
        if text.strip().endswith(unit):
            value = float(text.strip().removesuffix(unit)) * factor
            break
    if not value > 0.0:
        raise ValueError("above 0")
    return value


def _why(error: ValueError) -> str:
    return "as in 1,2,4 or 1,2,4,...,64" if "literal" in str(error) else str(error)


def _problem(flag: str, problem: str, allowed: str) -> Problem:
    return Problem(flag, problem, allowed, "See: assay simulate --help")


VERB = Verb(
    name="simulate",
    group="measure",
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
