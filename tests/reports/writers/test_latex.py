"""A page as LaTeX: what is meant for a paper, else the front; no text is a command."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.reports.writers.latex import tex, write
from tests.reports.writers.small import DATA, PAGE


def test_sections_for_a_paper_stand_alone() -> None:
    assert write(DATA) == "% data\n\n\\paragraph{Results.}\nIt is fast.\n"


def test_without_them_the_front_is_written() -> None:
    text = write(PAGE)
    for wanted in (
        "\\paragraph{Numbers.}",
        "Step time & 100 ms {[}90, 110{]}",
        "\\item warning, few\\_trials: a: =cmd()",
        "\\item several: a: one; b: two",
    ):
        assert wanted in text, wanted
    assert "Conditions" not in text


def test_nothing_on_the_page_is_a_command() -> None:
    assert re.findall(r"\\input|<script|\x1b", write(PAGE)) == []
    assert tex("50 % of $x_1$ {a} \\b ≥ µ …") == r"50 \% of \$x\_1\$ \{a\} \textbackslash{}b $\geq$ $\mu$ ?"


# What `tex` may write beside letters: each entry of its table.
WRITTEN = re.compile(
    r"\\text(backslash|asciitilde|asciicircum)\{\}|\\[{}$&#_%]|\$(<|>|\||-|\\times|\\geq|\\leq|\\mu|\\pm|\\infty)\$|\{\[\}|\{\]\}"
)


@pytest.mark.slow
@given(st.text())
def test_nothing_that_tex_interprets_is_left(text: str) -> None:
    rest = WRITTEN.sub("", tex(text))
    assert not set("\\{}$&#_%~^<>|[]\n\r") & set(rest)
    assert rest.isascii()
