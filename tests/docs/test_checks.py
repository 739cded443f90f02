"""Would the checks of the pages notice a broken page?  Each one is shown a page that is wrong in one way."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.errors import SpecError
from tests.docs import session
from tests.docs.blocks import blocks
from tests.docs.session import check, printed


def page(folder: Path, text: str) -> Path:
    path = folder / "page.md"
    path.write_text(text)
    return path


def test_blocks_are_found_with_their_line_language_file_and_text(tmp_path: Path) -> None:
    found = blocks(page(tmp_path, "words\n\n<!-- file: a.py -->\n```python\nx = 1\n```\n\n```text\n```\n"))
    assert [(block.line, block.language, block.file, block.text) for block in found] == [
        (4, "python", "a.py", "x = 1\n"),
        (8, "text", None, ""),
    ]


def test_a_command_carries_the_exit_code_of_the_line_above_and_a_backslash_joins_lines(tmp_path: Path) -> None:
    (block,) = blocks(page(tmp_path, "```sh\ntrue\n# exit 3 or 4: as meant\nexit \\\n3\n# a remark\ntrue\n```\n"))
    assert block.commands == (("true", {0}), ("exit  3", {3, 4}), ("true", {0}))


@pytest.mark.parametrize(
    "text",
    [
        "```python\nraise SystemExit(1)\n```\n",
        "<!-- file: a.py -->\n```python\nx =\n```\n",
        "```sh\nfalse\n```\n",
        "```sh\n# exit 2\ntrue\n```\n",
        "```sh\nmake nothing-of-that-name\n```\n",
        "```sh\npip install -e '.[nothing-of-that-name]'\n```\n",
        "```toml\nnothing_of_that_name = 1\n```\n",
        "```toml\n[gates]\nefficiency = 7.0\n```\n",
    ],
)
def test_a_block_that_does_not_hold_is_noticed(tmp_path: Path, text: str) -> None:
    (block,) = blocks(page(tmp_path, text))
    with pytest.raises((AssertionError, SyntaxError, SpecError)):
        check(block, tmp_path)


def test_lines_of_an_output_are_cut_by_what_they_hold(tmp_path: Path) -> None:
    text = "<!-- output -->\n```text\n```\n\n<!-- output from: b, to: d -->\n```text\n```\n\n<!-- output from: c -->\n```text\n```\n"
    printed_text = "\na 1  \nb 2\nc 3\nd 4\ne 5\n\n"
    whole, middle, rest = blocks(page(tmp_path, text))
    assert whole.cut(printed_text) == "a 1\nb 2\nc 3\nd 4\ne 5\n"
    assert middle.cut(printed_text) == "b 2\nc 3\nd 4\n"
    assert rest.cut(printed_text) == "c 3\nd 4\ne 5\n"
    with pytest.raises(LookupError, match="no line with 'b'"):
        middle.cut("something else\n")


def test_where_numbers_vary_everything_else_is_compared(tmp_path: Path) -> None:
    (shown,) = blocks(page(tmp_path, "<!-- output from: p99, with other numbers elsewhere -->\n```text\np99   12.5 ms of 1,024\n```\n"))
    assert shown.shows("first\np99 -7 ms of 3\n")
    assert not shown.shows("first\np99 -7 s of 3\n")


def test_an_output_is_that_of_the_block_above_it(tmp_path: Path) -> None:
    shown = page(tmp_path, "```sh\necho one\necho two\n```\n\n<!-- output from: two -->\n```text\nthree\n```\n")
    (tmp_path / "session").mkdir()
    ((block, text),) = printed(shown, tmp_path / "session")
    assert (block.cut(text), block.shows(text)) == ("two\n", False)


def test_a_page_names_what_it_needs_of_the_repository(tmp_path: Path) -> None:
    shown = page(tmp_path, "<!-- needs: examples tests/records -->\n\n```sh\nls examples/digits.toml tests/records/good\n```\n")
    (tmp_path / "session").mkdir()
    assert list(printed(shown, tmp_path / "session")) == []


def test_launches_are_forked_only_where_the_page_says_so_and_nothing_is_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(session, "run_here", lambda words, *_: ran.append(words) or "")
    monkeypatch.setattr(session.local, "no_fork", lambda: "")
    text = "```sh\nassay run x.toml\nassay run x.toml --dry-run\nassay list\n```\n"
    for top in ("# A page\n\n<!-- forks -->\n\n", "# A page\n\n"):
        assert list(printed(page(tmp_path, top + text), tmp_path)) == []
    plain = [["run", "x.toml"], ["run", "x.toml", "--dry-run"], ["list"]]
    assert ran == [["run", "--start", "fork", "x.toml"], *plain[1:], *plain]
