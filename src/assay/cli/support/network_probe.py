"""How is `assay comm --net HOST ...` carried out?  Rounds of echoes and transfers, judged and shown like every record."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from assay.cli.support.output import JSON, plain_stdout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.errors import Problem
    from assay.spec.experiment import Experiment
    from assay.spec.flags.comm import Flag

ROUNDS: Final = 5
OTHERS: Final = ("--launches", "--seconds", "--name", "--confidence", "--seed")  # flags of `assay comm` that have a meaning here too


def experiment_from(arguments: argparse.Namespace) -> Experiment:
    """The experiment.

    Raises:
        SpecError: a host cannot be read, or a flag has no meaning together with --net.
    """
    from assay.errors import Problem, SpecError
    from assay.spec.flags.comm import FLAGS, MATRIX, as_flag
    from assay.spec.load import checked

    flags = {flag.name: flag for flag in (*FLAGS, MATRIX)}
    given = {name: text for name, flag in flags.items() if (text := getattr(arguments, flag.attribute, None)) is not None}
    if arguments.interface is not None:
        given["--interface"] = arguments.interface
    launches, unread = _launches(given, flags)
    problems = [
        *(
            Problem(
                where=name, found=f"{text} together with --net", allowed="not with --net, which times no collectives", mend="Leave it out."
            )
            for name, text in given.items()
            if name not in OTHERS
        ),
        *unread,
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
        "launches": launches,
    }
    try:
        return checked(data, Path(), "the flags", {})
    except SpecError as error:
        raise SpecError(tuple(as_flag(problem) for problem in error.problems), "the flags") from None


def _launches(given: Mapping[str, str], flags: Mapping[str, Flag]) -> tuple[dict[str, Any], list[Problem]]:
    """The section [launches] from what was given, and the flags that cannot be read."""
    from assay.errors import Problem

    launches: dict[str, Any] = {"per_configuration": ROUNDS, "confidence": 0.95}
    problems = []
    for name in OTHERS:
        flag = flags[name]
        section, _, key = flag.path.partition(".")
        try:
            value = flag.read(given[name]) if name in given else None
        except ValueError:
            problems.append(Problem(where=name, found=repr(given[name]), allowed=flag.allowed))
            continue
        if section == "launches" and value is not None:
            launches[key] = value
    return launches, problems


def look(arguments: argparse.Namespace) -> int:
    """Look, judge, show."""
    from assay.cli.support.experiment_run import run
    from assay.cli.support.progress import display
    from assay.cli.verbs.report import judge_and_show
    from assay.record.arrow_import import without_pandas
    from assay.runners.network import asked

    experiment = experiment_from(arguments)
    targets, seconds = asked(experiment)
    if arguments.toml:
        from assay.spec.load import to_toml

        print(to_toml(experiment), end="")
        return 0
    if arguments.dry_run:
        rounds, hosts = experiment.launches.per_configuration, [target.name for target in targets]
        words = f"{rounds} rounds; in each, of {', '.join(hosts)}: echoes, a transfer of {seconds:g} s there and one back (iperf3)"
        print(json.dumps({"rounds": rounds, "hosts": hosts, "seconds": seconds}) if arguments.form == JSON else words)
        return 0
    without_pandas()
    with display(sys.stdout if plain_stdout(arguments) else sys.stderr, quiet=arguments.quiet) as show:
        path = run(experiment, folder=Path(), root=arguments.root, on_progress=show)
    return judge_and_show(path, arguments)
