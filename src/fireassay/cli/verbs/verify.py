"""`assay verify`: is a sealed record unchanged, is it the expected one, and does it contain a secret?"""

from __future__ import annotations

import argparse
from pathlib import Path

from fireassay.cli.support.bar import bar
from fireassay.cli.support.output import Output, add_formats, emit
from fireassay.cli.support.verb import A_RECORD, Verb, add_root


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("record", nargs="?", default="latest", help=f"{A_RECORD} (default: latest)")
    parser.add_argument("--expect", metavar="SHA256", help="the required seal, as shown in a report of the record")
    parser.add_argument(
        "--signers",
        type=Path,
        metavar="FILE",
        help="allowed signers, in the format of git (NAME ssh-ed25519 AAAA...): one of them must have signed the record",
    )
    add_formats(parser)
    add_root(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api.records.verifying import verified
    from fireassay.reports.documents.verification import render
    from fireassay.reports.pages.verification import page

    result = verified(arguments.record, arguments.root, expected=arguments.expect, signers=arguments.signers, watch=bar)
    emit(Output(name="verify", page=lambda: page(result), document=lambda: render(result)), arguments)
    return 0 if result.intact else 6


VERB = Verb(
    name="verify",
    group="records",
    call="fireassay.api.records.verifying.verified",
    summary="check every byte of a sealed record against its seal, and search it for secrets",
    description="""Check every byte of a sealed record against its seal, and name each file that was changed, removed or added, or that contains
a possible secret. The folder reports/ is derived and is not checked.

    assay verify                      # the latest record below ./records
    assay verify digits-20260101      # the record whose name begins with this
    assay verify RECORD --expect 3f78...01b            # is it the record whose report I saw?
    assay verify RECORD --signers allowed_signers      # is it signed by someone I know?

A seal shows that a record is consistent, not where it comes from: anyone who changes a record can seal it again. --expect and --signers
compare it with what you know from elsewhere. Exit code 0: intact. 6: damaged, not sealed, another record, or with a secret in it.""",
    add_arguments=_add_arguments,
    run=_run,
    exits={0: "intact", 6: "damaged, not sealed, another record, or with a secret"},
)
