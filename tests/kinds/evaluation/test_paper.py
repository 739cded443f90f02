"""Does what may be written into a paper say how scores were made, and nothing of steps and speedups?"""

from __future__ import annotations

from pathlib import Path

from fireassay import catalog
from fireassay.reports.build_view import build
from fireassay.reports.pages.record import page
from fireassay.verdict.judge import judge
from tests.answered import rows, scored


def paper(folder: Path, margin: float | None) -> str:
    a = ["yes"] * 300 + ["no"] * 100
    measured = scored(folder, {"a": rows(a), "b": rows(["no", *a[1:]])}, margin=margin)
    return " ".join(str(catalog.load("reports.writers", "latex").write(page(build(measured, judge(measured))))).split())


def test_the_method_is_that_of_items(tmp_path: Path) -> None:
    text = paper(tmp_path, 0.05)
    assert "Exact match: mean over 400 items: Wilson's interval." in text
    assert "the margin of 0.05, fixed beforehand" in text
    assert not [word for word in ("steady trials", "speedup", "randomised rounds") if word in text]


def test_the_results_have_a_row_for_each_side_with_its_scores(tmp_path: Path) -> None:
    text = paper(tmp_path, None)
    assert r"\begin{tabular}" in text
    assert "0.750" in text
    assert "0.748" in text
    assert "A: " not in text


def test_the_workload_is_what_was_asked_and_how_it_was_scored(tmp_path: Path) -> None:
    text = paper(tmp_path, None)
    assert "Workload: answers: 400 items, " in text
    assert "extract:whole" in text
