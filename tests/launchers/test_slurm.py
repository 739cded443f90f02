"""Do all launches run inside one Slurm allocation, which is given back whatever happens?"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import polars as pl
import pytest

from fireassay.api.experiment_run import requeued
from fireassay.clock import FakeClock
from fireassay.errors import EnvironmentLacks, Interrupted, SpecError
from fireassay.launchers import slurm
from fireassay.record.folder import create, reopen
from fireassay.record.reader import open_record
from fireassay.record.seal import plan_signature
from fireassay.runners.experiment.progress import RunProgress
from fireassay.runners.experiment.run import resume, run
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import to_toml
from fireassay.spec.sections.workload import Slurm
from tests.launchers import clusters, quick_torchrun, slurm_commands
from tests.launchers.clusters import LONG, RANKS, alive
from tests.launchers.helpers import until
from tests.limits import PROCESS_S

SCRIPT = RANKS.format(node="SLURMD_NODENAME")


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = slurm_commands.faked(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    return folder


def squeue(jobs: Path, says: str) -> None:
    """What squeue says of any job."""
    command = jobs.parent / "bin" / "squeue"
    command.write_text(f"#!/bin/sh\necho '{says}'\n")
    command.chmod(0o755)


def experiment(*, levels: tuple[int, ...] = (1, 2), **launcher: object) -> Experiment:
    return clusters.experiment("slurm", levels=levels, **launcher)


def test_the_words_of_salloc_ask_for_the_nodes_of_the_largest_count(jobs: Path) -> None:
    asked = Slurm(partition="h100", account="lab", constraint="ib", gres="gpu:8", time_limit="1:00:00", options=("--reservation=r",))
    words = slurm.salloc(experiment(levels=(8, 16, 32), workers_per_node=8, slurm=asked))
    assert words[1:] == [
        *("--nodes=4", "--ntasks-per-node=1", "--partition=h100", "--account=lab", "--constraint=ib", "--gres=gpu:8", "--time=1:00:00"),
        *("--exclusive", "--reservation=r"),
    ]
    script = slurm.by_hand(experiment(levels=(8, 16, 32), workers_per_node=8, slurm=asked), ["run", "e f.toml"])
    assert script.startswith("#!/bin/bash\n#SBATCH --job-name=assay-cluster\n#SBATCH --nodes=4\n")
    assert shlex.split(script.partition("exec ")[2]) == [sys.executable, "-m", "fireassay", "run", "e f.toml"]


@pytest.mark.parametrize(("gres", "per_node"), [("gpu:h100:8(S:0-1)", 8), ("gpu:4\ngpu:a100:2(S:0)", 2), ("(null)", 1), ("nic:2", 1)])
def test_the_workers_of_a_node_are_its_gpus(jobs: Path, monkeypatch: pytest.MonkeyPatch, gres: str, per_node: int) -> None:
    monkeypatch.setenv("FAKE_GRES", gres)
    assert slurm.per_node_of(experiment()) == per_node


def test_counts_that_do_not_fill_their_nodes_are_refused(jobs: Path) -> None:
    with pytest.raises(SpecError, match="at most 4, or a multiple of it"):
        slurm.check(experiment(levels=(2, 6, 8), workers_per_node=4))


def test_without_slurm_the_missing_commands_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentLacks, match="salloc, srun, scontrol not found"):
        slurm.check(experiment())


@pytest.mark.slow
def test_all_launches_share_one_allocation_and_a_level_takes_the_nodes_that_it_fills(jobs: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    record = open_record(run(experiment(), folder=tmp_path, root=tmp_path / "records"))
    assert (record.state, (jobs / "7").read_text()) == ("complete", "COMPLETED")
    assert record.manifest["environment"]["before"]["allocation"] == {
        "engine": "slurm",
        "job_id": "7",
        "job_partition": "fake",
        "job_nodelist": "n[1-2]",
        "job_cpus_per_node": "2(x2)",
        "hosts": ["n1", "n2"],
    }
    assert set(record.manifest["environment"]["before"]["nodes"]) == {"n1", "n2"}
    said = clusters.logs(record)
    assert "rank 0 of 1 n1 n1" in said[1]
    assert "n2" not in said[1]
    assert {line.split("of 2")[1] for line in said[2].splitlines() if "of 2" in line} == {" n1 n1", " n2 n2"}  # c10d orders the nodes
    assert record.experiment.launcher.hosts == ()  # as its user wrote it


@pytest.mark.slow
def test_what_slurm_refuses_is_said_in_its_words(jobs: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    with pytest.raises(EnvironmentLacks, match="Slurm gave no nodes: invalid partition specified: none\nAsked: salloc .*--partition=none"):
        run(experiment(slurm=Slurm(partition="none")), folder=tmp_path, root=tmp_path / "records")


@pytest.mark.slow
def test_a_job_that_waits_in_the_queue_is_shown_in_slurms_words(jobs: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    waits: list[str] = []

    def free(progress: RunProgress) -> None:
        if " 7" in progress.waiting:
            waits.append(progress.waiting)
            (jobs / "free").touch()

    squeue(jobs, "Resources")
    full = experiment(levels=(1,), python=quick_torchrun.python(tmp_path), slurm=Slurm(partition="full"))
    assert open_record(run(full, folder=tmp_path, root=tmp_path / "records", on_progress=free)).state == "complete"
    assert set(waits) == {"Slurm: Pending job allocation 7 (Resources)"}


@pytest.mark.slow
def test_a_detached_run_that_waits_says_for_what_and_leaves_nothing_in_the_queue_when_stopped(jobs: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    squeue(jobs, "Priority")
    (tmp_path / "e.toml").write_text(to_toml(experiment(slurm=Slurm(partition="full"))))

    def assay(*words: str) -> subprocess.CompletedProcess[str]:
        words = (sys.executable, "-m", "fireassay", *words)
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=PROCESS_S, check=False)

    assert assay("run", "e.toml", "--detach").returncode == 0
    until(lambda: "Pending job allocation 7 (Priority)" in " ".join(assay("status").stdout.split()), "the reason")
    stopped = assay("attach", "--stop")
    assert stopped.returncode == 130
    assert "a request to stop while waiting for Slurm" in " ".join(stopped.stderr.split())
    until(lambda: not alive(tmp_path), "the end of the request")


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("when", ["waiting", "running"])
def test_the_nodes_are_given_back_when_assay_is_ended(jobs: Path, tmp_path: Path, how: signal.Signals, when: str) -> None:
    asked = {"kind": "slurm", "slurm": {"partition": "full" if when == "waiting" else ""}}
    clusters.ended(tmp_path, how, asked, (jobs / "asked" if when == "waiting" else tmp_path / "begun").exists)
    if when == "running":
        until(lambda: (jobs / "7").read_text() == "COMPLETED", "the end of the job")
    until(lambda: not alive(tmp_path), "the end of all processes")


@pytest.mark.slow
def test_an_allocation_that_ends_early_interrupts_the_run_and_resume_asks_for_another(jobs: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"import pathlib\nif not pathlib.Path('again').exists(): exec({LONG!r})")

    def cancel(_progress: object) -> None:
        if (tmp_path / "begun").exists() and not (tmp_path / "again").exists():
            (tmp_path / "again").touch()
            (jobs / "7").write_text("PREEMPTED")

    with pytest.raises(Interrupted, match=r"the end of Slurm job 7 \(PREEMPTED\)"):
        run(experiment(python=quick_torchrun.python(tmp_path)), folder=tmp_path, root=tmp_path / "records", on_progress=cancel)
    [path] = (tmp_path / "records").iterdir()
    assert [row["status"] for row in open_record(path).table("launches").to_dicts()] == ["aborted"]
    resume(path)
    assert [row["status"] for row in open_record(path).table("launches").to_dicts()] == ["aborted", "ok", "ok"]


@pytest.mark.slow
@pytest.mark.parametrize(("end", "goes_on"), [("PREEMPTED", True), ("CANCELLED", False)])
def test_nodes_that_the_cluster_takes_away_are_asked_for_again_but_not_those_that_somebody_cancelled(
    jobs: Path, tmp_path: Path, end: str, goes_on: bool
) -> None:
    (tmp_path / "train.py").write_text(f"import pathlib\nif not pathlib.Path('again').exists(): exec({LONG!r})")

    def take(_progress: object) -> None:
        if (tmp_path / "begun").exists() and not (tmp_path / "again").exists():
            (tmp_path / "again").touch()
            (jobs / "7").write_text(end)

    asked = {"folder": tmp_path, "root": tmp_path / "records", "on_progress": take}
    with nullcontext() if goes_on else pytest.raises(Interrupted, match="CANCELLED"):
        run(experiment(levels=(1,), resume_on_preemption=1, python=quick_torchrun.python(tmp_path)), **asked)
    [path] = (tmp_path / "records").iterdir()
    record = open_record(path)
    rows = record.table("launches").to_dicts()
    assert [(row["launch"], row["status"]) for row in rows] == [(0, "aborted"), (1, "ok")][: 1 + goes_on]
    lent = record.manifest["allocations"]
    assert [(one["end"], one["lost"]) for one in lent] == [(end, True), ("given back", False)][: 1 + goes_on]
    assert all(one["waited_s"] >= 0.0 and one["held_s"] >= 0.0 and one["hosts"] == ["n1"] for one in lent)
    ends = record.table("events").filter(pl.col("kind") == "allocation_end")
    assert ends["detail"].to_list() == [json.dumps({"state": end})]


def test_a_requeued_job_finds_the_record_that_it_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = experiment()
    job = {"SLURM_JOB_ID": "12", "SLURM_CLUSTER_NAME": "c"}
    again = {**job, "SLURM_RESTART_COUNT": "1"}
    assert requeued(made, tmp_path, again) is None
    create(tmp_path, made, plan_signature(made), clock=FakeClock()).finish("interrupted", "another's")
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "c")
    first = create(tmp_path, made, plan_signature(made), clock=FakeClock())
    first.finish("interrupted", "SIGTERM")
    other = made.model_copy(update={"name": "other"})
    create(tmp_path, other, plan_signature(other), clock=FakeClock()).finish("interrupted", "SIGTERM")
    assert requeued(made, tmp_path, again) == first.path
    assert requeued(made, tmp_path, job) is None
    assert requeued(made, tmp_path, {**again, "SLURM_JOB_ID": "13"}) is None
    assert requeued(experiment(levels=(2,)), tmp_path, again) is None
    reopen(first.path).finish("complete")
    assert requeued(made, tmp_path, again) == first.path  # a script that ran it to its end does not run it twice


@pytest.mark.deep
@pytest.mark.skipif(bool(slurm_commands.why_not()), reason=slurm_commands.why_not() or "Slurm is here")
def test_a_real_slurm_runs_it_on_two_nodes_and_takes_them_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    with slurm_commands.two_nodes(tmp_path / "cluster") as conf:
        monkeypatch.setenv("SLURM_CONF", str(conf))
        record = open_record(run(experiment(), folder=tmp_path, root=tmp_path / "records"))
        assert record.state == "complete"
        assert record.manifest["environment"]["before"]["allocation"]["hosts"] == ["n1", "n2"]
        logs = "".join(path.read_text() for path in sorted((record.path / "logs").iterdir()))
        assert {line.split(" of ")[1] for line in logs.splitlines() if " of " in line} >= {"1 n1 n1", "2 n1 n1", "2 n2 n2"}
        until(
            lambda: subprocess.run(["squeue", "--noheader"], capture_output=True, timeout=PROCESS_S, check=True).stdout == b"",
            "an empty queue",
        )
