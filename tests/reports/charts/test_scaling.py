"""Laws of speedup and the limit by communication: points, model, Amdahl's law, the held-out mark and the region where the model speaks alone."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any
from unittest.mock import patch

import pytest

from fireassay.reports.build_view import build
from fireassay.reports.charts import scaling
from fireassay.reports.charts.model import Area, Band, Chart, Line, Point, Rule
from fireassay.reports.charts.scaling import amdahl, communication_model, fitted_law, speedup
from fireassay.verdict.judge import judge
from tests import builders
from tests.metrics.scaling_records import usl_record
from tests.reports.charts.marked import marks
from tests.simulated_made import record

pytestmark = pytest.mark.slow


@cache
def drawn(**words: Any) -> Chart:
    made = record(launches=2, **words)
    (found,) = communication_model(build(made, judge(made)))
    assert not found.missing
    return found


@pytest.mark.deep
def test_the_model_goes_on_beyond_the_measured_counts_and_amdahls_line_is_above_it() -> None:
    measured, beyond = marks(drawn(), Line, series="model")
    assert measured.points[0][0] == 1
    assert beyond.points[-1][0] == pytest.approx(8 * 16)
    assert (measured.dashed, beyond.dashed) == (False, True)
    (amdahl,) = marks(drawn(), Line, series="amdahl")
    assert (amdahl.points[-1][1] or 0.0) >= (measured.points[-1][1] or 0.0)


@pytest.mark.deep
def test_the_held_out_mark_and_the_tinted_region_are_where_they_belong() -> None:
    """16 measured: beyond 32 the model speaks alone; the shortest step is at about 70."""
    found = drawn()
    (mark,) = marks(found, Point, shape="cross")
    assert mark.x == 16
    (region,) = marks(found, Area)
    assert region.left == 32
    (rule,) = marks(found, Rule)
    assert rule.x is not None
    assert 60 < rule.x < 80
    texts = " ".join(key.text for key in found.key)
    assert "16 workers, predicted without them" in texts
    assert "the model alone" in texts


def test_of_two_worker_counts_nothing_beyond_them_is_trusted_and_the_key_says_so() -> None:
    found = drawn(levels=(1, 2))
    (region,) = marks(found, Area)
    assert region.left == 2
    assert "beyond the measured range: the model alone" in {key.text for key in found.key}


@pytest.mark.deep
def test_no_region_is_drawn_that_the_key_does_not_name() -> None:
    for words in ({}, {"levels": (1, 2)}, {"levels": (1, 8, 64)}):
        found = drawn(**words)
        assert bool(marks(found, Area)) == any("the model alone" in key.text for key in found.key)


def test_what_hides_is_drawn_with_its_bound() -> None:
    assert marks(drawn(levels=(1, 2), overlap=0.2), Line, series="exposed")
    assert not marks(drawn(levels=(1, 2)), Line, series="exposed")


def test_its_numbers_are_in_words() -> None:
    assert "Serial fraction without communication: " in drawn().caption
    assert "alpha 20.0 µs, beta 0.80" in drawn().caption


def test_a_record_whose_links_were_not_seen_has_no_such_picture() -> None:
    assert communication_model(build(builders.measured(), builders.judgement())) == ()


def test_a_record_that_cannot_be_modelled_says_why() -> None:
    made = record(levels=(2,), launches=2)
    (found,) = communication_model(build(made, judge(made)))
    assert found.missing
    assert "at least 2 worker counts" in found.missing


# ---- laws ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("serial", "workers", "expected"), [(0.0, 8, 8.0), (1.0, 8, 1.0), (0.0376, 32, 14.77), (0.5, 1, 1.0)])
def test_amdahls_law(serial: float, workers: int, expected: float) -> None:
    assert amdahl(serial, workers) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("serial", [-0.05, 1.2])
def test_a_serial_fraction_outside_0_to_1_is_no_amdahl_curve(serial: float) -> None:
    judged = builders.judgement()
    fraction = {"all": builders.estimate(serial, 0.01, "fraction")}
    judged = replace(judged, results={**judged.results, "serial_fraction": fraction})
    view = build(builders.measured(launches=1, steps=5), judged)
    with patch.object(scaling, "fitted_law", return_value=None):
        (drawing,) = speedup(view)
    assert "Amdahl’s law, fitted" not in [key.text for key in drawing.key]
    assert "Serial fraction" in drawing.caption


def test_the_law_that_aicc_prefers_is_drawn_with_its_band_and_dashed_where_it_is_predicted() -> None:
    measured = usl_record((1, 2, 4, 8, 16), alpha=0.05, beta=0.002)
    (drawing,) = speedup(build(measured, judge(measured)))
    assert not drawing.missing
    keys = {key.text: key for key in drawing.key}
    assert keys["Universal Scalability Law, fitted; dashed: predicted"].off
    lines, bands = marks(drawing, Line, series="law"), marks(drawing, Band, series="law")
    reach = [max(x for x, *_ in mark.points) for mark in (*bands, *lines)]
    # band and line, measured and predicted; the law turns at sqrt(.95 / .002) = 21.8, and nothing measured shows the fall
    assert reach == pytest.approx([16, 21.8, 16, 21.8], rel=0.02)
    assert [line.dashed for line in lines] == [False, True]
    assert "No prediction for N = 32: there the fitted curve would fall" in drawing.caption
    # X(16)/X(1) = 16 / (1 + .05 * 15 + .002 * 16 * 15)
    assert lines[0].points[-1][1] == pytest.approx(16 / 2.23, rel=0.01)
    assert "Law: Universal Scalability Law, by AICc" in drawing.caption


def test_a_law_that_does_not_turn_is_drawn_to_twice_the_range_and_no_farther() -> None:
    measured = usl_record((1, 2, 4, 8), alpha=0.1, beta=0.0)
    law = fitted_law(measured)
    assert law is not None
    assert [law.measured[-1][0], law.beyond[-1][0]] == pytest.approx([8, 16])
    assert law.beyond[-1][1].value == pytest.approx(16 / 2.5, rel=0.02)
    assert law.limit == ""


def test_a_law_that_missed_the_largest_count_is_not_carried_beyond_it() -> None:
    measured = usl_record((1, 2, 4), alpha=0.05, beta=0.0)
    view = build(measured, judge(measured))
    (drawing,) = speedup(view)
    assert not drawing.missing
    law = fitted_law(measured)
    assert law is not None
    assert law.beyond == ()
    assert not any("predicted" in key.text for key in drawing.key)
    assert "No prediction for N = 8: predicting the largest worker count needs at least 3" in drawing.caption
