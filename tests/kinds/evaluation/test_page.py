"""Does every format show an evaluation, with texts from elsewhere escaped?"""

from __future__ import annotations

import pytest

from fireassay import catalog
from fireassay.reports.pages.record import page
from fireassay.reports.view import build
from fireassay.verdict.judge import judge
from tests.answered import rows, scored

HOSTILE = '<script>alert("x")</script>'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> object:
    a, b = rows(["yes"] * 200), rows([HOSTILE, *["yes"] * 199])
    measured = scored(tmp_path_factory.mktemp("page"), {"a": a, "b": b}, margin=0.05)
    return page(build(measured, judge(measured)))


def test_the_headline_says_held_and_the_margin(made: object) -> None:
    assert made.answer.headline.startswith("b: quality held: Exact match −0.005")  # type: ignore[attr-defined]
    assert made.answer.headline.endswith(", margin 0.05 over 200 items")  # type: ignore[attr-defined]


@pytest.mark.parametrize("writer", ["html", "markdown", "terminal"])
def test_a_format_shows_the_decision(made: object, writer: str) -> None:
    text = catalog.load("reports.writers", writer).write(made)
    assert "held" in text
    assert HOSTILE not in text


def test_the_page_holds_the_item_that_flipped(made: object) -> None:
    text = catalog.load("reports.writers", "html").write(made)
    assert "&lt;script&gt;" in text
    assert "1 items changed" not in text
