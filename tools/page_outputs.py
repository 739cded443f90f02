"""Do the outputs on a page hold?  Runs the page as its test does, and writes every output that it shows again.

python -m tools.page_outputs docs/exercises.md      exit code 1 if an output has no longer the lines that the page names
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.docs.blocks import Block
from tests.docs.session import printed


def main(pages: list[str]) -> int:
    """Write the pages with their outputs of today; name the blocks that need new words in their comment."""
    lost = [problem for page in map(Path, pages) for problem in renew(page)]
    for problem in lost:
        print(problem, file=sys.stderr)
    return bool(lost)


def renew(page: Path) -> list[str]:
    """Write the outputs of a page again; what is left to a person."""
    changed: list[tuple[Block, str]] = []
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        for block, text in printed(page, Path(folder)):
            try:
                if not block.shows(text):
                    changed.append((block, block.cut(text)))
            except LookupError as problem:
                problems.append(f"{page}: {problem.args[0]}")
    content = page.read_text(encoding="utf-8")
    for block, output in reversed(changed):
        content = content[: block.span[0]] + output + content[block.span[1] :]
    page.write_text(content, encoding="utf-8")
    print(f"{page}: {len(changed)} outputs changed")
    return problems


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
