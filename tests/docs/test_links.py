"""Does every link inside the project lead somewhere?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.blocks import pages

REPOSITORY = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings get on the usual forges."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def leads_somewhere(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    return file.exists() and (not anchor or anchor in anchors(file))


@pytest.mark.parametrize("page", pages(REPOSITORY), ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text()) if not target.startswith(("http://", "https://"))]
    assert [target for target in targets if not leads_somewhere(page, target)] == []


def test_a_dead_link_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One heading\n")
    assert leads_somewhere(page, "#one-heading")
    assert not leads_somewhere(page, "#another")
    assert not leads_somewhere(page, "absent.md")
