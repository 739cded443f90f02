"""What does a report look like?  Renders pages of records and photographs them for the README and the docs.

python tools/screenshots.py TRAINING [LOAD [COLLECTIVES]]      writes report*.png, load.png and collectives.png into docs/images
python tools/screenshots.py README.md                          writes readme.png: its first screen, as a forge shows it

Needs Chromium on the PATH and playwright (in the `dev` extra). Numbers in the images are those of the records given.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from fireassay.cli.support.judged import judged
from fireassay.reports.pages import record
from fireassay.reports.writers.html import write

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
# of each record: file name, window, colour scheme, what is photographed (nothing: the window as it opens)
FRONT = ("readme.png", (1440, 900), "light", "")
STYLE = """<meta charset="utf-8"><style>
body { font: 16px/1.5 "Liberation Sans", sans-serif; max-width: 900px; margin: 24px auto; }
pre { background: #f6f8fa; padding: 14px; overflow: auto; line-height: 1.35; }
code { font: 13px "DejaVu Sans Mono", monospace; background: #f0f2f4; }
pre code { background: none; }
table { border-collapse: collapse; }
td, th { border: 1px solid #d1d9e0; padding: 6px 12px; text-align: left; }
</style>"""
SHOTS = (
    (
        ("report.png", (1440, 900), "light", ""),
        ("report-dark.png", (1440, 900), "dark", ""),
        ("report-phone.png", (400, 860), "light", ""),
        ("report-step.png", (1440, 900), "light", "#step"),
    ),
    (("load.png", (1440, 900), "light", ""),),
    (("collectives.png", (1440, 900), "light", ""),),
)


def main() -> int:
    """Photograph the records named on the command line."""
    records = [Path(name) for name in sys.argv[1:]]
    if not 1 <= len(records) <= len(SHOTS):
        print(__doc__, file=sys.stderr)
        return 2
    from markdown_it import MarkdownIt
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu", "--disable-quic"]
        )
        if records[0].suffix == ".md":
            page_file = Path(folder) / "page.html"
            page_file.write_text(STYLE + MarkdownIt("commonmark").enable("table").render(records[0].read_text(encoding="utf-8")))
            _photograph(browser, page_file, *FRONT)
            records = []
        for path, shots in zip(records, SHOTS, strict=False):
            view, _ = judged(path)
            page_file = Path(folder) / f"{path.name}.html"
            page_file.write_text(write(record.page(view)), encoding="utf-8")
            for shot in shots:
                _photograph(browser, page_file, *shot)
        browser.close()
    return 0


def _photograph(browser: Any, page_file: Path, name: str, window: tuple[int, int], scheme: str, part: str) -> None:
    width, height = window
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(page_file.as_uri())
    page.add_style_tag(content=".bar{position:static!important}")  # it would cover what is scrolled below it
    target = page.locator(part).first if part else page
    target.screenshot(path=str(IMAGES / name))
    page.close()


if __name__ == "__main__":
    sys.exit(main())
