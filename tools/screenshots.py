"""What does a report look like?  Renders pages of records and photographs them for the README and the docs.

python tools/screenshots.py RECORD          writes docs/images/report.png: the first screen of its page
python tools/screenshots.py README.md       writes docs/images/readme.png: its first screen, as a forge shows it

Needs Chromium on the PATH and playwright (in the `dev` extra). Numbers in the images are those of the records given.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from fireassay.cli.support.judged import judged
from fireassay.reports.pages import record
from fireassay.reports.writers.html import write

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
STYLE = """<meta charset="utf-8"><style>
body { font: 16px/1.5 "Liberation Sans", sans-serif; max-width: 900px; margin: 24px auto; }
pre { background: #f6f8fa; padding: 14px; overflow: auto; line-height: 1.35; }
code { font: 13px "DejaVu Sans Mono", monospace; background: #f0f2f4; }
pre code { background: none; }
table { border-collapse: collapse; }
td, th { border: 1px solid #d1d9e0; padding: 6px 12px; text-align: left; }
</style>"""
WINDOW = (1200, 760)


def main() -> int:
    """Photograph what the command line names."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    from playwright.sync_api import sync_playwright

    path = Path(sys.argv[1])
    front = path.suffix == ".md"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu", "--disable-quic"]
        )
        page_file = Path(folder) / "page.html"
        page_file.write_text(_first_page(path) if front else write(record.page(judged(path)[0])), encoding="utf-8")
        page = browser.new_page(viewport={"width": WINDOW[0], "height": WINDOW[1]}, color_scheme="light")
        page.goto(page_file.as_uri())
        page.screenshot(path=str(IMAGES / ("readme.png" if front else "report.png")))
        browser.close()
    return 0


def _first_page(path: Path) -> str:
    """As a forge shows it."""
    from markdown_it import MarkdownIt

    shown: str = MarkdownIt("commonmark").enable("table").render(path.read_text(encoding="utf-8"))
    return STYLE + shown


if __name__ == "__main__":
    sys.exit(main())
