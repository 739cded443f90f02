"""The phases of a step with communication in them: drawn once, and the bar is as high as without it."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest

from fireassay.estimates.estimate import Value
from fireassay.reports.build_view import build
from fireassay.reports.charts import steps
from fireassay.reports.charts.model import Bar
from fireassay.reports.charts.steps import phases
from tests import builders
from tests.reports.charts.marked import marks

pytestmark = pytest.mark.slow


def bars(exposed_ms: float | None, between_ms: float = 0.0) -> dict[str, float]:
    """Lengths of the parts at two workers, by colour, in the chart's unit."""
    made = builders.judgement()
    if exposed_ms is not None:
        values: dict[str, Value] = {f"workers={w}": builders.estimate(exposed_ms / 1e3, 0.0001, "s") for w in (2, 4)}
        metric = builders.metric("comm_exposed", "Exposed communication", "s", "performance")
        made = replace(made, metrics={**made.metrics, "comm_exposed": metric}, results={**made.results, "comm_exposed": values})
    view = build(builders.measured(), made)
    with patch.object(steps, "between", return_value={"workers=2": between_ms / 1e3}):
        (drawing,) = phases(view)
    return {bar.role: bar.right - bar.left for bar in marks(drawing, Bar, row=1)}


def test_exposed_communication_is_taken_out_of_the_backward_pass() -> None:
    """Of 22 ms of backward 6 are exposed: 16 and 6; the whole bar stays."""
    without, with_it = bars(None), bars(6.0)
    assert sum(with_it.values()) == pytest.approx(sum(without.values()))
    assert sorted(with_it.values()) == pytest.approx(sorted([5.5, 16.5, 16.0, 6.0, 2.75]))


def test_more_than_the_backward_pass_comes_out_of_the_forward_pass_too() -> None:
    """Of 30 ms 22 are backward and 8 forward: what is left of that is 8.5."""
    assert sum(bars(30.0).values()) == pytest.approx(sum(bars(None).values()))
    assert 8.5 in [round(one, 6) for one in bars(30.0).values()]


def test_what_a_script_waits_between_its_phases_comes_out_of_what_nobody_names() -> None:
    """Of 6 ms 2 were waited between the phases: 2.75 - 2 are left unnamed, and the other 4 come out of 22 of backward."""
    assert sum(bars(6.0, 2.0).values()) == pytest.approx(sum(bars(None).values()))
    assert sorted(bars(6.0, 2.0).values()) == pytest.approx(sorted(_without_naming()))


def _without_naming() -> list[float]:
    bare = bars(None)
    backward, unnamed = (
        next(role for role, height in bare.items() if height == pytest.approx(22.0)),
        min(bare, key=lambda role: bare[role]),
    )
    return [*({**bare, backward: 18.0, unnamed: bare[unnamed] - 2.0}).values(), 6.0]


def test_a_record_that_was_only_profiled_has_no_empty_picture() -> None:
    """Of a profile exposed communication is known, and no phase of a timed step."""
    made = builders.judgement()
    values: dict[str, Value] = {f"workers={w}": builders.estimate(0.006, 0.0001, "s") for w in (2, 4)}
    metric = builders.metric("comm_exposed", "Exposed communication", "s", "performance")
    names = ("step_time", "data_time", "forward_time", "backward_time", "optimizer_time", "unknown_time")
    made = builders.without(made, *names)
    made = replace(made, metrics={**made.metrics, "comm_exposed": metric}, results={**made.results, "comm_exposed": values})
    assert phases(build(builders.measured(), made))[0].missing
