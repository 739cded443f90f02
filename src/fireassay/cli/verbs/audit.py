"""`assay audit`: which pitfalls does this record, or this published claim, fall into?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fireassay.cli.support.output import Output, add_formats, emit
from fireassay.cli.support.verb import A_RECORD, Verb, add_root
from fireassay.exit_codes import EXIT_OF_STATUS
from fireassay.printable import one_line

if TYPE_CHECKING:
    from fireassay.reports.pages.pitfalls import Sheet

EXIT_OF_CLAIM = {"sound": 0, "unsound": 1, "cannot be judged": 4}
DESCRIPTION = """\
List the pitfalls that a record or a published claim falls into: weak baseline, apples to oranges, cherry-picked run,
cold start, too few trials, tail blindness, silent violation of an objective, and others; each with its evidence and its fix.

    assay audit latest                   the newest record in ./records
    assay audit claim.toml               published numbers with their conditions
    assay audit claim.toml --markdown    for an issue or a review

A claim file holds what was published; an omitted key was not stated (assay schema --claim lists the keys). The output ends with the smallest
set of quantities that, measured together, would make the claim sound.

Exit code for a claim: 0 sound as stated, 1 a pitfall, 4 no pitfall, but some could not be examined. For a record: that of its verdict
(0 PASS, 1 FAIL, 3 INVALID, 4 INCONCLUSIVE)."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help=f"{A_RECORD}; or the TOML file of a claim")
    add_formats(parser)
    add_root(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.record.secrets.redact import redact
    from fireassay.reports.documents.pitfalls import render
    from fireassay.reports.page import mapped
    from fireassay.reports.pages.pitfalls import page

    is_claim = arguments.target.endswith(".toml")
    sheet, code = _of_claim(Path(arguments.target)) if is_claim else _of_record(arguments.target, arguments.root)
    # a claim file has not been searched for secrets
    emit(Output(name="audit", page=lambda: mapped(page(sheet), redact), document=lambda: redact(render(sheet))), arguments)
    return code


def _of_claim(path: Path) -> tuple[Sheet, int]:
    from fireassay.reports.pages.pitfalls import of_claim
    from fireassay.spec.claim import load_claim
    from fireassay.verdict.claims.claim import audit_claim

    claim = load_claim(path)
    audited = audit_claim(claim)
    when = f", {claim.claim.as_of}" if claim.claim.as_of else ""
    return of_claim(claim.claim.text, f"{claim.claim.source}{when}", audited), EXIT_OF_CLAIM[audited.status]


def _of_record(name: str, root: Path) -> tuple[Sheet, int]:
    from fireassay.frames.record_data import from_record
    from fireassay.record.lookup import resolve
    from fireassay.record.reader import open_record
    from fireassay.record.unjudged import judged_from
    from fireassay.reports.pages.pitfalls import Sheet
    from fireassay.verdict.claims.claim import facts_needed, smallest_set
    from fireassay.verdict.judge import judge
    from fireassay.verdict.pitfalls import of_record

    path = resolve(name, root)
    with judged_from(path):
        measured = from_record(open_record(path))
        judgement = judge(measured)
        pitfalls = of_record(measured)
    facts = facts_needed(judgement.verdict.findings)
    sheet = Sheet(
        kind="record",
        subject=one_line(measured.experiment.name),
        source=one_line(path.name),
        status=judgement.verdict.status,
        sentence=judgement.verdict.sentence,
        pitfalls=pitfalls,
        quantities=smallest_set(facts),
    )
    return sheet, EXIT_OF_STATUS[judgement.verdict.status]


VERB = Verb(
    name="audit",
    group="judge",
    summary="list the pitfalls that a record or a published claim falls into",
    description=DESCRIPTION,
    add_arguments=_add_arguments,
    run=_run,
    exits={0: "sound", 1: "a pitfall", 3: "INVALID", 4: "cannot be judged"},
    tables=True,
)
