"""Rows reach the disk, whatever happens to the process, the disk and the other threads; the caller never notices."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from fireassay.record import writer as writer_module
from fireassay.record.batch_writer import BatchWriter
from fireassay.record.streams import read_stream, to_batch
from fireassay.record.writer import StreamWriter
from tests.limits import PROCESS_S
from tests.record.making import sample_row, step_row

NEVER_S = 3600.0  # the thread never comes by; only explicit flushes write


def steps_in(file: Path) -> list[int]:
    """The step numbers in a stream file."""
    return [step for batch in read_stream(file).batches for step in batch.column("step").to_pylist()]


def make(folder: Path, **options: object) -> BatchWriter:
    return BatchWriter(folder, "rank=0", flush_s=NEVER_S, **options)  # type: ignore[arg-type]


def test_each_table_gets_its_own_stream_that_any_arrow_program_reads(tmp_path: Path) -> None:
    writer = make(tmp_path)
    writer.append("steps", step_row(3, 0))
    writer.append("samples", sample_row(3, 0))
    writer.close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["samples.rank=0.arrows", "steps.rank=0.arrows"]
    with pa.ipc.open_stream((tmp_path / "samples.rank=0.arrows").read_bytes()) as stream:
        assert stream.read_all().to_pylist() == [{"launch": 3, "rank": 0, "incarnation": 0, "epoch": 0, "step": 0, "ids": [0, 1]}]


def test_the_thread_writes_without_being_asked(tmp_path: Path) -> None:
    writer = StreamWriter(tmp_path, "rank=0", flush_s=0.005)
    written = threading.Event()
    real = writer._write_rows

    def tell() -> None:
        real()
        if (tmp_path / "steps.rank=0.arrows").exists():
            written.set()

    writer._write_rows = tell  # type: ignore[method-assign]
    writer.append("steps", step_row(0, 0))
    assert written.wait(timeout=PROCESS_S)
    assert steps_in(tmp_path / "steps.rank=0.arrows") == [0]
    writer.close()


@pytest.mark.slow
def test_more_rows_than_fit_one_batch_all_arrive_in_order(tmp_path: Path) -> None:
    writer = make(tmp_path)
    count = 2 * writer_module.ROWS_PER_BATCH + 1
    for step in range(count):
        writer.append("steps", step_row(0, step))
    writer.close()
    assert steps_in(tmp_path / "steps.rank=0.arrows") == list(range(count))


def test_rows_of_many_threads_are_all_kept_while_others_flush(tmp_path: Path) -> None:
    writer = StreamWriter(tmp_path, "rank=0", flush_s=0.001)

    def work(rank: int) -> None:
        for step in range(2000):
            writer.append("steps", step_row(0, step, rank))
            if step % 500 == 0:
                writer.flush()

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    table = pa.Table.from_batches(read_stream(tmp_path / "steps.rank=0.arrows").batches)
    assert table.num_rows == 8000
    assert len(set(zip(table["rank"].to_pylist(), table["step"].to_pylist(), strict=True))) == 8000


@pytest.mark.parametrize(
    "bad",
    [(1, 2), (*step_row(0, 1), "too many"), ("no number", *step_row(0, 1)[1:]), (None, *step_row(0, 1)[1:]), None, 5],
    ids=["too short", "too long", "wrong type", "null where none may be", "no row", "a number"],
)
def test_a_bad_row_is_dropped_counted_and_told_once_and_the_others_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], bad: object
) -> None:
    folder = tmp_path / "launch=0004"
    folder.mkdir()
    writer = make(folder)
    for row in (step_row(0, 0), bad, step_row(0, 2), bad, step_row(0, 3)):
        writer.append("steps", row)  # type: ignore[arg-type]
    writer.flush()
    assert writer.dropped == 2
    assert steps_in(folder / "steps.rank=0.arrows") == [0, 2, 3]
    assert capsys.readouterr().err.count("cannot be recorded: not a row of the table steps") == 1
    (event,) = [row for batch in read_stream(folder / "events.rank=0.arrows").batches for row in batch.to_pylist()]
    assert (event["launch"], event["kind"], event["value"]) == (4, "rows_dropped", 2.0)
    writer.close()


def test_a_row_for_an_unknown_table_does_not_raise_and_is_counted(tmp_path: Path) -> None:
    writer = make(tmp_path)
    writer.append("stops", step_row(0, 0))
    writer.close()
    assert writer.dropped == 1
    assert writer.error is None


def test_after_close_every_call_does_nothing(tmp_path: Path) -> None:
    writer = make(tmp_path)
    writer.append("steps", step_row(0, 0))
    writer.close()
    before = (tmp_path / "steps.rank=0.arrows").read_bytes()
    writer.append("steps", step_row(0, 1))
    writer.flush()
    writer.close()
    assert writer.closed
    assert (tmp_path / "steps.rank=0.arrows").read_bytes() == before


def test_two_writers_of_the_same_name_never_share_a_file(tmp_path: Path) -> None:
    for step in range(3):
        writer = make(tmp_path)
        writer.append("steps", step_row(0, step))
        writer.close()
    files = sorted(tmp_path.glob("steps.*.arrows"))
    assert len(files) == 3
    assert sorted(step for file in files for step in steps_in(file)) == [0, 1, 2]


def disk_of(size: int, number: int) -> Callable[[int, memoryview], int]:
    """A kernel whose disk takes so many bytes more, then fails with an error number, as a full disk does."""
    left = [size]
    real = os.write

    def write(descriptor: int, data: memoryview) -> int:
        if left[0] == 0:
            raise OSError(number, os.strerror(number))
        taken = real(descriptor, data[: left[0]])
        left[0] -= taken
        return taken

    return write


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("size", [0, 1, 500, 2000, 5000])
def test_a_disk_that_fails_leaves_whole_messages_one_sentence_and_a_training_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int, size: int
) -> None:
    told: list[int] = []
    writer = make(tmp_path, on_error=told.append)
    monkeypatch.setattr("fireassay.record.writer.os.write", disk_of(size, number))
    for step in range(20):
        writer.append("steps", step_row(0, step))
        writer.flush()
    writer.close()
    monkeypatch.undo()
    assert writer.error is not None
    assert writer.error.errno == number
    assert told == [number]
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert str(tmp_path) in said
    salvaged = read_stream(tmp_path / "steps.rank=0.arrows")
    assert salvaged.lost_bytes == 0
    assert steps_in(tmp_path / "steps.rank=0.arrows") == list(range(salvaged.rows))


def test_a_kernel_limit_on_the_file_size_ends_the_record_but_not_the_program(tmp_path: Path) -> None:
    code = """
import resource, sys
from pathlib import Path
from fireassay.record.writer import StreamWriter
from tests.record.making import step_row
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
writer = StreamWriter(Path(sys.argv[1]), "rank=0", flush_s=3600)
for step in range(100):
    writer.append("steps", step_row(0, step))
    writer.flush()
print(writer.error.errno)
"""
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == errno.EFBIG
    salvaged = read_stream(tmp_path / "steps.rank=0.arrows")
    assert 0 < salvaged.rows < 100
    assert salvaged.lost_bytes == 0


def test_a_folder_that_vanished_is_an_error_of_the_record_not_of_the_training(tmp_path: Path) -> None:
    writer = make(tmp_path / "gone")
    writer.append("steps", step_row(0, 0))
    writer.flush()
    assert writer.error is not None
    assert writer.error.errno == errno.ENOENT


def test_a_stalled_disk_bounds_the_memory_and_the_record_tells_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "launch=0000"
    folder.mkdir()
    monkeypatch.setattr(writer_module, "ROWS_KEPT", 10)
    monkeypatch.setattr(writer_module, "PATIENCE_S", 0.01)
    stalled, go_on, real = threading.Event(), threading.Event(), os.write

    def write(descriptor: int, data: memoryview) -> int:
        stalled.set()
        go_on.wait(timeout=PROCESS_S)
        return real(descriptor, data)

    monkeypatch.setattr("fireassay.record.writer.os.write", write)
    writer = make(folder)
    writer.append("steps", step_row(0, 0))
    flushing = threading.Thread(target=writer.flush)
    flushing.start()
    assert stalled.wait(timeout=PROCESS_S)
    for step in range(1, 31):
        writer.append("steps", step_row(0, step))
    assert len(writer._buffers["steps"]) == 10
    assert writer.dropped == 21
    go_on.set()
    flushing.join()
    writer.close()
    assert steps_in(folder / "steps.rank=0.arrows") == list(range(10))
    events = [row for batch in read_stream(folder / "events.rank=0.arrows").batches for row in batch.to_pylist()]
    assert sum(event["value"] for event in events if event["kind"] == "rows_dropped") == 21.0


def test_many_rows_at_once_are_written_by_the_caller_instead_of_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "ROWS_KEPT", 100)
    writer = make(tmp_path)
    for step in range(1000):
        writer.append("steps", step_row(0, step))
    writer.close()
    assert writer.dropped == 0
    assert steps_in(tmp_path / "steps.rank=0.arrows") == list(range(1000))


def test_flush_from_a_signal_handler_inside_a_flush_neither_deadlocks_nor_mixes_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, real = make(tmp_path), os.write
    inside: list[int] = []

    def write(descriptor: int, data: memoryview) -> int:
        if not inside:
            inside.append(1)
            writer.append("steps", step_row(0, 1))
            writer.flush()  # what a handler of SIGTERM would do at this instant
        return real(descriptor, data)

    monkeypatch.setattr("fireassay.record.writer.os.write", write)
    writer.append("steps", step_row(0, 0))
    writer.close()
    assert inside == [1]
    assert steps_in(tmp_path / "steps.rank=0.arrows") == [0, 1]


def test_ctrl_c_inside_a_flush_loses_no_row_and_leaves_no_half_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, real = make(tmp_path), os.write
    writer.append("steps", step_row(0, 0))
    writer.flush()
    calls: list[int] = []

    def write(descriptor: int, data: memoryview) -> int:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(descriptor, data[:100] if len(calls) == 1 else data)

    monkeypatch.setattr("fireassay.record.writer.os.write", write)
    writer.append("steps", step_row(0, 1))
    with pytest.raises(KeyboardInterrupt):
        writer.flush()
    writer.append("steps", step_row(0, 2))
    writer.close()
    assert len(calls) > 2
    assert steps_in(tmp_path / "steps.rank=0.arrows") == [0, 1, 2]


def test_a_callback_that_fails_does_not_reach_the_training(tmp_path: Path) -> None:
    def fail(_number: int) -> None:
        raise RuntimeError("a defect of the caller")

    writer = make(tmp_path / "gone", on_error=fail)
    writer.append("steps", step_row(0, 0))
    writer.flush()
    assert writer.error is not None


def test_a_writer_that_nobody_kept_still_writes_its_rows_at_the_end_of_the_program(tmp_path: Path) -> None:
    code = """
import gc, sys
from pathlib import Path
from fireassay.record.writer import StreamWriter
from tests.record.making import step_row
StreamWriter(Path(sys.argv[1]), "rank=0", flush_s=3600).append("steps", step_row(0, 0))
gc.collect()
"""
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert steps_in(tmp_path / "steps.rank=0.arrows") == [0]


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A Python program with one argument, in a process of its own."""
    repository = Path(__file__).resolve().parents[2]
    return subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, timeout=PROCESS_S, cwd=repository)


def test_a_forked_child_writes_nothing_even_if_it_flushes_closes_and_exits_properly(tmp_path: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from fireassay.record.writer import StreamWriter
from tests.record.making import step_row
writer = StreamWriter(Path(sys.argv[1]), "rank=0", flush_s=3600)
writer.append("steps", step_row(0, 0))
writer.flush()
writer.append("steps", step_row(0, 1))
child = os.fork()
writer.append("steps", step_row(0, 2 if child else 99))
if not child:
    writer.append("samples", (0, 0, 0, 0, 99, [1]))
    writer.flush()
    writer.close()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["steps.rank=0.arrows"]
    assert steps_in(tmp_path / "steps.rank=0.arrows") == [0, 1, 2]  # 1 and 2 by the parent's exit


@pytest.mark.survival
@pytest.mark.core
def test_a_killed_process_keeps_every_row_that_it_had_flushed(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from fireassay.record.writer import StreamWriter
from tests.record.making import step_row
writer = StreamWriter(Path(sys.argv[1]), "rank=0", flush_s=0.01)
step = 0
while True:
    writer.append("steps", step_row(0, step))
    step += 1
    if step % 1000 == 0:
        writer.flush()
        print(step, flush=True)
"""
    repository = Path(__file__).resolve().parents[2]
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=repository) as child:
        assert child.stdout is not None
        flushed = [int(child.stdout.readline()) for _ in range(5)][-1]
        child.send_signal(signal.SIGKILL)
        child.wait(timeout=PROCESS_S)
    steps = steps_in(tmp_path / "steps.rank=0.arrows")
    assert len(steps) >= flushed
    assert steps == list(range(len(steps)))


def test_a_batch_has_exactly_the_schema_of_the_tables_page() -> None:
    batch = to_batch("steps", [step_row(0, 0)])
    assert batch is not None
    assert batch.schema.names[:4] == ["launch", "rank", "incarnation", "step"]
    assert [str(kind) for kind in batch.schema.types[:5]] == ["int32", "int32", "int32", "int64", "int64"]
    assert not batch.schema.field("launch").nullable
    assert batch.schema.field("forward_ns").nullable


def batch_of(*steps: int) -> pa.RecordBatch:
    batch = to_batch("steps", [step_row(0, step) for step in steps])
    assert batch is not None
    return batch


def test_a_ready_batch_is_written_under_the_same_rules_as_rows(tmp_path: Path) -> None:
    writer = make(tmp_path)
    writer.append_batch("steps", batch_of(0, 1))
    writer.flush()
    writer.append("steps", step_row(0, 3))
    writer.append_batch("steps", batch_of(2))
    writer.close()
    assert steps_in(tmp_path / "steps.rank=0.arrows") == [0, 1, 2, 3]
    writer.append_batch("steps", batch_of(4))
    writer.flush()
    assert steps_in(tmp_path / "steps.rank=0.arrows") == [0, 1, 2, 3]


def test_a_batch_of_another_shape_is_dropped_counted_and_does_not_raise(tmp_path: Path) -> None:
    writer = make(tmp_path)
    writer.append_batch("steps", pa.RecordBatch.from_pydict({"step": [1, 2]}))
    writer.append_batch("stops", batch_of(0))
    writer.close()
    assert writer.dropped == 3
    assert writer.error is None


def test_batches_that_a_stalled_disk_cannot_take_are_dropped_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "ROWS_KEPT", 4)
    monkeypatch.setattr(writer_module, "PATIENCE_S", 0.01)
    stalled, go_on, real = threading.Event(), threading.Event(), os.write

    def write(descriptor: int, data: memoryview) -> int:
        stalled.set()
        go_on.wait(timeout=PROCESS_S)
        return real(descriptor, data)

    monkeypatch.setattr("fireassay.record.writer.os.write", write)
    writer = make(tmp_path)
    writer.append_batch("steps", batch_of(0, 1))
    flushing = threading.Thread(target=writer.flush)
    flushing.start()
    assert stalled.wait(timeout=PROCESS_S)
    for step in range(2, 12, 2):
        writer.append_batch("steps", batch_of(step, step + 1))
    go_on.set()
    flushing.join()
    writer.close()
    assert writer.dropped == 8
    assert steps_in(tmp_path / "steps.rank=0.arrows") == [0, 1, 2, 3]
