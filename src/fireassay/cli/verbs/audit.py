"""`assay audit`: which pitfalls does this record, this published claim or this table of timings fall into?"""

from __future__ import annotations

import argparse
from pathlib import Path

from fireassay.cli.support.output import Output, add_formats, emit
from fireassay.cli.support.verb import A_RECORD, Verb, add_root
from fireassay.cli.verbs import rubric
from fireassay.errors import refuse
from fireassay.exit_codes import EXIT_OF_STATUS

EXIT_OF_CLAIM = {"sound": 0, "unsound": 1, "not stated": 4}
TABLES = (".csv", ".tsv", ".md")
DESCRIPTION = """\
List the pitfalls that a record or a published claim falls into: weak baseline, apples to oranges, cherry-picked run,
cold start, too few trials, tail blindness, silent violation of an objective, and others; each with its evidence and its fix.

    assay audit                          the newest record in ./records
    assay audit claim.toml               published numbers with their conditions
    assay audit timings.csv              a table of timings, judged as by assay rubric
    assay audit claim.toml --markdown    for an issue or a review

A claim file holds what was published; an omitted key was not stated (assay schema --claim lists the keys). The output ends with the smallest
set of quantities that, measured together, would make the claim sound.

A table has a row per number of workers (assay rubric --help-all lists its columns).

Exit code for a claim: 0 sound as stated, 1 a pitfall, 4 not stated: no pitfall, but some could not be examined. For a record: that of its verdict
(0 PASS, 9 NO GAIN, 1 FAIL, 3 INVALID, 4 INCONCLUSIVE). For a table, which claims nothing by itself: 0 a row meets every requirement, be it
the base alone; 1 none does, or no prediction."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    help = f"{A_RECORD} (default: latest); or the TOML file of a claim, or a table"
    parser.add_argument("target", nargs="?", default="latest", metavar="TARGET", help=help)
    rubric.add_table(parser)
    add_formats(parser)
    add_root(parser)


def _run(arguments: argparse.Namespace) -> int:
    if _is_table(Path(arguments.target)):
        return rubric.judge_table(Path(arguments.target), arguments)
    if flag := rubric.flag_of_a_table(arguments):
        raise refuse(flag, f"a flag for tables, but {arguments.target!r} is none", fix="Leave it out, or give a table's file.")
    from fireassay.api.verdict import of_claim, of_record
    from fireassay.record.secrets.redact import redact
    from fireassay.reports.documents.pitfalls import render
    from fireassay.reports.page import mapped
    from fireassay.reports.pages.pitfalls import page

    is_claim = arguments.target.endswith(".toml")
    sheet = of_claim(Path(arguments.target)) if is_claim else of_record(arguments.target, arguments.root)
    # a claim file has not been searched for secrets
    emit(Output(name="audit", page=lambda: mapped(page(sheet), redact), document=lambda: redact(render(sheet))), arguments)
    return (EXIT_OF_CLAIM if is_claim else EXIT_OF_STATUS)[sheet.status]


def _is_table(target: Path) -> bool:
    """True for a file that is no claim; also for one that is missing, if its name says what it would hold."""
    return target.suffix != ".toml" and (target.is_file() or target.suffix in TABLES)


VERB = Verb(
    name="audit",
    group="judge",
    call="fireassay.api.verdict.of_record",
    summary="which pitfalls does a number fall into?",
    front=6,
    description=DESCRIPTION,
    add_arguments=_add_arguments,
    run=_run,
    usual=rubric.USUAL,
    exits={0: "sound; of a table: a row qualifies", 9: "NO_GAIN", 1: "a pitfall", 3: "INVALID", 4: "not stated, undecided"},
    tables=True,
)
