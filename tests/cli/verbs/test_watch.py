"""Does `assay watch` distinguish real processes that wait from those that compute?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from fireassay import cli
from fireassay.instruments.watching.sampler import find_py_spy
from fireassay.record.reader import open_record
from fireassay.record.seal import verify
from tests.launchers.helpers import until
from tests.limits import PROCESS_S

# Modules that lie where torch's do: py-spy sees the same stacks, and nothing has to be trained.
COLLECTIVE = "import sys\ndef barrier():\n    sys.stdin.read()\n"
LAYER = "def forward():\n    while True:\n        sum(range(10000))\n"
BACKWARD = "import sys\ndef backward():\n    sys.stdin.read()\n"
SCRIPT = """import sys
sys.path[:0] = {parts}
import distributed_c10d, linear, graph
print("step 12 loss 0.5", flush=True)
print(file=sys.stderr, flush=True)
dict(barrier=distributed_c10d.barrier, forward=linear.forward, backward=graph.backward)[sys.argv[1]]()
"""
needs_py_spy = pytest.mark.skipif(find_py_spy() is None, reason="py-spy is not installed here")


@contextmanager
def job(folder: Path, *does: str) -> Iterator[int]:
    """A parent with a worker per word, each of which has begun."""
    modules = {"distributed_c10d.py": ("distributed", COLLECTIVE), "linear.py": ("nn/modules", LAYER), "graph.py": ("autograd", BACKWARD)}
    for name, (part, text) in modules.items():
        (folder / "torch" / part).mkdir(parents=True, exist_ok=True)
        (folder / "torch" / part / name).write_text(text)
    parts = [str(folder / "torch" / part) for part, _ in modules.values()]
    (folder / "train.py").write_text(SCRIPT.format(parts=parts))
    with ExitStack() as stack:
        parent = os.getpid()
        for rank, what in enumerate(does):
            variables = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(len(does))}
            log = stack.enter_context((folder / f"log.{rank}").open("wb"))
            worker = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, str(folder / "train.py"), what],
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=subprocess.PIPE,
                    env=variables,
                )
            )
            stack.callback(worker.kill)
            assert worker.stderr is not None
            worker.stderr.readline()
        yield parent


@pytest.mark.usefixtures("no_rank")
def test_the_busy_rank_is_named_without_stacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with job(tmp_path, "barrier", "forward") as pid:
        code = cli.main(["watch", "--pid", str(pid), "--for", "6s", "--no-stacks", "--json", "--root", str(tmp_path / "records")])
    told = json.loads(capsys.readouterr().out)
    assert (code, told["finding"], told["rank"], told["phase"]) == (1, "slow_rank", 1, "")
    assert told["stacks"] == "not asked for"
    assert (told["steps"], told["log_line"]) == (12, "step 12 loss 0.5")
    record = open_record(Path(told["record"]))
    verify(Path(told["record"]))
    assert record.manifest["observed"]["by"] == "watch"
    assert record.table("launches")["status"].to_list() == ["aborted"]


@needs_py_spy
@pytest.mark.usefixtures("no_rank")
def test_the_phase_and_the_collective_are_named_with_stacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with job(tmp_path, "barrier", "forward") as pid:
        code = cli.main(["watch", "--pid", str(pid), "--for", "8s", "--no-record"])
    text = " ".join(capsys.readouterr().out.split())
    assert code == 1
    assert text.startswith(f"SLOW RANK process {pid}: rank 1 is slow in forward: the others wait for it")
    assert "at train.py:" in text


@needs_py_spy
@pytest.mark.deep
@pytest.mark.usefixtures("no_rank")
def test_a_hang_names_both_collectives_and_what_to_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with job(tmp_path, "backward", "barrier") as pid:
        code = cli.main(["watch", "--pid", str(pid), "--for", "12s", "--no-record"])
    text = " ".join(capsys.readouterr().out.split())
    assert code == 1
    assert text.startswith(f"HANG process {pid}: the job hangs: rank 0 in the all-reduce of its backward pass")
    assert "rank 1 in barrier" in text
    assert "Give every rank equally many batches" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--pid", "999999999"], "a running process"),
        (["--pid", "0"], "a running process"),
        (["--pid", "-1"], "a running process"),
        (["--pid", "1", "--for", "0s"], "Write --for 60s."),
        (["--pid", "1", "--for", "soon"], "Write --for 60s."),
    ],
)
def test_wrong_flags_are_named(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["watch", *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
@pytest.mark.usefixtures("no_rank")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_what_was_seen_until_a_signal_is_kept(tmp_path: Path, how: signal.Signals) -> None:
    with job(tmp_path, "barrier", "forward") as pid:
        words = ["watch", "--pid", str(pid), "--for", "10m", "--no-stacks", "--quiet", "--root", str(tmp_path / "records")]
        with subprocess.Popen([sys.executable, "-m", "fireassay", *words], stdout=subprocess.PIPE, text=True) as watching:
            until(lambda: len(seen(tmp_path / "records")) > 1, "a second finding")
            watching.send_signal(how)
            shown = watching.communicate(timeout=PROCESS_S)[0]
    [path] = (tmp_path / "records").iterdir()
    found = open_record(path)
    assert (found.state, found.sealed) == (("interrupted", False) if how == signal.SIGKILL else ("complete", True))
    assert seen(tmp_path / "records")[-1]["seconds"] > 0
    if how != signal.SIGKILL:
        assert verify(path) == ()
        assert f"process {pid}" in shown


def seen(root: Path) -> list[dict[str, Any]]:
    """The findings on disk so far."""
    records = list(root.iterdir()) if root.is_dir() else []
    rows = open_record(records[0]).table("events") if records and (records[0] / "manifest.json").exists() else None
    return [] if rows is None else [json.loads(text) for text in rows.filter(rows["kind"] == "watched")["detail"]]


def test_a_slurm_job_needs_slurm(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert cli.main(["watch", "--slurm-job", "7", "--for", "1s"]) == 7
    assert "squeue cannot be run" in capsys.readouterr().err


@pytest.fixture
def no_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)


@pytest.mark.usefixtures("no_rank")
def test_two_jobs_below_one_process_are_no_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ExitStack() as jobs:
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            pid = jobs.enter_context(job(tmp_path / name, "barrier"))
        assert cli.main(["watch", "--pid", str(pid), "--for", "1s", "--no-record"]) == 2
    assert "are rank 0; allowed: a process with one job below it" in " ".join(capsys.readouterr().err.split())


def test_a_root_that_cannot_be_written_is_refused_before_the_watching(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert cli.main(["watch", "--pid", "1", "--for", "24h", "--root", str(tmp_path / "file")]) == 6
    assert "Move it, or choose another folder" in " ".join(capsys.readouterr().err.split())
