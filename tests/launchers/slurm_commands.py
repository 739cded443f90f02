"""Slurm's commands, faked as far as the launcher uses them; and a real cluster of two emulated nodes, where Slurm is installed.

The fakes keep their jobs in a folder: a file per job, which `scancel` (the test) replaces by its end.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.limits import PROCESS_S

COMMANDS = """#!{python}
import os, pathlib, signal, subprocess, sys, time
jobs, name, words = pathlib.Path({jobs!r}), pathlib.Path(sys.argv[0]).name, sys.argv[1:]
options = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
rest = [word for word in words if not word.startswith("--")]
if name == "salloc":
    program = words[words.index({python!r}):]
    options = dict(word[2:].partition("=")[::2] for word in words[:words.index({python!r})])
    (jobs / "asked").write_text(" ".join(words[:words.index({python!r})]))
    if options.get("partition") == "none":
        sys.exit("salloc: error: invalid partition specified: none")
    def cancelled(*_):
        if (jobs / "7").exists():
            (jobs / "7").write_text("COMPLETED")
        os._exit(1)
    signal.signal(signal.SIGTERM, cancelled)
    if options.get("partition") == "full":
        print("salloc: Pending job allocation 7", file=sys.stderr, flush=True)
    while options.get("partition") == "full" and not (jobs / "free").exists():
        time.sleep(0.2)
    nodes = int(options["nodes"])
    made = {{"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": f"n[1-{{nodes}}]", "SLURM_JOB_CPUS_PER_NODE": f"2(x{{nodes}})", "SLURM_JOB_PARTITION": "fake"}}
    (jobs / "7").write_text("RUNNING")
    kept = subprocess.Popen(program, env={{**os.environ, **made}})
    while kept.poll() is None:
        time.sleep(0.05)
        if (jobs / "7").read_text() != "RUNNING":
            kept.terminate()
    if (jobs / "7").read_text() == "RUNNING":
        (jobs / "7").write_text("COMPLETED")
elif name == "srun":
    at = next(place for place, word in enumerate(words) if not word.startswith("--"))
    step = subprocess.Popen(words[at:], env={{**os.environ, "SLURMD_NODENAME": options["nodelist"]}}, stdin=sys.stdin)
    while step.poll() is None:
        time.sleep(0.05)
        if (jobs / options["jobid"]).read_text() != "RUNNING":
            step.terminate()
            step.wait()
    sys.exit(step.returncode)
elif words[:2] == ["show", "hostnames"]:
    print(*(f"n{{number}}" for number in range(1, 1 + int(words[2].rstrip("]").split("-")[1]))), sep="\\n")
elif words[:2] == ["show", "node"]:
    print(f"NodeName={{words[2]}} NodeAddr=127.0.0.1 NodeHostName=here")
elif words[:2] == ["show", "job"]:
    print(f"JobId={{words[2]}} JobState={{(jobs / words[2]).read_text()}}")
elif name == "sinfo":
    print(os.environ.get("FAKE_GRES", "(null)"))
"""


def faked(folder: Path) -> Path:
    """Write the commands into `bin` below a folder; the folder of their jobs."""
    jobs, commands = folder / "jobs", folder / "bin"
    jobs.mkdir()
    commands.mkdir()
    for name in ("salloc", "srun", "scontrol", "sinfo"):
        (commands / name).write_text(COMMANDS.format(python=sys.executable, jobs=str(jobs)))
        (commands / name).chmod(0o755)
    return jobs


def why_not() -> str:
    """Why no real Slurm can be started here; "" if it can."""
    missing = [name for name in ("slurmctld", "slurmd", "munged", "salloc", "srun") if shutil.which(name) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (Debian: slurmctld slurmd slurm-client munge)"
    return "" if os.getuid() == 0 else "an emulated cluster needs root"


@contextmanager
def two_nodes(folder: Path, more: str = "") -> Iterator[Path]:
    """A cluster of two nodes on this host with its own munge; yields the file for SLURM_CONF. `more`: further lines of it."""
    for name in ("run", "log", "state"):
        (folder / name).mkdir(parents=True)
    for path in (folder, folder / "run"):
        path.chmod(0o755)
    (folder / "run/key").write_bytes(os.urandom(1024))
    (folder / "run/key").chmod(0o600)
    ports = [_free() for _ in range(3)]
    conf = folder / "slurm.conf"
    conf.write_text(CONF.format(folder=folder, host=socket.gethostname().split(".")[0], ports=ports) + more)
    environment = {**os.environ, "SLURM_CONF": str(conf)}
    munge = [f"--{name}={folder}/{file}" for name, file in MUNGE.items()]
    started = [
        ["munged", "--foreground", "--force", *munge],
        ["slurmctld", "-D"],
        ["slurmd", "-D", "-N", "n1"],
        ["slurmd", "-D", "-N", "n2"],
    ]
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        for words in started:
            with (folder / "log" / f"{len(daemons)}.out").open("wb") as out:
                daemons.append(subprocess.Popen(words, env=environment, stdout=out, stderr=out, start_new_session=True))
            _until(lambda: (folder / "run/socket").exists(), "munged")
        _until(lambda: _idle(environment) == 2, "two idle nodes")
        yield conf
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            try:
                daemon.wait(PROCESS_S / 4)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


MUNGE = {"key-file": "run/key", "socket": "run/socket", "pid-file": "run/pid", "log-file": "log/munged", "seed-file": "run/seed"}
CONF = """ClusterName=assay
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/run/socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/run/ctld.pid
SlurmdPidFile={folder}/run/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1 RealMemory=1000 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1 RealMemory=1000 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def _free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _idle(environment: dict[str, str]) -> int:
    words = ["sinfo", "--noheader", "--Node", "--states=idle", "--format=%N"]
    said = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=PROCESS_S, check=False).stdout
    return len(set(said.split()))  # a node of two partitions is named twice


def _until(holds: object, what: str) -> None:
    assert callable(holds)
    deadline = time.monotonic() + PROCESS_S
    while not holds():
        assert time.monotonic() < deadline, f"no {what} in time"
        time.sleep(0.1)
