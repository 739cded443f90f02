"""The work of the first step, told once by a recorder; every later step costs nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink
from fireassay.record.tables import TABLES

pytestmark = pytest.mark.torch


def train(steps: int = 3, **environ: str) -> tuple[Recorder, MemorySink, list[dict[str, Any]]]:
    """Steps of one product of 4 x 8 with 8 x 2 in the forward phase, and its gradients; gives what was told of it."""
    import torch

    sink = MemorySink()
    recorder = Recorder(Identity(launch=0, rank=0, workers=1, incarnation=0, seed=0, host="here"), sink)
    recorder.counts_work({"FIREASSAY_FLOPS": "1", **environ})
    model = torch.nn.Linear(8, 2, bias=False)
    plain = recorder.phase("forward")
    for _ in recorder.steps([torch.randn(4, 8, requires_grad=True)] * steps):
        x = torch.randn(4, 8, requires_grad=True)
        with recorder.phase("forward"):
            loss = model(x).sum()
        with recorder.phase("backward"):
            loss.backward()
        with recorder.phase("optimizer"):
            pass
    assert recorder.phase("forward") is plain
    recorder.close()
    events = [dict(zip(TABLES["events"].column_names, row, strict=True)) for row in sink.of("events")]
    return recorder, sink, [{**one, "detail": json.loads(one["detail"])} for one in events if one["kind"] == "flops"]


def test_the_first_step_is_counted_once_and_the_phases_are_given_back() -> None:
    _, sink, (told,) = train()
    assert told["value"] == 3 * 2 * 4 * 8 * 2
    assert (told["step"], told["detail"]["items"], told["detail"]["convention"]) == (0, 4.0, "counter")
    assert sink.steps == 3
    assert all(row[7] is not None for row in sink.of("steps"))  # the forward phase is timed in every step


def test_nothing_is_counted_unless_the_launch_asks() -> None:
    assert train(FIREASSAY_FLOPS="")[2] == []


def test_the_peak_is_measured_between_two_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    from fireassay.instruments.flops import gemm_peak

    monkeypatch.setattr(gemm_peak, "CPU_SIZES", (32,))
    _, sink, (told,) = train(FIREASSAY_PEAK="measured")
    (peak,) = told["detail"]["peaks"]
    assert peak["flops_per_s"] > 0
    assert (peak["device"], peak["precision"], peak["size"]) == ("cpu", "float32", 32)
    first, second = sink.of("steps")[:2]
    assert second[4] - first[5] >= told["duration_ns"]  # begin of the second - end of the first


@pytest.mark.deep
def test_the_peak_is_measured_in_the_precision_that_was_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    from fireassay.instruments.flops import gemm_peak

    monkeypatch.setattr(gemm_peak, "CPU_SIZES", (32,))
    told = train(FIREASSAY_PEAK="measured:float64")[2][0]
    assert [(one["precision"], one["flops_per_s"] > 0) for one in told["detail"]["peaks"]] == [("float64", True)]


def test_a_counter_that_fails_is_a_reason_and_no_end_of_the_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    from fireassay.instruments.flops import flops

    def broken(*_: Any) -> None:
        raise RuntimeError("no such thing")

    monkeypatch.setattr(flops, "StepCounter", broken)
    _, sink, (told,) = train()
    assert told["value"] is None
    assert "no such thing" in told["detail"]["absent"]
    assert told["detail"]["devices"][0]["device"] == "cpu"
    assert sink.steps == 3
