"""Would a broken site be noticed?  A small tree with the layout and the configuration of this one."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.limits import PROCESS_S
from tools.site_docs import LOADS

pytestmark = pytest.mark.slow


def tree(folder: Path, page: str = "") -> Path:
    """An index, a page below it, a page above it and a file that is no page."""
    for name in ("docs", "examples"):
        (folder / name).mkdir()
    (folder / "examples" / "run.toml").write_text("name = 'x'\n")
    (folder / "README.md").write_text("# Front\n\n## A part\n")
    (folder / "docs" / "index.md").write_text("# Index\n\n## How-to\n\n- [Page](page.md)\n- [Front](../README.md#a-part)\n")
    (folder / "docs" / "page.md").write_text(f"# Page\n\nAn uncommon word: quodlibet.\n\n[example](../examples/run.toml)\n\n{page}\n")
    return folder


def site(repository: Path, folder: Path) -> tuple[int, str]:
    command = [sys.executable, "tools/site_docs.py", str(folder)]
    result = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=PROCESS_S, check=False)
    return result.returncode, result.stderr


def test_a_page_that_holds_becomes_a_site_with_a_menu_and_an_index(repository: Path, tmp_path: Path) -> None:
    assert site(repository, tree(tmp_path)) == (0, "")
    built = tmp_path / "build" / "site"
    assert "docs/index.html" in (built / "index.html").read_text()
    assert ">How-to<" in (built / "docs" / "page.html").read_text()
    assert "quodlibet" in (built / "searchindex.js").read_text()


def test_each_dead_link_and_a_page_that_no_page_lists_are_named(repository: Path, tmp_path: Path) -> None:
    dead = ("absent.md", "index.md#no-such-heading", "#not-here", "../examples/absent.toml")
    made = tree(tmp_path, "".join(f"[link]({target})\n" for target in dead) + "![image](absent.png)")
    (made / "docs" / "forgotten.md").write_text("# Forgotten\n")
    code, message = site(repository, made)
    assert code != 0
    assert [target for target in (*dead, "absent.png") if re.split("[/#]", target)[-1] not in message] == []
    assert "forgotten.md" in message


def test_a_load_from_a_network_is_named(repository: Path, tmp_path: Path) -> None:
    code, message = site(repository, tree(tmp_path, '<script src="https://example.org/x.js"></script>'))
    assert code != 0
    assert "loads from a network: docs/page.html" in message


@pytest.mark.parametrize(
    ("text", "loads"),
    [
        ('<link rel="stylesheet" href="//fonts.example.org/a.css">', True),
        ("@import url(https://example.org/a.css);", True),
        ("a { background: url('https://example.org/a.png') }", True),
        ('<img alt="" src="https://example.org/a.png">', True),
        ('<a href="https://example.org">a link is followed by a person</a>', False),
        ('<script src="../_static/doctools.js"></script>', False),
    ],
)
def test_what_a_browser_fetches_by_itself_is_a_load(text: str, loads: bool) -> None:
    assert bool(LOADS.findall(text)) is loads


@pytest.mark.browser
def test_the_search_finds_a_word_without_a_network(repository: Path, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    assert site(repository, tree(tmp_path))[0] == 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu", "--disable-quic"]
        )
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((tmp_path / "build" / "site" / "search.html").as_uri() + "?q=quodlibet")
        page.wait_for_selector("#search-results li a", timeout=PROCESS_S * 1000)
        assert page.locator("#search-results li a").first.inner_text() == "Page"
        browser.close()
    assert [url for url in asked if not url.startswith("file:")] == []
