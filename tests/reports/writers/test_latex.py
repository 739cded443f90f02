"""A page as LaTeX: what is meant for a paper, else the front; no text is a command."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import Scale, Shown, show
from fireassay.reports.page import Cell, Number, Table, heads
from fireassay.reports.pages.rubric import page as rubric_page
from fireassay.reports.view import View
from fireassay.reports.writers.latex import write
from fireassay.reports.writers.support.latex_table import breakable, table, tex
from fireassay.spec.timings import parse_timings
from fireassay.verdict.claims.rubric import rubric
from fireassay.verdict.claims.rubric_types import Limits
from tests.reports.writers.small import DATA, PAGE, estimate
from tests.reports.written import written

MS = Scale(factor=1000.0, after=" ms")


def number(scale: Scale, value: Estimate) -> Number:
    return Number(shown=show(value, scale))


def test_sections_for_a_paper_stand_alone() -> None:
    text = write(DATA)
    assert text.startswith("% data\n% needs \\usepackage{booktabs,siunitx}\n")
    assert "\n\n\\paragraph{Results.}\nIt is fast.\n\n" in text
    assert "Numbers" not in text


def test_without_them_the_front_is_written() -> None:
    text = write(PAGE)
    for wanted in (
        "\\paragraph{Numbers.}",
        r"{Step time, ms} & {\num{100}} & {[}\num{90}, \num{110}{]}",
        r"{Quality} & {--\textsuperscript{a}}",
        r"\textsuperscript{a}no evaluation was recorded",
        "\\item warning, few\\_trials: a: =cmd()",
        "\\item several: a: one; b: two",
    ):
        assert wanted in text, wanted
    assert "Conditions" not in text


def test_nothing_on_the_page_is_a_command() -> None:
    assert re.findall(r"\\input|<script|\x1b", write(PAGE)) == []
    assert tex("train.py --epochs") == "train.py -{}-epochs"  # no dash
    assert tex("50 % of $x_1$ {a} \\b ≥ µ …") == r"50 \% of \$x\_1\$ \{a\} \textbackslash{}b $\geq$ $\mu$ ?"


# What `tex` may write beside letters: each entry of its table.
WRITTEN = re.compile(
    r"-\{\}-|\\text(backslash|asciitilde|asciicircum)\{\}|\\[{}$&#_%]|\$(<|>|\||-|\\times|\\geq|\\leq|\\mu|\\pm|\\infty)\$|\{\[\}|\{\]\}"
)


@pytest.mark.slow
@given(st.text())
def test_nothing_that_tex_interprets_is_left(text: str) -> None:
    rest = WRITTEN.sub("", tex(text))
    assert not set("\\{}$&#_%~^<>|[]\n\r") & set(rest)
    assert rest.isascii()


def test_a_long_word_may_break() -> None:
    assert breakable("a digest: 0123456789abcdef0123") == r"a digest: 012345678\allowbreak{}9abcdef01\allowbreak{}23"


# ---- tables -----------------------------------------------------------------------------------------------------------


def made(*columns: tuple[str, tuple[Cell, ...]], title: str = "Results") -> str:
    rows = tuple(zip(*(cells for _, cells in columns), strict=True))
    return table(Table(name="t", title=title, heads=heads(*(head for head, _ in columns)), rows=rows))


def test_numbers_of_one_unit_are_aligned_and_the_unit_is_in_the_head() -> None:
    text = made(("Configuration", ("1 worker", "8 workers")), ("Step time", (number(MS, estimate(1.234)), number(MS, estimate(0.08)))))
    assert r"\begin{tabular}{@{}lS[table-format=4.1]@{\,}l@{}}" in text
    assert r"\multicolumn{2}{c}{Step time, ms}" in text
    assert r"{1 worker} & 1230 & {[}\num{1110}, \num{1360}{]} \\" in text


def test_a_change_keeps_its_sign() -> None:
    change = Shown(text="+4.8 %", interval="[−1.0, 11.0]", note="", value=estimate(1.048, "ratio"), scale=MS)
    text = made(("Metric", ("Throughput",)), ("Change", (Number(shown=change),)))
    assert "S[retain-explicit-plus,table-format=+1.1]" in text
    assert r"+4.8 & {[}\num{-1.0}, \num{11.0}{]}" in text


def test_columns_that_do_not_fit_continue_in_a_further_panel_with_the_names() -> None:
    cells = (number(MS, estimate(0.1234)),)
    text = made(("Configuration", ("1 worker",)), *((f"Metric {place}", cells) for place in range(5)))
    assert text.count("{1 worker} &") == text.count(r"\toprule") == 2  # three of the five beside the names, then two
    assert text.count(r"\caption{") == 1


def test_a_float_is_never_longer_than_a_column_of_a_page() -> None:
    cells = (number(MS, estimate(0.1234)),) * 40
    text = made(("Configuration", ("1 worker",) * 40), *((f"Metric {place}", cells) for place in range(5)))
    assert text.count(r"\begin{table}") == text.count(r"\toprule") == 2
    assert text.count("(continued)") == 1


def test_notes_that_differ_only_in_numbers_share_a_letter() -> None:
    lacking = [
        Absent(reason="insufficient", detail=f"p95 needs 10 trials beyond it, and {n} have about 5; measure longer") for n in (209, 1)
    ]
    text = made(("Load", ("8", "16", "32")), ("TTFT", (*(Number(shown=show(value)) for value in lacking), number(MS, estimate(0.1)))))
    assert text.count(r"{--\textsuperscript{a}}") == 2
    assert r"\textsuperscript{a}for example: p95 needs 10 trials beyond it, and 209 have about 5." in text


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex with booktabs and siunitx")
@pytest.mark.parametrize("name", ["training", "load", "small", "table"])
def test_it_compiles_in_two_columns_and_nothing_sticks_out(name: str, view: View, load: View, tmp_path: Path) -> None:
    texts = {"training": lambda: written(view, "latex"), "load": lambda: written(load, "latex"), "small": lambda: write(PAGE)}
    text = (texts | {"table": _of_table})[name]()
    packages = text.partition("\\usepackage{")[2].partition("}")[0]
    paper = ("\\documentclass[twocolumn]{article}", f"\\usepackage{{{packages}}}", "\\begin{document}", text, "\\end{document}")
    (tmp_path / "paper.tex").write_text("\n".join(paper))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull \\hbox" not in done.stdout
    assert "Float too large" not in done.stdout


def _of_table() -> str:
    timings = parse_timings("p,Tp(s),rate,quality\n1,3600,1,0.871\n2,1880,2,0.871\n8,560,8,0.871\n32,250,32,0.860\n", "t")
    return write(rubric_page(rubric(timings, Limits()), "t"))


def test_the_charts_of_a_table_are_figures() -> None:
    text = _of_table()
    assert text.startswith("% t\n% needs \\usepackage{booktabs,siunitx,pgfplots}\n")
    assert text.count("\\begin{tikzpicture}") == 4
    assert "Amdahl's ceiling" in text
