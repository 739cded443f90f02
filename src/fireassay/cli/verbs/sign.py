"""`assay sign`: whose record is this?"""

from __future__ import annotations

import argparse
from pathlib import Path

from fireassay.cli.support.verb import Verb, add_root


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("record", nargs="?", default="latest", help="a record folder, the beginning of its name, or latest (default)")
    parser.add_argument(
        "--key",
        type=Path,
        required=True,
        metavar="FILE",
        help="a private key of ssh, or its public half if ssh-agent holds it: ~/.ssh/id_ed25519",
    )
    add_root(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.cli.support.record_lookup import whole
    from fireassay.printable import printable
    from fireassay.record.lookup import resolve
    from fireassay.record.sealing.signature import sign

    record = whole(resolve(arguments.record, arguments.root))  # nobody should sign what was changed
    path = sign(record.path, arguments.key.expanduser())
    print(printable(f"signed: {path}\nseal: {record.seal}"))
    return 0


VERB = Verb(
    name="sign",
    group="records",
    summary="sign a sealed record with a key of ssh, so that others can tell whose it is",
    description="""Sign the seal of a record with a key of ssh. The signature is written beside the seal, as SEAL.sig, and is no part of what is sealed.

    assay sign --key ~/.ssh/id_ed25519               # the latest record below ./records
    assay verify RECORD --signers allowed_signers    # somebody else: is it whole, and whose?

A seal shows that a record is consistent, not where it comes from: whoever changes a record can seal it again. A signature shows
whose key sealed it. allowed_signers holds one line for each known signer, as for git: NAME ssh-ed25519 AAAA...
Needs ssh-keygen of OpenSSH 8.0 or newer. Exit code 6: the record is not whole, or the key cannot be used.""",
    add_arguments=_add_arguments,
    run=_run,
)
