"""`assay score`: how good are answers that exist already?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fireassay.cli.support.output import add_formats, print_toml
from fireassay.cli.support.verb import Verb, add_root
from fireassay.exit_codes import WITHOUT_NO_GAIN
from fireassay.printable import say
from fireassay.spec.flags.evaluate import add_score_flags, score_experiment

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_score_flags(parser)
    add_root(parser, "where the record is made (default: records)")
    parser.add_argument("--toml", action="store_true", help="print the experiment as a file for `assay run`; score nothing")
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.quality.tasks.answer_file import named_sides

    sides = named_sides(arguments)
    experiment = _with_sides(score_experiment(arguments, sides))
    if arguments.toml:
        return print_toml(experiment)
    from fireassay.cli.support.progress import run_and_judge
    from fireassay.verdict.evaluation_plan import KEPT

    evaluation = experiment.evaluation
    alone = evaluation is not None and len(evaluation.answers) == 1 and experiment.steps is None
    if experiment.quality is not None and alone and not arguments.quiet:
        say(KEPT, file=sys.stderr)
    return run_and_judge(experiment, arguments)


def _with_sides(experiment: Experiment) -> Experiment:
    """Of ratings: the sides that the file names, each as answers of its own."""
    evaluation = experiment.evaluation
    if evaluation is None or evaluation.ratings is None:
        return experiment
    from fireassay.quality.tasks.ratings_file import read

    file, *others = evaluation.answers
    found = read(Path(file.path).expanduser(), evaluation)
    if found.digests:
        one = found.digests == 1
        whose = (
            "rater whose name is no plain code is kept as a digest" if one else "raters whose names are no plain codes are kept as digests"
        )
        say(f"{found.digests:,} {whose}", file=sys.stderr)
    if others or file.side:
        return experiment
    answers = tuple(file.model_copy(update={"name": name}) for name in found.sides)
    return experiment.model_copy(update={"evaluation": evaluation.model_copy(update={"answers": answers})})


VERB = Verb(
    name="score",
    group="measure",
    call="fireassay.score",
    summary="score answers: held, degraded, undecided",
    front=3,
    description="""Score answers that exist already, seal a record of every item, and judge it. Nothing is sent.

    assay score answers.jsonl --metric rouge_l,bleu,f1 --reference gold
    assay score a.jsonl b.jsonl --id id --metric f1 --margin 0.02      held or not
    assay score answers.csv --extract last_number --cluster passage
    assay score images.jsonl --score-field vqascore --id prompt --side model --margin 0.02

A line is one answer with its reference (a text, or a list). Every score carries a signature of what moves it, and an interval over
items, with whole clusters drawn together. A line without an answer is missing: neither right nor wrong.
Lines with one --id are several answers to one item; they are averaged first, as repetitions are no further items.
With two files or more, the first is the reference side, and every other one is paired with it, item by item; --side tells the sides
of one file apart. --score-field takes numbers that another program computed, and --best-of N says what choosing the best of several is worth.

    assay score ratings.csv --ratings long                    item, side, rater, rating (1 to 5)
    assay score ratings.csv --ratings pairs --margin 0.1      item, first, second, rater, choice

Ratings of people, as `assay rate` collects them: raters and items both are samples, so the intervals hold for other raters too; agreement,
strengths, ties, the effect of being shown first, and whether a winner may be named already.

    assay score a.jsonl b.jsonl --judge URL --judge-model M --rubric r.toml --gold gold.csv

A model judges by a rubric, pairs in both orders. It errs: labels of people for some items (`assay rate --record` makes them) correct it and
say how many labels it is worth; a margin without them is INVALID.""",
    add_arguments=_add_arguments,
    run=_run,
    usual={"score": ("--metric", "--score-field", "--reference", "--answer", "--extract"), "judge": ("--id", "--cluster", "--margin")},
    exits=WITHOUT_NO_GAIN,
    tables=True,
)
