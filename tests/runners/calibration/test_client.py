"""Does a calibration measure what it says, and end early with what it has?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fireassay.runners.calibration import machine as doctor_client
from fireassay.runners.calibration.client_drill import DrillResult
from fireassay.runners.calibration.machine import calibrate, spread


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_client, "WARM_UP_S", 0.2)
    monkeypatch.setattr(doctor_client, "MIN_S", 0.4)
    monkeypatch.setattr(doctor_client, "TOKENS", 8)


@pytest.mark.deep
def test_a_calibration_from_begin_to_end(tmp_path: Path) -> None:
    told: list[str] = []
    seen = calibrate(tmp_path, 1.0, told.append, streams=(2,))
    (errors,) = seen.errors
    assert told == ["2 streams", "32 streams, stopped", "32 streams, busy", "ceiling at 64 streams", "timer at 200 requests per second"]
    assert errors["streams"] == 2
    assert errors["unpaired"] == 0
    assert errors["chunks"] == 8 * errors["requests"]
    assert 0.0 <= errors["ttft_ms"]["p50"] <= errors["ttft_ms"]["p99"] <= errors["ttft_ms"]["max"]
    assert [one["disturbed"] for one in seen.provoked] == ["stopped", "busy"]
    assert all(one["within"] is not None and one["unpaired"] == 0 for one in seen.provoked)
    ceiling = seen.ceiling
    assert ceiling is not None
    assert ceiling["requests_per_s"] >= ceiling["requests"]["measured"] > 0.0
    assert ceiling["chunks"]["limited_by"] in ("client", "server", "other programs")
    assert seen.timer_lag_ms
    assert seen.timer_lag_ms["p50"] >= 0.0
    assert seen.stopped == ""
    assert list(tmp_path.iterdir()) == []


def test_a_stop_keeps_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def error_at(streams: int, *_: Any) -> dict[str, Any]:
        if streams == 32:
            raise KeyboardInterrupt
        return {"streams": streams}

    monkeypatch.setattr(doctor_client, "error_at", error_at)
    seen = calibrate(tmp_path, 1.0)
    assert [one["streams"] for one in seen.errors] == [1]
    assert (seen.ceiling, seen.timer_lag_ms, seen.stopped) == (None, None, "stopped by Ctrl-C")


@pytest.mark.parametrize(
    ("client", "server", "who", "reachable"),
    [
        (0.97, 0.5, "client", 1000.0),
        (0.5, 0.95, "server", 2000.0),
        (0.25, 0.3, "other programs", 4000.0),
        (0.0, 0.0, "other programs", 1000.0),
    ],
)
def test_a_rate_is_extrapolated_where_the_client_was_not_the_limit(client: float, server: float, who: str, reachable: float) -> None:
    import pyarrow as pa

    from fireassay.record.arrow_schemas import arrow_schema

    drilled = DrillResult(
        rows=arrow_schema("requests").empty_table(),
        truth={},
        duration_s=2.0,
        client_cpu_s=2.0 * client,
        server_cpu_s=2.0 * server,
        foreign=None,
    )
    assert isinstance(drilled.rows, pa.Table)
    found = doctor_client._limit(drilled, 1000.0)
    assert (found["limited_by"], found["measured"], found["reachable"]) == (who, 1000.0, pytest.approx(reachable))


def test_a_spread_is_in_milliseconds_and_nothing_has_none() -> None:
    assert spread(np.array([1_000_000, 3_000_000])) == {"p50": 2.0, "p99": pytest.approx(2.98), "max": 3.0}
    assert spread(np.array([], dtype=np.int64)) == {}


def test_the_software_is_named() -> None:
    assert doctor_client.about()["python"].startswith("3.")
