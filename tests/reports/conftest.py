"""The view of the synthetic record, its pictures and its page: each made once for all tests of reports."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from fireassay.reports.build_view import build
from fireassay.reports.charts.of_view import charts_of
from fireassay.reports.view import View
from fireassay.reports.writers.support import svg
from fireassay.spec.sections.faults import Fault
from fireassay.verdict.judge import judge
from tests import builders
from tests.reports.written import written
from tests.serving_made import ServingMade, simulated

EVIL: Final = "=cmd()<script>alert('x')</script>\"'\\ \x1b[31m| [x](javascript:1) \\input{a}"


@pytest.fixture(scope="session")
def view() -> View:
    """The synthetic record with a failed launch, judged by hand."""
    return build(builders.measured(failed=True), builders.judgement())


@pytest.fixture(scope="session")
def pictures(view: View) -> dict[str, svg.Picture]:
    """Its pictures by name."""
    return pictures_of(view)


@pytest.fixture(scope="session")
def page(view: View) -> str:
    """Its page."""
    return written(view, "html")


@pytest.fixture(scope="session")
def load() -> View:
    """Two engines at two rates, each with a replica killed under load, canaries and some failures."""
    made = simulated(rate=(6.0, 12.0), engines=("a", "b"), outage=(4.0, 7.0), canaries=0.05, failing=0.02, seconds=12.0, seed=3)
    return judged(made)


@pytest.fixture(scope="session")
def scenarios() -> View:
    """One engine under two scenarios, four concurrencies each: too many to stand beside each other."""
    asked = ("D(100,100)", "N(480,240)/(300,150)")
    return judged(simulated(concurrency=(1, 2, 4, 16), scenarios=asked, seconds=6.0, seed=4))


@pytest.fixture(scope="session")
def hostile() -> View:
    """A load whose server writes markup, formulas, quotes and escape sequences into all that it may write."""
    made = ServingMade(rate=(5.0, 9.0), engines=("a", "b"), faults=(Fault(kind="kill", at_s=2.0, for_s=1.0, load=5.0),), started=True)
    for block in range(3):
        for name in made.names:
            number = made.launch(name, block=block, role="fault" if block == 2 else "timed")
            for place in range(30):
                made.request(number, place / 3, replica=place % 2, finish_reason=EVIL, text=EVIL)
            made.request(number, 10.0, status="5xx", error=EVIL)
            made.event(number, "fault", 3.0, value=1, detail={"kind": EVIL})
            made.event(number, "fault_end", 4.0, value=1)
    view = judged(made)
    columns = tuple(replace(one, engine=EVIL, group=f"{EVIL}, {one.key}", label=f"{EVIL} {one.key}") for one in view.columns)
    findings = tuple(replace(one, evidence=EVIL, remedy=EVIL, where=EVIL) for one in view.findings)
    return replace(view, columns=columns, findings=findings, name=EVIL)


def pictures_of(view: View) -> dict[str, svg.Picture]:
    """The charts of a record as SVG, by name."""
    return {chart.name: svg.picture(chart) for chart in charts_of(view)}


def judged(made: ServingMade) -> View:
    """The view of a record written down by hand or simulated."""
    measured = made.measured()
    return build(measured, judge(measured))
