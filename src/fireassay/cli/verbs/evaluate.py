"""`assay evaluate`: how good are an engine's answers to the items of a task?"""

from __future__ import annotations

import argparse
import sys

from fireassay.cli.support.detach import add_detach
from fireassay.cli.support.output import add_formats, print_toml
from fireassay.cli.support.verb import Verb, add_root
from fireassay.exit_codes import WITHOUT_NO_GAIN
from fireassay.printable import say
from fireassay.spec.flags.evaluate import add_flags


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_flags(parser)
    add_root(parser, "where the record is made (default: records)")
    parser.add_argument("--dry-run", action="store_true", help="say what would be sent and what it can show; send nothing")
    parser.add_argument("--toml", action="store_true", help="print the experiment as a file for `assay run`; send nothing")
    add_detach(parser)
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api.measuring import evaluated, planned

    experiment = evaluated(arguments)
    if arguments.toml:
        return print_toml(experiment)
    planned(experiment, None if arguments.quiet else lambda sentence: say(sentence, file=sys.stderr))
    if arguments.dry_run:
        return 0
    from fireassay.cli.support.progress import run_and_judge

    return run_and_judge(experiment, arguments)


VERB = Verb(
    name="evaluate",
    group="measure",
    call="fireassay.evaluate",
    summary="put a task's items to engines, score the answers, and say whether quality was held",
    description="""Put the items of a task to an engine, seal a record of every request and answer, score and judge it.

    assay evaluate --task gsm8k --data FILE --target http://HOST:8000 --model M
    assay evaluate --task my.toml --target a=URL --target b=URL --margin 0.02
    assay evaluate --task mmlu --data DIR --target MODEL_FOLDER
    assay evaluate --task genai_bench --data DIR      ratings in the data; with --target, images

Data is always yours, with its digest in the record; nothing is downloaded. The requests are timed: throughput, latency, tokens and cost
of the same answers stand in the same record. A request that failed is never a wrong answer; too many of them make the record INVALID.
Before anything is sent, the plan says how many items the margin needs for a power of 80 %; a margin that they cannot show is refused
(--explore sends them all the same). With two targets, the first is the reference: quality was held, degraded, or the items are too few to say.
--limit N asks a random sample, the same for every engine and every record. Ctrl-C ends the pass cleanly and keeps its answers in the record;
`assay resume RECORD` keeps every finished pass, and asks the items of the one that was cut once more, all of them.""",
    add_arguments=_add_arguments,
    run=_run,
    usual={"ask": ("--task", "--data", "--target", "--model"), "judge": ("--margin", "--metric", "--repetitions")},
    exits=WITHOUT_NO_GAIN,
    tables=True,
)
