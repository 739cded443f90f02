"""Does one experiment run on several hosts, with workers that know where they are, and is nothing left of it on any?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from fireassay.errors import SpecError, WorkloadError
from fireassay.launchers import nodes
from fireassay.launchers.support import node_group, supervisor
from fireassay.launchers.support.base import Request
from fireassay.record.reader import open_record
from fireassay.record.scratch import scratch
from fireassay.runners.experiment.run import run
from fireassay.runners.launching import watch
from fireassay.spec.experiment import Experiment, Factor, Launches
from fireassay.spec.sections.workload import Host, Launcher, Limits, Workload
from tests.launchers import helpers
from tests.launchers.namespaces import two_hosts, why_not
from tests.limits import PROCESS_S

TRAIN = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    model(torch.ones(16, 64)).square().mean().backward()
    optimizer.step()
dist.destroy_process_group()
"""  # knows nothing of assay


def hosts(count: int = 2, **more: object) -> tuple[Host, ...]:
    return tuple(Host(name=name, address=f"10.0.0.{place}", **more) for place, name in enumerate("abc"[:count], start=1))  # type: ignore[arg-type]


def experiment(of: tuple[Host, ...], *, script: str = "train.py", levels: tuple[int, ...] = (2,), **launcher: object) -> Experiment:
    return Experiment(
        name="nodes",
        workload=Workload(script=script),
        factor=Factor(levels=levels),
        launches=Launches(per_configuration=1),
        launcher=Launcher(kind="nodes", hosts=of, **launcher),
        limits=Limits(launch_timeout_s=120.0, grace_s=1.0),
    )  # type: ignore[arg-type]


# ---- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        (experiment(()), "launcher.hosts"),
        (experiment(hosts(1) * 2), "launcher.hosts"),
        (experiment(hosts(), levels=(2, 3)), "factor.levels"),
        (experiment(hosts(), levels=(1, 3), workers_per_node=1), "factor.levels"),
        (experiment(hosts(), levels=(2, 3), workers_per_node=2), "factor.levels"),
        (experiment(hosts(), pin="spread"), "launcher.pin"),
        (experiment(hosts(), nodes=2, rendezvous_endpoint="10.0.0.1:1"), "launcher.nodes"),
    ],
)
def test_what_cannot_be_started_is_refused_with_the_key(wrong: Experiment, where: str) -> None:
    with pytest.raises(SpecError) as caught:
        nodes.check(wrong)
    assert [problem.where for problem in caught.value.problems] == [where]


# ---- what is started ---------------------------------------------------------------------------------------------


def asked(folder: Path, of: tuple[Host, ...], source: str = "", **more: object) -> Request:
    settings = Launcher(kind="nodes", hosts=of)
    return helpers.request(folder, source, workers=2 * len(of), settings=settings, **more)


def test_each_node_gets_its_share_of_the_workers_and_the_first_holds_the_rendezvous(tmp_path: Path) -> None:
    request = asked(tmp_path, hosts())
    first, second = (nodes.engine(request, host, "10.0.0.1:7", "id") for host in request.settings.hosts)
    for line, is_host, address in ((first, 1, "10.0.0.1"), (second, 0, "10.0.0.2")):
        told = dict(zip(line[4:-1:2], line[5::2], strict=False))
        assert told["--nnodes"] == "2"
        assert told["--nproc-per-node"] == "2"
        assert told["--rdzv-conf"] == f"is_host={is_host}"
        assert told["--local-addr"] == address
        assert told["--rdzv-endpoint"] == "10.0.0.1:7"
        assert line[-1].endswith("script.py")


def test_no_variable_stands_in_an_argument_and_each_node_has_its_own(tmp_path: Path) -> None:
    """What a process is started with can be read by everybody on its machine."""
    of = (hosts(1, environment={"MY_TOKEN": "hidden"})[0], hosts(2)[1])
    told = nodes.job_of_nodes(asked(tmp_path, of), "10.0.0.1:7")["nodes"]
    assert "hidden" not in json.dumps([node["start"] for node in told])  # type: ignore[attr-defined]
    first, second = (node["job"]["environment"] for node in told)  # type: ignore[attr-defined]
    assert first["MY_TOKEN"] == "hidden"
    assert "MY_TOKEN" not in second
    assert (first["FIREASSAY_HOST"], second["FIREASSAY_HOST"]) == ("a", "b")


def test_the_marks_of_the_nodes_begin_with_the_launchs_and_differ(tmp_path: Path) -> None:
    request = asked(tmp_path, hosts())
    marks = [node["job"]["mark"] for node in nodes.job_of_nodes(request, "x:1")["nodes"]]  # type: ignore[attr-defined]
    assert all(mark.startswith(request.mark) for mark in marks)
    assert not any(one != other and one.startswith(other) for one in marks for other in marks)


def test_words_for_a_remote_shell_are_quoted_and_others_are_not() -> None:
    assert nodes.over(("ssh", "a"), ["/my python", "-I"]) == ["ssh", "a", "'/my python'", "-I"]
    assert nodes.over(("ip", "netns", "exec", "a"), ["/my python"])[-1] == "/my python"
    assert nodes.over((), ["x y"]) == ["x y"]


# ---- real processes, without torch: the engine's command is replaced ----------------------------------------------


def start(monkeypatch: pytest.MonkeyPatch, request: Request) -> nodes.Handle:
    """Start the script itself on every node instead of torchrun."""
    monkeypatch.setattr(nodes, "engine", lambda one, *_: [sys.executable, "-u", str(one.script)])
    return nodes.start(request)


def test_what_the_nodes_print_is_kept_and_a_failure_is_that_of_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "import os, sys\nprint('here is', os.environ['FIREASSAY_HOST'])\nsys.exit(3 if os.environ['FIREASSAY_HOST'] == 'b' else 0)"
    request = asked(tmp_path, hosts(), source)
    ending = helpers.ending_of(start(monkeypatch, request), request.mark)
    assert ending.exit_code == 3
    assert (tmp_path / "log.a").read_text() == "here is a\n"
    assert "node b ended with 3; it said:\nhere is b\n" in request.log.read_text()


def test_a_node_that_fails_ends_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "import os, sys, time\nif os.environ['FIREASSAY_HOST'] == 'b': sys.exit(4)\ntime.sleep(1000)"
    request = asked(tmp_path, hosts(), source, grace_s=0.2)
    ending = helpers.ending_of(start(monkeypatch, request), request.mark)
    assert ending.exit_code == 4


def test_a_node_that_cannot_be_reached_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = (hosts(1)[0], Host(name="b", address="10.0.0.2", prefix=("sh", "-c", "echo no route to b >&2; exit 255")))
    request = asked(tmp_path, of, "import time; time.sleep(1000)", grace_s=0.2)
    ending = helpers.ending_of(start(monkeypatch, request), request.mark)
    assert ending.exit_code == nodes.node_group.UNREACHED
    said = request.log.read_text()
    assert "no route to b" in said
    assert said.endswith("node b was lost: the connection to it failed or broke (its prefix ended with 255)\n")


def test_a_lost_node_is_the_reason_though_another_failed_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers notice a dead peer before the connection does; torchrun's traceback comes before the words on the lost node."""
    of = (hosts(1)[0], Host(name="b", address="10.0.0.2", prefix=("sh", "-c", "read job; read stop; exit 255")))
    source = (
        "print('Traceback (most recent call last):\\n  File \"<frozen runpy>\", line 198, in _run_module_as_main')\nraise SystemExit(1)"
    )
    request = asked(tmp_path, of, source, grace_s=0.2)
    ending = helpers.ending_of(start(monkeypatch, request), request.mark)
    assert ending.exit_code == nodes.node_group.UNREACHED
    assert watch.why_failed(ending, watch.tail(request.log), "log") == (
        "node b was lost: the connection to it failed or broke (its prefix ended with 255) (all of its output: log)"
    )


def test_a_node_that_never_answers_is_lost() -> None:
    """As through ssh without ServerAliveInterval."""
    report = json.dumps({"ended": {"exit_code": 4, "signal": None}})
    starts = {"a": ["sh", "-c", f"read job; echo '{report}'"], "b": ["cat"]}
    plan = {"grace_s": 0.1, "nodes": [{"name": name, "start": words, "job": {"log": os.devnull}} for name, words in starts.items()]}
    source = "import sys, json; from fireassay.launchers.support import node_group as n; n.ANSWER_S = 0.5; sys.exit(n.run(json.loads(sys.argv[1])))"
    done = subprocess.run([sys.executable, "-c", source, json.dumps(plan)], capture_output=True, text=True, timeout=PROCESS_S, check=False)
    assert done.returncode == nodes.node_group.UNREACHED
    assert done.stdout.endswith("assay: node b was lost: it did not end within 0.6 s of the order to\n")


def test_a_program_that_joins_its_words_for_a_shell_and_forgets_every_variable_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ssh does it: the words go through a shell, the variables by the guard's input, and not through an argument."""
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nshift\nexec env -i PATH="$PATH" sh -c "$*"\n')
    ssh.chmod(0o755)
    of = (Host(name="a", address="10.0.0.1", prefix=(str(ssh), "a"), environment={"OWN": "of a"}),)
    request = asked(tmp_path, of, "import os\nprint(os.environ['FIREASSAY_HOST'], os.environ['OWN'], os.environ['SHARED'])")
    request = replace(request, environment={**request.environment, "SHARED": "by all"})
    ending = helpers.ending_of(start(monkeypatch, request), request.mark)
    assert ending.exit_code == 0
    assert (tmp_path / "log.a").read_text() == "a of a by all\n"


def test_a_connection_that_breaks_leaves_nothing_running_on_its_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of the coordinator come through a `cat`, as through a wire; it is cut."""
    of = (Host(name="a", address="10.0.0.1", prefix=("sh", "-c", 'cat | "$@"', "sh")),)
    request = asked(tmp_path, of, "import time\nopen('runs', 'w').close()\ntime.sleep(1000)", grace_s=0.2)
    handle = start(monkeypatch, request)
    helpers.until(lambda: (tmp_path / "runs").exists(), "the script")
    pids = supervisor.marked(request.mark)
    (wire,) = (pid for pid in pids if Path(f"/proc/{pid}/comm").read_text() == "cat\n")
    os.kill(wire, signal.SIGKILL)
    ending = helpers.ending_of(handle, request.mark)
    assert ending.exit_code == 128 + signal.SIGTERM
    helpers.wait_until_gone(pids)


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_nothing_is_left_when_the_launch_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """On every node a script in a session of its own that ignores being asked."""
    source = (
        "import os, signal, time\nos.setsid() if os.getpid() != os.getsid(0) else None\nsignal.signal(15, signal.SIG_IGN)\n"
        "open(os.environ['FIREASSAY_HOST'], 'w').close()\ntime.sleep(1000)"
    )
    request = asked(tmp_path, hosts(), source, grace_s=0.2)
    handle = start(monkeypatch, request)
    helpers.until(lambda: (tmp_path / "a").exists() and (tmp_path / "b").exists(), "the scripts")
    pids = supervisor.marked(request.mark)
    assert len(pids) >= 5  # guard, engine, two guards there, two scripts (a guard's own environment may be the same)
    getattr(handle, how)()
    helpers.ending_of(handle, request.mark)
    helpers.wait_until_gone(pids)


# ---- torch elastic over two network namespaces -------------------------------------------------------------------


@pytest.mark.deep
@pytest.mark.torch
def test_two_nodes_train_together_and_the_record_tells_them_apart(tmp_path: Path) -> None:
    if reason := why_not():
        pytest.skip(reason)
    (tmp_path / "train.py").write_text(TRAIN)
    with two_hosts(tag="t") as joined:
        of = tuple(
            Host(name=name, address=host.address, prefix=host.prefix, environment={"GLOO_SOCKET_IFNAME": host.interface})
            for name, host in zip("ab", joined, strict=True)
        )
        path = run(experiment(of), folder=tmp_path, root=tmp_path / "records")
        assert supervisor.marked(f"{path.resolve().name}.") == []
    record = open_record(path)
    assert record.state == "complete"
    events, steps = record.table("events"), record.table("steps")
    workers = events.filter(pl.col("kind") == "worker_start").sort("rank")
    assert sorted(workers["host"]) == ["a", "b"]
    assert steps.group_by("rank").len().sort("rank").rows() == [(0, 8), (1, 8)]
    placement = json.loads(record.table("launches")["placement"][0])
    assert (placement["nodes"], placement["hosts"]) == (2, ["a", "b"])
    # one machine: the first node's agent reads it, and nothing is counted twice
    assert json.loads(events.filter(pl.col("kind") == "node_meters")["detail"][0]) == {
        "nodes": {"a": {"metered_by": "a"}, "b": {"metered_by": "a"}}
    }
    readings = record.table("telemetry").filter(pl.col("device").is_in(["cpu", "launch", "meter", "sentinel"]))
    assert readings["host"].unique().to_list() == ["a"]
    used = readings.filter((pl.col("device") == "launch") & (pl.col("counter") == "cpu_time"))["value"].max()
    assert isinstance(used, float)
    assert used > 0.5  # two torch processes and their engines: what the supervisors reaped counts
    pinged = events.filter(pl.col("kind") == "node_clock")
    assert {json.loads(detail)["node"] for detail in pinged["detail"]} == {"a", "b"}
    assert {json.loads(detail)["pid"] for detail in events.filter(pl.col("kind") == "worker_gone")["detail"]}
    assert not [name for name in os.listdir("/run/netns") if name.startswith(f"assay-{os.getpid()}t")]


@pytest.mark.slow
def test_a_run_without_its_hosts_says_so(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    away = (Host(name="a", address="10.0.0.1", prefix=("ip-that-is-not-there",)),)
    with pytest.raises(WorkloadError, match="ip-that-is-not-there"):
        run(experiment(away, levels=(1,)), folder=tmp_path, root=tmp_path / "records")


# ---- a request to stop ---------------------------------------------------------------------------------------------

CANCELS = """
import signal, subprocess, sys
step = subprocess.Popen(sys.argv[1:])
def cancel(*_):
    step.kill()
    sys.exit(137)
signal.signal(signal.SIGTERM, cancel)
sys.exit(step.wait())
"""  # as srun does: SIGTERM cancels its step, without any grace
SAVES = """
import pathlib, signal, sys, time
def save(*_):
    time.sleep(0.3)
    pathlib.Path("saved").touch()
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
pathlib.Path("ready").touch()
while True:
    time.sleep(1)
"""


@pytest.mark.parametrize("grace_s", [30.0, 0.0])
def test_a_request_to_stop_goes_to_the_nodes_supervisors_and_not_to_their_prefixes(tmp_path: Path, grace_s: float) -> None:
    asked = helpers.request(tmp_path, SAVES, grace_s=grace_s)
    settings = asked.settings.model_copy(update={"hosts": hosts(1, prefix=(sys.executable, "-c", CANCELS))})
    plan = nodes.job_of_nodes(replace(asked, settings=settings), "")
    (node,) = plan["nodes"]  # type: ignore[misc]
    node["job"]["command"] = [sys.executable, str(asked.script)]  # type: ignore[index]
    planned = replace(asked, environment={**asked.environment, node_group.NODES: json.dumps(plan)})
    handle = nodes.begin(planned)
    try:
        helpers.until((tmp_path / "ready").exists, "its handler")
        handle.stop()
        helpers.until(handle.poll, "its end")
    finally:
        handle.close()
    assert (tmp_path / "saved").exists() == (grace_s > 0.0)
    assert "was lost" not in asked.log.read_text(), "its supervisor reported how it ended"


def test_a_nodes_scratch_folder_goes_with_it_and_that_of_a_killed_supervisor_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    asked = helpers.request(
        tmp_path, SAVES, grace_s=2 * PROCESS_S
    )  # an order to end does not wait for what a failed node leaves the others
    settings = asked.settings.model_copy(update={"hosts": hosts(2)})
    plan = nodes.job_of_nodes(replace(asked, settings=settings, workers=2), "")
    for place, node in enumerate(plan["nodes"]):  # type: ignore[arg-type,var-annotated]
        node["job"]["command"] = [sys.executable, str(asked.script)]
        node["job"]["cwd"] = str(tmp_path / str(place))
        (tmp_path / str(place)).mkdir()
    handle = nodes.begin(replace(asked, environment={**asked.environment, "TMPDIR": str(temporary), node_group.NODES: json.dumps(plan)}))
    try:
        helpers.until(lambda: all((tmp_path / place / "ready").exists() for place in "01"), "both scripts")
        with scratch():
            assert len(list(temporary.glob("*b.*"))) == 1, "one in use stays"
        (worker,) = supervisor.marked(f"{asked.mark}b.")
        parent = int(Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(parent, signal.SIGKILL)
        handle.stop()
        helpers.until(handle.poll, "its end")
    finally:
        handle.close()
    assert [path.name.rpartition(".b")[2] for path in temporary.iterdir()] == ["."]
    with scratch() as own:
        assert list(temporary.iterdir()) == [own]


def test_a_level_takes_as_many_hosts_as_it_fills() -> None:
    wanted = experiment(hosts(), levels=(1, 2, 4), workers_per_node=2)
    nodes.check(wanted)
    assert [len(nodes.taking_part(wanted.launcher, level)) for level in wanted.factor.levels] == [1, 1, 2]
