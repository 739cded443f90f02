"""What is in a documentation page, and what does each fenced block promise?

A page is one session in one empty folder: its files are saved, then its blocks are taken from top to bottom.

    ```python   runs in a fresh interpreter
    ```sh       runs in bash (a verb of assay that needs no shell: in this process) and must exit with 0; "# exit 1: why" above a command:
                1 is meant; "# exit 0 or 4: why"
    ```toml     a whole experiment, claim or own task, or some sections of an experiment: it is validated
    ```text     output, a formula or a picture in letters: nothing to run

`<!-- file: train.py -->` on the line before a block saves the block under that name: python is then only compiled, toml
validated, and the other blocks use the file.  `make TARGET` is not run here, for CI runs the targets: they must exist.

`<!-- output -->` before a text block: the block is exactly what the block above it printed.  `<!-- output from: workers, to: doubts -->`:
the lines from the first that holds the one text to the next that holds the other, or the same; `, with other numbers elsewhere` at the end: everything
but the numbers and the spaces between words.  `python -m tools.page_outputs PAGE` writes them again.
`<!-- needs: examples tests/records -->` anywhere: these folders of the repository are in the session's folder.
`<!-- forks -->` anywhere: launches of `assay run` are forked, where a reader's are started; what imports torch then costs a third.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

LANGUAGES = frozenset({"python", "sh", "toml", "text", "csv"})
_BLOCK = re.compile(
    r"^(?:<!-- (?:file: (?P<file>[^ ]+)|(?P<output>output[^\n]*)) -->\n)?"
    r"(?P<fence>```+)(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=fence)[ ]*$",
    re.MULTILINE | re.DOTALL,
)
_LINES = re.compile(r"output(?: from: (?P<begin>.+?))?(?:, to: (?P<end>.+?))?(?P<varies>, with other numbers elsewhere)?")
_NUMBER = re.compile(r"[-+]?\d[\d.,]*|\s+")
_NEEDS = re.compile(r"^<!-- needs: (.+) -->$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Block:
    """One fenced block."""

    line: int  # of the opening fence, from 1
    language: str
    text: str
    file: str | None  # the name under which it is saved
    output: str | None = None  # which lines of the output above it shows
    span: tuple[int, int] = (0, 0)  # of its text, in the page's

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

    def cut(self, printed: str) -> str:
        """The lines that this block shows of an output.

        Raises:
            LookupError: the output lacks a line that the comment names.
        """
        asked = _LINES.fullmatch(self.output or "")
        if asked is None:
            raise LookupError(f"line {self.line}: not understood: {self.output}")
        lines = printed.strip("\n").splitlines()
        first = self._index(lines, asked["begin"], 0)
        last = self._index(lines, asked["end"], first) if asked["end"] else len(lines) - 1
        return "\n".join(line.rstrip() for line in lines[first : last + 1]) + "\n"

    def shows(self, printed: str) -> bool:
        """Whether this is what the block shows of an output."""
        cut = self.cut(printed)
        varies = self.output is not None and self.output.endswith("elsewhere")
        return _NUMBER.sub("#", cut) == _NUMBER.sub("#", self.text) if varies else cut == self.text

    def _index(self, lines: list[str], text: str | None, since: int) -> int:
        for index, line in enumerate(lines):
            if index >= since and (text or "") in line:
                return index
        raise LookupError(f"line {self.line}: no line with {text!r} in the output:\n" + "\n".join(lines))


def needs(page: Path) -> tuple[str, ...]:
    """Folders of the repository that the page's commands read."""
    return tuple(name for names in _NEEDS.findall(page.read_text(encoding="utf-8")) for name in names.split())


def forks(page: Path) -> bool:
    """Whether the launches of the page's trainings are forked when they are tested."""
    return "\n<!-- forks -->\n" in page.read_text(encoding="utf-8")


def blocks(page: Path) -> tuple[Block, ...]:
    """The blocks of a page, from top to bottom."""
    text = page.read_text(encoding="utf-8")
    return tuple(
        Block(
            line=text.count("\n", 0, match.start("fence")) + 1,
            language=match["language"].strip(),
            text=match["text"],
            file=match["file"],
            output=match["output"],
            span=match.span("text"),
        )
        for match in _BLOCK.finditer(text)
    )


def pages(repository: Path) -> tuple[Path, ...]:
    """Every page that people read."""
    top = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")
    return (*(repository / name for name in top), *sorted((repository / "docs").rglob("*.md")))
