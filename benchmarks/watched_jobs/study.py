"""How often does `assay watch` name a planted fault, how often does it accuse nobody without one, and what does it cost the job?

    python benchmarks/watched_jobs/study.py find --runs 10 --seconds 30 >> found.jsonl
    python benchmarks/watched_jobs/study.py cost --pairs 60 --seconds 3 >> cost.jsonl

`find` starts one job per trial, the faults in random order. `cost` compares the steps per second of one job in short blocks with and without its
watcher, which is stopped in between; the processor time of whole commands is in the lines of `find`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

JOB = Path(__file__).with_name("job.py")
FAULTS = ("none", "slow", "data", "data_everywhere", "uneven")
HANG_S = 20.0  # until an uneven job stands still


@contextmanager
def job(fault: str, log: Path, seconds: float) -> Iterator[int]:
    """A running job after its first steps."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, str(JOB), "--fault", fault, "--seconds", str(seconds)],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
    try:
        while not re.search(r"step \d+", log.read_text(errors="replace")):
            if process.poll() is not None:
                raise RuntimeError(log.read_text(errors="replace")[-500:])
            time.sleep(0.3)
        yield process.pid
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                break
            time.sleep(1)
        process.wait()


def watched(pid: int, seconds: float) -> dict[str, object]:
    """What assay says, and the processor time that it took from its start to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "fireassay", "watch", "--pid", str(pid), "--for", f"{seconds}s", "--no-record", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = json.loads(done.stdout)
    kept = {name: told[name] for name in ("finding", "rank", "phase", "share", "error", "sentence", "own_cpu", "steps_per_s", "seconds")}
    queued = [round(rank["queued"], 3) for rank in told["ranks"]]
    return {**kept, "queued": queued, "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def find(runs: int, seconds: float, faults: list[str]) -> None:
    """One trial of every fault per round."""
    order = random.Random(94)
    for _ in range(runs):
        for fault in order.sample(faults, len(faults)):
            with tempfile.TemporaryDirectory() as folder, job(fault, Path(folder) / "log", 4 * seconds + 60) as pid:
                if fault == "uneven":
                    time.sleep(HANG_S)
                print(json.dumps({"fault": fault, **watched(pid, seconds)}), flush=True)


def _step(log: Path) -> tuple[int, float]:
    """The last printed step, and when the job printed it."""
    found = re.findall(r"step (\d+) loss \S+ ([\d.]+)\n", log.read_text(errors="replace"))
    return int(found[-1][0]), float(found[-1][1])


def cost(pairs: int, seconds: float) -> None:
    """Steps per second of one job while its one watcher samples and while it is stopped, in blocks, in random order within each pair."""
    order, whole = random.Random(95), 2 * pairs * seconds
    with tempfile.TemporaryDirectory() as folder, job("none", log := Path(folder) / "log", whole + 120) as pid:
        words = [sys.executable, "-m", "fireassay", "watch", "--pid", str(pid), "--for", f"{whole + 5}s", "--no-record", "--json"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        watcher = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(5)  # it starts
        for pair in range(pairs):
            for on in order.sample((True, False), 2):
                watcher.send_signal(signal.SIGCONT if on else signal.SIGSTOP)
                first, begin = _step(log)
                time.sleep(seconds)
                last, end = _step(log)
                print(json.dumps({"pair": pair, "on": on, "steps_per_s": (last - first) / (end - begin)}), flush=True)
        watcher.send_signal(signal.SIGCONT)
        watcher.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(json.dumps({"cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, "seconds": whole + 5}), flush=True)


def main() -> None:
    """Run a study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=("find", "cost"))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--faults", default=",".join(FAULTS))
    args = parser.parse_args()
    if args.study == "find":
        find(args.runs, args.seconds, args.faults.split(","))
    else:
        cost(args.pairs, args.seconds)


if __name__ == "__main__":
    main()
