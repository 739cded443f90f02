"""Is a sealed record byte for byte unchanged?

SEAL holds the digest of manifest.json, which holds the digests of all other files.  The folder `reports/` is
derived and not sealed.

Who sealed this record?  A detached signature over SEAL, made and verified by OpenSSH's `ssh-keygen -Y` with an existing key.

A seal proves consistency, not origin: anyone can change a record and seal it again.  `sign` writes SEAL.sig beside SEAL,
outside the sealed files.  `signer` verifies it against a file of allowed signers, as git does for commits.
Source: ssh-keygen(1), sections on signatures and allowed signers; OpenSSH PROTOCOL.sshsig.
Cannot tell whether the signer measured honestly, or whether the key was stolen.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from fireassay.errors import EnvironmentLacks, RecordError
from fireassay.printable import shell_word
from fireassay.record import files
from fireassay.record.manifest import MAX_MANIFEST, read_manifest
from fireassay.record.sealing import seal
from fireassay.record.secrets.redact import redact
from fireassay.record.untrusted import paths

NAMESPACE: Final = "assay-seal"  # so that a signature of a mail or a commit is not valid for a record
NAME: Final = "SEAL.sig"
MAX_SIGNATURE_BYTES: Final = 64 << 10  # bytes of a signature
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
    """True if there is a signature, valid or not."""
    return (record / NAME).exists()


def _content(record: Path, name: str, missing: str) -> bytes:
    path = record / name
    if path.is_symlink() or not path.is_file():
        raise RecordError(missing)
    if path.stat().st_size > MAX_SIGNATURE_BYTES:
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


def verify(path: Path, on_progress: Callable[[int, int], None] | None = None) -> tuple[str, ...]:
    """Every difference between the folder and its seal, each starting with the file's name; empty if intact.

    Args:
        path: the record folder.
        on_progress: called with the bytes checked so far, and all.

    Raises:
        RecordError: the folder is missing or not a record of assay.
    """
    if not os.path.lexists(path / "SEAL"):
        return _unsealed(path, read_manifest(path))
    try:
        content = paths.read(path, "manifest.json", MAX_MANIFEST)
        line = paths.read(path, "SEAL", paths.MIB)
    except FileNotFoundError:
        return ("manifest.json: is missing. Restore it from a copy of the record.",)
    except OSError as error:
        return (f"manifest.json or SEAL: cannot be read: {error.strerror}",)
    problem = _seal_problem(content, line)
    if problem.startswith("manifest.json"):
        return (problem,)
    listed = _listed(content)
    if listed is None:
        return ("manifest.json: does not list the sealed files with their digests. Restore it from a copy of the record.",)
    return tuple(filter(None, (problem, *_file_problems(path, listed, on_progress))))


def _listed(content: bytes) -> dict[str, dict[str, Any]] | None:
    """The sealed files that the manifest lists; None if it has no valid list."""
    try:
        listed: dict[str, dict[str, Any]] = paths.json_of(content)["sealed"]["files"]
        return listed if all({"sha256", "bytes"} <= entry.keys() for entry in listed.values()) else None
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def _unsealed(path: Path, manifest: Mapping[str, Any]) -> tuple[str, ...]:
    if "sealed" in manifest and not (path / "streams").exists():
        return ("SEAL: is missing from a record that was sealed. Restore it from a copy of the record.",)
    remedy = f"If it no longer runs, `assay resume {shell_word(path)}` completes and seals it."
    return (f"the record is not sealed yet, so there is nothing to verify against. {remedy}",)


def _seal_problem(content: bytes, line: bytes) -> str:
    """Which of the two changed: a changed manifest has an unrelated digest, an edited SEAL nearly the right one."""
    right = seal.seal_line(content)
    if line == right:
        return ""
    equal = sum(a == b for a, b in zip(line, right, strict=False))
    if len(line) != len(right) or equal > len(right) // 2:  # unrelated digests agree in one of 16 hexadecimal digits
        return "SEAL: was changed; it is not the digest of manifest.json."
    return "manifest.json: was changed after sealing, so its list of files cannot be trusted and they were not checked."


def _file_problems(path: Path, sealed: Mapping[str, Mapping[str, Any]], on_progress: Callable[[int, int], None] | None) -> list[str]:
    present = set(seal.covered(path, everything=True))
    problems = [f"{name}: was added after sealing." for name in present - set(sealed)]
    problems += [f"{name}: is missing. Restore it from a copy of the record." for name in set(sealed) - present]
    both = sorted(present & set(sealed))
    sizes = [size if isinstance(size := sealed[name]["bytes"], int) and size > 0 else 0 for name in both]  # a stranger's manifest
    total = sum(sizes)
    for name, checked in zip(both, accumulate(sizes), strict=True):
        problems.append(_compare(path, name, sealed[name]))
        if on_progress is not None:
            on_progress(checked, total)
    if (path / "streams").exists():
        problems.append(f"streams/: is left over from an interrupted sealing; `assay resume {shell_word(path)}` removes it.")
    return sorted(filter(None, problems))


def _compare(path: Path, name: str, sealed: Mapping[str, Any]) -> str:
    try:
        size = files.size(path / name)
        if size != sealed["bytes"]:
            return f"{name}: was changed: it has {size} bytes and was sealed with {sealed['bytes']}."
        same = files.digest(path / name) == sealed["sha256"]
    except OSError as error:
        return f"{name}: cannot be read: {error.strerror}."
    return "" if same else f"{name}: was changed: its SHA-256 differs from the sealed one."
