"""Nothing of a launch is left behind, whatever dies; its output is kept within bounds, as it was printed, without secrets."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fireassay.launchers import plain
from fireassay.launchers.support import base, launch_log
from fireassay.launchers.support import supervisor as guard
from tests.launchers.helpers import ending_of, is_gone, request, run, until, wait_until_gone
from tests.limits import PROCESS_S

# Prints its process id when it is ready, and does not end by itself.
WAITS = "import os, time\nprint('pid', os.getpid(), flush=True)\ntime.sleep(600)\n"
IGNORES_TERM = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + WAITS


def started_worker(log: Path) -> int:
    """The process id that the script printed."""
    until(lambda: log.exists() and b"pid " in log.read_bytes() and log.read_bytes().endswith(b"\n"), "the script's start")
    return int(log.read_bytes().split()[-1])


def test_the_exit_code_of_the_script_is_the_exit_code_of_the_launch(tmp_path: Path) -> None:
    ending = run(plain, request(tmp_path, "raise SystemExit(3)"))
    assert (ending.exit_code, ending.signal, ending.trouble) == (3, None, "")


def test_stop_asks_first_and_kills_after_the_grace(tmp_path: Path) -> None:
    asked = request(tmp_path, IGNORES_TERM, grace_s=0.2)
    handle = plain.start(asked)
    worker = started_worker(asked.log)
    handle.stop()
    ending_of(handle, asked.mark)
    assert is_gone(worker)


def test_a_stopped_script_may_use_the_grace_to_end_in_its_own_way(tmp_path: Path) -> None:
    ends_itself = "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: (print('bye', flush=True), sys.exit(0)))\n"
    asked = request(tmp_path, ends_itself + WAITS, grace_s=30.0)
    handle = plain.start(asked)
    started_worker(asked.log)
    handle.stop()
    ending_of(handle, asked.mark)
    assert asked.log.read_bytes().endswith(b"bye\n")


def test_kill_does_not_wait_for_the_grace(tmp_path: Path) -> None:
    asked = request(tmp_path, IGNORES_TERM, grace_s=3600.0)
    handle = plain.start(asked)
    started_worker(asked.log)
    handle.stop()
    handle.kill()
    assert ending_of(handle, asked.mark).left == ()


def test_what_a_script_leaves_behind_is_ended_with_it_even_in_a_session_of_its_own(tmp_path: Path) -> None:
    leaves = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {IGNORES_TERM!r}], start_new_session=True, stdout=subprocess.PIPE)\n"
        "print(child.stdout.readline().decode(), end='')\n"
    )
    asked = request(tmp_path, leaves, grace_s=0.1)
    ending = run(plain, asked)
    assert ending.exit_code == 0
    assert is_gone(started_worker(asked.log))


def test_the_launch_ends_when_its_coordinator_is_killed(tmp_path: Path) -> None:
    asked = request(tmp_path, WAITS)
    coordinator = (
        "import os, sys, time\nfrom pathlib import Path\n"
        "from tests.launchers.helpers import request\nfrom fireassay.launchers import plain\n"
        f"handle = plain.start(request(Path({str(tmp_path)!r}), {WAITS!r}, mark={asked.mark!r}))\ntime.sleep(600)\n"
    )
    repository = Path(__file__).resolve().parents[3]
    process = subprocess.Popen([sys.executable, "-c", coordinator], cwd=repository)
    worker = started_worker(asked.log)
    process.kill()
    process.wait()
    until(lambda: not guard.marked(asked.mark), "the end of the orphaned launch")
    wait_until_gone([worker])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_launch_ends_when_its_guard_is_ended_from_outside(tmp_path: Path, number: signal.Signals) -> None:
    asked = request(tmp_path, IGNORES_TERM, grace_s=0.2)
    handle = plain.start(asked)
    worker = started_worker(asked.log)
    supervisor = next(pid for pid in handle.pids() if b"supervisor.py" in Path(f"/proc/{pid}/cmdline").read_bytes())
    os.kill(supervisor, number)
    ending = ending_of(handle, asked.mark)
    wait_until_gone([worker])
    assert ("SIGKILL" in ending.trouble) == (number == signal.SIGKILL)


def test_closing_a_handle_ends_a_launch_that_still_runs(tmp_path: Path) -> None:
    asked = request(tmp_path, WAITS)
    handle = plain.start(asked)
    worker = started_worker(asked.log)
    assert worker in handle.pids()
    handle.close()
    assert is_gone(worker)
    assert guard.marked(asked.mark) == []


def test_an_engine_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    ending = run(plain, request(tmp_path, "", cwd=tmp_path / "nowhere"))
    assert ending.exit_code is None
    assert "could not be started" in ending.trouble
    assert "nowhere" in ending.trouble


# ---- output


def test_output_is_kept_byte_for_byte(tmp_path: Path) -> None:
    everything = "import sys\nsys.stdout.buffer.write(bytes(range(256)) * 2)\n"
    asked = request(tmp_path, everything)
    run(plain, asked)
    assert asked.log.read_bytes() == bytes(range(256)) * 2


@pytest.mark.deep
def test_a_million_lines_keep_the_first_and_the_last_half_of_the_limit(tmp_path: Path) -> None:
    prints = "import sys\nsys.stdout = open(1, 'w', buffering=1 << 16)\nfor i in range(1_000_000): print('line', i)\n"
    asked = request(tmp_path, prints, log_bytes=10_000)
    assert run(plain, asked).exit_code == 0
    kept = asked.log.read_bytes()
    whole = "".join(f"line {i}\n" for i in range(1_000_000)).encode()
    assert kept[:5_000] == whole[:5_000]
    assert kept.endswith(whole[-4_900:])
    assert len(kept) < 10_200  # the limit, and the line that says that something is left out
    assert b"limits.log_mib" in kept
    assert sorted(file.name for file in tmp_path.iterdir()) == ["log", "script.py"]


def test_secrets_do_not_reach_the_log_even_in_pieces(tmp_path: Path) -> None:
    prints = "import sys, time\nfor part in ('my correct-', 'horse-battery', '\\n'): print(part, end='', flush=True)\n"
    asked = request(tmp_path, prints, secrets=("correct-horse-battery",))
    run(plain, asked)
    assert asked.log.read_bytes() == b"my [redacted]\n"


def plainly(data: bytes) -> bytes:
    return data


def logged(path: Path, limit: int, pieces: list[bytes]) -> bytes:
    log = launch_log.Log(path, limit, plainly)
    for piece in pieces:
        log.feed(piece)
    log.close()
    return path.read_bytes()


def test_a_log_within_its_limit_is_whole(tmp_path: Path) -> None:
    pieces = [b"%03d\n" % number for number in range(25)]
    assert logged(tmp_path / "log", 100, pieces) == b"".join(pieces)


def test_a_log_one_byte_over_its_limit_loses_only_the_rest_of_a_line(tmp_path: Path) -> None:
    kept = logged(tmp_path / "log", 100, [b"%03d\n" % number for number in range(26)])
    assert kept.startswith(b"".join(b"%03d\n" % number for number in range(12)))
    assert kept.endswith(b"".join(b"%03d\n" % number for number in range(14, 26)))


def test_a_log_is_mended_after_its_guard_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = launch_log.Log(path, 100, plainly)
    for number in range(60):
        log.feed(b"%03d\n" % number)  # and no close
    launch_log.join(path, 50)
    assert path.read_bytes().endswith(b"058\n059\n")
    assert [file.name for file in tmp_path.iterdir()] == ["log"]
    log._file.close()


def test_a_log_that_cannot_be_written_never_raises(tmp_path: Path) -> None:
    log = launch_log.Log(tmp_path / "no folder" / "log", 100, plainly)
    log.feed(b"x\n" * 1000)
    log.close()
    assert log.error == "No such file or directory"
    assert log.lines == 1000


# ---- finding processes


def test_a_process_is_found_by_the_beginning_of_its_mark_alone(tmp_path: Path) -> None:
    mark = f"test.{os.getpid()}.marked"
    process = subprocess.Popen([sys.executable, "-c", WAITS], env={**os.environ, guard.MARK: f"{mark}.7."}, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        assert guard.marked(mark) == [process.pid]
        assert guard.marked(f"{mark}.8.") == []
        assert guard.is_marked(process.pid, f"{mark}.7.")
        assert process.pid in guard.descendants(os.getpid())
        assert process.pid in guard.family(os.getpid())
        assert guard.end_marked(mark) == []
        assert is_gone(process.pid)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]


def test_a_supervisor_reads_its_clock_writes_a_file_and_reports_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a coordinator needs of a host whose file system shows new files late, and whose clock is another."""
    writes = f"import pathlib; pathlib.Path({str(tmp_path / 'new')!r}).write_text('{{\"step\": 1}}'); "
    writes += f"pathlib.Path({str(tmp_path / 'new')!r}).rename({str(tmp_path / 'report.json')!r})\n"
    asked = request(tmp_path, writes + WAITS)
    command = [sys.executable, str(asked.script)]
    job = {**base.job_of(asked, command), "watched": str(tmp_path / "report.json")}
    handle = base.start_supervised(asked, job, base.SUPERVISOR, os.environ)
    try:
        before = time.monotonic_ns()
        reading = handle.read_clock(PROCESS_S)
        assert reading is not None
        assert before <= reading[0] <= reading[1] <= reading[2] <= time.monotonic_ns()
        listen, read_at = handle._listen, list[int]()
        monkeypatch.setattr(handle, "_listen", lambda: (listen(), read_at.append(time.monotonic_ns())))
        again = handle.read_clock(PROCESS_S)
        assert again is not None
        assert again[2] >= read_at[-1]  # the answer may have come while a report before it was read
        handle.put(tmp_path / "go", "now")
        until(lambda: (tmp_path / "go").exists(), "the file")
        assert (tmp_path / "go").read_text() == "now"
        until(lambda: handle.poll() is None and handle.report is not None, "the report")
        assert handle.report == {"step": 1}
        assert handle.poll() is None  # no order ended it
    finally:
        handle.close()
    assert handle.read_clock(PROCESS_S) is None
