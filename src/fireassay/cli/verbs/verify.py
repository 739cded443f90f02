"""`assay verify`: is a sealed record still, byte for byte, what was sealed, is it the one that is meant, and does it hold a key?"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fireassay.cli.support.verb import Verb, add_root

if TYPE_CHECKING:
    from fireassay.record.reader import Record

DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})", re.IGNORECASE)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("record", nargs="?", default="latest", help="a record folder, the beginning of its name, or latest (default)")
    parser.add_argument("--expect", metavar="SHA256", help="the seal that it must have, as its report shows it, known from elsewhere")
    parser.add_argument(
        "--signers",
        type=Path,
        metavar="FILE",
        help="known signers, as for git (NAME ssh-ed25519 AAAA...): the record must be signed by one of them",
    )
    add_root(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.errors import RecordError
    from fireassay.printable import printable
    from fireassay.record.lookup import resolve
    from fireassay.record.reader import open_record
    from fireassay.record.sealing.verify import verify
    from fireassay.record.secrets.leaks import leaks

    expected = _digest(arguments.expect)
    path = resolve(arguments.record, arguments.root)
    problems = [*verify(path), *leaks(path)]
    messages: list[str] = []
    if not problems:
        record = open_record(path)
        try:
            messages += [f"seal: {record.seal}", *_origin(record, expected, arguments.signers)]
        except RecordError as error:
            problems.append(str(error))
    if not problems:
        print(printable("\n  ".join((f"{path}: intact", *messages))))
        return 0
    print(printable(f"{path}: {len(problems)} problem{'s' if len(problems) > 1 else ''}"))
    print(printable("\n".join(f"  {problem}" for problem in problems)))  # files are named by whoever made the record
    return 6


def _digest(text: str | None) -> str:
    """The digest that is expected; "" for none.

    Raises:
        SpecError: it is none.
    """
    if text is None:
        return ""
    match = DIGEST.fullmatch(text.strip())
    if match is None:
        from fireassay.errors import Problem, SpecError

        raise SpecError(
            (Problem(where="--expect", found=repr(text), allowed="64 hexadecimal digits, the SHA-256 that a report of the record shows"),),
            "the command line",
        )
    return match[1].lower()


def _origin(record: Record, expected: str, signers: Path | None) -> Iterator[str]:
    """What is known of where it comes from. Raises RecordError where it is not what was expected."""
    from fireassay.errors import RecordError
    from fireassay.record.sealing.signature import is_signed, signer

    if expected and record.seal != expected:
        raise RecordError(f"SEAL: the seal is {record.seal} and {expected} was expected: it is another record.")
    if expected:
        yield "it is the record that was expected"
    if signers is not None:
        yield f"signed by {signer(record.path, signers.expanduser())}"
    elif is_signed(record.path):
        yield "signed; --signers FILE checks by whom"


VERB = Verb(
    name="verify",
    group="records",
    summary="check every byte of a sealed record against its seal, and look for keys in it",
    description="""Check every byte of a sealed record against its seal, and name each file that was changed, removed or added, or that holds
what looks like a secret. The folder reports/ is derived and is not checked.

    assay verify                      # the latest record below ./records
    assay verify digits-20260101      # the one whose name begins so
    assay verify RECORD --expect 3f78...01b      # is it the record whose report I was shown?
    assay verify RECORD --signers allowed_signers      # is it signed by somebody whom I know?

A seal shows that a record is consistent, not where it comes from: whoever changes a record can seal it again. --expect and --signers
hold it against what you know from elsewhere. Exit code 0: intact. 6: damaged, not sealed, another one, or with a secret in it.""",
    add_arguments=_add_arguments,
    run=_run,
)
