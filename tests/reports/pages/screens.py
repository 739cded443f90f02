"""A page as its answer fills a terminal of 80 columns, and what holds for each such screen."""

from __future__ import annotations

import re
import shlex

from fireassay import catalog
from fireassay.cli import parser
from fireassay.reports.page import Chart, Page
from fireassay.reports.writers import terminal
from fireassay.reports.writers.support.one_screen import wide

ROWS, WIDTH = 30, 80
EVIL = "x\x1b[2J\x07\x9b31m\u202ey"


def screen(page: Page) -> list[str]:
    """The lines of the answer, which fit the screen; a command is never wrapped."""
    lines = terminal.write(page, width=WIDTH).splitlines()
    assert len(lines) <= ROWS, "\n".join(lines)
    assert [line for line in lines if wide(line) > WIDTH and not line.startswith("  assay ")] == []
    assert page.answer is not None
    assert lines[0].startswith(f"{page.answer.mark.word.upper()}  ")
    return lines


def flat(page: Page) -> str:
    """The screen in one line, to look for sentences."""
    return " ".join(" ".join(screen(page)).split())


def plots(page: Page) -> list[Chart]:
    """The plots of the answer."""
    return [block for section in page.of_role("answer") for block in section.blocks if isinstance(block, Chart)]


def harmless(page: Page) -> None:
    """No text of the page can steer the terminal."""
    for colour in (False, True):
        assert not re.search("\x1b(?!\\[[0-9;]*m)|[\x07\x9b\u202e]", terminal.write(page, width=WIDTH, colour=colour))


def parsed(page: Page) -> list[list[str]]:
    """The commands that the answer advises, each accepted by the parser of its verb."""
    assert page.answer is not None
    commands = [shlex.split(step.command) for step in page.answer.next if step.command]
    for program, name, *words in commands:
        assert program == "assay"
        parser(catalog.load("cli.verbs", name)).parse_args(words)
    return commands
