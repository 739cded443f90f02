"""How is a finished record sealed so that no change goes unnoticed, and is a sealed one byte for byte unchanged?

    streams/ -> tables.tmp/ -> rename to tables/ -> digests into manifest.json -> SEAL -> streams/ removed

The streams stay until the seal is on disk.  After a crash before that they are intact and sealing starts again;
after a later crash the record is sealed and the streams only need to be removed.

SEAL holds the digest of manifest.json, which holds the digests of all other files.  The folder `reports/` is
derived and not sealed.

Who sealed this record?  A detached signature over SEAL, made and verified by OpenSSH's `ssh-keygen -Y` with an existing key.

A seal proves consistency, not origin: anyone can change a record and seal it again.  `sign` writes SEAL.sig beside SEAL,
outside the sealed files.  `signer` verifies it against a file of allowed signers, as git does for commits.
Source: ssh-keygen(1), sections on signatures and allowed signers; OpenSSH PROTOCOL.sshsig.
Cannot tell whether the signer measured honestly, or whether the key was stolen.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from fireassay.errors import EnvironmentLacks, RecordError
from fireassay.printable import shell_word
from fireassay.record import files
from fireassay.record.manifest import MAX_MANIFEST, read_manifest
from fireassay.record.secrets.redact import redact, redact_all, redact_environment, secret_values
from fireassay.record.tables import TABLES
from fireassay.record.unsealed import cut_off, launch_folders, launch_name, other_columns, read_launch, stream_files
from fireassay.record.untrusted import paths

if TYPE_CHECKING:
    import pyarrow as pa

    from fireassay.spec.experiment import Experiment


def plan_signature(experiment: Experiment) -> str:
    """Identifies an experiment regardless of its name and secrets: 16 hexadecimal digits."""
    content = experiment.model_dump(mode="json", by_alias=True, exclude={"name"})
    content["workload"]["environment"] = redact_environment(content["workload"]["environment"])
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


AT_ONCE_BYTES = 64 << 20  # of streams that are sorted in memory
OUTSIDE = ("reports", "streams", "manifest.json", "SEAL", "SEAL.sig")  # top-level names outside the seal


def seal(path: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Compact the streams, write the digests and the seal, remove the streams. Returns the manifest as sealed.

    Raises:
        OSError: a file operation failed; the streams are untouched and sealing can be retried.
    """
    if (path / "SEAL").exists():  # an earlier attempt got this far
        sealed: dict[str, Any] = paths.json_of((path / "manifest.json").read_bytes())
    else:
        notes = compact(path)
        sealed = manifest | {"sealed": {"files": describe(path), "salvaged": notes}}
        content = encode(sealed)
        files.replace(path / "manifest.json", content)
        files.replace(path / "SEAL", seal_line(content))
    clear(path)
    return sealed


def clear(path: Path) -> None:
    """Remove the streams of a sealed record. They are no longer part of it, so errors are ignored."""
    with suppress(OSError):
        files.remove_tree(path / "streams")


def compact(path: Path) -> list[str]:
    """Write every stream's rows to `tables/`, one launch and table at a time. Returns the losses in the streams."""
    temporary, tables = path / f"tables{files.TEMPORARY}", path / "tables"
    files.remove_tree(temporary)
    notes: list[str] = []
    for launch in launch_folders(path):
        for name in TABLES:
            notes += _compact_one(path, launch, name, temporary / name / launch_name(launch) / "part-0.parquet")
    if not (path / "streams").is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path / "streams"))
    files.remove_tree(tables)  # left by an unfinished sealing; the streams hold everything
    if temporary.exists():
        files.rename(temporary, tables)
    return notes


def _compact_one(path: Path, launch: int, name: str, target: Path) -> Iterable[str]:
    """One table of one launch; large streams some megabytes at a time."""
    streams = stream_files(path, launch, name)
    if sum(file.stat().st_size for file in streams) <= AT_ONCE_BYTES:
        table, lost = read_launch(path, launch, name)
        if table is not None:
            write_parquet(target, table.schema, (table,))
        return lost
    from fireassay.record.streams import groups, scan

    scanned = scan(streams, name)
    if scanned.schema is not None:
        write_parquet(target, scanned.schema, groups(scanned))
    return [
        *(other_columns(path, file, name) for file in scanned.foreign),
        *(cut_off(path, file, lost_bytes, scanned.kept[file]) for file, lost_bytes in scanned.lost.items()),
    ]


def write_parquet(path: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
    """A table that comes in parts, one row group each, as zstd-compressed Parquet."""
    import pyarrow.parquet as pq

    def fill(file: BinaryIO) -> None:
        with pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for table in tables:
                writer.write_table(table)

    files.create(path, fill)


def describe(path: Path) -> dict[str, dict[str, Any]]:
    """Digest, size and, for tables, number of rows of every sealed file, by relative path."""
    return {name: _describe(path / name) for name in covered(path)}


def covered(path: Path, *, everything: bool = False) -> list[str]:
    """Relative paths of all sealed files: all but the reports, the streams, the manifest and the seal.

    `everything`: also temporary files at the top level, which sealing omits.
    """
    outside = set(OUTSIDE)
    if not everything:
        outside |= {entry.name for entry in path.glob(f"*{files.TEMPORARY}")}
    top = len(path.parts)
    names = (Path(entry.path).parts[top:] for entry in paths.walk(path) if _holds_bytes(entry))
    return sorted("/".join(parts) for parts in names if parts[0] not in outside)


def _holds_bytes(entry: os.DirEntry[str]) -> bool:
    """True if it is a file: sockets and pipes are not part of a record."""
    return entry.is_symlink() or entry.is_file(follow_symlinks=False)


def _describe(file: Path) -> dict[str, Any]:
    described: dict[str, Any] = {"sha256": files.digest(file), "bytes": files.size(file)}
    if file.suffix == ".parquet":
        import pyarrow.parquet as pq

        described["rows"] = pq.read_metadata(file).num_rows
    return described


def encode(manifest: dict[str, Any]) -> bytes:
    """The manifest as bytes with secrets redacted; the entries that seal the files stay unchanged."""
    known = secret_values(os.environ)
    manifest = {key: value if key == "sealed" else redact_all(value, known) for key, value in manifest.items()}
    return (json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def seal_line(manifest: bytes) -> bytes:
    """The content of SEAL, in the format of `sha256sum`."""
    return f"{hashlib.sha256(manifest).hexdigest()}  manifest.json\n".encode()


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
    right = seal_line(content)
    if line == right:
        return ""
    equal = sum(a == b for a, b in zip(line, right, strict=False))
    if len(line) != len(right) or equal > len(right) // 2:  # unrelated digests agree in one of 16 hexadecimal digits
        return "SEAL: was changed; it is not the digest of manifest.json."
    return "manifest.json: was changed after sealing, so its list of files cannot be trusted and they were not checked."


def _file_problems(path: Path, sealed: Mapping[str, Mapping[str, Any]], on_progress: Callable[[int, int], None] | None) -> list[str]:
    present = set(covered(path, everything=True))
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
