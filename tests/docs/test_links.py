"""Does every link inside the project lead somewhere?"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tests.docs.blocks import pages

REPOSITORY = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")
WEB = ("http://", "https://")


@cache
def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings get on the usual forges."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def leads_somewhere(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    return file.exists() and (not anchor or anchor in anchors(file))


def test_every_link_leads_somewhere() -> None:
    targets = [(page, target) for page in pages(REPOSITORY) for target in LINK.findall(page.read_text())]
    dead = [(page.name, target) for page, target in targets if not target.startswith(WEB) and not leads_somewhere(page, target)]
    assert dead == []


def test_a_dead_link_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One heading\n")
    assert leads_somewhere(page, "#one-heading")
    assert not leads_somewhere(page, "#another")
    assert not leads_somewhere(page, "absent.md")
