"""`assay mlperf check`: would MLPerf accept these logs, and which rule would they break?"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fireassay.cli.support.output import Output, add_formats, emit, plain_stdout
from fireassay.cli.support.verb import Verb, add_root
from fireassay.errors import refuse
from fireassay.printable import json_text, say
from fireassay.record.files import refuse_used, write_folder

if TYPE_CHECKING:
    from fireassay.api.mlperf import Submission
    from fireassay.verdict.mlperf.types import MlperfCheck


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", choices=("check", "export"), help="check: apply the rules of a round; export: write a record as :::MLLOG lines"
    )
    parser.add_argument(
        "logs",
        metavar="LOGS",
        nargs="+",
        help="a folder of result_*.txt or of LoadGen's runs, such files, or a record (folder, id, name, latest), a load's accuracy runs after it",
    )
    parser.add_argument(
        "--round", metavar="R", default="", help="the round, for example 5.0 (default: by the seeds, else the newest with the benchmark)"
    )
    parser.add_argument("--division", choices=("closed", "open"), default="", help="the division (default: as logged, else closed)")
    parser.add_argument("--benchmark", metavar="NAME", default="", help="the benchmark (default: as logged, or as the folder is called)")
    parser.add_argument("--scenario", metavar="NAME", default="", help="of inference: the submitted scenario (default: as logged)")
    add_formats(parser)
    add_root(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api.mlperf import Submission, check
    from fireassay.reports.pages.mlperf import page

    submission = Submission(round=arguments.round, division=arguments.division, benchmark=arguments.benchmark, scenario=arguments.scenario)
    if arguments.action == "export":
        return _export(arguments, submission)
    result = check(arguments.logs, submission, arguments.root)
    emit(Output(name="mlperf", page=partial(page, result), document=lambda: json_text(_json(result))), arguments)
    return 0 if result.passed else 1


def _export(arguments: argparse.Namespace, submission: Submission) -> int:
    """Write a result file per launch into a new folder; the exit code."""
    from fireassay.api.mlperf import lines_of

    if len(arguments.logs) > 1 or arguments.output is None:
        raise refuse(
            "assay mlperf export", " ".join(arguments.logs), "one record, and --output DIR for its result_*.txt", source="the command line"
        )
    folder: Path = arguments.output
    refuse_used("--output", folder)
    texts = lines_of(arguments.logs[0], submission, arguments.root)
    write_folder(folder, texts)
    lines = sum(text.count("\n") for text in texts.values())
    say(f"{len(texts)} files with {lines:,} lines: {folder}", file=sys.stdout if plain_stdout(arguments) else sys.stderr)
    return 0


def _json(result: MlperfCheck) -> str:
    document = {"version": "assay-mlperf/1", "verdict": "PASS" if result.passed else "FAIL", **dataclasses.asdict(result)}
    return json.dumps(document, indent=2, ensure_ascii=False)


VERB = Verb(
    name="mlperf",
    group="judge",
    call="fireassay.api.mlperf.check",
    summary="check logs of a training or of LoadGen against MLPerf's rules",
    description="""Check the logs of a training or of LoadGen against the rules that MLPerf published for a round.

    assay mlperf check results/mine/retinanet           all result_*.txt of a training
    assay mlperf check results/mine/bert-99/Server      performance, accuracy and compliance runs
    assay mlperf check latest --division open           a record, also an imported one
    assay mlperf check load accuracy                    a load, and its accuracy run
    assay mlperf export latest --output lines           its :::MLLOG lines, a file per launch

Training: keys, their order and values, target, number of runs, seeds, reference convergence, olympic mean. Inference: LoadGen's own
verdict, minima of the scenario, seeds of the round, early stopping, latency limits, accuracy run, compliance tests, power. Rounds:
training 4.1, 5.0, 5.1; inference 5.0, 5.1. Every rule is shown with what it requires, what was found and in which line (--full); what
the logs cannot show is listed as not checked. This repeats the checks of MLPerf's own programs; it is not a review by MLCommons.""",
    add_arguments=_add_arguments,
    run=_run,
    usual={"judge": ("--round", "--division", "--benchmark")},
    exits={0: "every rule that the logs can show holds", 1: "a rule fails"},
)
