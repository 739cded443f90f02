"""A profiled launch: what is asked of it, and what is kept of the traces and captures that it leaves."""

from __future__ import annotations

import gzip
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from fireassay.clock import FakeClock
from fireassay.errors import EnvironmentLacks, SpecError
from fireassay.estimates.estimate import Estimate
from fireassay.frames.training.profile_summary import summary
from fireassay.metrics.training.communication import COMM_EXPOSED, OVERLAP
from fireassay.metrics.training.communication_steps import COMM_TOTAL, COMM_TRANSFER, COMM_WAIT
from fireassay.record.reader import open_record
from fireassay.record.trace_summaries import folder_of
from fireassay.runners import training
from fireassay.runners.experiment.context import Advice, Job, RunContext
from fireassay.runners.launching import profiling
from fireassay.runners.launching.launch import request_for
from fireassay.spec.plan import plan
from tests.frames.training.communication.test_kernel_trace import GEMM, NEW, OLD, host, kernel, trace
from tests.handmade import Handmade
from tests.runners.making import context, experiment, planned

COMMUNICATION = {"total": COMM_TOTAL, "transfer": COMM_TRANSFER, "wait": COMM_WAIT, "exposed": COMM_EXPOSED, "overlap": OVERLAP}
CONTENT = trace([host("ProfilerStep#5", 0, 100), kernel(GEMM, 10, 50), kernel(NEW, 40, 60, stream=20)])
STATS = """Processing [x.sqlite] with [cuda_gpu_kern_sum.py]...
[
  {"Time (%)": 75.0, "Total Time (ns)": 300, "Instances": 3, "Avg (ns)": 100.0, "Name": "void gemm<float>(int)"},
  {"Time (%)": 25.0, "Total Time (ns)": 1000, "Instances": 1, "Avg (ns)": 1000.0, "Name": "ncclDevKernel_AllReduce"}
]
"""


def made(folder: Path, *, advised: bool = True, **profile: Any) -> tuple[RunContext, Job]:
    """A record with a profiled launch under way."""
    asked = experiment(profile={"wait": 0, **profile})
    advice = Advice(looks=lambda _: iter(()), analyse=lambda *_: None, disturbed=lambda *_: "", profiled=summary)  # type: ignore[arg-type]
    found = context(folder, asked, FakeClock(), **({"advice": advice} if advised else {}))
    return found, Job(planned=planned(role="profile", workers=2), number=0, attempt=0)


def traced(found: RunContext, content: bytes, rank: int = 0) -> Path:
    file = folder_of(found.record.path, 0) / f"rank={rank}.pt.trace.json.gz"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def told(found: RunContext) -> dict[str, Any]:
    return dict(json.loads((folder_of(found.record.path, 0) / "summary.json").read_text()))


def test_profiled_launches_come_after_the_timed_ones_one_for_each_worker_count() -> None:
    roles = [(one.role, one.workers) for one in plan(experiment(profile={}, faults=[{"kind": "kill"}]))]
    assert sorted(roles[:4]) == [("timed", 1), ("timed", 1), ("timed", 2), ("timed", 2)]
    assert roles[4:] == [("profile", 1), ("profile", 2), ("fault", 2)]
    assert [one.role for one in plan(experiment(profile={"only": True, "levels": [2]}))] == ["profile"]


@pytest.mark.parametrize("left", ["", '{"reserved_', "7", "[" * 100_000])
def test_what_the_allocator_wrote_in_part_costs_nothing_but_itself(tmp_path: Path, left: str) -> None:
    """A full disk, or a rank that was killed while it wrote: the trace beside it and the other ranks' are summarised."""
    found, job = made(tmp_path)
    for rank in (0, 1):
        traced(found, gzip.compress(json.dumps(CONTENT).encode()), rank=rank)
    (folder_of(found.record.path, 0) / "rank=0.memory.json").write_text(left)
    (folder_of(found.record.path, 0) / "rank=1.memory.json").write_text('{"reserved_bytes": 7}')
    profiling.finish(found, job)
    broken, whole = told(found)["ranks"]
    assert (broken["rank"], broken["absent"], "allocator" in broken) == (0, "", False)
    assert whole["allocator"] == {"reserved_bytes": 7}


def test_a_trace_that_is_nested_without_end_is_said_to_be_unreadable(tmp_path: Path) -> None:
    found, job = made(tmp_path)
    traced(found, gzip.compress(b'{"a":' + b"[" * 100_000))
    profiling.finish(found, job)
    (rank,) = told(found)["ranks"]
    assert "cannot be read: RecursionError" in rank["absent"]


def test_the_other_launches_are_planned_as_without_it() -> None:
    alone, beside = plan(experiment()), plan(experiment(profile={}))
    assert beside[: len(alone)] == alone


@pytest.mark.parametrize(("key", "value"), [("active", 4), ("active", 0), ("wait", -1), ("tool", "perf")])
def test_a_window_is_of_at_most_three_steps(key: str, value: Any) -> None:
    with pytest.raises(SpecError, match=f"profile.{key}"):
        experiment(profile={key: value})


def test_only_the_profiled_launch_is_told_to_profile(tmp_path: Path) -> None:
    found, job = made(tmp_path)
    asked = json.loads(request_for(found, job, {}).environment["FIREASSAY_PROFILE"])
    assert asked == {
        "wait": 0,
        "warm_up": 2,
        "active": 3,
        "memory": True,
        "tool": "torch",
        "folder": str(found.record.path.resolve() / "traces" / "launch=0000"),
    }
    timed = request_for(found, Job(planned=planned(), number=1, attempt=0), {})
    assert "FIREASSAY_PROFILE" not in timed.environment
    assert timed.prefix == ()


def test_the_step_that_is_counted_is_never_one_that_is_profiled(tmp_path: Path) -> None:
    found, job = made(tmp_path, warm_up=0)
    assert "FIREASSAY_FLOPS" not in request_for(found, job, {}).environment
    assert request_for(found, Job(planned=planned(), number=1, attempt=0), {}).environment["FIREASSAY_FLOPS"] == "1"


def test_the_operations_are_counted_unless_the_experiment_says_none(tmp_path: Path) -> None:
    job = Job(planned=planned(), number=0, attempt=0)
    for number, (flops, wanted) in enumerate(
        (
            ({}, ("1", "datasheet:")),
            ({"peak": "measured", "precision": "bfloat16"}, ("1", "measured:bfloat16")),
            ({"convention": "none"}, (None, None)),
        )
    ):
        (tmp_path / str(number)).mkdir()
        told = request_for(context(tmp_path / str(number), experiment(flops=flops), FakeClock()), job, {}).environment
        assert (told.get("FIREASSAY_FLOPS"), told.get("FIREASSAY_PEAK")) == wanted


def test_a_trace_is_summarised_sealed_and_its_communication_is_in_the_record(tmp_path: Path) -> None:
    """Products 10-50, a collective 40-60: 20 in all, 10 of it exposed, 40 of computing (microseconds)."""
    found, job = made(tmp_path)
    traced(found, gzip.compress(json.dumps(CONTENT).encode()), rank=1)
    (folder_of(found.record.path, 0) / "rank=1.memory.json").write_text('{"reserved_bytes": 7}')
    profiling.finish(found, job)
    (rank,) = told(found)["ranks"]
    assert (rank["rank"], rank["absent"], rank["allocator"]) == (1, "", {"reserved_bytes": 7})
    assert rank["kernels"][0]["name"] == GEMM
    writer = found.record.writer(0)
    writer.append("launches", tuple(job.row(begin_ns=0, end_ns=1, exit_code=0).values()))
    found.record.finish("complete")
    record = open_record(found.record.path)
    (seen,) = record.table("communication").to_dicts()
    assert (seen["rank"], seen["step"], seen["method"]) == (1, 5, "kineto")
    assert (seen["total_ns"], seen["exposed_ns"], seen["compute_ns"]) == (20_000, 10_000, 40_000)
    sealed = record.manifest["sealed"]["files"]
    assert {name for name in sealed if name.startswith("traces/")} == {
        "traces/launch=0000/rank=1.pt.trace.json.gz",
        "traces/launch=0000/rank=1.memory.json",
        "traces/launch=0000/summary.json",
    }


def nccl(rank: int, *, late: float, apart_s: float) -> dict[str, Any]:
    """Two steps of 100 microseconds of two ranks: products on two streams at once, an all_reduce of 20 for which rank 1 comes `late`,
    then one of 10 for which nobody does; a truncated list of ranks, as PyTorch writes it. Clocks are seconds apart."""
    told: dict[str, Any] = {
        "Collective name": "allreduce",
        "dtype": "Float",
        "In msg nelems": 256,
        "Out msg nelems": 256,
        "Group size": 2,
        "Process Group Name": "0",
        "Process Group Ranks": "[0, ...]",
    }
    events = []
    for step, begin in ((5, 0.0), (6, 100.0)):
        waited = late if rank == 0 else 0.0
        own = begin + (late if rank == 1 else 0.0)
        events += [
            host(f"ProfilerStep#{step}", begin, begin + 100),
            kernel(GEMM, begin, own + 30, stream=7),
            kernel(GEMM, begin + 5, own + 20, stream=8),
            kernel(NEW, own + 20, own + 40 + waited, stream=20, **told),
            kernel(OLD, own + 45 + waited, own + 55 + waited, stream=20, **told),
        ]
    origin = {"baseTimeNanoseconds": round((1_700_000_000 + apart_s) * 1e9), "assay_wall_minus_monotonic_ns": round(apart_s * 1e9)}
    return trace(events, distributedInfo={"rank": rank, "world_size": 2, "backend": "nccl"}, **origin)


@pytest.mark.slow
def test_kernels_of_nccl_say_what_was_transferred_and_who_was_waited_for_whatever_the_clocks_say(tmp_path: Path) -> None:
    """Rank 1 comes 25 microseconds late: rank 0's first kernel lasts 45, rank 1's 20, the second 10 on both. Total 55 and 30, mean 42.5;
    transfer 30; wait 12.5. Computing reaches 10 into the first kernel: of 55 and 30 are 45 and 20 exposed, mean 32.5."""
    found, job = made(tmp_path)
    for rank, apart_s in ((0, 0.0), (1, 3600.0)):
        traced(found, gzip.compress(json.dumps(nccl(rank, late=25.0, apart_s=apart_s)).encode()), rank=rank)
    profiling.finish(found, job)
    assert "collectives" not in told(found)["ranks"][0]
    found.record.finish("complete")
    rows = open_record(found.record.path)
    seen = rows.table("collectives")
    assert seen.filter(rank=0)["call"].to_list() == seen.filter(rank=1)["call"].to_list()
    assert set(seen.select("group", "op", "size", "bytes", "phase", "method").rows()) == {
        ("0 (kernels)", "all_reduce", 2, 1024, "kernel", "kineto")
    }
    assert seen.filter(rank=1)["begin_ns"][0] - seen.filter(rank=0)["begin_ns"][0] == 25_000  # by the hosts' own clocks
    handmade = Handmade(levels=(2,), blocks=1)
    handmade.launch(workers=2, role="profile")
    handmade.launch(workers=2)
    for rank in (0, 1):
        handmade.steps(0, rank=rank, seconds=[0.0001] * 7)
        handmade.steps(1, rank=rank, seconds=[0.0001] * 7)
    for table in ("collectives", "communication"):
        handmade.rows[table] += [tuple(row.values()) for row in rows.table(table).to_dicts()]
    measured = handmade.measured()
    values = {name: metric.compute(measured, {})["workers=2"] for name, metric in COMMUNICATION.items()}
    each = {name: value.value for name, value in values.items() if isinstance(value, Estimate)}
    assert each == pytest.approx({"total": 42.5e-6, "transfer": 30e-6, "wait": 12.5e-6, "exposed": 32.5e-6, "overlap": 1 - 32.5 / 42.5})
    assert all("by:kineto" in value.signature for value in values.values() if isinstance(value, Estimate))


def packed(content: bytes) -> bytes:
    """Without the second of its making, which would stand in a test's name: workers of pytest-xdist must find the same tests."""
    return gzip.compress(content, mtime=0)


@pytest.mark.parametrize(
    "content",
    [b"", b"no gzip", packed(b"{no json"), packed(json.dumps(CONTENT).encode())[:-20], packed(b'{"traceEvents": 3}'), packed(b"[1, 2]")],
)
def test_a_trace_that_cannot_be_read_is_kept_with_the_reason(tmp_path: Path, content: bytes) -> None:
    found, job = made(tmp_path)
    file = traced(found, content)
    profiling.finish(found, job)
    (rank,) = told(found)["ranks"]
    assert "cannot be read" in rank["absent"]
    assert file.read_bytes() == content


def test_a_trace_that_is_too_large_is_kept_and_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiling, "MAX_TRACE_BYTES", 100)
    found, job = made(tmp_path)
    traced(found, gzip.compress(json.dumps(CONTENT).encode()))
    profiling.finish(found, job)
    assert "larger than" in told(found)["ranks"][0]["absent"]


def test_a_launch_that_left_nothing_has_an_empty_summary(tmp_path: Path) -> None:
    found, job = made(tmp_path)
    profiling.finish(found, job)
    assert told(found) == {"configuration": "workers=2", "ranks": [], "nsys": []}


def test_without_anybody_to_read_it_a_trace_is_kept_all_the_same(tmp_path: Path) -> None:
    found, job = made(tmp_path, advised=False)
    traced(found, gzip.compress(json.dumps(CONTENT).encode()))
    profiling.finish(found, job)
    assert "assay profile" in told(found)["ranks"][0]["absent"]


# ---- Nsight Systems ----------------------------------------------------------------------------------------------------


@pytest.fixture
def nsys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of that name: it prints a kernel report, fails in the report on NVTX, and has no data for the others."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "stats.txt").write_text(STATS)
    program = folder / "nsys"
    program.write_text(
        f'#!/bin/sh\ncase "$5" in\ncuda_gpu_kern_sum) cat "{folder}/stats.txt";;\n'
        'nvtx_sum) echo "no such report" >&2; exit 1;;\n*) echo "SKIPPED: x.sqlite does not contain CUDA kernel data.";;\nesac\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return program


def test_nsight_systems_starts_the_engine_and_its_reports_are_read(tmp_path: Path, nsys: Path) -> None:
    found, job = made(tmp_path, tool="nsys")
    profiling.check(found.experiment)
    folder = folder_of(found.record.path, 0)
    prefix = request_for(found, job, dict(os.environ)).prefix
    assert prefix[:4] == ("nsys", "profile", "--output", str(folder / "nsys"))
    (folder / "nsys.nsys-rep").write_bytes(b"capture")
    profiling.finish(found, job)
    (capture,) = told(found)["nsys"]
    assert capture["file"] == "nsys.nsys-rep"
    assert capture["reports"]["cuda_gpu_kern_sum"] == [
        {"name": "ncclDevKernel_AllReduce", "calls": 1, "ns": 1000},
        {"name": "void gemm<float>(int)", "calls": 3, "ns": 300},
    ]
    assert capture["reports"]["cuda_api_sum"] == []
    assert capture["absent"] == "nsys stats nvtx_sum: no such report"


def test_a_capture_that_is_not_there_is_said(tmp_path: Path, nsys: Path) -> None:
    found, job = made(tmp_path, tool="nsys")
    profiling.finish(found, job)
    assert "left no capture" in told(found)["nsys"][0]["absent"]


def test_where_it_is_not_installed_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "train.py").touch()
    with pytest.raises(EnvironmentLacks, match="developer.nvidia.com/nsight-systems"):
        training.check(experiment(profile={"tool": "nsys"}), tmp_path)


def test_reports_of_other_columns_are_read_too() -> None:
    """cuda_api_sum names calls "Num Calls" in older releases, cuda_gpu_mem_time_sum names rows "Operation", nvtx_sum "Range"."""
    rows = '[{"Total Time (ns)": 5, "Num Calls": 2, "Name": "cudaLaunchKernel"}]'
    assert profiling.report_rows(rows) == [{"name": "cudaLaunchKernel", "calls": 2, "ns": 5}]
    rows = '[{"Total Time (ns)": 5, "Count": 2, "Operation": "[CUDA memcpy Host-to-Device]"}]'
    assert profiling.report_rows(rows)[0]["name"] == "[CUDA memcpy Host-to-Device]"
    rows = '[{"Total Time (ns)": 5.4, "Instances": 2, "Range": ":step"}, {"Note": "nothing"}]'
    assert profiling.report_rows(rows) == [{"name": ":step", "calls": 2, "ns": 5}]
    assert profiling.report_rows("SKIPPED: no data") == []
