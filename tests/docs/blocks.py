"""What is in a documentation page, and what does each fenced block promise?

A page is one session in one empty folder: its files are saved, then its blocks are taken from top to bottom.

    ```python   runs in a fresh interpreter
    ```sh       runs in bash (a verb of assay that needs no shell: in this process) and must exit with 0; "# exit 1: why" above a command:
                1 is meant; "# exit 0 or 4: why"
    ```toml     a whole experiment or claim, or some sections of an experiment: it is validated
    ```text     output, a formula or a picture in letters: nothing to run

`<!-- file: train.py -->` on the line before a block saves the block under that name: python is then only compiled, toml
validated, and the other blocks use the file.  `make TARGET` is not run here, for CI runs the targets: they must exist.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

LANGUAGES = frozenset({"python", "sh", "toml", "text", "csv"})
_BLOCK = re.compile(
    r"^(?:<!-- file: (?P<file>[^ ]+) -->\n)?(?P<fence>```+)(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=fence)[ ]*$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True, kw_only=True)
class Block:
    """One fenced block."""

    line: int  # of the opening fence, from 1
    language: str
    text: str
    file: str | None  # the name under which it is saved

    @property
    def commands(self) -> tuple[tuple[str, frozenset[int]], ...]:
        """The shell commands with the exit codes that each may have; a backslash joins lines."""
        found, expected = [], frozenset({0})
        for row in self.text.replace("\\\n", " ").splitlines():
            if row.startswith("# exit "):
                expected = frozenset(int(code) for code in re.findall(r"\d+", row.partition(":")[0]))
            elif row.strip() and not row.lstrip().startswith("#"):
                found.append((row.strip(), expected))
                expected = frozenset({0})
        return tuple(found)


def blocks(page: Path) -> tuple[Block, ...]:
    """The blocks of a page, from top to bottom."""
    text = page.read_text(encoding="utf-8")
    return tuple(
        Block(
            line=text.count("\n", 0, match.start("fence")) + 1, language=match["language"].strip(), text=match["text"], file=match["file"]
        )
        for match in _BLOCK.finditer(text)
    )


def pages(repository: Path) -> tuple[Path, ...]:
    """Every page that people read."""
    top = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")
    return (*(repository / name for name in top), *sorted((repository / "docs").rglob("*.md")))
