"""Is a choice among candidates stated with its knee, its cost and its worth by another score, on the first screen and in JSON?"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fireassay.errors import SpecError
from fireassay.estimates.estimate import Absent, Estimate
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.audits.answers import CANDIDATES_REMEDY
from fireassay.kinds.evaluation.choice import choice_rows, choice_words
from fireassay.kinds.evaluation.recorded import best_of
from fireassay.kinds.evaluation.steps import knee_rows
from fireassay.reports.build_view import build
from fireassay.reports.charts.step_curve import step_curve
from fireassay.reports.documents import record as document
from fireassay.reports.pages.record import page
from fireassay.reports.view import View
from fireassay.verdict.judge import judge
from tests.answered import scored

LABELS = {"answers=a": "a"}


def made(
    folder: Path, *, items: int = 120, scales: dict[str, str] | None = None, margin: float | None = None, noise: float = 0.0
) -> RecordData:
    """Nine candidates an item: the first score is uniform; the second its half plus another uniform's half, both from 0 to 1."""
    rng = np.random.default_rng(3)
    rows = []
    for item in range(items):
        for _ in range(9):
            v, other = rng.random(2)
            rows.append({"id": f"p{item}", "v": float(v), "w": float(v / 2 + other / 2 + noise), "s": 2.0, "t": 0.5, "d": 0.01})
    given = {"fields": ["v", "w"], "scales": {"*": "0,1"} if scales is None else scales}
    amounts = {"candidates": 9, "seconds": ["s", "t"], "usd": ["d"]}
    return scored(folder, {"a": rows}, metrics=[], given=given, best_of=amounts, margin=margin)


def view_of(measured: RecordData) -> View:
    return build(measured, judge(measured))


def test_the_first_screen_says_what_the_best_of_nine_gains_and_costs(tmp_path: Path) -> None:
    """Uniform scores: the best of k is k / (k + 1), so with a margin of five points 0.85 or more is enough: k = 6 and above."""
    measured = made(tmp_path, margin=0.05)
    (knee,) = knee_rows(measured)
    assert knee.sentence.startswith("best of 9: 0.4")
    assert " for 9 x the cost; the knee is at " in knee.sentence
    assert knee.at in (6, 7)
    assert (knee.status, knee.confidence) == ("MEASURED", 0.95)
    shown = page(view_of(measured)).answer
    assert shown is not None
    assert shown.headline == knee.sentence
    assert [line.label for line in shown.lines if line.label == "choice"] == ["choice"]


def test_without_a_margin_nothing_was_asked_and_nothing_is_open(tmp_path: Path) -> None:
    measured = made(tmp_path, items=3)
    (knee,) = knee_rows(measured)
    assert "no knee: no smaller number is shown to be within 0.02 of 9" in knee.sentence
    assert (knee.status, judge(measured).verdict.status) == ("MEASURED", "MEASURED")


def test_the_headline_says_that_an_item_with_fewer_candidates_ends_the_curve(tmp_path: Path) -> None:
    rows = [{"id": f"p{item}", "v": (item + number) % 7 / 7} for item in range(20) for number in range(3 if item == 4 else 9)]
    measured = scored(tmp_path, {"a": rows}, metrics=[], given={"fields": ["v"], "scales": {"*": "0,1"}}, best_of={"candidates": 9})
    shown = page(view_of(measured)).answer
    assert shown is not None
    assert shown.headline.startswith("best of 3 (9 requested, 1 of 20 items has fewer): ")
    assert [one.remedy for one in judge(measured).verdict.findings if one.rule == "uneven_answers"] == [CANDIDATES_REMEDY]


def test_the_best_of_one_candidate_is_refused(tmp_path: Path) -> None:
    rows = [{"id": item, "v": 0.1 * item} for item in range(9)]
    with pytest.raises(SpecError, match="9 candidates, where every item has one line; allowed: several lines for an item"):
        scored(tmp_path, {"a": rows}, metrics=[], given={"fields": ["v"]}, best_of={"candidates": 9})


def test_a_score_without_a_scale_takes_a_tenth_of_the_gain_as_margin(tmp_path: Path) -> None:
    (knee,) = knee_rows(made(tmp_path, scales={}))
    assert (knee.share, knee.given) == (False, False)
    assert knee.margin == pytest.approx(0.04, abs=0.002)  # of 0.9 - 0.5


def test_the_metric_of_the_best_has_an_interval_that_holds_the_truth(tmp_path: Path) -> None:
    measured = made(tmp_path, items=200)
    value = best_of(measured)["best_of_9"].compute(measured, {})["answers=a"]
    assert isinstance(value, Estimate)
    assert value.low < 0.9 < value.high
    assert value.high - value.low < 0.05


def test_fewer_candidates_than_asked_leave_it_absent(tmp_path: Path) -> None:
    rows = [{"id": f"p{item}", "v": 0.5} for item in range(20) for _ in range(4)]
    measured = scored(tmp_path, {"a": rows}, metrics=[], given={"fields": ["v"]}, best_of={"candidates": 9})
    value = best_of(measured)["best_of_9"].compute(measured, {})["answers=a"]
    assert isinstance(value, Absent)
    assert value.detail == "needs 9 scored candidates of every item; the best of 4 is the largest"


def test_optimism_is_the_part_of_the_gain_that_another_score_does_not_see(tmp_path: Path) -> None:
    """The second score moves by half of what the first gains, 0.4: gain and optimism are 0.2 each, within their intervals."""
    rows = choice_rows(made(tmp_path, items=300), LABELS)
    assert [row.k for row in rows] == list(range(1, 10))
    last = rows[-1]
    for value in (last.gain, last.optimism):
        assert isinstance(value, Estimate)
        assert value.low < 0.2 < value.high
        assert value.high - value.low < 0.08
    assert isinstance(rows[0].gain, Estimate)
    assert (rows[0].gain.value, rows[0].gain.low) == (pytest.approx(0.0, abs=1e-12), pytest.approx(0.0, abs=1e-9))
    (words,) = choice_words(rows)
    assert words.startswith("w of the best of 9 by v ")
    assert ", optimism +" in words


def test_scores_of_other_scales_have_their_own_gain_only(tmp_path: Path) -> None:
    rows = choice_rows(made(tmp_path, scales={"v": "0,1"}), LABELS)
    assert isinstance(rows[-1].optimism, Absent)
    assert isinstance(rows[-1].gain, Estimate)
    (words,) = choice_words(rows)
    assert words.endswith("; its scale is another")


def test_the_chart_the_document_and_the_table_have_the_curve(tmp_path: Path) -> None:
    view = view_of(made(tmp_path))
    (chart,) = step_curve(view)
    assert chart.title == "Quality of the best of k against its cost"
    assert len(chart.panels) == 2  # dollars and seconds
    found = json.loads(document.render(view))
    assert [row["steps"] for row in found["steps"]] == list(range(1, 10))
    assert found["knees"][0]["what"] == "candidates"
    assert [(row["k"], row["score"]) for row in found["choices"]] == [(k, "w") for k in range(1, 10)]
    assert found["steps"][-1]["usd"]["value"] == pytest.approx(0.09)


def test_without_amounts_the_number_of_candidates_is_the_cost(tmp_path: Path) -> None:
    rows = [{"id": f"p{item}", "v": candidate / 4} for item in range(30) for candidate in range(4)]
    measured = scored(tmp_path, {"a": rows}, metrics=[], given={"fields": ["v"], "scales": {"v": "0,1"}}, best_of={"candidates": 4})
    view = view_of(measured)
    assert " for 4 x the candidates; " in knee_rows(measured)[0].sentence
    (chart,) = step_curve(view)
    assert len(chart.panels) == 1
