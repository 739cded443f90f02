"""Does mpirun start the ranks where it says, and is nothing left of them?"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from fireassay.errors import EnvironmentLacks, Interrupted, SpecError, WorkloadError
from fireassay.frames.hosts import host_uses
from fireassay.frames.nodes import node_meters
from fireassay.frames.record_data import from_record
from fireassay.launchers import mpi
from fireassay.launchers.support import mpi_rank
from fireassay.record.reader import open_record
from fireassay.runners.experiment.run import run
from fireassay.spec.sections.faults import Fault
from fireassay.spec.sections.workload import Host, Mpi
from tests.launchers.clusters import RANKS, alive, ended, experiment, logs
from tests.launchers.helpers import until

WHY_NOT = "" if "Open MPI" in mpi.version() else "not installed: mpirun of Open MPI (Debian: openmpi-bin)"
needs_mpirun = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "Open MPI is here")
# An ssh whose hosts are this machine, with nothing of assay's environment.
AGENT = '#!/bin/sh\nhost=$1\nshift\nexec env -i PATH="$PATH" HOME="$HOME" NODE=$host sh -c "$*"\n'


def two_hosts(folder: Path, slots: int = 1) -> Mpi:
    """Two hosts of mpirun, emulated."""
    (folder / "hosts").write_text(f"n1 slots={slots}\nn2 slots={slots}\n")
    (folder / "agent").write_text(AGENT)
    (folder / "agent").chmod(0o755)
    return Mpi(hostfile=str(folder / "hosts"), options=("--mca", "plm_rsh_agent", str(folder / "agent")))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"hosts": (Host(name="a", address="a"),)}, "launcher.mpi.hostfile"),
        ({"pin": "spread"}, "launcher.pin"),
        ({"workers_per_node": 2, "levels": (3,)}, "at most 2, or a multiple of it"),
    ],
)
def test_what_mpirun_cannot_do_is_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        mpi.check(experiment("mpi", **changed))  # type: ignore[arg-type]


def test_a_fault_is_refused_because_mpirun_restarts_nobody() -> None:
    with pytest.raises(SpecError, match="mpirun restarts no worker"):
        mpi.check(experiment("mpi").model_copy(update={"faults": (Fault(kind="kill"),)}))


@pytest.mark.parametrize(("said", "message"), [("", "mpirun not found"), ("HYDRA build details:", "not Open MPI's: HYDRA build details:")])
def test_another_mpirun_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, message: str) -> None:
    if said:
        (tmp_path / "mpirun").write_text(f"#!/bin/sh\necho '{said}'\n")
        (tmp_path / "mpirun").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentLacks, match=message):
        mpi.check(experiment("mpi"))


def test_ctrl_c_in_the_terminal_reaches_assay_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else mpirun's own end by it is taken for a refusal."""
    (tmp_path / "mpirun").write_text(f"#!/bin/sh\nps -o pgid= -p $$ > {tmp_path}/group\nexec sleep 600\n")
    (tmp_path / "mpirun").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(Interrupted):
        mpi._answer(["mpirun"], lambda _: (tmp_path / "group").exists() and bool((tmp_path / "group").read_text().strip()))
    assert int((tmp_path / "group").read_text()) != os.getpgid(0)


def test_a_rank_gets_the_variables_of_torchrun() -> None:
    of_mpi = {"RANK": "5", "SIZE": "8", "LOCAL_RANK": "1", "LOCAL_SIZE": "4"}
    given = {"FIREASSAY_MARK": "m.", **{f"OMPI_COMM_WORLD_{name}": value for name, value in of_mpi.items()}}
    got = mpi_rank.variables(given, "fe80::1:29500", ["a", "b"])
    assert got == {
        "RANK": "5",
        "WORLD_SIZE": "8",
        "LOCAL_RANK": "1",
        "LOCAL_WORLD_SIZE": "4",
        "GROUP_RANK": "1",
        "FIREASSAY_HOST": "b",
        "FIREASSAY_MARK": "m.b.",
        "TORCHELASTIC_RUN_ID": "m.",
        "MASTER_ADDR": "fe80::1",
        "MASTER_PORT": "29500",
        "TORCHELASTIC_RESTART_COUNT": "0",
    }


def test_variables_of_the_node_itself_are_not_sent() -> None:
    names = ["A", "BASH_FUNC_x%%", "OMPI_MCA_btl", "PMIX_RANK", "SLURM_JOB_ID", "CUDA_VISIBLE_DEVICES"]
    assert mpi.sent(dict.fromkeys(names, "")) == ["A", "FIREASSAY_MARK"]


@needs_mpirun
@pytest.mark.slow
def test_ranks_run_on_the_hosts_of_the_file_with_the_variables_of_the_launch(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(RANKS.format(node="NODE") + "; assert os.environ['ODD'] == 'a;b \"c\"=d\\nsecond'")
    odd = {"ODD": 'a;b "c"=d\nsecond'}
    asked = experiment("mpi", mpi=two_hosts(tmp_path))
    asked = asked.model_copy(update={"workload": asked.workload.model_copy(update={"environment": odd})})
    record = open_record(run(asked, folder=tmp_path, root=tmp_path / "records"))
    assert record.state == "complete"
    found = record.manifest["environment"]["before"]["allocation"]
    assert (found["engine"], found["hosts"]) == ("mpi", ["n1", "n2"])
    read = record.manifest["environment"]["before"]["nodes"]
    assert {name: node["cpu.logical"] for name, node in read.items()} == dict.fromkeys(("n1", "n2"), os.cpu_count())
    assert "Open MPI" in found["version"]
    said = logs(record)
    assert said[1].count("rank 0 of 1 n1 n1") == 1
    assert {word for word in ("0 of 2 n1 n1", "1 of 2 n2 n2") if word in said[2]} == {"0 of 2 n1 n1", "1 of 2 n2 n2"}
    assert record.experiment.launcher.hosts == ()  # as its user wrote it


@needs_mpirun
@pytest.mark.slow
def test_its_nodes_are_metered_and_their_machine_once(tmp_path: Path) -> None:
    """Both are this machine, whose meter counts the ranks of both; each agent's clock is read through its own mpirun."""
    (tmp_path / "train.py").write_text("import time\nend = time.monotonic() + 3.0\nwhile time.monotonic() < end: pass")
    asked = experiment("mpi", levels=(2,), mpi=two_hosts(tmp_path))
    measured = from_record(open_record(run(asked, folder=tmp_path, root=tmp_path / "records")))
    [meters] = node_meters(measured).values()
    assert [(meter.node, meter.metered_by, meter.trouble) for meter in meters] == [("n1", "n1", ""), ("n2", "n1", "")]
    uses = {use.host: use for use in host_uses(measured)}
    assert list(uses) == ["n1", "n2"]
    assert uses["n1"].processors is not None
    assert uses["n1"].processors > 0.1
    assert all(use.clock_bound_s is not None for use in uses.values())


@needs_mpirun
def test_more_workers_than_slots_are_refused_with_the_nodes_that_are_missing(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLacks, match="8 workers need 4 nodes of 2; mpirun has n1, n2"):
        mpi.allocate(experiment("mpi", levels=(8,), mpi=two_hosts(tmp_path, slots=2)), lambda _: False)


@needs_mpirun
def test_on_this_machine_alone_it_meets_on_the_loopback_interface() -> None:
    found = mpi.allocate(experiment("mpi", levels=(1, 4)), lambda _: False)
    assert ([host.address for host in found.hosts], found.workers_per_node) == (["127.0.0.1"], 4)


@needs_mpirun
def test_what_mpirun_refuses_is_said_in_its_words(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLacks, match=r"mpirun started nothing: .*hostfile"):
        mpi.allocate(experiment("mpi", mpi=Mpi(hostfile=str(tmp_path / "none"))), lambda _: False)


@needs_mpirun
@pytest.mark.slow
def test_a_rank_that_fails_ends_the_launch_with_its_own_words(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import os, sys, time\nif os.environ['RANK'] == '1': sys.exit('no such thing')\ntime.sleep(1e4)")
    with pytest.raises(WorkloadError, match="exited with code 1; its last output was: no such thing"):
        run(experiment("mpi", levels=(2,)), folder=tmp_path, root=tmp_path / "records")


@needs_mpirun
@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_assay_is_ended(tmp_path: Path, how: signal.Signals) -> None:
    asked = two_hosts(tmp_path)
    launcher = {"kind": "mpi", "mpi": {"hostfile": "hosts", "options": list(asked.options)}}
    ended(tmp_path, how, launcher, (tmp_path / "begun").exists)
    until(lambda: not alive(tmp_path), "the end of all processes")
