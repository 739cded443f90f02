"""Are a client's rows paired with the server's truth, and does a real client process agree with it?"""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fireassay.errors import AssayError
from fireassay.instruments.reference_server.server import serving
from fireassay.instruments.reference_server.settings import Settings
from fireassay.instruments.reference_server.truth import Entry
from fireassay.record.arrow_schemas import arrow_schema
from fireassay.runners.calibration import client_drill
from fireassay.runners.calibration.client_drill import DrillResult, compare_times, drill, stopped
from fireassay.traffic.wire.compiled import built

SHORT: dict[str, Any] = {"duration_s": 0.5, "warm_up_s": 0.0, "cold": 0, "drain_s": 10.0}


def entry(number: int, came_ns: int, text_ns: list[int]) -> Entry:
    return Entry(
        number,
        "",
        "",
        "0",
        0,
        True,
        came_ns,
        came_ns + 7,
        came_ns,
        array("q", [*text_ns, text_ns[-1] + 1]),
        first_text=0,
        texts=len(text_ns),
        outcome="complete",
    )


def row(request: int, text: str, sent_ns: int, chunk_ns: list[int], **more: Any) -> dict[str, Any]:
    """A request of the client's log; its first chunk holds the role alone."""
    blank: dict[str, Any] = {field.name: None if field.nullable else 0 for field in arrow_schema("requests")}
    chunks = {
        "chunk_ns": [chunk_ns[0], *chunk_ns],
        "chunk_kind": [0, *[1] * len(chunk_ns)],
        "chunk_chars": [],
        "logprobs": [],
        "chunk_uncertainty_ns": [],
    }
    words = {"phase": "main", "kind": "normal", "transport": "lean", "status": "ok", "text": text}
    return {**blank, **chunks, **words, "request": request, "scheduled_ns": sent_ns - 5, "sent_ns": sent_ns, **more}


def drilled(rows: list[dict[str, Any]], truth: list[Entry]) -> DrillResult:
    return DrillResult(
        rows=pa.Table.from_pylist(rows, arrow_schema("requests")),
        truth={one.request: one for one in truth},
        duration_s=1.0,
        client_cpu_s=0.1,
        server_cpu_s=0.1,
        foreign=0.0,
    )


def test_errors_are_the_clients_times_minus_the_true_ones_whoever_was_served_first() -> None:
    truth = [entry(0, 1100, [1500, 1600, 1750]), entry(1, 1010, [1400, 1500, 1600])]
    rows = [row(0, "r1 x y", 1000, [403, 501, 610]), row(1, "r0 x y", 1090, [420, 520, 664])]
    found = compare_times(drilled(rows, truth))
    # r1: 403 after sending, truly 1400 - 1010 = 390; r0: 420, truly 400
    assert found.ttft.tolist() == [13, 20]
    assert found.itl.tolist() == [98 - 100, 109 - 100, 100 - 100, 144 - 150]
    assert found.seen.tolist() == [3, 1, 10, 10, 10, 4]
    assert found.sent.tolist() == [10, 10]
    assert found.lag.tolist() == [5, 5]
    assert found.unpaired == 0


def test_a_request_without_counterpart_is_counted_and_one_that_failed_or_warmed_up_is_not_asked_about() -> None:
    truth = [entry(0, 1100, [1500, 1600])]
    rows = [
        row(0, "r0 x", 1000, [500, 600]),
        row(1, "r7 x", 1000, [500, 600]),
        row(2, "r0 x y", 1000, [500, 600, 700]),
        row(3, "odd", 1000, [500]),
        row(4, "r7", 1000, [500], status="reset"),
        row(5, "r7", 1000, [500], phase="warm_up"),
    ]
    found = compare_times(drilled(rows, truth))
    assert found.unpaired == 3
    assert len(found.ttft) == 1


def test_nothing_is_paired_with_nothing() -> None:
    found = compare_times(drilled([], []))
    assert (found.unpaired, len(found.ttft), len(found.itl)) == (0, 0, 0)


def test_a_real_client_saw_what_the_server_sent(tmp_path: Path) -> None:
    with serving(Settings(first_s=0.01, next_s=0.005, numbered=True)) as server:
        found = drill({"concurrency": [3], "arrivals": SHORT}, server, tmp_path / "it", load=3, scenario="D(10,8)")
    errors = compare_times(found)
    assert errors.unpaired == 0
    assert len(errors.ttft) == found.main.num_rows >= 3
    assert len(errors.seen) == 8 * len(errors.ttft)
    assert found.chunks >= 8 * found.rows.num_rows
    # no client sees a chunk before it was sent, and none is told of as sent after it had come
    assert errors.seen.min() > -5000  # the kernel's clock, held against the other to some tens of nanoseconds
    assert errors.sent.min() > -5000
    assert errors.ttft.min() > -5000
    assert found.client_cpu_s > 0.0
    assert np.array_equal(np.sort(found.lag_ns), np.sort(errors.lag))


@pytest.mark.deep
@pytest.mark.parametrize("transport", ["lean", *(["compiled"] if built() else [])])
def test_a_stopped_client_states_the_uncertainty_of_its_times(tmp_path: Path, transport: str) -> None:
    """It was stopped for 100 ms after most requests, told a TTFT of 120 ms for a true 50, and nothing said so."""
    asked = {"concurrency": [8], "arrivals": {**SHORT, "duration_s": 2.0}, "client": {"transport": transport}}
    with serving(Settings(first_s=0.05, next_s=0.005, numbered=True)) as server:
        found = drill(asked, server, tmp_path / "it", load=8, scenario="D(10,16)", disturb=stopped)
    errors = compare_times(found)
    assert errors.unpaired == 0
    assert len(errors.outside) == len(errors.ttft) >= 20
    assert errors.ttft.max() > 10_000_000  # what was to be provoked was, however busy this machine is
    assert (errors.outside == 0).mean() >= 0.99
    assert errors.unsure.max() > 10_000_000  # and is told, so that a record of such times is INVALID


def test_a_token_lies_outside_of_an_uncertainty_that_is_too_small_and_of_a_stamp_before_it_was_sent() -> None:
    ms = 1_000_000
    assert client_drill._outside(100 * ms, 40 * ms, 59 * ms, 60 * ms) == 0
    assert client_drill._outside(100 * ms, 40 * ms, 49 * ms, 50 * ms) == 10 * ms - client_drill.CLOCKS_NS
    assert client_drill._outside(100 * ms, 40 * ms, 49 * ms, 60 * ms) == 0  # the server itself was held up in its send
    assert client_drill._outside(100 * ms, 0, 101 * ms, 101 * ms) == ms - client_drill.CLOCKS_NS


def test_a_response_without_uncertainty_is_not_counted_as_within() -> None:
    truth = [entry(0, 1100, [1500, 1600]), entry(1, 1100, [1500, 1600])]
    rows = [row(0, "r0 x", 1000, [500, 600]), row(1, "r1 x", 1000, [500, 600], chunk_uncertainty_ns=[9, 7, 8])]
    found = compare_times(drilled(rows, truth))
    assert len(found.ttft) == 2
    assert found.unsure.tolist() == [7]
    assert found.outside.tolist() == [0]


def test_a_failing_client_is_an_error_with_its_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = client_drill._prepared

    def spoiled(*given: Any) -> Path:
        folder = prepared(*given)
        (folder / "load" / "job.json").write_text("{}")
        return folder

    monkeypatch.setattr(client_drill, "_prepared", spoiled)
    with serving(Settings()) as server, pytest.raises(AssayError, match=r"(?s)before it was ready.*KeyError"):
        drill({"concurrency": [1], "arrivals": SHORT}, server, tmp_path / "it", load=1, scenario="D(10,8)")
