"""A run survives its terminal: it is started apart from it, looked at, watched and stopped from others."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from fireassay.instruments.reference_server.server import serving
from fireassay.instruments.reference_server.settings import Settings
from fireassay.record.reader import open_record
from tests.launchers.clusters import alive
from tests.launchers.helpers import is_gone, until
from tests.limits import PROCESS_S

pytestmark = pytest.mark.slow
ASSAY = (sys.executable, "-m", "fireassay")
RUN = ("run", "--workers", "1", "--launches", "2", "--launcher", "plain", "--quiet", "--", "train.py")
WAITS = "import pathlib, time\nprint('step 1', flush=True)\npathlib.Path('begun').touch()\nwhile not pathlib.Path('go').exists(): time.sleep(0.05)\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(WAITS)
    yield tmp_path
    for pid in alive(tmp_path):  # of a test that failed
        psutil.Process(pid).kill()


def assay(*words: str, code: int) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*ASSAY, *words], capture_output=True, text=True, timeout=PROCESS_S, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def detached(folder: Path) -> Path:
    """A run in the background, in its first launch."""
    said = assay("run", "--detach", *RUN[1:], code=0).stdout
    [record] = (folder / "records").iterdir()
    assert f"record: records/{record.name}" in said
    assert f"assay attach records/{record.name}" in said
    until((folder / "begun").exists, "a worker")
    return record


def attached() -> subprocess.Popen[str]:
    """`assay attach`, which has seen the run."""
    watching = subprocess.Popen([*ASSAY, "attach"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert watching.stderr is not None
    assert watching.stderr.readline().startswith("record ")
    return watching


def status() -> dict[str, Any]:
    return dict(json.loads(assay("status", "--json", code=0).stdout))


def test_a_module_of_the_folder_is_not_detached_instead_of_assay(folder: Path) -> None:
    (folder / "fireassay.py").write_text("raise SystemExit(77)\n")
    words = [sys.executable, "-P", "-m", "fireassay", "run", "--detach", "--workers", "1", "--", "none.py"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PROCESS_S, check=False)
    assert (done.returncode, "none.py" in done.stderr) == (2, True), done.stderr


def test_a_detached_run_is_followed_to_its_verdict_with_its_exit_code(folder: Path) -> None:
    record = detached(folder)
    until(lambda: status()["running"], "a heartbeat")
    seen = status()
    assert (seen["state"], seen["done"], seen["planned"], seen["output"]) == ("running", 0, 2, ["step 1"])
    assert seen["running"]["configuration"] == "workers=1"
    process = psutil.Process(seen["pid"])
    assert process.terminal() is None
    assert os.getsid(seen["pid"]) == seen["pid"]
    watching = attached()
    (folder / "go").touch()
    shown, progress = watching.communicate(timeout=PROCESS_S)
    assert "[2/2] workers=1 round 1 ok" in progress
    assert shown.startswith("MEASURED")
    assert watching.returncode == 0
    assert shown.partition("\n")[0] in assay("report", code=0).stdout
    assert (record / "reports" / "console.txt").is_file()
    assert status()["state"] == "complete"


def test_ctrl_c_leaves_the_run_alone_and_stop_ends_it_with_its_data(folder: Path) -> None:
    record = detached(folder)
    watching = attached()
    watching.send_signal(signal.SIGINT)
    assert "the run goes on. Stop it: assay attach" in " ".join(watching.communicate(timeout=PROCESS_S)[1].split())
    assert watching.returncode == 130
    assert open_record(record).state == "running"
    said = assay("attach", "--stop", code=130).stderr
    assert "assay attach --stop; measured data are kept" in said
    assert [row["status"] for row in open_record(record).table("launches").to_dicts()] == ["aborted"]
    until(lambda: not alive(folder), "the end of all processes")


def test_a_killed_run_is_never_called_running(folder: Path) -> None:
    detached(folder)
    os.kill(status()["pid"], signal.SIGKILL)
    until(lambda: status()["state"] == "interrupted", "the end")
    shown = assay("status", code=0).stdout
    assert "its process ended without a word" in " ".join(shown.split())
    assert "assay resume records/" in shown
    assert "assay resume" in assay("attach", code=130).stderr
    until(lambda: not alive(folder), "the end of all processes")


def test_what_makes_several_records_is_followed_by_its_output(folder: Path) -> None:
    script = [sys.executable, "-c", "import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.05)"]
    said = assay("time", "--detach", "--launches", "3", "--warm-up", "0", "--", *script, "---", "true", code=0).stdout
    first = next(line.partition(": ")[2] for line in said.splitlines() if line.startswith("first record: "))
    console = folder / first / "reports" / "console.txt"
    assert f"tail -f {console.relative_to(folder)}" in said
    (folder / "go").touch()
    until(lambda: not alive(folder), "its end")
    assert "launches" in console.read_text()
    assert [open_record(path).state for path in (folder / "records").iterdir()] == ["complete", "complete"]


def test_a_load_that_looks_for_its_rates_detaches_with_the_first_pilot() -> None:
    words = ("--model", "reference", "--search", "--slo", "ttft=0.5", "--rate", "5", "--duration", "60s", "--detach")
    with serving(Settings()) as server:
        said = assay("load", server.url, *words, code=0).stdout
        assert "-pilot-" in next(line for line in said.splitlines() if line.startswith("first record: "))
        pid = int(said.split()[2].rstrip(";"))
        os.kill(pid, signal.SIGTERM)
        until(lambda: is_gone(pid), "its end")


def test_what_is_refused_is_said_before_the_run_is_let_go(folder: Path) -> None:
    said = assay("run", "--detach", "--workers", "0", "--", "train.py", code=2)
    assert "workers" in said.stderr
    assert said.stdout == ""
    assert not (folder / "records").exists()
    assert "2 launches" in assay("run", "--detach", "--dry-run", *RUN[1:], code=0).stderr


def test_the_flag_of_the_script_is_its_own(folder: Path) -> None:
    (folder / "train.py").write_text("import sys; assert sys.argv[1:] == ['--detach']")
    assay("run", *RUN[1:], "--detach", code=0)


def test_the_end_of_the_terminal_keeps_the_data_of_a_run_that_was_not_detached(folder: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [*ASSAY, *RUN])
    until((folder / "begun").exists, "a worker")
    os.close(terminal)  # the login session is lost: SIGHUP, and standard error fails
    until(lambda: os.waitpid(pid, os.WNOHANG)[0], "its end")
    [record] = (folder / "records").iterdir()
    opened = open_record(record)
    assert (opened.state, opened.manifest["reason"]) == ("interrupted", "the end of the terminal")
    assert [row["status"] for row in opened.table("launches").to_dicts()] == ["aborted"]
    until(lambda: not alive(folder), "the end of all processes")
    (folder / "go").touch()
    assay("resume", "--quiet", code=0)
