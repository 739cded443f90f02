"""Is a sealed record byte for byte unchanged?

SEAL holds the digest of manifest.json, which holds the digests of all other files.  The folder `reports/` is
derived and not sealed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

from fireassay.printable import shell_word
from fireassay.record import files
from fireassay.record.manifest import MAX_MANIFEST, read_manifest
from fireassay.record.sealing import seal
from fireassay.record.untrusted import paths, strict_json


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
        listed: dict[str, dict[str, Any]] = strict_json.json_of(content)["sealed"]["files"]
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
