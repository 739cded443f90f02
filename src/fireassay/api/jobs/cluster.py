"""Which cluster do the flags of `assay simulate` describe, and what does its closed form predict?"""

from __future__ import annotations

import argparse
from dataclasses import replace

from fireassay.errors import Problem, SpecError, refuse_any
from fireassay.estimates.format import count, given
from fireassay.runners.simulated import SCRIPT, Cluster, outside
from fireassay.runners.simulated import arguments as words
from fireassay.spec.experiment import Experiment
from fireassay.stats.models.communication_wall import Curve

BITS = 8.0
GIGA = 1e9
MIN_BITS = 8.0  # per second: one byte
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


def cluster_of(arguments: argparse.Namespace) -> tuple[Cluster, Experiment]:
    """The cluster and the experiment that the flags describe. Raises SpecError: a flag is invalid."""
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
    if not bits >= MIN_BITS:
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
        beta_s=BITS / bits if bits >= MIN_BITS else 0.0,
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
        for name, value, allowed in outside(cluster, arguments.steps, levels, arguments.launches)
    ]
    refuse_any(problems, "the command line")
    return cluster, _experiment(arguments, cluster, levels)


def _experiment(arguments: argparse.Namespace, cluster: Cluster, levels: tuple[int, ...]) -> Experiment:
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
    curve = curve_of(cluster)
    lines = [
        "SIMULATED, not measured. Closed-form prediction from the given numbers:",
        "  workers          step   communication   speedup  efficiency",
    ]
    for p in sorted(levels):
        speedup = curve.scaled(p) if cluster.weak else curve.speedup(p)
        lines.append(
            f"{p:>9,}{given(curve.at(p), 4) + ' s':>14}{given(curve.exposed_s(p), 3) + ' s':>16}{given(speedup, 4):>10}{speedup / p:>11.1%} "
        )
    best = curve.fastest()
    if cluster.weak:
        lines.append("The parallel work grows with the workers, so no worker count has the shortest step; the serial work does not grow:")
        lines.append("the speedup is Gustafson's, p - s (p - 1) without communication.")
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
    """ "20us", "250ms", "1.5" (seconds). Raises ValueError: the text has another form."""
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
