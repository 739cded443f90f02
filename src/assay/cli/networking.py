"""How is `assay comm --net HOST ...` carried out?  Rounds of echoes and transfers, judged and shown like every record."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assay.spec.experiment import Experiment

ROUNDS: Final = 5
OTHERS: Final = (
    "--launches",
    "--seconds",
    "--name",
    "--confidence",
    "--seed",
)  # flags of `assay comm` that have a meaning here too


def experiment_from(arguments: argparse.Namespace) -> Experiment:
    """The experiment.

    Raises:
        SpecError: a host cannot be read, or a flag has no meaning together with --net.
    """
    from assay.errors import Problem, SpecError
    from assay.spec.comm_flags import FLAGS, MATRIX
    from assay.spec.experiment import Experiment

    given = {
        flag.name: text for flag in (*FLAGS, MATRIX) if (text := getattr(arguments, flag.attribute, None)) is not None
    }
    problems = [
        Problem(where=name, found=f"{text} together with --net", allowed="not with --net, which times no collectives", mend="Leave it out.")
        for name, text in given.items() if name not in OTHERS
    ]  # fmt: skip
    if problems:
        raise SpecError(tuple(problems), "the flags")
    words = [*arguments.net, *([f"seconds={given['--seconds']}"] if "--seconds" in given else [])]
    launches = {
        "per_configuration": _number("--launches", given, int, ROUNDS),
        "confidence": _number("--confidence", given, float, 0.95),
    }
    return Experiment.model_validate({
        "name": given.get("--name", "network"), "workload": {"runner": "network", "script": "network", "arguments": words, "work": "looks"},
        "factor": {"levels": [1]}, "gates": {"efficiency": "none"}, "noise": {"sentinel_s": 0.0},
        "launches": launches,
    })  # fmt: skip


def _number(name: str, given: Mapping[str, str], read: Callable[[str], float], default: float) -> float:
    from assay.errors import Problem, SpecError

    try:
        return read(given[name]) if name in given else default
    except ValueError:
        allowed = "a whole number" if read is int else "a number"
        raise SpecError((Problem(where=name, found=repr(given[name]), allowed=allowed),), "the flags") from None


def look(arguments: argparse.Namespace) -> int:
    """Look, judge, show."""
    from assay.cli.live import display
    from assay.cli.report import judge_and_show
    from assay.cli.running import run
    from assay.record.arrow_alone import without_pandas
    from assay.runners.network import asked

    experiment = experiment_from(arguments)
    targets, seconds = asked(experiment)
    if arguments.dry_run:
        rounds = experiment.launches.per_configuration
        told = ", ".join(target.name for target in targets)
        print(f"{rounds} rounds; in each, of {told}: echoes, a transfer of {seconds:g} s there and one back (iperf3)")
        return 0
    without_pandas()
    with display(sys.stderr if arguments.json else sys.stdout, quiet=arguments.quiet) as show:
        path = run(experiment, folder=Path(), root=arguments.root, on_progress=show)
    return judge_and_show(path, json=arguments.json, html=True)
