"""How does `assay comm --net HOST ...` probe the network?

Rounds of echoes and transfers, judged and shown like any record.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fireassay.cli.support.output import JSON

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment

ROUNDS: Final = 5
OTHERS: Final = ("--launches", "--seconds", "--name", "--confidence", "--seed")  # flags of `assay comm` that apply here too


def experiment_from(arguments: argparse.Namespace) -> Experiment:
    """The experiment that the flags describe.

    Raises:
        SpecError: a host is malformed, or a flag does not apply to --net.
    """
    from fireassay.errors import Problem, SpecError, refuse_any
    from fireassay.spec.flags import of_verb
    from fireassay.spec.flags.comm import VERB, as_flag
    from fireassay.spec.load import checked

    texts = of_verb.given(arguments, of_verb.flags_of(VERB))
    given = {item.name: text for item, text in texts.items()}
    if arguments.interface is not None:
        given["--interface"] = arguments.interface
    sections: dict[str, Any] = {"launches": {"per_configuration": ROUNDS, "confidence": 0.95}}
    problems = [
        *(
            Problem(name, f"{text} together with --net", "not with --net, which times no collectives", "Leave it out.")
            for name, text in given.items()
            if name not in OTHERS
        ),
        *of_verb.put_all(sections, {item: text for item, text in texts.items() if item.name in OTHERS}),
    ]
    refuse_any(problems, "the flags")
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
        raise SpecError((as_flag(problem) for problem in error.problems), "the flags") from None


def look(arguments: argparse.Namespace) -> int:
    """Probe, judge, show."""
    from fireassay.cli.support.experiment_run import run
    from fireassay.cli.support.progress import display
    from fireassay.cli.verbs.report import judge_and_show
    from fireassay.record.arrow_import import without_pandas
    from fireassay.runners.network import hosts_and_seconds

    experiment = experiment_from(arguments)
    targets, seconds = hosts_and_seconds(experiment)
    if arguments.toml:
        from fireassay.spec.load import to_toml

        print(to_toml(experiment), end="")
        return 0
    if arguments.dry_run:
        rounds, hosts = experiment.launches.per_configuration, [target.name for target in targets]
        words = f"{rounds} rounds; in each, of {', '.join(hosts)}: echoes, a transfer of {seconds:g} s there and one back (iperf3)"
        print(json.dumps({"rounds": rounds, "hosts": hosts, "seconds": seconds}) if arguments.form == JSON else words)
        return 0
    without_pandas()
    with display(sys.stderr, quiet=arguments.quiet) as show:
        path = run(experiment, folder=Path(), root=arguments.root, on_progress=show)
    return judge_and_show(path, arguments)
