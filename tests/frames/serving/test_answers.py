"""Answers against their reference, so that quality and its gate judge serving too."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from fireassay.estimates.estimate import Absent
from fireassay.frames.serving.answers import commonprefix
from fireassay.metrics.quality import QUALITY, QUALITY_DIFFERENCE
from fireassay.spec.experiment import Quality
from tests.metrics.narrow import absence, estimated
from tests.serving_made import ServingMade, simulated


def scored(metric: str) -> ServingMade:
    """Two answers to example a, one to b; a failed one, a canary and one without reference."""
    made = ServingMade(rate=(1.0,), blocks=1, quality=Quality(metric=metric, margin=0.02))
    number = made.launch()
    rows = [("a", "42", " 42\n"), ("a", "42", "it is 42"), ("b", "7", "8")]
    for second, (example, expected, text) in enumerate(rows):
        made.request(number, float(second), example=example, expected=expected, text=text)
    made.request(number, 3.0, example="c", expected="1", status="5xx")
    made.request(number, 4.0, kind="canary", expected="nonce-1", text="nonce-1")
    made.request(number, 5.0, text="hello")
    return made


@pytest.mark.parametrize(("metric", "first"), [("exact_match", 0.5), ("accuracy", 0.5), ("contains", 1.0)])
def test_a_repeated_example_scores_the_mean(metric: str, first: float) -> None:
    scores = scored(metric).measured().scores
    assert scores.select("launch", "example", "score").rows() == [(0, "a", first), (0, "b", 0.0)]
    assert estimated(QUALITY.compute(scored(metric).measured(), {})["rate=1"]).value == pytest.approx(first / 2)


def test_a_score_knows_what_its_prompt_shares_and_whether_its_answer_holds_text() -> None:
    made = ServingMade(rate=(1.0,), blocks=1, quality=Quality(metric="exact_match", margin=0.02))
    number = made.launch()
    for second, (example, text) in enumerate((("a", "42"), ("b", " \n"), ("c", "41"))):
        made.request(number, float(second), example=example, expected="42", text=text)
    made.request(number, 3.0, example="d", expected="  ", text="nobody can be wrong about this one")
    shared = pl.when(pl.col("example") != "c").then(pl.lit("passage 1"))
    tables = {**made.measured().tables, "arrivals": made.measured().table("arrivals").with_columns(cluster=shared)}
    rows = replace(made.measured(), tables=tables).scores.drop("launch").rows()
    assert rows == [("a", 1.0, "passage 1", False), ("b", 0.0, "passage 1", True), ("c", 0.0, None, False)]


def test_other_scores_come_from_outside() -> None:
    value = QUALITY.compute(scored("rouge").measured(), {})["rate=1"]
    assert isinstance(value, Absent)


def test_without_reference_answers_the_remedy_is_given() -> None:
    made = ServingMade(rate=(1.0,), blocks=1, quality=Quality(metric="exact_match"))
    made.request(made.launch(), 0.0, text="hello")
    assert "answer_field" in absence(QUALITY.compute(made.measured(), {})["rate=1"]).detail


@pytest.mark.slow
def test_loads_are_compared_example_by_example() -> None:
    measured = simulated(rate=(5.0, 10.0), blocks=3, seconds=15.0, scored=0.9, seed=5).measured()
    value = estimated(QUALITY_DIFFERENCE.compute(measured, {})["rate=10"])
    assert value.low < value.value < value.high


@pytest.mark.parametrize(("texts", "common"), [(["abc", "abd"], "ab"), (["ab", "abc"], "ab"), (["", "a"], ""), (["x"], "x")])
def test_the_common_prefix_of_all_texts(texts: list[str], common: str) -> None:
    assert commonprefix(texts) == common
