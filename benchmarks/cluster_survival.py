"""What is left on a cluster when the coordinator, a worker, a node's daemon or the login session is killed, or the cluster takes the nodes away?

Two emulated Slurm nodes (a real slurmctld and two slurmd on this host).  Each run starts `assay run --launcher slurm` with a worker on each node,
strikes at a moment drawn at random, looks for processes and queue entries until 30 s after the end of what was struck, and compares the
record with what each worker noted itself.

    coordinator   SIGKILL of assay
    worker        SIGKILL of a worker: the launch fails, the run goes on
    daemon        SIGKILL of a node's slurmd; the controller gives the node up after 10 s
    login         the terminal is closed, in turn of an attached run (it keeps its data) and of a detached one (it goes on to its end)
    cancel, preempt, limit, requeue   scancel; a job of a partition that preempts; --time=1; scontrol requeue of an sbatch script

Promise: nothing is left after 30 s, at most what a process measured since its last flush is lost (a second, and what the machine kept its
threads waiting), what is left to run is resumed, and one record holds it all.

    python benchmarks/cluster_survival.py --runs 20        # root, slurmctld, slurmd and munge of Debian; an hour
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import tomli_w

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fireassay.launchers.support import supervisor
from fireassay.record.reader import open_record
from tests.launchers import slurm_commands
from tests.launchers.clusters import alive
from tests.survival import harness

ASSAY = [sys.executable, "-m", "fireassay"]
LEFT_S = 30.0
WAIT_S = 300.0
MORE = """SlurmdTimeout=10
KillWait=5
MinJobAge=600
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
PartitionName=high Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10
"""


@dataclass(kw_only=True)
class Seen:
    """One run and its strike."""

    victim: str
    after_s: float
    hit: bool = False
    code: int | None = None
    state: str = ""
    reason: str = ""
    statuses: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)  # of allocations
    gone_s: float | None = None  # from the end of what was struck to the last process and queue entry
    lost_ms: float = 0.0
    resumed: bool = False
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Cluster:
    conf: Path

    def said(self, *words: str) -> str:
        return subprocess.run(words, capture_output=True, text=True, timeout=WAIT_S, check=False).stdout

    def queue(self) -> list[str]:
        return self.said("squeue", "--noheader", "--format=%i %T").splitlines()

    def daemon(self, node: str) -> int:
        for process in psutil.process_iter(["cmdline"]):
            if (process.info["cmdline"] or [])[:4] == ["slurmd", "-D", "-N", node] and process.environ().get("SLURM_CONF") == str(
                self.conf
            ):
                return process.pid
        raise LookupError(node)

    def revive(self, node: str) -> subprocess.Popen[bytes]:
        started = subprocess.Popen(
            ["slurmd", "-D", "-N", node], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        self.idle(node)
        return started

    def idle(self, node: str) -> None:
        def up() -> bool:
            self.said("scontrol", "update", f"nodename={node}", "state=resume")
            return "idle" in self.said("sinfo", "--noheader", "--Node", f"--nodes={node}", "--partition=debug", "--format=%T").split()

        wait(up, f"{node} to be idle")


def wait(holds: Callable[[], object], what: str, limit_s: float = WAIT_S) -> float:
    """Seconds until it holds. Raises TimeoutError."""
    begun = time.monotonic()
    while not holds():
        if time.monotonic() - begun > limit_s:
            raise TimeoutError(f"no {what} within {limit_s:g} s")
        time.sleep(0.1)
    return time.monotonic() - begun


class Run:
    """One experiment in a folder of its own."""

    def __init__(self, cluster: Cluster, folder: Path, numbers: random.Random, launches: int = 1, again: int = 0, limit: str = "") -> None:
        self.cluster, self.folder, self.numbers = cluster, folder, numbers
        folder.mkdir(parents=True)
        self.setting = harness.Setting(folder=folder, steps=300, launches=launches)
        self.setting.notes.mkdir()
        launcher = {"kind": "slurm", "workers_per_node": 1, "resume_on_preemption": again, "slurm": {"time_limit": limit}}
        (folder / "e.toml").write_text(tomli_w.dumps({**self.setting.experiment, "launcher": launcher}))

    def start(self) -> subprocess.Popen[bytes]:
        with (self.folder / "said").open("ab") as said:
            return subprocess.Popen(
                [*ASSAY, "run", "e.toml", "--keep-going"], cwd=self.folder, stdout=said, stderr=said, start_new_session=True
            )

    def records(self) -> list[Path]:
        return [path.parent for path in (self.folder / "records").glob("*/manifest.json")]

    @property
    def record(self) -> Path:
        wait(self.records, "record")
        return self.records()[0]

    def workers(self) -> list[int]:
        return harness.processes(self.record, "worker")

    def left(self) -> list[str]:
        marked = [pid for record in self.records() for pid in supervisor.marked(f"{record.name}.")]
        return [*map(str, alive(self.folder)), *map(str, marked), *self.cluster.queue()]

    def gone(self, seen: Seen) -> None:
        """Nothing is left of it, in time."""
        try:
            seen.gone_s = round(wait(lambda: not self.left(), "end of all", LEFT_S), 1)
        except TimeoutError:
            seen.problems.append(f"left after {LEFT_S:g} s: {self.left()}")

    def look(self, seen: Seen) -> None:
        record = open_record(self.record)
        if len(self.records()) > 1:
            seen.problems.append(f"{len(self.records())} records")
        seen.state, seen.reason = record.state, record.manifest["reason"]
        seen.statuses = [row["status"] for row in record.table("launches").to_dicts()]
        seen.ends = [str(one.get("end", "none")) for one in record.manifest.get("allocations", ())]
        seen.lost_ms = round(harness.lost_ns(record.table("steps"), self.setting.notes) / 1e6, 1)
        late_ms = harness.worst_late_ns(self.setting.notes) / 1e6
        if seen.lost_ms > harness.LOST_AT_MOST_NS / 1e6 + harness.TURNS * late_ms:
            seen.problems.append(f"{seen.lost_ms} ms lost; threads were late by {late_ms:.0f} ms")

    def resume(self, seen: Seen) -> None:
        before = harness.finished(self.record)
        with (self.folder / "said").open("ab") as said:
            code = subprocess.run(
                [*ASSAY, "resume", str(self.record)], cwd=self.folder, stdout=said, stderr=said, timeout=WAIT_S, check=False
            )
        after, seen.resumed = harness.finished(self.record), open_record(self.record).state == "complete"
        if not seen.resumed or any(after.get(launch) != row for launch, row in before.items()):
            seen.problems.append(f"resume ended with {code.returncode}, the record is {open_record(self.record).state}")
        self.gone(Seen(victim="", after_s=0.0))


# ---- the strikes: each returns once what was struck has ended --------------------------------------------------------


def coordinator(run: Run, seen: Seen) -> None:
    process = run.start()
    time.sleep(seen.after_s)
    seen.hit = process.poll() is None
    process.kill()
    seen.code = process.wait()


def worker(run: Run, seen: Seen) -> None:
    process = run.start()
    wait(lambda: run.workers() or process.poll() is not None, "worker")
    time.sleep(seen.after_s / 5)
    if found := run.workers():
        os.kill(run.numbers.choice(found), signal.SIGKILL)
        seen.hit = True
    seen.code = process.wait(WAIT_S)


def daemon(run: Run, seen: Seen) -> None:
    process = run.start()
    time.sleep(seen.after_s)
    seen.hit = process.poll() is None
    node = run.numbers.choice(["n1", "n2"])
    os.kill(run.cluster.daemon(node), signal.SIGKILL)
    try:
        seen.code = process.wait(WAIT_S)
        run.gone(seen)
    finally:
        REVIVED.append(run.cluster.revive(node))


REVIVED: list[subprocess.Popen[bytes]] = []


def login(run: Run, seen: Seen) -> None:
    detached = run.folder.name.endswith(("1", "3", "5", "7", "9"))
    seen.victim = f"login, {'detached' if detached else 'attached'}"
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(run.folder)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored if this was started with nohup
        os.execv("/bin/sh", ["sh", "-c", f"{' '.join(ASSAY)} run e.toml --keep-going {'--detach' if detached else ''}; sleep 1000"])
    if detached:
        wait(lambda: run.records() and (run.record / "reports" / "console.txt").exists(), "detached run")
    time.sleep(seen.after_s)
    seen.hit = bool(alive(run.folder))
    os.close(terminal)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    if detached:
        followed = subprocess.run([*ASSAY, "attach", "--quiet"], cwd=run.folder, capture_output=True, timeout=WAIT_S, check=False)
        seen.code = followed.returncode


def cancel(run: Run, seen: Seen) -> None:
    process = run.start()
    wait(lambda: run.workers() or process.poll() is not None, "worker")
    time.sleep(seen.after_s / 5)
    seen.hit = process.poll() is None
    run.cluster.said("scancel", "--name=assay-survival")
    seen.code = process.wait(WAIT_S)


def preempt(run: Run, seen: Seen) -> None:
    process = run.start()
    wait(lambda: run.workers() or process.poll() is not None, "worker")
    seen.hit = process.poll() is None
    run.cluster.said("sbatch", "--partition=high", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap=sleep 3")
    seen.code = process.wait(WAIT_S)


def limit(run: Run, seen: Seen) -> None:
    process = run.start()
    seen.hit, seen.code = True, process.wait(WAIT_S)


def requeue(run: Run, seen: Seen) -> None:
    script = run.folder / "job.sh"
    local = (run.folder / "e.toml").read_text()
    script.write_text(f"#!/bin/bash\ncd {run.folder}\nexec {' '.join(ASSAY)} run e.toml --keep-going\n")
    assert "slurm" in local
    said = run.cluster.said(
        "sbatch",
        "--requeue",
        "--nodes=2",
        "--ntasks-per-node=1",
        "--exclusive",
        f"--output={run.folder}/said",
        "--open-mode=append",
        str(script),
    )
    job = said.split()[-1]
    wait(run.workers, "worker")
    time.sleep(seen.after_s / 5)
    run.cluster.said("scontrol", "requeue", job)
    seen.hit = True
    wait(lambda: run.cluster.said("squeue", "--noheader", f"--jobs={job}", "--format=%T") == "", "end of the job", 2 * WAIT_S)


VICTIMS: dict[str, Callable[[Run, Seen], None]] = {
    one.__name__: one for one in (coordinator, worker, daemon, login, cancel, preempt, limit, requeue)
}
SELDOM = {"cancel": 3, "preempt": 3, "limit": 1, "requeue": 2}  # runs at most: they draw on the cluster's own slow clocks


def once(cluster: Cluster, name: str, number: int, folder: Path, length_s: float) -> Seen:
    numbers = random.Random(f"{name} {number}")
    launches = {"limit": 9}.get(name, 1)
    run = Run(cluster, folder / f"{name}-{number}", numbers, launches, again=int(name == "preempt"), limit="1" if name == "limit" else "")
    seen = Seen(victim=name, after_s=round(numbers.uniform(0.5, length_s), 2))
    try:
        VICTIMS[name](run, seen)
        if seen.gone_s is None:
            run.gone(seen)
        if not run.records():  # struck before there was one
            seen.state = "no record"
            return seen
        run.look(seen)
        if seen.state == "running":
            seen.problems.append("still called running")
        if seen.state == "interrupted" and (number % 4 == 0 or name in SELDOM):
            run.resume(seen)
    except (TimeoutError, subprocess.TimeoutExpired) as error:
        seen.problems.append(str(error))
        for pid in alive(run.folder):
            os.kill(pid, signal.SIGKILL)
        cluster.said("scancel", "--partition=debug,high")
    return seen


def main() -> int:
    """Measure, print one JSON object a run, return 1 if the promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="strikes of each victim (20)")
    parser.add_argument("--first", type=int, default=0, help="number of the first, by which its moment is drawn (0)")
    parser.add_argument("--victims", nargs="+", default=list(VICTIMS), choices=list(VICTIMS))
    arguments = parser.parse_args()
    if why := slurm_commands.why_not():
        print(f"not measured: {why}", file=sys.stderr)
        return 0
    broken = False
    with tempfile.TemporaryDirectory() as name, slurm_commands.two_nodes(Path(name) / "cluster", MORE) as conf:
        os.environ["SLURM_CONF"] = str(conf)
        cluster = Cluster(conf=conf)
        begun = time.monotonic()
        first = Run(cluster, Path(name) / "unharmed", random.Random(0))
        assert first.start().wait(WAIT_S) in (0, 1, 3, 4), (first.folder / "said").read_text()
        length_s = time.monotonic() - begun
        print(json.dumps({"unharmed_s": round(length_s, 1)}), flush=True)
        for number in range(arguments.first, arguments.runs):
            for victim in arguments.victims:
                if number < SELDOM.get(victim, arguments.runs):
                    seen: Any = once(cluster, victim, number, Path(name) / "runs", 0.8 * length_s)
                    broken = broken or bool(seen.problems)
                    print(json.dumps(vars(seen)), flush=True)
        for process in REVIVED:
            process.terminate()
            process.wait()
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
