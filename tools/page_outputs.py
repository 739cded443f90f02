"""Do the outputs on a page hold?  Runs the page as its test does, and writes every output that it shows again.

python -m tools.page_outputs docs/exercises.md
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.docs.session import printed


def main(pages: list[str]) -> int:
    """Write the pages with their outputs of today."""
    for page in map(Path, pages):
        with tempfile.TemporaryDirectory() as folder:
            shown = list(printed(page, Path(folder)))
        text = page.read_text(encoding="utf-8")
        for block, output in reversed(shown):
            text = text[: block.span[0]] + output + text[block.span[1] :]
        page.write_text(text, encoding="utf-8")
        print(f"{page}: {sum(block.text != output for block, output in shown)} of {len(shown)} outputs changed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
