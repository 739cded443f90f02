"""How a launch's reports become evaluations: hand-made records, every expected value worked out in its comment."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from fireassay.frames.training.evaluated_scores import SCHEMA, evaluated_scores, names
from tests.handmade import Handmade


def made(*reports: dict[str, Any], first_step_s: float = 2.0, steps: int = 5, items: float | None = 8.0) -> pl.DataFrame:
    """One launch of five one-second steps of 8 items, the first 2 s after the launch began, and what was reported in it."""
    record = Handmade(levels=(1,), blocks=1)
    launch = record.launch(workers=1, wall_s=20.0)
    record.steps(launch, seconds=[1.0] * steps, items=items, start_s=first_step_s)
    record.event(launch, "first_step", first_step_s, rank=0, incarnation=0)
    for report in reports:
        detail = {"name": "accuracy", "source": "script", **report.pop("detail", {})}
        record.event(launch, "score", report.pop("at"), **{"rank": 0, "incarnation": 0, "detail": detail, **report})
    return evaluated_scores(record.measured())


def test_a_record_without_a_score_has_the_columns_and_no_row() -> None:
    frame = made()
    assert frame.height == 0
    assert frame.schema == pl.Schema(SCHEMA)


def test_time_runs_from_the_first_step_and_from_the_launch_and_samples_are_the_items_so_far() -> None:
    (row,) = made({"at": 5.0, "step": 1, "value": 0.5, "detail": {"steps": 3}}).to_dicts()
    assert (row["since_s"], row["wall_s"], row["samples"]) == (3.0, 5.0, 24.0)  # 3 steps of 8 items
    assert (row["step"], row["score"], row["ranks"]) == (1, 0.5, 1)


def test_an_importers_start_replaces_the_first_step_and_its_samples_the_items() -> None:
    record = Handmade(levels=(1,), blocks=1)
    launch = record.launch(workers=1)
    record.event(launch, "training_start", 1.0)
    record.event(launch, "score", 4.0, step=100, value=0.7, detail={"name": "accuracy", "samples": 51200})
    (row,) = evaluated_scores(record.measured()).to_dicts()
    assert (row["since_s"], row["wall_s"], row["samples"], row["source"]) == (3.0, 4.0, 51200.0, "script")


def test_a_launch_without_steps_is_timed_from_its_begin_and_has_no_samples() -> None:
    record = Handmade(levels=(1,), blocks=1)
    launch = record.launch(workers=1)
    record.event(launch, "score", 4.0, rank=0, incarnation=0, step=1, value=0.7, detail={"name": "accuracy"})
    (row,) = evaluated_scores(record.measured()).to_dicts()
    assert (row["since_s"], row["wall_s"], row["samples"]) == (4.0, 4.0, None)


def test_an_evaluation_before_the_first_step_has_used_no_samples() -> None:
    (row,) = made({"at": 1.5, "step": 0, "value": 0.1}).to_dicts()
    assert (row["since_s"], row["samples"]) == (-0.5, 0.0)


def test_uncounted_steps_leave_the_samples_unknown() -> None:
    (row,) = made({"at": 5.0, "step": 3, "value": 0.5, "detail": {"steps": 3}}, items=None).to_dicts()
    assert row["samples"] is None


def test_ranks_are_averaged_at_the_time_of_the_last_and_their_spread_is_kept() -> None:
    reports = ({"at": 4.0 + rank, "rank": rank, "step": 2, "value": score} for rank, score in enumerate((0.5, 0.75)))
    (row,) = made(*reports).to_dicts()
    assert (row["score"], row["since_s"], row["ranks"], row["spread"]) == (0.625, 3.0, 2, 0.25)


def test_of_one_ranks_reports_of_a_step_the_last_counts() -> None:
    (row,) = made({"at": 4.0, "step": 2, "value": 0.5}, {"at": 4.5, "step": 2, "value": 0.6}).to_dicts()
    assert (row["score"], row["since_s"]) == (0.6, 2.5)


def test_reports_without_a_step_are_evaluations_of_their_own() -> None:
    assert made({"at": 4.0, "value": 0.5}, {"at": 4.5, "value": 0.6})["score"].to_list() == [0.5, 0.6]


def test_after_a_restart_the_same_step_is_another_evaluation_in_the_order_of_time() -> None:
    rows = made(
        {"at": 4.0, "step": 2, "value": 0.5}, {"at": 5.0, "step": 3, "value": 0.8}, {"at": 9.0, "step": 2, "value": 0.6, "incarnation": 1}
    )
    assert rows.select("step", "score", "incarnation").rows() == [(2, 0.5, 0), (3, 0.8, 0), (2, 0.6, 1)]


def test_what_the_script_reports_replaces_what_was_found_under_that_name_only() -> None:
    rows = made(
        {"at": 3.0, "step": 1, "value": 0.4, "detail": {"source": "printed"}},
        {"at": 4.0, "step": 1, "value": 0.5},
        {"at": 4.0, "step": 1, "value": 2.0, "detail": {"source": "printed", "name": "loss"}},
    )
    assert rows.select("name", "score").rows() == [("accuracy", 0.5), ("loss", 2.0)]


def test_of_what_was_found_held_out_data_come_before_a_bare_name_and_a_logger_before_print() -> None:
    """A loss of every step, printed and logged, and one of held-out data, printed first."""
    sources = ("printed", "wandb", "printed, held out", "wandb, held out")
    for known, best in ((4, 3.0), (3, 2.0), (2, 1.0)):
        reports = [{"at": 3.0 + place, "value": float(place), "detail": {"source": source}} for place, source in enumerate(sources[:known])]
        assert made(*reports)["score"].to_list() == [best]


def test_a_score_that_is_no_number_is_kept_and_a_null_is_none() -> None:
    rows = made({"at": 4.0, "step": 1, "value": math.nan}, {"at": 5.0, "step": 2, "value": None})
    assert [math.isnan(score) for score in rows["score"]] == [True]


def test_names_are_listed_in_order() -> None:
    record = Handmade(levels=(1,), blocks=1)
    launch = record.launch(workers=1)
    for name in ("loss", "accuracy", "loss"):
        record.event(launch, "score", 1.0, step=1, value=0.5, detail={"name": name})
    assert names(record.measured()) == ["accuracy", "loss"]


REPORTS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 3) | st.none(), st.floats(0, 20), st.floats(allow_infinity=False)),
    max_size=12,
)


@settings(deadline=None, max_examples=30)
@given(REPORTS)
def test_an_evaluation_is_one_row_and_none_is_lost(reports: list[tuple[int, int, int | None, float, float]]) -> None:
    rows = made(*({"rank": r, "incarnation": i, "step": s, "at": at, "value": v} for r, i, s, at, v in reports))
    stepped = {(i, s) for _, i, s, _, _ in reports if s is not None}
    unstepped = sum(max(sum((r, i, s) == (rank, inc, None) for r, i, s, _, _ in reports) for rank in (0, 1)) for inc in (0, 1, 2))
    assert rows.height == len(stepped) + unstepped
    assert rows["since_s"].is_sorted()
