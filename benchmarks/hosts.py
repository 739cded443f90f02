"""How long, and with how much memory, is a long training on many hosts judged?

A sealed record of one launch of `--ranks` ranks x `--steps` steps with phases, 8 ranks to a host, written by the record's own
writers.  64 hosts x 8 ranks x 100,000 steps are 51.2 million rows.  Every stage is a process of its own, so that its peak of resident
memory (VmHWM) is its own.  The promise is on the report: 60 seconds and 2 GB.

    python benchmarks/hosts.py --ranks 512 --steps 100000
    python benchmarks/hosts.py --ranks 8 --steps 1000 --stages write,report
"""

from __future__ import annotations

import argparse
import io
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from record_report import peak_bytes, size, verify

PROMISE_S = 60.0
PROMISE_BYTES = 2_000_000_000
STEP_NS = 50_000_000
SHARES = {"data_ns": 0.05, "forward_ns": 0.30, "backward_ns": 0.50, "optimizer_ns": 0.10}
RANKS_OF_HOST = 8
ITEMS = 32.0  # of a rank per step


def write(root: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Write one launch rank by rank, and seal it: the ranks' steps are each a few per cent longer or shorter and end together."""
    from fireassay.clock import SystemClock
    from fireassay.record.folder import create, launch_row, write_launch
    from fireassay.runners.simulated import batches
    from fireassay.spec.experiment import Experiment, Factor, Launches
    from fireassay.spec.plan import plan
    from fireassay.spec.sections.workload import Workload

    factor, launches = Factor(levels=(asked.ranks,)), Launches(per_configuration=1)
    experiment = Experiment(name="hosts", workload=Workload(script="train.py"), factor=factor, launches=launches)
    folder = create(root, experiment, "benchmark", clock=SystemClock())
    draws = np.random.default_rng(1)
    took = STEP_NS + draws.integers(0, STEP_NS // 20, asked.steps)
    ends = np.cumsum(took)
    writer = folder.writer(0)
    for rank in range(asked.ranks):
        own = took - draws.integers(0, STEP_NS // 20, asked.steps)
        columns = {
            "launch": 0,
            "rank": rank,
            "incarnation": 0,
            "step": np.arange(asked.steps),
            "begin_ns": ends - took,
            "end_ns": ends - took + own,
            **{name: (own * share).astype(np.int64) for name, share in SHARES.items()},
            "items": ITEMS,
            "method": "monotonic",
        }
        for batch in batches("steps", columns):
            writer.append_batch("steps", batch)
        writer.flush()
    placement = json.dumps({"hosts": [f"host{rank // RANKS_OF_HOST}" for rank in range(asked.ranks)]})
    outcome = {"begin_ns": 0, "end_ns": int(ends[-1] + STEP_NS), "exit_code": 0, "placement": placement}
    write_launch(writer, launch_row(plan(experiment)[0], launch=0, **outcome), folder.path)
    folder.finish("complete")
    return {"sealed_bytes": size(folder.path)}


def report(root: Path, _: argparse.Namespace) -> dict[str, Any]:
    """`assay report --terminal --json --html`: open and judge once, show three times."""
    from fireassay.cli import main as assay

    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as error:
        code = assay(["report", "latest", "--root", str(root), "--terminal", "--json", "--html"])
    return {"exit_code": code, "output_bytes": len(out.getvalue()), "error": error.getvalue()[-300:]}


STAGES: dict[str, Callable[[Path, Any], dict[str, Any]]] = {stage.__name__: stage for stage in (write, verify, report)}


def run_stage(asked: argparse.Namespace) -> None:
    """In the stage's own process: run it and print what it took."""
    begin, used = time.perf_counter(), time.process_time()
    found = STAGES[asked.stage](asked.root, asked)
    took = {"seconds": round(time.perf_counter() - begin, 2), "processor_s": round(time.process_time() - used, 2)}
    print(json.dumps({"stage": asked.stage, **took, "peak_mb": round(peak_bytes() / 1e6), **found}))


def main() -> int:
    """Print one JSON object; exit with 1 if the promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=512)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--stages", default=",".join(STAGES))
    parser.add_argument("--stage", choices=sorted(STAGES), help=argparse.SUPPRESS)
    parser.add_argument("--root", type=Path, help="where the record is kept; default: a temporary folder")
    asked = parser.parse_args()
    if asked.stage:
        run_stage(asked)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        words = ["--ranks", str(asked.ranks), "--steps", str(asked.steps), "--root", str(asked.root or folder), "--stage"]
        names = asked.stages.split(",")
        stages = [json.loads(subprocess.check_output([sys.executable, __file__, *words, name])) for name in names]
    judged = [stage for stage in stages if stage["stage"] in ("verify", "report")]
    kept = all(stage["seconds"] <= PROMISE_S and stage["peak_mb"] * 1e6 <= PROMISE_BYTES for stage in judged)
    result = {
        "benchmark": "hosts",
        "utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.platform(),
        "rows": asked.ranks * asked.steps,
        "stages": stages,
        "promise": {"stages": "verify and report", "seconds": PROMISE_S, "peak_mb": PROMISE_BYTES // 10**6, "kept": kept},
    }
    print(json.dumps(result, indent=2))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
