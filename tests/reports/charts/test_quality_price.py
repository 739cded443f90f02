"""Is an engine hollow only if another is at least as good in both directions?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.reports.charts.chart import Missing
from fireassay.reports.charts.quality_price import Engine, dominated, draw
from fireassay.reports.view import build
from fireassay.verdict.judge import judge
from tests.answered import rows, scored


def of(value: float) -> Estimate:
    return Estimate(
        value=value, low=value, high=value, unit="score", confidence=0.95, n_launches=3, n_trials=3, method="given", signature="given"
    )


def engine(price: float, score: float, higher: bool = True) -> Engine:
    return Engine(label=f"{price} {score}", price=of(price), score=of(score), gains=(score if higher else -score, -price))


@pytest.mark.parametrize(
    ("price", "score", "higher", "expected"),
    [
        (2.0, 0.7, True, True),  # dearer and worse than (1, .8)
        (1.0, 0.8, True, False),
        (3.0, 0.9, True, False),  # dearer, but the best
        (1.0, 0.8, False, False),  # lower is better, and it is the cheapest
        (3.0, 0.9, False, True),
    ],
)
def test_dominance_is_by_both_numbers(price: float, score: float, higher: bool, expected: bool) -> None:
    others = [engine(*place, higher) for place in ((1.0, 0.8), (2.0, 0.7), (3.0, 0.9))]
    assert dominated(engine(price, score, higher), others) is expected


def test_equal_engines_do_not_dominate_each_other() -> None:
    assert not dominated(engine(1.0, 0.5), [engine(1.0, 0.5), engine(1.0, 0.5)])


def test_files_of_answers_took_no_time(tmp_path: Path) -> None:
    measured = scored(tmp_path, {"a": rows(["yes", "no"]), "b": rows(["yes", "yes"])})
    assert isinstance(draw(build(measured, judge(measured))), Missing)
