"""The limit by communication:  points, model, Amdahl's law, the held-out mark and the region where the model speaks alone."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from fireassay.reports.charts.chart import Drawing, Missing, colour
from fireassay.reports.charts.training.communication_model import draw
from fireassay.reports.view import build
from fireassay.verdict.judge import judge
from tests import builders
from tests.simulated_made import record

pytestmark = pytest.mark.slow


@cache
def drawn(**words: Any) -> Drawing:
    made = record(launches=2, **words)
    found = draw(build(made, judge(made)))
    assert isinstance(found, Drawing)
    return found


def layers(drawing: Drawing, mark: str, role: str) -> list[list[dict[str, Any]]]:
    """The rows of each layer with this mark in this colour."""
    return [
        layer["data"]["values"]
        for layer in drawing.chart.spec["layer"]
        if layer["mark"]["type"] == mark and layer["mark"].get("color") == colour(role)
    ]


def test_the_model_goes_on_beyond_the_measured_counts_and_amdahls_line_is_above_it() -> None:
    found = drawn()
    measured, beyond = layers(found, "line", "second")
    assert measured[0]["x"] == 1
    assert beyond[-1]["x"] == pytest.approx(8 * 16)
    amdahl = layers(found, "line", "muted")[0]
    assert amdahl[-1]["y"] >= measured[-1]["y"]


def test_the_held_out_mark_and_the_shaded_region_are_where_they_belong() -> None:
    """16 measured: beyond 32 the model speaks alone; the shortest step is at about 70."""
    found = drawn()
    (mark,) = layers(found, "point", "bad")
    assert mark[0]["x"] == 16
    (region,) = layers(found, "rect", "band")
    assert region[0]["x"] == 32
    (rule,) = layers(found, "rule", "ink")
    assert 60 < rule[0]["x"] < 80
    texts = " ".join(key.text for key in found.key)
    assert "16 workers, predicted without them" in texts
    assert "the model alone" in texts


def test_of_two_worker_counts_nothing_beyond_them_is_trusted_and_the_key_says_so() -> None:
    found = drawn(levels=(1, 2))
    (region,) = layers(found, "rect", "band")
    assert region[0]["x"] == 2
    assert "beyond the measured range: the model alone" in {key.text for key in found.key}


def test_no_region_is_drawn_that_the_key_does_not_name() -> None:
    for words in ({}, {"levels": (1, 2)}, {"levels": (1, 8, 64)}):
        found = drawn(**words)
        assert bool(layers(found, "rect", "band")) == any(key.role == "band" for key in found.key)


def test_what_hides_is_drawn_with_its_bound() -> None:
    assert layers(drawn(overlap=0.2), "line", "third")
    assert not layers(drawn(), "line", "third")


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
