"""Who sealed this record?  A detached signature over SEAL, made and verified by OpenSSH's `ssh-keygen -Y` with an existing key.

A seal proves consistency, not origin: anyone can change a record and seal it again.  `sign` writes SEAL.sig beside SEAL,
outside the sealed files.  `signer` verifies it against a file of allowed signers, as git does for commits.
Source: ssh-keygen(1), sections on signatures and allowed signers; OpenSSH PROTOCOL.sshsig.
Cannot tell whether the signer measured honestly, or whether the key was stolen.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fireassay.errors import EnvironmentLacks, RecordError
from fireassay.record import files
from fireassay.record.secrets.redact import redact

NAMESPACE: Final = "assay-seal"  # so that a signature of a mail or a commit is not valid for a record
NAME: Final = "SEAL.sig"
LONGEST: Final = 64 << 10  # bytes of a signature
PATIENCE_S: Final = 120.0  # a hardware token waits for a touch


def sign(record: Path, key: Path) -> Path:
    """Sign a sealed record with a private key, or with the public key of one in ssh-agent. Returns the signature's path.

    Raises:
        EnvironmentLacks: there is no ssh-keygen.
        RecordError: the record is not sealed, the key cannot be used, or the signature cannot be written.
    """
    seal = _content(record, "SEAL", f"{record} is not sealed, so there is nothing to sign. `assay resume` seals it.")
    if not key.is_file():
        raise RecordError(f"{key} is not a file. Give an SSH private key, for example ~/.ssh/id_ed25519.")
    signature = _ask(["-Y", "sign", "-f", str(key.absolute()), "-n", NAMESPACE], seal, f"cannot sign with {key}")
    path = record / NAME
    try:
        files.replace(path, signature)
    except OSError as error:
        raise files.explain(error, path, "write") from error
    return path


def signer(record: Path, signers: Path) -> str:
    """Who signed the record: the key's name in a file of allowed signers.

    Raises:
        EnvironmentLacks: there is no ssh-keygen.
        RecordError: there is no signature, it does not match this seal, or the key belongs to no allowed signer.
    """
    seal = _content(record, "SEAL", f"{record} is not sealed, so it cannot have a signature.")
    _content(record, NAME, f"{record} is not signed. `assay sign` signs it.")
    if not signers.is_file():
        raise RecordError(f"{signers} is not a file. Give a file with one line per known signer: NAME KEY-TYPE KEY.")
    known, signature = str(signers.absolute()), str((record / NAME).absolute())
    output = _ask(
        ["-Y", "find-principals", "-f", known, "-s", signature], seal, f"the signature of {record} is by a signer that is not in {signers}"
    )
    name = output.decode("utf-8", "replace").splitlines()[0].strip()
    _ask(
        ["-Y", "verify", "-f", known, "-I", name, "-n", NAMESPACE, "-s", signature],
        seal,
        f"the signature of {record} does not match its seal",
    )
    return name


def is_signed(record: Path) -> bool:
    """Whether there is a signature, valid or not."""
    return (record / NAME).exists()


def _content(record: Path, name: str, missing: str) -> bytes:
    path = record / name
    if path.is_symlink() or not path.is_file():
        raise RecordError(missing)
    if path.stat().st_size > LONGEST:
        raise RecordError(f"{path} has {path.stat().st_size} bytes, too many for {name}.")
    return path.read_bytes()


def _ask(arguments: Sequence[str], seal: bytes, trouble: str) -> bytes:
    """The output of ssh-keygen for the seal on its standard input."""
    program = shutil.which("ssh-keygen")
    if program is None:
        raise EnvironmentLacks(
            "ssh-keygen is not installed; it makes and checks signatures. Install the OpenSSH client (package openssh-client)."
        )
    try:
        done = subprocess.run([program, *arguments], input=seal, capture_output=True, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        raise RecordError(f"{trouble}: ssh-keygen did not answer within {PATIENCE_S:g} s.") from None
    if done.returncode:
        output = redact(re.sub(r"\s+", " ", (done.stderr + done.stdout).decode("utf-8", "replace")).strip())
        raise RecordError(f"{trouble}: {output[:300] or f'ssh-keygen ended with {done.returncode}'}")
    return done.stdout
