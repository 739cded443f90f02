"""How large is the source, and did it grow without a reason?

    python tools/size.py            statements, lines and files of each folder, beside those of the last release
    python tools/size.py --check    exit code 1 if more than 1,000 lines came in since the last reason was written down

A statement is an `ast.stmt` that is not a docstring; a line is a line of a file. Both sides are read from git, so nothing here is kept by
hand: the last release is the commit that last changed `version` in pyproject.toml, and a reason is a page of docs/decisions with a paragraph
`**Size.**`, which counts from the commit that brought it. Only the history that the clone has is read; without any, nothing is compared.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_GROWTH = 1_000  # source lines
SOURCE = "src/"
DECISIONS = "docs/decisions/"
REASON = "**Size.**"


@dataclass(frozen=True)
class Size:
    """What a folder holds."""

    statements: int = 0
    lines: int = 0
    files: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(self.statements + other.statements, self.lines + other.lines, self.files + other.files)


def measured(text: str) -> Size:
    """The size of one file."""
    nodes = list(ast.walk(ast.parse(text)))
    documented = (node for node in nodes if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef))
    docstrings = sum(ast.get_docstring(node, clean=False) is not None for node in documented)
    return Size(sum(isinstance(node, ast.stmt) for node in nodes) - docstrings, text.count("\n"), 1)


def folder(path: str) -> str:
    """The part of the package that a file belongs to: `src/fireassay/cli/verbs/run.py` -> `cli`; files at its top are `.`."""
    below = path.removeprefix(SOURCE).split("/")[1:]
    return below[0] if len(below) > 1 else "."


def by_folder(files: Iterable[tuple[str, str]]) -> dict[str, Size]:
    """Folder -> size, of (path, text)."""
    sizes: defaultdict[str, Size] = defaultdict(Size)
    for path, text in files:
        sizes[folder(path)] += measured(text)
    return dict(sizes)


# ---- git -------------------------------------------------------------------------------------------------------------


def git(root: Path, *words: str, given: bytes = b"") -> bytes:
    """What git prints; nothing where it fails."""
    return subprocess.run(["git", "-C", str(root), *words], input=given, capture_output=True, check=False).stdout


def release(root: Path) -> str:
    """The commit of the last release; empty if the history does not reach back to it."""
    return git(root, "log", "-1", "--format=%H", "-G^version = ", "--", "pyproject.toml").decode().strip()


def reason(root: Path) -> str:
    """The commit that brought the newest reason for growth; empty if there is none."""
    pages = [page.removeprefix("HEAD:") for page in git(root, "grep", "-lF", REASON, "HEAD", "--", DECISIONS).decode().split()]
    return git(root, "log", "-1", "--format=%H", "--diff-filter=A", "--", *pages).decode().strip() if pages else ""


def committed(root: Path, revision: str) -> Iterator[tuple[str, str]]:
    """(path, text) of every source file of a commit."""
    paths = [path for path in git(root, "ls-tree", "-r", "--name-only", revision, SOURCE).decode().splitlines() if path.endswith(".py")]
    answer = git(root, "cat-file", "--batch", given="".join(f"{revision}:{path}\n" for path in paths).encode())
    for path in paths:
        head, _, answer = answer.partition(b"\n")
        length = int(head.split()[2])
        yield path, answer[:length].decode()
        answer = answer[length + 1 :]


def present(root: Path) -> Iterator[tuple[str, str]]:
    """(path, text) of every source file of the working tree, without links: they lead into examples/."""
    for path in sorted((root / SOURCE).rglob("*.py")):
        if not path.is_symlink():
            yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")


def growth(root: Path, since: str) -> int:
    """Source lines added since a commit, less those deleted; the working tree counts."""
    rows = (line.split("\t") for line in git(root, "diff", "--numstat", "--no-renames", since, "--", f"{SOURCE}*.py").decode().splitlines())
    return sum(int(added) - int(deleted) for added, deleted, _ in rows)


# ---- output ----------------------------------------------------------------------------------------------------------


def table(now: dict[str, Size], before: dict[str, Size]) -> str:
    """A row per folder, the largest first; the release's figures behind today's."""
    names = sorted({*now, *before}, key=lambda name: -now.get(name, Size()).lines)
    rows = [(name, now.get(name, Size()), before.get(name, Size())) for name in names]
    rows.append(("total", sum(now.values(), Size()), sum(before.values(), Size())))
    head = f"{'folder':<14}{'statements':>12}{'lines':>10}{'files':>8}"
    if not before:
        return "\n".join([head, *(f"{name:<14}{a.statements:>12,}{a.lines:>10,}{a.files:>8,}" for name, a, _ in rows)])
    shown = (
        f"{name:<14}{a.statements:>12,}{a.lines:>10,}{a.files:>8,}   |{b.statements:>8,}{b.lines:>9,}{b.files:>7,}" for name, a, b in rows
    )
    return "\n".join([f"{head}   | at the last release", *shown])


def main(words: list[str], root: Path) -> int:
    """Print the table, or check the growth."""
    if "--check" not in words:
        last = release(root)
        print(table(by_folder(present(root)), by_folder(committed(root, last)) if last else {}))
        return 0
    if not (since := reason(root)):
        print(f"size: no page of {DECISIONS} with {REASON} in this history, so nothing to compare with")
        return 0
    grown = growth(root, since)
    print(f"size: {grown:+,} source lines since {since[:8]}, which gave the last reason; at most {MAX_GROWTH:,} without another")
    if grown <= MAX_GROWTH:
        return 0
    print(f"size: delete what can be said once, or add a page to {DECISIONS} whose paragraph {REASON} says why it cannot be less")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).resolve().parents[1]))
