"""The charts over a record's worker counts, in a workbook and in a paper."""

from __future__ import annotations

from dataclasses import replace

from fireassay.reports.build_view import build
from fireassay.reports.charts import counts_of_view
from fireassay.reports.charts.model import Rule
from fireassay.reports.charts.of_view import charts_of
from fireassay.reports.view import View
from fireassay.verdict.judge import judge
from tests.reports.written import written
from tests.verdict.making import good


def test_a_paper_has_the_worker_counts_that_may_be_reported_only(view: View) -> None:
    """4 workers lose quality; an INVALID record has no figure."""
    levels = counts_of_view.levels(view, [column for column in view.columns if view.reportable(column.key)])
    assert [row.workers for row in levels.rows] == [1, 2]
    assert r"\paragraph{Figures.}" in written(view, "latex")
    assert counts_of_view.figures(replace(view, status="INVALID")) == ()


def test_a_record_draws_amdahls_ceiling_where_the_ideal_reaches_it(view: View) -> None:
    """S = 1.6 at 2 and at 4: s = (0.125 x 0.5 + 0.375 x 0.75) / (0.5^2 + 0.75^2) = 0.423, a ceiling of 2.4 below the ideal of 4."""
    data = good(levels=(1, 2, 4), efficiency={2: 0.8, 4: 0.4}).measured()
    (speedup, *_) = charts_of(build(data, judge(data)))
    assert [rule.text for rule in speedup.marks(Rule) if "ceiling" in rule.text] == ["Amdahl’s ceiling 2.4"]
    names = [course.name for course in counts_of_view.in_cells(view)[0].courses]
    assert names == ["measured", "ideal", "Amdahl’s law", "Amdahl’s ceiling"]
