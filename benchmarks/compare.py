"""How long, and with how much memory, are two records of 100,000 trials each compared?

Each record has 1, 2 and 4 workers and five launches each, 100,000 step rows in all, with losses and scored examples,
written by the writers that workers use, and sealed.  `assay compare A B` opens, judges and compares both in one fresh
process, start of the interpreter included.  The promise is 5 seconds.  Where other programs use the machine (a load above
its number of processors), the wall clock measures them; then the processor time decides, which an idle machine would not exceed.

    python benchmarks/compare.py --trials 100000
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

LEVELS = (1, 2, 4)
LAUNCHES = 5
STEP_NS = {1: 100_000, 2: 55_000, 4: 40_000}
RIPPLE_NS = 4001
GLOBAL_BATCH = 256
EXAMPLES = 1000
PROMISE_S = 5.0


def write(root: Path, name: str, trials: int, faster: float) -> Path:
    """One sealed record; its steps take 1/faster of the time."""
    from fireassay.clock import SystemClock
    from fireassay.record.folder import create
    from fireassay.record.writer import StreamWriter
    from fireassay.spec.experiment import Experiment, Factor, Launches, Quality
    from fireassay.spec.plan import plan
    from fireassay.spec.sections.workload import Workload

    asked = Experiment(
        name=name,
        workload=Workload(script="train.py"),
        factor=Factor(levels=LEVELS),
        launches=Launches(per_configuration=LAUNCHES),
        quality=Quality(metric="accuracy", margin=0.02),
    )
    folder = create(root, asked, "benchmark", clock=SystemClock())
    steps = trials // (LAUNCHES * sum(LEVELS))
    launch_begin = 0
    for launch, planned in enumerate(plan(asked)):
        step_ns = round(STEP_NS[planned.workers] * (1 + 0.01 * planned.block) / faster)
        launch_end = launch_begin + steps * (step_ns + RIPPLE_NS)
        for rank in range(planned.workers):
            writer = StreamWriter(folder.launch_folder(launch), f"rank={rank}.inc=0.pid=1")
            now = launch_begin
            for step in range(steps):
                took = step_ns + (step * 7919 + rank * 104_729) % (RIPPLE_NS - 2 * launch)
                row = (launch, rank, 0, step, now, now + took, took // 10, took // 3, took // 3, None, None, None)
                writer.append("steps", (*row, GLOBAL_BATCH / planned.workers, "monotonic"))
                now += took
            for example in range(EXAMPLES if rank == 0 else 0):
                writer.append("examples", (launch, 0, 0, "accuracy", str(example), None, None, float(example % 10 > 0), None))
            writer.close()
        row = (
            launch,
            planned.slot,
            0,
            planned.configuration,
            planned.workers,
            planned.block,
            planned.order,
            "timed",
            planned.seed,
            launch_begin,
            launch_end,
            "2026-01-01T00:00:00+00:00",
            "ok",
            "",
            0,
            0,
            "{}",
        )
        folder.writer(launch).append("launches", row)
        launch_begin = launch_end
    folder.finish("complete")
    return folder.path


def measure(root: Path, words: list[str]) -> dict[str, Any]:
    """One fresh `assay compare`: seconds, exit code, and the largest resident memory of the process."""
    command = [sys.executable, "-m", "fireassay", "compare", *words, "--root", str(root)]
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - begin
    shape = words[-1].lstrip("-") if words[-1].startswith("--") else "terminal"
    return {
        "shape": shape,
        "seconds": round(seconds, 2),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
        "exit_code": process.returncode,
        "said_bytes": len(said),
        "peak_mb": round(usage.ru_maxrss / 1e3),
    }


def main() -> int:
    """Print one JSON object; exit with 1 if the promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=100_000, help="step rows of each record (default 100000)")
    parser.add_argument("--repetitions", type=int, default=3, help="comparisons of each shape (default 3)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write(root, "before", arguments.trials, 1.0)
        write(root, "after", arguments.trials, 1.05)
        words = ["before", "after"]
        runs = [measure(root, [*words, *shape]) for _ in range(arguments.repetitions) for shape in ([], ["--json"])]
    disturbed = os.getloadavg()[0] > (os.cpu_count() or 1)
    decides = "cpu_s" if disturbed else "seconds"
    median = sorted(run[decides] for run in runs)[len(runs) // 2]
    kept = median <= PROMISE_S and all(run["exit_code"] == 0 for run in runs)
    result = {
        "benchmark": "compare",
        "utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.platform(),
        "load": os.getloadavg()[0],
        "trials": arguments.trials,
        "runs": runs,
        "disturbed": disturbed,
        "median_s": median,
        "promise": {"seconds": PROMISE_S, "of": f"the median of {decides}", "kept": kept},
    }
    print(json.dumps(result, indent=2))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
