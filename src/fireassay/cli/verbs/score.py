"""`assay score`: how good are answers that exist already?"""

from __future__ import annotations

import argparse
import sys

from fireassay.cli.support.output import add_formats, print_toml
from fireassay.cli.support.verb import Verb, add_root
from fireassay.exit_codes import WITHOUT_NO_GAIN
from fireassay.printable import say
from fireassay.spec.flags.evaluate import add_score_flags, score_experiment


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_score_flags(parser)
    add_root(parser, "where the record is made (default: records)")
    parser.add_argument("--toml", action="store_true", help="print the experiment as a file for `assay run`; score nothing")
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    experiment = score_experiment(arguments)
    if arguments.toml:
        return print_toml(experiment)
    from fireassay.cli.support.progress import run_and_judge
    from fireassay.verdict.evaluation_plan import KEPT

    if experiment.quality is not None and len(arguments.files) == 1 and not arguments.quiet:
        say(KEPT, file=sys.stderr)
    return run_and_judge(experiment, arguments)


VERB = Verb(
    name="score",
    group="measure",
    summary="score answers: held, degraded, undecided",
    front=3,
    description="""Score answers that exist already, seal a record of every item, and judge it. Nothing is sent.

    assay score answers.jsonl --metric rouge_l,bleu,f1 --reference gold
    assay score a.jsonl b.jsonl --id id --metric f1 --margin 0.02      held or not
    assay score answers.csv --extract last_number --cluster passage

A line is one answer with its reference (a text, or a list). Every score carries a signature of what moves it, and an interval over
items, with whole clusters drawn together. A line without an answer is missing: neither right nor wrong.
Lines with one --id are several answers to one item; they are averaged first, as repetitions are no further items.
With two files or more, the first is the reference side, and every other one is paired with it, item by item.""",
    add_arguments=_add_arguments,
    run=_run,
    usual={"score": ("--metric", "--reference", "--answer", "--extract"), "judge": ("--id", "--cluster", "--margin")},
    exits=WITHOUT_NO_GAIN,
    tables=True,
)
