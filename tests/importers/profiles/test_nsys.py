"""An export of Nsight Systems, written by hand from its documented schema, gives the shares that its intervals have."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fireassay.clock import FakeClock
from fireassay.errors import SpecError
from fireassay.frames.record_data import from_record
from fireassay.frames.training.profile_summary import summary
from fireassay.importers.profiles import nsys
from fireassay.importers.profiles.support.importing import import_traces, recognised
from fireassay.importers.support.base import Imported
from fireassay.record.reader import open_record
from fireassay.reports.pages.profile import of_record

PID = 4711
PROCESS = PID << 24
# as documented in NVIDIA's "SQLite Export Schema Reference"; columns that nobody reads are left out
SCHEMA = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, busLocation TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
    start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,
    globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (
    start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
    start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
CREATE TABLE NVTX_EVENTS (
    start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER, textId INTEGER);
"""
STRINGS = ["cutlass_gemm", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "step 7", "cudaLaunchKernel"]
GEMM, NCCL, STEP7, LAUNCH = range(1, 5)
MS = 1_000_000


def export(
    path: Path, kernels: Iterable[Sequence[Any]], *, copies: Sequence[Any] = (), ranges: Sequence[Any] = (), launches: Any = ()
) -> Path:
    """A database: kernels (begin ms, end ms, name, device, correlation), copies (begin, end), ranges (begin, end, text or id)."""
    with closing(sqlite3.connect(path)) as made:
        made.executescript(SCHEMA)
        made.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(STRINGS, 1))
        made.executemany("INSERT INTO TARGET_INFO_GPU VALUES (?, ?, ?)", [(0, "NVIDIA H100", "0000:01"), (1, "NVIDIA H100", "0000:02")])
        for begin, end, name, device, correlation in kernels:
            row = (begin * MS, end * MS, device, 1, 7, correlation, PROCESS, name, name)
            made.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        made.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, 9, 0, ?, 64)", [(a * MS, b * MS, PROCESS) for a, b in copies]
        )
        made.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)",
            [(at * MS, at * MS + 10, PROCESS | 5, correlation, LAUNCH) for at, correlation in launches],
        )
        for begin, end, text in ranges:
            named, number = (text, None) if isinstance(text, str) else (None, text)
            row = (begin * MS, None if end is None else end * MS, 59, named, PROCESS | 5, number)
            made.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?)", row)
        made.commit()
    return path


def imported(path: Path) -> Imported:
    assert recognised([path]) == "nsys"
    (made,) = import_traces("nsys", [path], path.parent / "records", clock=FakeClock(), summarise=summary)
    return made


def launch_of(made: Imported) -> dict[str, Any]:
    (launch,) = of_record(from_record(open_record(made.path)))
    return launch


def refused(path: Path) -> str:
    with pytest.raises(SpecError) as error:
        import_traces("nsys", [path], path.parent / "records", clock=FakeClock(), summarise=summary)
    return str(error.value)


def parts(span: dict[str, Any]) -> list[float]:
    """Milliseconds: window, computing, communication, exposed, copies, idle."""
    keys = ("window_ns", "compute_ns", "communication_ns", "exposed_ns", "copy_ns", "idle_ns")
    return [span[key] / MS for key in keys]


def test_shares_are_unions_of_intervals(tmp_path: Path) -> None:
    """Computing 10 to 50 twice at once, NCCL 30 to 80, a copy 75 to 95, a kernel 95 to 100: 45 compute, 30 exposed, 15 copy, 0 idle of 90."""
    kernels = [(10, 50, GEMM, 0, 1), (20, 50, GEMM, 0, 2), (30, 80, NCCL, 0, 3), (95, 100, GEMM, 0, 4)]
    launch = launch_of(imported(export(tmp_path / "train.sqlite", kernels, copies=[(75, 95)])))
    assert (launch["imported"], launch["configuration"], launch["notes"]) == ("Nsight Systems", "workers=1", [])
    (rank,) = launch["ranks"]
    assert rank["steps"] == []
    assert parts(rank["whole"]) == [90, 45, 50, 30, 15, 0]
    assert [(row["name"].split("(")[0], row["calls"], row["ns"] / MS) for row in rank["kernels"]] == [
        ("cutlass_gemm", 3, 75),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1, 50),
        ("Memcpy", 1, 20),
    ]


def test_a_range_named_like_a_step_is_one_on_the_device(tmp_path: Path) -> None:
    """The host marks 0 to 10 and 10 to 20; its launches run at 12 to 30 and 40 to 60, so the first step lasts from 12 to 40."""
    kernels = [(12, 30, GEMM, 0, 1), (40, 60, GEMM, 0, 2)]
    ranges = [(0, 10, STEP7), (10, 20, "step 8"), (1, 2, "forward"), (5, None, "a mark")]
    (rank,) = launch_of(imported(export(tmp_path / "t.sqlite", kernels, ranges=ranges, launches=[(1, 1), (11, 2)])))["ranks"]
    assert [(step["step"], *parts(step)[:2]) for step in rank["steps"]] == [(7, 28, 18), (8, 20, 20)]
    assert [row["name"] for row in rank["operators"]] == ["forward"]


def test_steps_without_numbers_are_counted(tmp_path: Path) -> None:
    ranges = [(20, 40, "iteration"), (0, 20, "iteration"), (2, 4, "batch 1")]
    (rank,) = launch_of(imported(export(tmp_path / "t.sqlite", [(0, 10, GEMM, 0, None)], ranges=ranges)))["ranks"]
    assert [step["step"] for step in rank["steps"]] == [0, 1]


def test_every_device_is_a_rank_of_its_own_shares(tmp_path: Path) -> None:
    launch = launch_of(imported(export(tmp_path / "t.sqlite", [(0, 10, GEMM, 1, 1), (5, 10, NCCL, 0, 2), (10, 15, GEMM, 0, 3)])))
    assert [(rank["rank"], rank["device"], parts(rank["whole"])[:4]) for rank in launch["ranks"]] == [
        (0, f"device 0, process {PID}, NVIDIA H100", [10, 5, 5, 5]),
        (1, f"device 1, process {PID}, NVIDIA H100", [10, 10, 0, 0]),
    ]
    assert launch["notes"] == ["not in the files: ranks: processes and devices are numbered in their order"]


def test_columns_and_tables_that_a_version_lacks_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, shortName INTEGER)")
        made.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5000000, 9000000, 1)")
        made.commit()
    (rank,) = launch_of(imported(path))["ranks"]
    assert (parts(rank["whole"])[:2], rank["kernels"][0]["name"]) == ([4, 4], "unnamed")


def test_nanoseconds_survive_a_late_start(tmp_path: Path) -> None:
    """Sums of microseconds as floats since the begin of a long capture would lose them."""
    path = export(tmp_path / "t.sqlite", [])
    with closing(sqlite3.connect(path)) as made:
        late = 3 * 10**16
        for begin, end in ((late, late + 7), (late + 11, late + 13)):
            made.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, 1, ?, 1, 1)", (begin, end, PROCESS))
        made.commit()
    (rank,) = launch_of(imported(path))["ranks"]
    assert [rank["whole"][key] for key in ("window_ns", "compute_ns", "idle_ns")] == [13, 9, 4]


# ---- hostile files ---------------------------------------------------------------------------------------------------


def test_rows_without_a_usable_time_are_left_out_and_counted(tmp_path: Path) -> None:
    path = export(tmp_path / "t.sqlite", [(0, 10, GEMM, 0, 1)])
    with closing(sqlite3.connect(path)) as made:
        for begin, end in (("soon", 5), (10, 5), (2**62, 2**62 + 5), (b"\x00", 1)):
            made.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, 1, ?, 1, 1)", (begin, end, PROCESS))
        made.commit()
    launch = launch_of(imported(path))
    assert launch["notes"] == ["t.sqlite: 4 of 5 events have no usable time and are left out"]
    assert parts(launch["ranks"][0]["whole"])[:2] == [10, 10]


def test_a_view_in_place_of_a_table_is_not_read(tmp_path: Path) -> None:
    """It may count for ever."""
    path = tmp_path / "t.sqlite"
    endless = "WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start, start + 1 AS end FROM n"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
        made.execute(f"CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS {endless}")
        made.commit()
    assert "an export with CUPTI_ACTIVITY_KIND_KERNEL" in refused(path)


def test_a_capture_without_kernels_says_so(tmp_path: Path) -> None:
    assert "no kernel" in refused(export(tmp_path / "t.sqlite", []))


def test_a_damaged_database_is_one_clear_error(tmp_path: Path) -> None:
    whole = export(tmp_path / "t.sqlite", [(at, at + 1, GEMM, 0, at) for at in range(2000)]).read_bytes()
    cut = tmp_path / "cut.sqlite"
    cut.write_bytes(whole[: len(whole) // 2])
    assert "a damaged database" in refused(cut)
    cut.write_bytes(whole[:100] + b"\xff" * 4000 + whole[4100:])
    assert "a damaged database" in refused(cut)


def test_a_huge_table_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nsys, "MAX_ROWS", 3)
    assert "5 rows in CUPTI_ACTIVITY_KIND_KERNEL" in refused(export(tmp_path / "t.sqlite", [(at, at + 1, GEMM, 0, at) for at in range(5)]))


def test_a_capture_that_is_not_exported_names_the_command(tmp_path: Path) -> None:
    path = tmp_path / "my train.nsys-rep"
    path.write_bytes(b"QDRep")
    assert recognised([path]) == "nsys"
    assert "nsys export --type sqlite --output 'my train'.sqlite 'my train.nsys-rep'" in refused(path)
