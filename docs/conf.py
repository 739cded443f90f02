"""How does Sphinx make the site?  From the tree as it is: its source is the repository's root, so that a link is the same on a forge.

`tools/site_docs.py` builds it (`make site-docs`). Navigation is not declared here: a page that lists pages, `docs/index.md` for one, is
the menu, and a page that no other page lists is an error.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

project = "Fireassay"
copyright = "the authors of Fireassay, Apache-2.0"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "Fireassay"
html_static_path = ["static"]
html_css_files = ["site.css"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**", "benchmarks/**"]
exclude_patterns = [".*", "build", "dist", "records", "src", "tests", "examples"]
source_suffix = {".md": "markdown"}

myst_heading_anchors = 6  # the anchors of a forge
nitpicky = True
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}

# Pages that list pages, and what they name as a folder.
MENUS = {"docs/index": "", "docs/decisions/README": "", "benchmarks/README": "benchmarks/results/*"}
LINK = re.compile(r"\]\(([^)#\s]+\.md)[^)]*\)")
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


def add_menu(app: Sphinx, name: str, source: list[str]) -> None:
    """The pages that a menu page links to, by its headings, for the sidebar."""
    if name not in MENUS:
        return
    parts = ["", *HEADING.split(source[0])]
    taken = {name}
    for caption, text in zip(parts[::2], parts[1::2], strict=True):
        pages = [page for page in _pages(name, text) if page not in taken]
        taken.update(pages)
        source[0] += _menu(caption, pages)
    source[0] += _menu("", [MENUS[name]])


def _menu(caption: str, pages: list[str]) -> str:
    options = [":hidden:", ":glob:", *([f":caption: {caption}"] if caption else [])]
    entries = [f"/{page}" for page in pages if page]
    return "\n".join(["\n\n```{toctree}", *options, "", *entries, "```"]) if entries else ""


def _pages(name: str, text: str) -> list[str]:
    """The names of the linked pages, each once."""
    folder = Path("/") / PurePosixPath(name).parent
    paths = [(folder / link).resolve() for link in LINK.findall(text) if "://" not in link]
    return list(dict.fromkeys(path.relative_to("/").with_suffix("").as_posix() for path in paths))


def forward(app: Sphinx, error: Exception | None) -> None:
    """The address of the site itself opens its first page."""
    if error is None:
        Path(app.outdir, "index.html").write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={root_doc}.html">\n')


def setup(app: Sphinx) -> None:
    app.add_lexer("csv", TextLexer)
    app.connect("source-read", add_menu)
    app.connect("build-finished", forward)
