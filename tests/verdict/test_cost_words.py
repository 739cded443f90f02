"""What does the first screen say of dollars, joules and grams?"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

from fireassay.reports.build_view import build
from fireassay.reports.cost_line import cost_line
from fireassay.spec.sections.carbon import Carbon
from fireassay.spec.sections.prices import Prices
from fireassay.verdict.cost_words import cost_of_a_run, footprint, values_at
from fireassay.verdict.judge import judge
from tests.handmade import Handmade


def priced(**keys: Any) -> Prices:
    return Prices.model_validate({"date": date(2026, 11, 30), "source": "list", "usd_per_worker_hour": 1.0, **keys})


def run(prices: Prices | None, *, method: str = "", carbon: Carbon | None = None) -> Handmade:
    """One worker for an hour, 3600 steps; 36 kJ in it if a method is given."""
    made = Handmade(levels=(1,), blocks=1, prices=prices, carbon=carbon)
    number = made.launch(workers=1, wall_s=3600.0)
    made.steps(number, seconds=[1.0] * 3600)
    for at_s, joules, bound in ((0.0, 0.0, 0.0), (3600.0, 36_000.0, 4.0)) if method else ():
        made.reading(number, "package-0", "energy", joules, at_s=at_s, unit="J", method=method)
        if method != "modelled":
            made.reading(number, "package-0", "energy_bound", bound, at_s=at_s, unit="J", method=method)
    return made


def found(made: Handmade) -> Callable[[str], Any]:
    measured = made.measured()
    return values_at(judge(measured).results, "workers=1")


def test_the_parts_follow_the_total() -> None:
    find = found(run(priced(storage_usd=0.05, egress_usd=0.10)))
    assert cost_of_a_run(find).startswith("$1.15")
    assert cost_of_a_run(find).endswith(" a run: compute 1.00, storage 0.05, egress 0.10")


def test_a_cost_of_compute_alone_has_no_parts() -> None:
    assert cost_of_a_run(found(run(priced()))).endswith(" a run")


def test_joules_of_a_step_and_of_a_run_with_their_bound_and_the_grams() -> None:
    """36 kJ / 3600 steps = 10 J; 0.01 kWh x 400 g = 4 g."""
    words = footprint(
        found(run(None, method="counter", carbon=Carbon(intensity_g_per_kwh=400.0, source="operator", as_of=date(2026, 1, 1))))
    )
    assert words == "10.0 J per step, 36.0 kJ a run (at most 4 J off), CO2 4.00 g a run"


def test_modelled_joules_and_grams_are_called_so() -> None:
    assert footprint(found(run(None, method="modelled"))).startswith("modelled: 10.0 J per step")


def test_nothing_measured_is_said_by_nothing() -> None:
    assert footprint(found(run(priced()))) == ""
    assert cost_of_a_run(found(run(None))) == ""


def test_the_line_stands_where_joules_were_measured_without_a_price() -> None:
    measured = run(None, method="counter").measured()
    line = cost_line(build(measured, judge(measured)), "workers=1")
    assert line is not None
    assert (line.label, line.text[:15]) == ("cost", "10.0 J per step")


def test_the_line_is_left_out_where_the_table_says_it_all() -> None:
    measured = run(priced()).measured()
    assert cost_line(build(measured, judge(measured)), "workers=1", shown=True) is None


def test_a_grid_without_joules_says_why_there_is_no_co2() -> None:
    """Asked for by its grid, so never silently absent; where nobody named a grid, nothing is said."""
    grid = Carbon(intensity_g_per_kwh=400.0, source="operator", as_of=date(2026, 1, 1))
    for carbon, said in ((grid, True), (None, False)):
        measured = run(priced(), carbon=carbon).measured()
        line = cost_line(build(measured, judge(measured)), "workers=1")
        assert line is not None
        assert ("CO2 not measured: no energy counter was readable" in line.text) is said
