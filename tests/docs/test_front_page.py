"""Does the README's first screen answer: one real report, one command and one short sentence per question?"""

from __future__ import annotations

import re

from fireassay.cli import DEMO_TOOK
from tests.docs.blocks import blocks
from tests.docs.session import REPOSITORY

README = REPOSITORY / "README.md"
WHY = REPOSITORY / "docs" / "how-to" / "find-why-not-faster.md"
MAX_WORDS = 15
LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")


def test_the_report_on_it_is_the_one_that_another_page_prints() -> None:
    """There the tests run it; `python -m tools.page_outputs docs/how-to/find-why-not-faster.md`, then copy it."""
    (printed,) = (block.text for block in blocks(WHY) if block.output)
    shown = blocks(README)[1].text.splitlines()
    assert shown == printed.splitlines()[:10], "as `| head` gives them"
    assert max(map(len, shown)) <= 80


def test_the_demo_takes_the_same_measured_time_everywhere() -> None:
    """Of `make demo`, after installation, on the machine named: change `DEMO_TOOK` and all of these when it is measured again."""
    for page in (README, REPOSITORY / "Makefile", REPOSITORY / "docs" / "reference" / "command-line.md"):
        assert DEMO_TOOK in page.read_text(encoding="utf-8"), page.name


def test_a_cell_is_a_command_or_one_short_sentence() -> None:
    rows = [re.split(r"(?<!\\) \| ", row.strip("| \n")) for row in README.read_text().splitlines() if row.count(" | ") == 2]
    answers = [(row[1], LINK.sub(r"\1", row[2])) for row in rows if "`assay" in row[1]]
    assert len(answers) > 15
    assert [said for said in answers if len(said[1].split()) > MAX_WORDS] == []
    assert [command for command, _ in answers if command.count("`") != 2] == [], "one command"
    assert [said for _, said in answers if said.count(". ") or not said.endswith(".")] == [], "one sentence"


def test_quick_numbers_are_mentioned_once() -> None:
    assert README.read_text().count("--quick") == 1
