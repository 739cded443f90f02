"""A bounded window of steps under torch.profiler: what is kept, and that little is never nothing said."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fireassay.instruments.recorder import profiler
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink
from fireassay.record.tables import TABLES
from tests.launched import environment

torched = pytest.mark.torch
HERE = Path(__file__).parents[3]


def asked(folder: Path, **changes: Any) -> dict[str, Any]:
    return {"wait": 2, "warm_up": 1, "active": 2, "memory": True, "tool": "torch", "folder": str(folder), **changes}


def train(folder: Path, steps: int, *, leaves: bool = False, first: int = 0, **changes: Any) -> tuple[MemorySink, dict[str, Any]]:
    """A recorder's loop of so many steps; `leaves`: by a break. Gives the event `profile`, its value beside."""
    import torch

    identity = Identity(launch=0, rank=3, workers=4, incarnation=0, seed=0, host="here")
    sink = MemorySink()
    recorder = Recorder(identity, sink)
    recorder.counts_work({"FIREASSAY_PROFILE": json.dumps(asked(folder, **changes))})
    weight = torch.ones(8, 8)
    for number, _ in enumerate(recorder.steps(range(steps + leaves), start=first)):
        with recorder.phase("optimizer"):
            weight @ weight
        if leaves and number + 1 == steps:
            break
    recorder.close()
    (row,) = [dict(zip(TABLES["events"].column_names, one, strict=True)) for one in sink.of("events") if one[6] == "profile"]
    return sink, {**json.loads(row["detail"]), "kept": row["value"], "step": row["step"]}


def steps_of(folder: Path) -> list[str]:
    content = json.loads(gzip.decompress((folder / "rank=3.pt.trace.json.gz").read_bytes()))
    return sorted(one["name"] for one in content["traceEvents"] if one.get("name", "").startswith("ProfilerStep#") and one["ph"] == "X")


@torched
def test_the_steps_of_the_window_are_kept_and_no_others(tmp_path: Path) -> None:
    sink, told = train(tmp_path, 9)
    assert steps_of(tmp_path) == ["ProfilerStep#3", "ProfilerStep#4"]
    assert (told["kept"], told["seen"], told["file"], told["trouble"]) == (2.0, 5, "rank=3.pt.trace.json.gz", "")
    assert sink.steps == 9  # the rest of the training is recorded as ever


@torched
def test_a_training_that_goes_on_from_a_checkpoint_keeps_its_numbers(tmp_path: Path) -> None:
    from fireassay.frames.training.profile_summary import summary

    train(tmp_path, 9, first=100)
    content = json.loads(gzip.decompress((tmp_path / "rank=3.pt.trace.json.gz").read_bytes()))
    assert [step["step"] for step in summary(content)["steps"]] == [103, 104]


@torched
@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_a_window_that_begins_at_once_knows_its_first_step_too(tmp_path: Path) -> None:
    from fireassay.frames.training.profile_summary import summary

    train(tmp_path, 3, first=100, wait=0, warm_up=0)
    content = json.loads(gzip.decompress((tmp_path / "rank=3.pt.trace.json.gz").read_bytes()))
    assert [step["step"] for step in summary(content)["steps"]] == [100, 101]
    assert int(content["assay_wall_minus_monotonic_ns"]) > 0


@torched
@pytest.mark.parametrize("leaves", [False, True])
def test_a_script_that_ends_inside_of_the_window_keeps_what_there_is(tmp_path: Path, leaves: bool) -> None:
    _, told = train(tmp_path, 4, leaves=leaves)
    assert (told["kept"], told["seen"]) == (1.0, 4)
    assert "ProfilerStep#3" in steps_of(tmp_path)


@torched
def test_a_script_that_ends_before_it_keeps_nothing_and_says_how_many_steps_it_made(tmp_path: Path) -> None:
    _, told = train(tmp_path, 2)
    assert (told["kept"], told["seen"], told["file"]) == (0.0, 2, "")
    assert list(tmp_path.iterdir()) == []


@torched
def test_a_folder_that_cannot_be_written_is_said_and_the_training_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    sink, told = train(tmp_path / "file" / "below", 9)
    assert "NotADirectory" in told["trouble"]
    assert told["kept"] == 0.0
    assert sink.steps == 9


SCRIPT = """
import sys, time
import torch
from fireassay import probe
weight = torch.ones(8, 8)
with probe.start() as p:
    for step in p.steps(range(1_000_000)):
        with p.phase("optimizer"):
            weight @ weight
        if step == 4:
            print("ready", flush=True)
            for _ in range(3000):  # a signal just before one sleep waits for its end
                time.sleep(0.02)
"""


@pytest.mark.deep
@torched
def test_a_rank_that_is_asked_to_end_keeps_its_window(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    own = environment(
        FIREASSAY_LAUNCH_DIR=str(tmp_path / "launch=0000"),
        FIREASSAY_LAUNCH="0",
        RANK="3",
        WORLD_SIZE="4",
        FIREASSAY_PROFILE=json.dumps(asked(tmp_path / "traces", active=3)),
        PYTHONPATH=os.pathsep.join([str(HERE / "src"), str(HERE)]),
    )
    with subprocess.Popen([sys.executable, "script.py"], cwd=tmp_path, env=own, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == -signal.SIGTERM
        finally:
            process.kill()
    assert "ProfilerStep#3" in steps_of(tmp_path / "traces")


class Cudart:
    def __init__(self) -> None:
        self.calls: list[str] = []

    def cudaProfilerStart(self) -> None:
        self.calls.append("start")

    def cudaProfilerStop(self) -> None:
        self.calls.append("stop")


class Cuda:
    runtime = Cudart()

    @staticmethod
    def is_available() -> bool:
        return True

    @classmethod
    def cudart(cls) -> Cudart:
        return cls.runtime


class WithCuda:
    cuda = Cuda


def test_nsight_systems_captures_the_same_steps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch", WithCuda)
    Cuda.runtime = Cudart()
    told: list[Any] = []
    window = profiler.Profiled(asked(tmp_path, tool="nsys"), 0, lambda *values, **words: told.append(words))
    window.begin(0)
    for step in range(7):
        window.over()
        if window.due:
            window.ended()
        assert Cuda.runtime.calls == (["start", "stop"] if step >= 4 else ["start"] if step >= 2 else [])
    window.close()
    assert [one["value"] for one in told] == [2.0]


class Memory:
    def __init__(self) -> None:
        self.asked: list[Any] = []

    def _record_memory_history(self, **asked: Any) -> None:
        self.asked.append(asked)

    def _snapshot(self) -> dict[str, Any]:
        return {"segments": [{"total_size": 1000, "blocks": [{"size": 600, "state": "active_allocated"}]}]}

    def _dump_snapshot(self, file: str) -> None:
        Path(file).write_bytes(b"a pickle")


@torched
@pytest.mark.parametrize("followed", [True, False])
def test_on_a_gpu_who_asked_for_memory_is_followed_in_the_window_and_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, followed: bool
) -> None:
    """The snapshot for torch's viewer, and its summary; afterwards nothing is followed any more."""
    import torch

    memory = Memory()
    monkeypatch.setattr(torch.cuda, "memory", memory)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    window = profiler.Profiled(asked(tmp_path, memory=followed), 0, lambda *values, **words: None)
    with monkeypatch.context() as patched:
        patched.setattr(torch.cuda, "is_available", lambda: True)
        window._follow_memory(torch)
        window._keep_memory(torch)
    assert json.loads((tmp_path / "rank=0.memory.json").read_text())["in_use_bytes"] == 600
    assert (tmp_path / "rank=0.memory_snapshot.pickle").exists() == followed
    assert [one.get("enabled", "on") for one in memory.asked] == (["on", None] if followed else [])


def test_without_torch_nothing_was_seen_and_that_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    told: list[Any] = []
    window = profiler.Profiled(asked(tmp_path), 0, lambda *values, **words: told.append(words))
    window.begin(0)
    window.over()
    assert not window.due
    window.close()
    assert (told[0]["value"], told[0]["detail"]["seen"]) == (0.0, 0)


def test_a_snapshot_of_the_allocator_becomes_plain_numbers() -> None:
    """Two segments of 1,000 and 500 bytes: 600 and 100 in use, the rest free."""
    frames = [{"filename": "/x/torch/nn/f.py", "line": 1, "name": "f"}, {"filename": "/home/me/model.py", "line": 12, "name": "block"}]
    found = profiler.memory_summary(
        [
            {
                "total_size": 1000,
                "blocks": [{"size": 600, "state": "active_allocated", "frames": frames}, {"size": 400, "state": "inactive"}],
            },
            {
                "total_size": 500,
                "blocks": [
                    {"size": 100, "state": "active_allocated"},
                    {"size": 250, "state": "inactive"},
                    {"size": 150, "state": "active_pending_free"},
                ],
            },
        ]
    )
    assert (found["reserved_bytes"], found["in_use_bytes"], found["free_bytes"]) == (1500, 700, 800)
    assert (found["segments"], found["largest_free_bytes"]) == (2, 400)
    assert found["largest"] == [{"bytes": 600, "where": "model.py:12 block"}, {"bytes": 100, "where": ""}]
    json.dumps(found)
