"""`assay verify`: is a sealed record unchanged, is it the expected one, and does it contain a secret?"""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fireassay.cli.support.bar import bar
from fireassay.cli.support.output import Output, add_formats, emit
from fireassay.cli.support.verb import A_RECORD, Verb, add_root
from fireassay.errors import RecordError, refuse
from fireassay.record.lookup import resolve

if TYPE_CHECKING:
    from fireassay.reports.pages.verification import Verification

DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})", re.IGNORECASE)


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
    from fireassay.record.seal import verify
    from fireassay.record.secrets.batches import leaks
    from fireassay.reports.documents.verification import render
    from fireassay.reports.pages.verification import Verification, page

    expected = _digest(arguments.expect)
    path = resolve(arguments.record, arguments.root)
    with bar("checking") as advance:
        problems = verify(path, advance)
    with bar("searching for secrets") as advance:
        result = Verification(record=str(path), problems=(*problems, *leaks(path, advance)))
    if result.intact:
        result = _with_origin(result, path, expected, arguments.signers)
    emit(Output(name="verify", page=lambda: page(result), document=lambda: render(result)), arguments)
    return 0 if result.intact else 6


def _digest(text: str | None) -> str:
    """The expected digest; "" if none is given. Raises SpecError: the text is not a SHA-256."""
    if text is None:
        return ""
    match = DIGEST.fullmatch(text.strip())
    if match is None:
        allowed = "64 hexadecimal digits, the SHA-256 that a report of the record shows"
        raise refuse("--expect", repr(text), allowed, source="the command line")
    return match[1].lower()


def _with_origin(result: Verification, path: Path, expected: str, signers: Path | None) -> Verification:
    """The result for an intact record, with its seal and signature checked against the given seal and signers."""
    from fireassay.record.reader import open_record
    from fireassay.record.seal import is_signed, signer

    seal = open_record(path).seal
    result = replace(result, seal=seal, expected=seal == expected if expected else None, signed=is_signed(path))
    if result.expected is False:
        return replace(result, problems=(f"SEAL: the seal is {seal}, not the expected {expected}: this is another record.",))
    if signers is None:
        return result
    try:
        return replace(result, signer=signer(path, signers.expanduser()))
    except RecordError as error:
        return replace(result, problems=(str(error),))


VERB = Verb(
    name="verify",
    group="records",
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
