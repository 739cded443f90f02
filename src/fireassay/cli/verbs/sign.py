"""`assay sign`: who vouches for this record?"""

from __future__ import annotations

import argparse
from pathlib import Path

from fireassay.cli.support.verb import A_RECORD, Verb, add_root
from fireassay.printable import say


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("record", nargs="?", default="latest", help=f"{A_RECORD} (default: latest)")
    parser.add_argument(
        "--key",
        type=Path,
        required=True,
        metavar="FILE",
        help="a private ssh key, or its public key if ssh-agent holds the private one: ~/.ssh/id_ed25519",
    )
    add_root(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api.records.verifying import signed

    path, seal = signed(arguments.record, arguments.key, arguments.root)
    say(f"signed: {path}\nseal: {seal}")
    return 0


VERB = Verb(
    name="sign",
    group="records",
    call="fireassay.api.records.verifying.signed",
    summary="sign a sealed record with an ssh key, so that others can check its origin",
    description="""Sign the seal of a record with an ssh key. The signature is written next to the seal, as SEAL.sig, and is not sealed itself.

    assay sign --key ~/.ssh/id_ed25519               # the latest record below ./records
    assay verify RECORD --signers allowed_signers    # for others: is it intact, and who signed it?

A seal shows that a record is consistent, not where it comes from: anyone who changes a record can seal it again. A signature shows
which key signed it. allowed_signers holds one line per known signer, as for git: NAME ssh-ed25519 AAAA...
Needs ssh-keygen of OpenSSH 8.0 or newer. Exit code 6: the record is not intact, or the key cannot be used.""",
    add_arguments=_add_arguments,
    run=_run,
    exits={0: "signed", 6: "not intact, or the key cannot be used"},
)
