"""The probe in processes of its own: what it imports, writes, survives and leaves alone."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from fireassay.record.live.progress import read_progress
from tests.launched import Launched, run

MARKED = """
from fireassay import probe
p = probe.start()
for batch in p.steps(range(5)):
    with p.phase("forward"):
        pass
    p.log(loss=1.0)
"""


def script(folder: Path, source: str) -> Path:
    path = folder / "script.py"
    path.write_text(source)
    return path


def test_outside_of_a_launch_nothing_is_imported_and_nothing_written(tmp_path: Path) -> None:
    ask = "import sys; print(sorted(m for m in ('torch', 'pyarrow', 'numpy', 'polars', 'pydantic') if m in sys.modules))"
    done = run(script(tmp_path, MARKED + ask))
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[]", "")
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


def test_inside_a_launch_one_process_records_itself_from_start_to_end(tmp_path: Path) -> None:
    launch = Launched(tmp_path / "launch=0000")
    done = launch.run(script(tmp_path, MARKED + "assert probe.start() is p and p.seed == 7 and p.active"))
    assert (done.returncode, done.stderr) == (0, "")
    assert launch.table("steps")["step"].to_list() == [0, 1, 2, 3, 4]
    events = launch.table("events")
    assert events["kind"].to_list() == ["worker_start", "first_step", "worker_end"]
    detail = json.loads(events["detail"][0])
    assert detail["world_size"] == 1
    if sys.platform == "linux":  # elsewhere it is null
        assert detail["process_start_ns"] < events["ns"][0]
    progress = read_progress(launch.folder / "progress" / "rank=0.bin")
    assert progress is not None
    assert (progress.steps, progress.pid, progress.errno) == (5, detail["pid"], 0)


def test_the_probes_own_cost_is_in_the_record(tmp_path: Path) -> None:
    launch = Launched(tmp_path / "launch=0000")
    launch.run(script(tmp_path, MARKED))
    own = launch.table("telemetry")
    assert set(own["device"].to_list()) == {"probe", "rank-0/host"}
    assert own["method"].unique().to_list() == ["self"]
    cost = dict(own.select("counter", "value").iter_rows())
    assert cost["cost_per_step"] > 0
    assert cost["calibration_steps"] == 1000
    assert cost["hash_total"] == 0  # no model was watched
    assert cost["memory_peak"] > 1e6
    if hasattr(os, "register_at_fork"):
        assert cost["flush_cpu"] > 0


def test_an_exception_of_the_script_ends_it_as_without_assay_and_is_named_in_the_record(tmp_path: Path) -> None:
    launch = Launched(tmp_path / "launch=0000")
    source = script(tmp_path, MARKED + "raise LookupError('no such row')")
    done, bare = launch.run(source), run(source)
    assert (done.returncode, done.stderr) == (bare.returncode, bare.stderr)
    assert json.loads(launch.table("events")["detail"].to_list()[-1]) == {"error": "LookupError"}


def test_a_forked_child_writes_nothing_and_its_end_does_not_end_the_record(tmp_path: Path) -> None:
    launch = Launched(tmp_path / "launch=0000")
    forking = """
import os, sys
child = os.fork()
if child == 0:
    assert not p.active and not probe.start().active
    for _ in p.steps(range(100)):
        p.log(loss=2.0)
    p.close()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
for _ in p.steps(range(2)):
    pass
"""
    done = launch.run(script(tmp_path, MARKED + forking))
    assert (done.returncode, done.stderr) == (0, "")
    assert launch.table("steps").height == 7
    assert launch.table("events")["kind"].to_list().count("worker_end") == 1


def test_a_daemonic_helper_process_does_not_start_a_probe_of_its_own(tmp_path: Path) -> None:
    launch = Launched(tmp_path / "launch=0000")
    helper = """
import multiprocessing
from fireassay import probe
def look(connection):
    connection.send(probe.start().active)
if __name__ == "__main__":
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=look, args=(there,), daemon=True)
    process.start()
    assert here.recv() is False
    process.join()
"""
    done = launch.run(script(tmp_path, helper))
    assert (done.returncode, done.stderr) == (0, "")
    assert list(launch.folder.iterdir()) == []


def test_a_launch_folder_that_cannot_be_written_is_one_sentence_and_the_script_runs_on(tmp_path: Path) -> None:
    done = run(script(tmp_path, MARKED + "print('trained')"), FIREASSAY_LAUNCH_DIR=str(tmp_path / "script.py"))
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert done.stderr.count("assay: this worker is not recorded") == 1
    assert len(done.stderr.splitlines()) == 1


def test_random_number_generators_are_left_as_they_were(tmp_path: Path) -> None:
    launch = Launched(tmp_path / "launch=0000")
    drawn = "import random, numpy\nrandom.seed(1); numpy.random.seed(1)\n"
    source = drawn + MARKED + "p.close()\nprint(random.random(), numpy.random.random())"
    done, bare = launch.run(script(tmp_path, source)), run(tmp_path / "script.py")
    assert done.stdout == bare.stdout
    assert launch.table("steps").height == 5


@pytest.mark.parametrize("variable", ["RANK", "FIREASSAY_LAUNCH"])
def test_a_variable_that_is_no_number_is_said_and_the_script_runs_on(tmp_path: Path, variable: str) -> None:
    done = run(script(tmp_path, MARKED), FIREASSAY_LAUNCH_DIR=str(tmp_path), **{variable: "first"})
    assert done.returncode == 0
    assert "'first'" in done.stderr


def test_the_rows_that_a_checkpoint_holds_survive_a_kill(tmp_path: Path) -> None:
    """Nothing is flushed by time here: steps 0 and 1 are under the checkpoint, step 2 is not."""
    launch = Launched(tmp_path / "launch=0000")
    source = """
import os, signal
os.environ["FIREASSAY_FLUSH_S"] = "600"
from fireassay import probe
p = probe.start()
for step in p.steps(range(9)):
    if step == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    with p.phase("optimizer"):
        pass
    p.samples([step])
    if step == 1:
        with p.checkpoint_save():
            pass
"""
    launch.run(script(tmp_path, source))
    assert launch.table("steps")["step"].to_list() == [0, 1]
    assert launch.table("samples")["ids"].to_list() == [[0], [1]]
    assert "checkpoint_save" in launch.table("events")["kind"].to_list()
