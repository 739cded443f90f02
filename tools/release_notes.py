"""What is new in a release?  Its section of CHANGELOG.md, as a release's page shows it.

    python tools/release_notes.py [VERSION]        of this tree's version, of another, or `Unreleased`

Such a page breaks lines where the text does, so the lines of an entry are joined; and it knows no path of the repository, so a link to one
becomes the path.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

_HEADING = re.compile(r"^## \[?([^]\s]+)\]?.*$", re.MULTILINE)
_PATH = re.compile(r"\[([^]]+)\]\((?![a-z]+:)([^)#]+)[^)]*\)")


def version(root: Path) -> str:
    """The version of a tree."""
    return str(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def section(changelog: str, of: str) -> str:
    """The section of a version, without its heading; empty if it has no entry.

    Raises:
        LookupError: it has no section, or several.
    """
    _, *parts = _HEADING.split(changelog)
    texts = [text for name, text in zip(parts[::2], parts[1::2], strict=True) if name == of]
    if len(texts) != 1:
        raise LookupError(f"CHANGELOG.md has {len(texts)} sections of {of}; sections: {', '.join(parts[::2])}")
    return texts[0].strip()


def notes(changelog: str, of: str) -> str:
    """The section as the text of a release. Raises LookupError, as `section`."""
    lines: list[str] = []
    for line in _PATH.sub(r"\1 (`\2`)", section(changelog, of)).splitlines():
        begins = not line.strip() or line.lstrip().startswith(("- ", "#"))
        if begins or not lines or not lines[-1]:
            lines.append(line.rstrip())
        else:
            lines[-1] += f" {line.strip()}"
    return "\n".join(lines)


def main(words: list[str], root: Path) -> int:
    """Print the notes."""
    try:
        print(notes((root / "CHANGELOG.md").read_text(encoding="utf-8"), words[0] if words else version(root)))
    except LookupError as error:
        print(f"release notes: {error.args[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).resolve().parents[1]))
