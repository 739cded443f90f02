"""What is installed here: which commit, with which core and which extras?  The answer to `assay --version`.

A build writes its commit, and why it has no compiled core, to `_build.json` in the package (setup.py, which runs this file alone).  Without
that file git is asked, and believed only where the top of its working tree is Fireassay's own: an environment may lie in the repository of
another project.  Imports no dependency.  An extra counts as installed if each of its distributions is, in whatever version.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

TYPE_CHECKING = False  # read by type checkers as true; see fireassay/__init__.py
if TYPE_CHECKING:
    from collections.abc import Iterator

BUILD = "_build.json"
UNKNOWN = "unknown"
CHANGED = ", with changes that are not committed"
PACKAGE = Path(__file__).parents[2]
GIT_TIMEOUT_S = 10.0


def described() -> str:
    """A line for the version, the commit, the core and the extras."""
    from fireassay import __version__

    return "\n".join(
        (
            f"fireassay {__version__}",
            f"commit  {commit(PACKAGE)}",
            f"core    {core(PACKAGE)}",
            f"extras  {', '.join(extras('fireassay')) or 'none'}",
        )
    )


def commit(package: Path) -> str:
    """The commit that the package's files are of, in 12 digits; "unknown" if neither its build nor a checkout of its own says it."""
    built = _built(package)
    if built is not None:
        return built.get("commit", UNKNOWN)
    lines = _git(package, "rev-parse", "--show-toplevel", "HEAD", "HEAD:src/fireassay/__init__.py")
    if lines is None or Path(lines.splitlines()[0]).resolve() / "src/fireassay" != package.resolve():
        return UNKNOWN
    state = _git(package, "status", "--porcelain", "--", ".")
    return UNKNOWN if state is None else lines.splitlines()[1][:12] + (CHANGED if state else "")


def core(package: Path) -> str:
    """Whether the load client's core is compiled, else why it is not used."""
    from importlib import import_module

    try:
        import_module("fireassay.traffic.wire._core")
    except ModuleNotFoundError:
        missing = "not compiled when this was installed" if sys.platform == "linux" else "compiled on Linux only"
        return f"Python: {(_built(package) or {}).get('core') or missing}"
    except ImportError as error:  # of another architecture, or for a newer libc
        return f"Python: {error}"
    return "compiled"


def extras(distribution: str) -> list[str]:
    """The extras of a distribution of which all is installed."""
    wanted: dict[str, list[bool]] = {}
    for name, nested, extra in _needs(distribution):
        found = _is_installed(name) and all(_is_installed(other) for other, _, of in _needs(name) if of in nested)
        wanted.setdefault(extra, []).append(found)
    return sorted(extra for extra, found in wanted.items() if all(found))


def _built(package: Path) -> dict[str, str] | None:
    """What the build wrote; None in a checkout."""
    try:
        found = json.loads((package / BUILD).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _git(folder: Path, *words: str) -> str | None:
    """What git prints of the repository that the folder lies in, whatever GIT_DIR says; None if it fails."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(folder), *words]
    try:
        done = subprocess.run(
            command,
            env=variables | {"GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=GIT_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _needs(distribution: str) -> Iterator[tuple[str, list[str], str]]:
    """(name, its own extras, the extra that wants it) of each requirement of an extra; those with another condition are left out."""
    import re
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires(distribution) or ()
    except PackageNotFoundError:
        return
    for line in lines:
        if found := re.fullmatch(r"""([\w.-]+)\s*(?:\[(.*?)\])?[^;]*;\s*extra\s*==\s*["']([\w.-]+)["']""", line):
            yield found[1], [name.strip() for name in (found[2] or "").split(",")], found[3]


def _is_installed(name: str) -> bool:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
