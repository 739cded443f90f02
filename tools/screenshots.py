"""What does a report look like?  Renders a record's page and photographs it for the README and the docs.

python tools/screenshots.py RECORD      writes docs/images/report.png, report-dark.png, report-phone.png and pictures.png

Needs Chromium on the PATH and playwright (in the `dev` extra). Numbers in the images are those of the record given.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from fireassay.cli.verbs.report import judged
from fireassay.reports.pages import record
from fireassay.reports.writers.html import write

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
# file name, window, colour scheme, what is photographed (nothing: the window as it opens)
SHOTS = (
    ("report.png", (1200, 900), "light", ""),
    ("report-dark.png", (1200, 900), "dark", ""),
    ("report-phone.png", (390, 844), "light", ""),
    ("pictures.png", (1440, 900), "light", ".pictures"),
)


def main() -> int:
    """Photograph the record named on the command line."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    from playwright.sync_api import sync_playwright

    view, _ = judged(Path(sys.argv[1]))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        page_file.write_text(write(record.page(view)), encoding="utf-8")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu", "--disable-quic"]
        )
        for name, (width, height), scheme, part in SHOTS:
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.goto(page_file.as_uri())
            target = page.locator(part).first if part else page
            target.screenshot(path=str(IMAGES / name))
            page.close()
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
