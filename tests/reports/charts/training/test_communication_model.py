"""The limit by communication:  points, model, Amdahl's law, the held-out mark and the region where the model speaks alone."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from fireassay.reports.build_view import build
from fireassay.reports.charts.chart import Drawing, Missing
from fireassay.reports.charts.marks import Area, Line, Point, Rule
from fireassay.reports.charts.training.communication_model import draw
from fireassay.verdict.judge import judge
from tests import builders
from tests.reports.charts.marked import marks
from tests.simulated_made import record

pytestmark = pytest.mark.slow


@cache
def drawn(**words: Any) -> Drawing:
    made = record(launches=2, **words)
    found = draw(build(made, judge(made)))
    assert isinstance(found, Drawing)
    return found


def test_the_model_goes_on_beyond_the_measured_counts_and_amdahls_line_is_above_it() -> None:
    measured, beyond = marks(drawn(), Line, series="model")
    assert measured.points[0][0] == 1
    assert beyond.points[-1][0] == pytest.approx(8 * 16)
    assert (measured.dashed, beyond.dashed) == (False, True)
    (amdahl,) = marks(drawn(), Line, series="amdahl")
    assert (amdahl.points[-1][1] or 0.0) >= (measured.points[-1][1] or 0.0)


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


def test_no_region_is_drawn_that_the_key_does_not_name() -> None:
    for words in ({}, {"levels": (1, 2)}, {"levels": (1, 8, 64)}):
        found = drawn(**words)
        assert bool(marks(found, Area)) == any("the model alone" in key.text for key in found.key)


def test_what_hides_is_drawn_with_its_bound() -> None:
    assert marks(drawn(overlap=0.2), Line, series="exposed")
    assert not marks(drawn(), Line, series="exposed")


def test_its_numbers_are_in_words() -> None:
    assert "Serial fraction without communication: " in drawn().caption
    assert "alpha 20.0 µs, beta 0.80" in drawn().caption


def test_a_record_whose_links_were_not_seen_has_no_such_picture() -> None:
    assert draw(build(builders.measured(), builders.judgement())) == ()


def test_a_record_that_cannot_be_modelled_says_why() -> None:
    made = record(levels=(2,), launches=2)
    found = draw(build(made, judge(made)))
    assert isinstance(found, Missing)
    assert "at least 2 worker counts" in found.reason
