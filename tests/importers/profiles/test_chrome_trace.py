"""Traces of any program become a profile: shares by unions of intervals, whatever the file leaves out, and one clear error otherwise."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fireassay.clock import FakeClock
from fireassay.errors import SpecError
from fireassay.frames.record_data import from_record
from fireassay.frames.training.profile_summary import summary
from fireassay.importers.profiles import chrome_trace
from fireassay.importers.profiles.support.importing import import_traces, recognised
from fireassay.importers.support.base import Imported
from fireassay.record.reader import open_record
from fireassay.record.untrusted import chrome_trace as reader
from fireassay.reports.pages.profile import of_record
from tests.frames.training.communication.test_kernel_trace import GEMM, NEW, host, kernel, trace

US = 1000
STEP = host("ProfilerStep#3", 0, 100)


def written(folder: Path, name: str, content: object) -> Path:
    """A trace as a file, compressed if its name says so."""
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    path = folder / name
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


def imported(*paths: Path) -> Imported:
    tool = recognised(paths)
    assert tool == "chrome_trace"
    (made,) = import_traces(tool, paths, paths[0].parent / "records", clock=FakeClock(), summarise=summary)
    return made


def launch_of(made: Imported) -> dict[str, Any]:
    """The one profiled launch, as its page sees it."""
    record = open_record(made.path)
    assert (record.sealed, record.state) == (True, "complete")
    (launch,) = of_record(from_record(record))
    return launch


def refused(*paths: Path) -> str:
    with pytest.raises(SpecError) as error:
        import_traces("chrome_trace", paths, paths[0].parent / "records", clock=FakeClock(), summarise=summary)
    assert not list((paths[0].parent / "records").glob("*/manifest.json"))  # nothing is left behind
    return str(error.value)


# ---- torch.profiler --------------------------------------------------------------------------------------------------


def of_rank(rank: int, world: int = 2, *events: dict[str, Any]) -> dict[str, Any]:
    """Computing 10 to 50, a collective 30 to 80, a copy 75 to 95: of 100 us 40 compute, 30 exposed, 15 copy, 15 idle."""
    own = [STEP, kernel(GEMM, 10, 50), kernel(NEW, 30, 80, stream=20), kernel("Memcpy DtoH", 75, 95, stream=21, category="gpu_memcpy")]
    return trace([*own, *events], distributedInfo={"backend": "nccl", "rank": rank, "world_size": world})


@pytest.mark.parametrize("end", [".pt.trace.json", ".pt.trace.json.gz"])
def test_shares_of_a_step_are_those_of_its_kernels(tmp_path: Path, end: str) -> None:
    launch = launch_of(imported(written(tmp_path, f"a{end}", of_rank(1)), written(tmp_path, f"b{end}", of_rank(0))))
    assert (launch["configuration"], launch["imported"], launch["notes"]) == ("workers=2", "torch.profiler", [])
    assert [(rank["rank"], rank["file"]) for rank in launch["ranks"]] == [(0, f"b{end}"), (1, f"a{end}")]
    for rank in launch["ranks"]:
        (step,) = rank["steps"]
        assert (step["step"], step["window_ns"]) == (3, 100 * US)
        parts = [step[key] for key in ("compute_ns", "communication_ns", "exposed_ns", "copy_ns", "idle_ns")]
        assert parts == [40 * US, 50 * US, 30 * US, 15 * US, 15 * US]


def test_communication_becomes_rows_as_of_our_own_profiles(tmp_path: Path) -> None:
    made = imported(written(tmp_path, "a.json", of_rank(0, 1)))
    rows = open_record(made.path).table("communication").select("rank", "step", "method", "total_ns", "exposed_ns", "compute_ns").rows()
    assert rows == [(0, 3, "kineto", 50 * US, 30 * US, 40 * US)]


def test_a_trace_without_steps_is_shared_from_its_first_kernel_to_its_last(tmp_path: Path) -> None:
    """As HolisticTraceAnalysis does: operators before the first kernel are not in it."""
    events = [host("aten::mm", 0, 10, category="cpu_op"), kernel(GEMM, 10, 50), kernel(NEW, 30, 80)]
    (rank,) = launch_of(imported(written(tmp_path, "trace.json", trace(events))))["ranks"]
    assert rank["steps"] == []
    assert [rank["whole"][key] for key in ("window_ns", "compute_ns", "exposed_ns", "idle_ns")] == [70 * US, 40 * US, 30 * US, 0]


def test_categories_of_older_versions_are_understood(tmp_path: Path) -> None:
    """Before torch 1.12 they were capitalised, and operators and runtime calls had other names."""
    events = [
        host("aten::mm", 0, 10, category="Operator"),
        kernel(GEMM, 10, 50, category="Kernel"),
        kernel("Memcpy", 60, 70, category="Memcpy"),
    ]
    (rank,) = launch_of(imported(written(tmp_path, "trace.json", trace(events))))["ranks"]
    assert [row["name"] for row in rank["operators"]] == ["aten::mm"]
    assert [rank["whole"][key] for key in ("compute_ns", "copy_ns", "idle_ns")] == [40 * US, 10 * US, 10 * US]


def test_work_of_a_device_that_is_not_known_is_said_to_count_for_nothing(tmp_path: Path) -> None:
    """As of MTIA, whose events have categories of their own: computing looked like that of the processor."""
    events = [host("aten::mm", 0, 10, category="cpu_op"), *(kernel("x", at, at + 1, category="mtia_ccp_events") for at in range(4))]
    launch = launch_of(imported(written(tmp_path, "trace.json", trace(events))))
    expected = "events of unknown categories count for nothing, also if they are work of a device: mtia_ccp_events (4)"
    assert launch["notes"] == [f"trace.json: {expected}"]


TIMES = st.tuples(st.integers(0, 60), st.integers(0, 20))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(computing=st.lists(TIMES, max_size=8), communicating=st.lists(TIMES, max_size=8), copying=st.lists(TIMES, max_size=8))
def test_parts_are_those_of_a_bitmap(tmp_path: Path, computing: Any, communicating: Any, copying: Any) -> None:
    """Every microsecond of the step is marked by brute force."""
    kinds = {"compute": computing, "communicate": communicating, "copy": copying}
    marked = {kind: {us for begin, long in spans for us in range(begin, begin + long)} for kind, spans in kinds.items()}
    names = {"compute": (GEMM, "kernel"), "communicate": (NEW, "kernel"), "copy": ("Memcpy", "gpu_memcpy")}
    events = [
        kernel(names[kind][0], begin, begin + long, category=names[kind][1], stream=index)
        for kind, spans in kinds.items()
        for index, (begin, long) in enumerate(spans)
    ]
    if not computing and not communicating:  # a trace of copies alone has no device's computing
        return
    content = trace([host("ProfilerStep#0", 0, 100), *events])
    path = written(tmp_path, "random.json", content)
    (capture,) = (summary(one.content) for one in chrome_trace.read(path))
    (step,) = capture["steps"]
    busy = marked["compute"] | marked["communicate"]
    expected = {
        "compute_ns": marked["compute"],
        "communication_ns": marked["communicate"],
        "exposed_ns": marked["communicate"] - marked["compute"],
        "copy_ns": marked["copy"] - busy,
        "idle_ns": set(range(100)) - busy - marked["copy"],
    }
    assert {key: step[key] for key in expected} == {key: len(some) * US for key, some in expected.items()}


# ---- which rank ------------------------------------------------------------------------------------------------------


def test_a_rank_that_the_trace_does_not_name_is_in_the_files_name(tmp_path: Path) -> None:
    events = [STEP, kernel(GEMM, 10, 50)]
    made = imported(written(tmp_path, "rank-1.json", trace(events)), written(tmp_path, "rank-0.json", trace(events)))
    launch = launch_of(made)
    assert [(rank["rank"], rank["file"]) for rank in launch["ranks"]] == [(0, "rank-0.json"), (1, "rank-1.json")]
    assert launch["notes"] == []


def test_ranks_that_nothing_names_are_numbered_and_said_to_be(tmp_path: Path) -> None:
    events = [STEP, kernel(GEMM, 10, 50)]
    launch = launch_of(imported(written(tmp_path, "b.json", trace(events)), written(tmp_path, "c.json", trace(events))))
    assert [(rank["rank"], rank["file"]) for rank in launch["ranks"]] == [(0, "b.json"), (1, "c.json")]
    assert launch["notes"] == ["not in the files: which rank wrote which trace: they are numbered in the order of their names"]


def test_windows_that_tensorboards_handler_wrote_are_of_one_process(tmp_path: Path) -> None:
    """torch.profiler.tensorboard_trace_handler with repeat=2: WORKER.TIMESTAMP.pt.trace.json, and no rank in the file."""
    first, second = (trace([host(f"ProfilerStep#{step}", 0, 100), kernel(GEMM, 10, 50)]) for step in (2, 7))
    made = imported(written(tmp_path, "node_42.17.pt.trace.json", first), written(tmp_path, "node_42.18.pt.trace.json", second))
    launch = launch_of(made)
    assert (launch["configuration"], launch["notes"]) == ("workers=1", [])
    assert [(rank["rank"], rank["steps"][0]["step"]) for rank in launch["ranks"]] == [(0, 2), (0, 7)]


def test_missing_ranks_are_counted(tmp_path: Path) -> None:
    launch = launch_of(imported(written(tmp_path, "a.json", of_rank(5, 8))))
    assert launch["configuration"] == "workers=8"
    assert launch["notes"] == ["not in the files: the traces of 7 of 8 ranks"]


def test_windows_of_a_rank_are_one_launch_and_equal_steps_are_not(tmp_path: Path) -> None:
    later = trace([host("ProfilerStep#9", 0, 100), kernel(GEMM, 10, 50)], distributedInfo={"rank": 0, "world_size": 1})
    first, second = written(tmp_path, "a.json", of_rank(0, 1)), written(tmp_path, "b.json", later)
    other = tmp_path / "other"
    other.mkdir()
    assert [rank["steps"][0]["step"] for rank in launch_of(imported(second, first))["ranks"]] == [3, 9]
    found = refused(written(other, "c.json", of_rank(0, 1)), first)
    assert "rank 0 in c.json and in a.json, both with step 3" in found


def test_traces_of_two_jobs_are_refused(tmp_path: Path) -> None:
    found = refused(written(tmp_path, "a.json", of_rank(0, 2)), written(tmp_path, "b.json", of_rank(1, 4)))
    assert "traces of jobs of 2 and 4 workers" in found
    assert "rank 4 of a job of 2 workers" in refused(written(tmp_path, "c.json", of_rank(4, 2)))


def test_a_folder_is_a_job(tmp_path: Path) -> None:
    for rank in (0, 1):
        written(tmp_path, f"rank{rank}.json.gz", of_rank(rank))
    (tmp_path / "notes.txt").write_text("not a trace")
    assert launch_of(imported(tmp_path))["ranks"][1]["file"] == "rank1.json.gz"


# ---- other programs --------------------------------------------------------------------------------------------------


def event(phase: str, name: str, ts: float, tid: int = 1, **more: Any) -> dict[str, Any]:
    return {"ph": phase, "name": name, "ts": ts, "pid": 4, "tid": tid, "cat": "work", **more}


def test_another_programs_threads_and_categories_are_busy_in_unions(tmp_path: Path) -> None:
    """Thread 1: a nested pair, 0 to 60, and 80 to 100; thread 2: 50 to 90 of another category. Nothing is called computing."""
    events = [
        {"ph": "M", "name": "thread_name", "pid": 4, "tid": 1, "args": {"name": "main"}},
        {"ph": "M", "name": "process_name", "pid": 4, "args": {"name": "server"}},
        event("B", "outer", 0), event("X", "inner", 10, dur=20), event("E", "outer", 60), event("X", "tail", 80, dur=20),
        event("X", "io", 50, 2, dur=40, cat="disk"),
    ]  # fmt: skip
    launch = launch_of(imported(written(tmp_path, "trace.json", events)))
    (rank,) = launch["ranks"]
    assert [(row["name"], row["calls"], row["ns"]) for row in rank["threads"]] == [("server, main", 3, 80 * US), ("server", 1, 40 * US)]
    assert [(row["name"], row["ns"]) for row in rank["categories"]] == [("work", 80 * US), ("disk", 40 * US)]
    assert {row["name"]: row["ns"] for row in rank["operators"]} == {"outer": 40 * US, "inner": 20 * US, "tail": 20 * US, "io": 40 * US}
    assert (launch["imported"], rank["torch"], rank["classes"], rank["whole"]["window_ns"]) == ("a Chrome trace", False, {}, 100 * US)


# ---- hostile files ---------------------------------------------------------------------------------------------------


def test_events_without_a_usable_time_are_left_out_and_counted(tmp_path: Path) -> None:
    bad: Sequence[dict[str, Any]] = [
        {**kernel(GEMM, 0, 90), "ts": value} for value in (float("nan"), float("inf"), None, True, "soon", 10**30, [1])
    ] + [{**kernel(GEMM, 0, 90), "dur": value} for value in (-5, float("nan"), None, {})]
    odd = [{**kernel(GEMM, 10, 50), "args": value} for value in (None, [], "x", {"correlation": "x", "stream": [1], "Group size": -1e999})]
    launch = launch_of(imported(written(tmp_path, "trace.json", of_rank(0, 1, *bad, *odd))))
    assert launch["notes"] == [f"trace.json: {len(bad)} of {5 + len(bad) + len(odd)} events have no usable time and are left out"]
    assert launch["ranks"][0]["steps"][0]["compute_ns"] == 40 * US


def test_ends_without_begins_are_counted(tmp_path: Path) -> None:
    events = [event("E", "a", 5), event("B", "b", 10), event("B", "c", 20), event("E", "c", 30)]
    launch = launch_of(imported(written(tmp_path, "trace.json", {"traceEvents": events})))
    assert launch["notes"] == ["trace.json: 2 begin and end events have no counterpart and are left out"]
    assert launch["ranks"][0]["threads"][0]["ns"] == 10 * US


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "no readable trace"),
        (b"{}", "no traceEvents"),
        (b'{"traceEvents": 7}', "no traceEvents"),
        (b'{"traceEvents": []}', "0 events, none of them with a duration"),
        (b'{"traceEvents": [{"ph": "X", "ts": 1, "dur": 2, "cat": "kernel"', "The file is cut off"),
        (b'{"traceEvents": [' + b"[" * 100_000, "no readable trace"),
        (b'{"traceEvents": [{"ph": "X", "ts": ' + b"9" * 5000 + b', "dur": 1}]}', "no readable trace"),
        (b"\x00\x01\x02 not text", "no readable trace"),
    ],
)
def test_a_file_that_is_no_trace_is_one_clear_error(tmp_path: Path, content: bytes, found: str) -> None:
    assert found in refused(written(tmp_path, "trace.json", content))


def test_events_years_apart_are_refused(tmp_path: Path) -> None:
    """Their nanoseconds fit into no column of a record."""
    far = {**kernel(GEMM, 0, 5), "ts": 9e16}
    assert "years apart" in refused(written(tmp_path, "trace.json", trace([kernel(GEMM, 0, 5), far])))
    late = trace([kernel(GEMM, 0, 5)], baseTimeNanoseconds=10**30, distributedInfo={"rank": 10**9, "world_size": 10**9})
    assert launch_of(imported(written(tmp_path, "late.json", late)))["configuration"] == "workers=1"


def test_a_compressed_file_that_is_cut_off_says_so(tmp_path: Path) -> None:
    whole = gzip.compress(json.dumps(of_rank(0, 1, *(kernel(f"k{i}", i, i + 1) for i in range(2000)))).encode())
    path = tmp_path / "trace.json.gz"
    path.write_bytes(whole[: len(whole) // 2])
    assert recognised([path]) == "chrome_trace"
    assert "The file is cut off" in refused(path)


def test_a_file_that_unpacks_without_end_stops_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_TRACE_BYTES", 1 << 20)
    bomb = b'{"a": "' + b"x" * (8 << 20)
    assert "more than 1 MiB uncompressed" in refused(written(tmp_path, "trace.json.gz", bomb))


def test_names_of_strangers_are_cut_and_their_secrets_redacted(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    events = [STEP, kernel(f"kernel {token} " + "x" * 5000, 10, 50)]
    (rank,) = launch_of(imported(written(tmp_path, "trace.json", trace(events))))["ranks"]
    (row,) = rank["kernels"]
    assert token not in row["name"]
    assert len(row["name"]) <= 200
