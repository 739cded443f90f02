"""llm-d's report holds what was measured, with the bounds, and says first what a record's numbers are worth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fireassay.reports.exports.br import EXPORT
from fireassay.reports.exports.export import Subject
from tests.exporting import subject
from tests.serving_made import ServingMade
from tests.statuses import RECORDS

pytestmark = pytest.mark.slow


def reports(made: Subject) -> dict[str, dict[str, Any]]:
    return {name: json.loads(content) for name, content in EXPORT.files(made).files.items()}  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def planted() -> dict[str, Any]:
    """Three launches, each with a ramp and two answers after 0.2 and 0.4 s, of 5 tokens 0.1 s apart and of 3 tokens 0.2 s apart."""
    made = ServingMade(concurrency=(2,), blocks=3)
    for block in range(3):
        launch = made.launch("concurrency=2", block=block)
        for stream in (0, 1):
            made.request(launch, 0.0, ttft_s=0.1, gap_s=0.3, tokens_out=4, stream=stream)
        made.request(launch, 2.0, ttft_s=0.2, gap_s=0.1, tokens_out=5, tokens_in=20, stream=0)
        made.request(launch, 3.0, ttft_s=0.4, gap_s=0.2, tokens_out=3, tokens_in=40, stream=1)
        made.request(launch, 4.0, status="timeout", done_s=0.5, error="no answer", stream=0)
        made.request(launch, 5.0, status="5xx", done_s=0.1, error="busy", stream=1)
    (report,) = reports(subject(made.measured())).values()
    return report


def test_the_numbers_are_those_worked_out_by_hand(planted: dict[str, Any]) -> None:
    aggregate = planted["results"]["request_performance"]["aggregate"]
    assert (aggregate["requests"]["total"], aggregate["requests"]["failures"]) == (12, 6)
    assert (aggregate["requests"]["input_length"]["mean"], aggregate["requests"]["output_length"]["mean"]) == (30.0, 4.0)
    latency = aggregate["latency"]
    # from the due time: (0.2 + 0.4) / 2; (0.1 + 0.2) / 2; (0.6 + 0.8) / 2
    found = {
        name: (latency[name]["units"], latency[name]["mean"])
        for name in ("time_to_first_token", "time_per_output_token", "request_latency")
    }
    assert {name: unit for name, (unit, _) in found.items()} == {
        "time_to_first_token": "s",
        "time_per_output_token": "s/token",
        "request_latency": "s",
    }
    assert [mean for _, mean in found.values()] == pytest.approx([0.3, 0.15, 0.7])
    first = latency["time_to_first_token"]
    assert first["mean_low"] <= first["mean"] <= first["mean_high"]
    assert "p99" not in first  # six answers carry no p99
    assert planted["scenario"]["load"]["standardized"]["concurrency"] == 2


def test_every_value_goes_with_its_standing_in_the_open_part(planted: dict[str, Any]) -> None:
    ours = planted["results"]["profiling"]["fireassay"]
    absent = next(row for row in ours["values"] if row["metric"] == "ttft_p99")
    assert (absent["value"], absent["admissible"], absent["standing"]) == (None, False, "insufficient")
    assert ours["digest"] == "unsealed" == planted["run"]["eid"]


def test_an_invalid_record_is_called_so_where_its_readers_look() -> None:
    (report,) = reports(subject(RECORDS["load", "INVALID"](Path()))).values()
    assert report["run"]["description"].startswith("INVALID (invalid: client bound)")
    assert "INVALID" in report["run"]["keywords"]
    assert report["scenario"]["load"]["standardized"]["rate_qps"] == 6.0
