"""`assay evaluate`: how good are an engine's answers to the items of a task?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fireassay.cli.support.verb import Verb, add_root
from fireassay.cli.verbs.report import VERDICTS


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    from fireassay.cli.verbs.run import add_display_flags
    from fireassay.spec.flags.evaluate import add_flags

    add_flags(parser)
    add_root(parser, "where the record is made (default: records)")
    parser.add_argument("--toml", action="store_true", help="print the experiment as a file for `assay run`; send nothing")
    add_display_flags(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.cli.support.experiment_of_record import secrets_from_here
    from fireassay.runners.experiment.argument_check import refuse_secrets
    from fireassay.spec.flags.evaluate import experiment_from

    experiment = secrets_from_here(experiment_from(arguments), of_record=False)
    refuse_secrets(experiment)  # before any of it is printed
    if arguments.toml:
        from fireassay.spec.load import to_toml

        print(to_toml(experiment), end="")
        return 0
    from fireassay.cli.support.experiment_run import run
    from fireassay.cli.support.progress import display
    from fireassay.cli.verbs.report import judge_and_show
    from fireassay.record.arrow_import import without_pandas

    without_pandas()
    with display(sys.stderr, quiet=arguments.quiet) as show:
        path = run(experiment, folder=Path(), root=arguments.root, on_progress=show)
    return judge_and_show(path, arguments)


VERB = Verb(
    name="evaluate",
    group="measure",
    summary="put a task's items to engines, score the answers, and say whether quality was held",
    description="""Put the items of a task to an engine, seal a record of every request and answer, score and judge it.

    assay evaluate --task gsm8k --data test.jsonl --target http://localhost:8000 --model M
    assay evaluate --task my_task.toml --target a=http://a:8000 --target b=http://b:8000 --model M --margin 0.02
    assay evaluate --task mmlu --data DIR --target MODEL_FOLDER

Data is always yours, with its digest in the record; nothing is downloaded. The requests are timed: throughput, latency, tokens and cost
of the same answers stand in the same record. A request that failed is never a wrong answer; too many of them make the record INVALID.
With two targets, the first is the reference: quality was held, degraded, or the items are too few to say.
Ctrl-C ends the pass cleanly and keeps all answers; `assay resume RECORD` continues.""",
    add_arguments=_add_arguments,
    run=_run,
    usual={"ask": ("--task", "--data", "--target", "--model"), "judge": ("--margin", "--metric", "--repetitions")},
    exits=VERDICTS,
)
