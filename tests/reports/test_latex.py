"""The results section as LaTeX: balanced, plain ASCII, and nothing from the record is a command."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from assay.reports.latex import render, tex
from assay.reports.view import View

# What `tex` may write beside letters: each entry of its table.
WRITTEN = re.compile(
    r"\\text(backslash|asciitilde|asciicircum)\{\}|\\[{}$&#_%]|\$(<|>|\||-|\\times|\\geq|\\leq|\\mu|\\pm|\\infty)\$|\{\[\}|\{\]\}"
)


def test_braces_and_environments_are_balanced(view: View) -> None:
    text = render(view)
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    assert re.findall(r"\\begin\{(\w+)\}", text) == ["table", "tabular"]
    assert re.findall(r"\\end\{(\w+)\}", text) == ["tabular", "table"]
    assert text.isascii()


def test_every_row_of_the_table_has_as_many_cells_as_its_head(view: View) -> None:
    rows = [line for line in render(view).splitlines() if line.endswith(r" \\")]
    assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) == 1


def test_a_command_from_the_record_stays_text(view: View) -> None:
    facts = tuple(replace(fact, text=r"\input{/etc/passwd} 50 % $x_1$ #1 ~ ^ & µs") for fact in view.conditions)
    text = render(replace(view, conditions=facts))
    assert r"\input" not in text
    assert r"\textbackslash{}input\{/etc/passwd\} 50 \% \$x\_1\$ \#1 \textasciitilde{} \textasciicircum{} \& $\mu$s" in text


@given(st.text())
def test_nothing_that_tex_interprets_is_left(text: str) -> None:
    rest = WRITTEN.sub("", tex(text))
    assert not set("\\{}$&#_%~^<>|[]\n\r") & set(rest)
    assert rest.isascii()
