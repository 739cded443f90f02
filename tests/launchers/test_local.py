"""The local launcher calls torchrun with what a run on one or on several nodes needs."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fireassay.errors import EnvironmentLacks, SpecError
from fireassay.instruments import injected
from fireassay.launchers import local
from fireassay.launchers.support import interpreter
from fireassay.launchers.support.base import loopback, worker_environment
from fireassay.spec.experiment import Experiment, Factor
from fireassay.spec.sections.workload import Launcher, Workload
from tests.launchers.helpers import request, run


def experiment(levels: tuple[int, ...], **launcher: object) -> Experiment:
    return Experiment(
        name="x",
        workload=Workload(script="train.py"),
        factor=Factor(levels=levels),
        launcher=Launcher(**launcher),  # type: ignore[arg-type]
    )


def follows(words: Sequence[str], flag: str) -> str:
    return words[words.index(flag) + 1]


def test_one_node_meets_by_itself(tmp_path: Path) -> None:
    words = local.command(request(tmp_path, "", workers=4, max_restarts=2, arguments=("--epochs", "3")), with_torch=True)
    assert words[1:4] == ["-P", "-m", "torch.distributed.run"]
    assert "--standalone" not in words  # its store listens on every interface
    assert (follows(words, "--rdzv-conf"), follows(words, "--local-addr")) == ("store_type=file", "127.0.0.1")
    assert (follows(words, "--nproc-per-node"), follows(words, "--max-restarts")) == ("4", "2")
    assert words[-3:] == [str(tmp_path / "script.py"), "--epochs", "3"]


@pytest.mark.parametrize(("node_rank", "is_host"), [(0, "1"), (1, "0")])
def test_several_nodes_meet_at_the_endpoint_of_which_node_0_is_the_host(tmp_path: Path, node_rank: int, is_host: str) -> None:
    settings = Launcher(nodes=2, node_rank=node_rank, rendezvous_endpoint="10.0.0.1:29400", rendezvous_id="job7")
    words = local.command(replace(request(tmp_path, "", workers=4), settings=settings), with_torch=True)
    assert "--standalone" not in words
    assert follows(words, "--nnodes") == "2"
    assert "--node-rank" not in words  # c10d gives the ranks itself and warns about it
    assert follows(words, "--nproc-per-node") == "2"
    assert follows(words, "--rdzv-endpoint") == "10.0.0.1:29400"
    assert follows(words, "--rdzv-id") == "job7"
    assert follows(words, "--rdzv-conf") == f"is_host={is_host}"
    assert ("--local-addr" in words) == (node_rank == 0)


def test_without_torch_one_worker_is_started_directly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "has_torch", lambda settings: False)
    local.check(experiment((1,)))
    asked = request(tmp_path, "print('no torch needed')")
    assert run(local, asked).exit_code == 0
    assert asked.log.read_text() == "no torch needed\n"


def test_without_torch_several_workers_are_refused_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "has_torch", lambda settings: False)
    with pytest.raises(EnvironmentLacks, match="pip install torch"):
        local.check(experiment((1, 2)))


def test_workers_that_cannot_be_spread_evenly_over_the_nodes_are_refused() -> None:
    with pytest.raises(SpecError, match=r"factor.levels: found \[3\]; allowed: multiples of launcher.nodes = 2"):
        local.check(experiment((2, 3), nodes=2, rendezvous_endpoint="host:1"))


def test_the_workers_get_what_elastic_restarts_need_and_nothing_of_an_outer_engine() -> None:
    outer = {"PATH": "/bin", "RANK": "3", "MASTER_PORT": "1", "TORCHELASTIC_RESTART_COUNT": "2", "OMP_NUM_THREADS": "64"}
    inner = worker_environment(outer, Launcher(threads_per_worker=2), {"MINE": "yes"})
    assert inner == {
        "PATH": "/bin",
        "MINE": "yes",
        "OMP_NUM_THREADS": "2",
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        "FIREASSAY_LOOPBACK": "1",
        "GLOO_SOCKET_IFNAME": loopback(),
        "NCCL_SOCKET_IFNAME": loopback(),
    }


def test_the_users_own_interface_stays(tmp_path: Path) -> None:
    inner = worker_environment({"GLOO_SOCKET_IFNAME": "eth7"}, Launcher(), {"NCCL_SOCKET_IFNAME": "ib0"})
    assert (inner["GLOO_SOCKET_IFNAME"], inner["NCCL_SOCKET_IFNAME"]) == ("eth7", "ib0")


def test_workers_of_several_machines_choose_their_interfaces_themselves() -> None:
    inner = worker_environment({}, Launcher(nodes=2, rendezvous_endpoint="10.0.0.1:1", rendezvous_id="x"), {})
    assert not {"FIREASSAY_LOOPBACK", "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"} & set(inner)


LISTENING = """
import json, os, psutil
import torch.distributed as distributed

distributed.init_process_group("gloo")
distributed.barrier()
if distributed.get_rank() == 0:
    everyone = [psutil.Process(os.getppid()), *psutil.Process(os.getppid()).children(recursive=True)]
    sockets = [one.laddr.ip for process in everyone for one in process.net_connections("inet") if one.status == "LISTEN"]
    os.write(1, (json.dumps(sockets) + "\\n").encode())
distributed.barrier()
distributed.destroy_process_group()
"""


@pytest.mark.deep
@pytest.mark.torch
def test_nothing_of_a_job_on_one_machine_listens_beyond_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    environment = injected.into(worker_environment(os.environ, Launcher(), {"FIREASSAY_LAUNCH_DIR": str(tmp_path)}))
    asked = request(tmp_path, LISTENING, workers=2, environment=environment)
    assert run(local, asked).exit_code == 0, asked.log.read_text()
    (line,) = [line for line in asked.log.read_text().splitlines() if line.startswith("[") and "." in line]
    heard = json.loads(line)
    assert len(heard) >= 3  # rank 0's store and gloo's two
    assert set(heard) == {"127.0.0.1"}
    assert list(tmp_path.glob("assay-*")) == []  # where they met is gone


@pytest.mark.deep
@pytest.mark.torch
def test_torchrun_starts_the_workers(tmp_path: Path) -> None:
    says = "import os, json\nvalues = [os.environ[name] for name in ('RANK', 'WORLD_SIZE', 'OMP_NUM_THREADS')]\n"
    says += "os.write(1, (json.dumps(values) + '\\n').encode())\n"
    asked = request(tmp_path, says, workers=2)
    assert run(local, asked).exit_code == 0
    lines = [line for line in asked.log.read_text().splitlines() if line.startswith("[")]
    assert sorted(json.loads(line) for line in lines) == [["0", "2", "1"], ["1", "2", "1"]]
