"""TraceML's summary: its mean step time and its phases; a wait that it did not see is missing, not 0.

`traceml.json` was written by traceml-ai 0.5.0 of 64 steps on a CPU, and printed as "Step Time 188.5 ms"; names of host and run were replaced.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import SpecError
from tests.importers.timings.made import changed, imported, one, times, value_of

pytestmark = pytest.mark.slow


def test_the_mean_over_its_steps_is_one_trial_of_as_many_calls(tmp_path: Path) -> None:
    measured = one(tmp_path, "traceml.json")
    found = times(measured)
    assert round(1e3 * value_of(found["training step"]), 1) == 188.5
    assert value_of(found["training step without the wait for input"]) < value_of(found["training step"])
    assert measured.table("trials")["calls"].to_list() == [64, 64]
    told = {(entry["benchmark"], entry["name"]): entry["value"] for entry in (measured.foreign or {})["reported"]}
    assert told["training step", "wait for input"] == pytest.approx(0.0018119, rel=1e-4)
    assert ("training step", "copies to the device") not in told, "null is no 0"


def without_input(document: dict[str, Any]) -> None:
    document["step_time"]["global"]["average"] |= {"step_time_ms": None, "input_wait_ms": None}


def test_a_wait_that_was_not_seen_is_missing(tmp_path: Path) -> None:
    measured = one(tmp_path, changed(tmp_path / "summary.json", "traceml.json", without_input))
    assert list(times(measured)) == ["training step without the wait for input"]
    assert any("it saw no wait for input" in sentence for sentence in (measured.foreign or {})["missing"])


def test_a_failed_run_and_ranks_that_share_no_steps_are_doubted(tmp_path: Path) -> None:
    def worse(document: dict[str, Any]) -> None:
        document["run_context"]["run"]["status"] = "failed"
        document["step_time"]["metadata"]["global_ranks_seen"] = 4

    (made,) = imported(tmp_path, changed(tmp_path / "summary.json", "traceml.json", worse))
    assert made.doubts == ("the run has ended as failed", "1 of 4 ranks are in its means: the others share no steps with them")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema_version": 1.4}, "schema_version .*found 1.4"),
        ({"step_time": {}}, "no step time"),
        ({"step_time": {"global": {"window": {"steps_analyzed": 3}, "average": {"step_time_ms": "1e400"}}}}, "seconds"),
    ],
)
def test_another_schema_and_a_summary_without_steps_are_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        imported(tmp_path, changed(tmp_path / "summary.json", "traceml.json", lambda document: document.update(change)), tool="traceml")
