"""One launch of a load is shown as it is: raw rates and percentiles on one screen, no verdict, and a command that brings one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from fireassay import catalog
from fireassay.kinds.serving.quick import digits
from fireassay.reports.answering import doubts
from fireassay.reports.pages.record import page
from fireassay.reports.view import FindingRow, View
from fireassay.spec.sections.serving import Objectives
from tests.kinds.serving.test_answer import fits, screen
from tests.reports.conftest import judged
from tests.serving_made import simulated
from tests.verdict.judging import Asked


@pytest.fixture(scope="module")
def quick() -> View:
    return judged(simulated(concurrency=(8,), blocks=1, seconds=20.0, objectives=Objectives()))


def test_the_screen_has_rates_failures_percentiles_and_the_way_to_a_verdict(quick: View) -> None:
    lines = screen(quick)
    assert fits(lines), "\n".join(lines)
    assert lines[0].startswith("MEASURED  served: ")
    rows = {line.split(",")[0]: line.split() for line in lines if ", ms" in line}
    assert list(rows) == ["TTFT", "TPOT", "end to end"]
    rates = lines[next(index for index, line in enumerate(lines) if line.startswith("requests/s")) + 1].split()
    assert rates[-3:-1] == ["0", "of"]
    assert rates[-1] == rows["TTFT"][-1], "every request that was counted was answered, with a first token"
    assert any("one launch: no interval and no verdict" in line for line in lines)
    assert "  assay load abc123 --slo ttft=500ms" in lines


def test_the_first_screen_of_its_page_has_the_same_numbers(quick: View) -> None:
    """It had a chart of one point, and no percentile but the median anywhere."""
    text = str(catalog.load("reports.writers", "html").write(page(quick)))
    place = text.index(">p99<")
    assert text.index(">requests/s<") < place < text.index('id="levels"')
    assert text.count(">p99<") == 1


def test_its_percentiles_are_those_of_the_requests(quick: View) -> None:
    """By numpy's nearest rank, over the requests that count."""
    counted = quick.load.requests.filter(pl.col("counted") & pl.col("ok"))
    for name, column in (("TTFT", "ttft_s"), ("TPOT", "tpot_s")):
        row = next(line.split() for line in screen(quick) if line.startswith(name))
        for cell, share in zip(row[2:4], (0.5, 0.9), strict=True):
            expected = 1e3 * np.quantile(counted[column].to_numpy(), share, method="inverted_cdf")
            assert float(cell) == pytest.approx(expected, rel=0.005)


def test_a_percentile_that_no_request_lies_beyond_is_a_dash() -> None:
    view = judged(simulated(concurrency=(1,), blocks=1, seconds=8.0, objectives=Objectives()))
    row = next(line.split() for line in screen(view) if line.startswith("TTFT"))
    assert int(row[-1]) < 100
    assert row[-2] == "-"


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0, "0.00"), (0.0123, "0.0123"), (10.04, "10.0"), (99.96, "100.0"), (1041.3, "1,041"), (767.0, "767")]
)
def test_a_raw_number_has_three_digits(value: float, shown: str) -> None:
    assert digits(value) == shown


def test_times_known_badly_are_a_warning_beside_plain_numbers_and_void_none() -> None:
    """A fixed 3 ms at a median of some 50 ms: INVALID for a verdict, said beside raw percentiles."""
    made = simulated(concurrency=(8,), blocks=1, seconds=10.0, objectives=Objectives())
    made.rows["requests"] = [(*row[:-1], [3_000_000 for _ in row[-1]]) for row in made.rows["requests"]]
    assert Asked(made.measured()).verdict.status == "INVALID"
    launches = made.experiment.launches.model_copy(update={"quick": True})
    made.experiment = made.experiment.model_copy(update={"launches": launches})
    view = judged(made)
    lines = screen(view)
    assert view.status == "MEASURED"
    assert any(line.startswith("precision") and "TTFT known to 3 ms only" in line for line in lines), "\n".join(lines)
    assert not any("intervals" in line and "no interval" not in line for line in lines)


def test_a_warning_with_two_remedies_is_named_once(quick: View) -> None:
    first = FindingRow(severity="warning", configuration="", rule="other_load", evidence="busy", remedy="", where="")
    twice = [replace(first, rule="stamp_uncertainty", evidence="TTFT is uncertain", remedy=remedy) for remedy in ("wait", "quiet it")]
    assert doubts(replace(quick, findings=(first, *twice))).text == "busy; also stamp uncertainty"


def test_one_launch_that_is_void_has_no_intervals_in_its_footer() -> None:
    made = simulated(concurrency=(8,), blocks=1, seconds=10.0, objectives=Objectives())
    made.rows["requests"] = made.rows["requests"][1:]
    assert not any("95 % intervals" in line for line in screen(judged(made)))
