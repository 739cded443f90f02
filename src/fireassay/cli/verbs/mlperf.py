"""`assay mlperf check`: would MLPerf accept these logs, and which rule would they break?"""

from __future__ import annotations

import argparse
import dataclasses
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fireassay.cli.support.output import Output, add_formats, emit
from fireassay.cli.support.verb import Verb, add_root
from fireassay.printable import json_text

if TYPE_CHECKING:
    from fireassay.verdict.mlperf.types import MlperfCheck


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("check",), help="check: apply the rules of a round")
    parser.add_argument(
        "logs",
        metavar="LOGS",
        nargs="+",
        help="a folder of result_*.txt or of LoadGen's runs, such files, or a record (folder, id, name, latest)",
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
    from fireassay.api.mlperf import Asked, check
    from fireassay.reports.pages.mlperf import page

    asked = Asked(round=arguments.round, division=arguments.division, benchmark=arguments.benchmark, scenario=arguments.scenario)
    result = check([Path(name) for name in arguments.logs], asked, arguments.root)
    emit(Output(name="mlperf", page=partial(page, result), document=lambda: json_text(_json(result))), arguments)
    return 0 if result.passed else 1


def _json(result: MlperfCheck) -> str:
    document = {"version": "assay-mlperf/1", "verdict": "PASS" if result.passed else "FAIL", **dataclasses.asdict(result)}
    return json.dumps(document, indent=2, ensure_ascii=False)


VERB = Verb(
    name="mlperf",
    group="judge",
    summary="check logs of a training or of LoadGen against MLPerf's rules",
    description="""Check the logs of a training or of LoadGen against the rules that MLPerf published for a round.

    assay mlperf check results/mine/retinanet           all result_*.txt of a training
    assay mlperf check results/mine/bert-99/Server      performance, accuracy and compliance runs
    assay mlperf check latest --division open           a record, also an imported one

Training: keys, their order and values, target, number of runs, seeds, reference convergence, olympic mean. Inference: LoadGen's own
verdict, minima of the scenario, seeds of the round, early stopping, latency limits, accuracy run, compliance tests, power. Rounds:
training 4.1, 5.0, 5.1; inference 5.0, 5.1. Every rule is shown with what it requires, what was found and in which line (--full); what
the logs cannot show is listed as not checked. This repeats the checks of MLPerf's own programs; it is not a review by MLCommons.""",
    add_arguments=_add_arguments,
    run=_run,
    usual={"judge": ("--round", "--division", "--benchmark")},
    exits={0: "every rule that the logs can show holds", 1: "a rule fails"},
)
