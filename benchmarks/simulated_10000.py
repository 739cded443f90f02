"""How long, and with how much memory, is a record of 10,000 simulated ranks made, verified and reported?

1, 16, 256, 2048 and 10,000 workers x 3 launches x 20 steps: 739,260 rows of steps, as many of communication, and up to 200,000
collective calls a launch.  Every stage is a process of its own, so that its peak of resident memory (VmHWM) is its own; `report` is
the terminal page, the JSON and the HTML page of one run.  The promise is on the report: 60 seconds.

    python benchmarks/simulated_10000.py
    python benchmarks/simulated_10000.py --workers 1,16,256 --steps 5
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
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

WORKERS = "1,16,256,2048,10000"
CLUSTER = (
    "--step-time",
    "1.0",
    "--serial",
    "0.001",
    "--alpha",
    "2us",
    "--gbps",
    "400",
    "--gradient",
    "1e9",
    "--buckets",
    "1",
    "--jitter",
    "0.02",
)
PROMISE_S = 60.0
PROMISE_BYTES = 2_000_000_000
STAGES = ("simulate", "verify", "report")


def simulate(root: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Compute, write and seal the record, without showing it."""
    from fireassay.api.jobs.cluster import cluster_of as read
    from fireassay.cli.support.verb import Parser
    from fireassay.cli.verbs.simulate import VERB
    from fireassay.runners.experiment.run import run

    parser = Parser(prog="assay simulate", description="")
    VERB.add_arguments(parser)
    words = ["--workers", asked.workers, *CLUSTER, "--launches", str(asked.launches), "--steps", str(asked.steps)]
    path = run(read(parser.parse_args(words))[1], root=root)
    return {"sealed_bytes": sum(file.stat().st_size for file in path.rglob("*") if file.is_file())}


def verify(root: Path, _: argparse.Namespace) -> dict[str, Any]:
    """Digest everything again, and count the rows."""
    from fireassay.record.lookup import resolve
    from fireassay.record.reader import open_record
    from fireassay.record.seal import verify as check

    path = resolve("latest", root)
    record = open_record(path)
    rows = {name: record.table(name).height for name in ("steps", "communication", "collectives")}
    return {"problems": len(check(path)), "rows": rows}


def report(root: Path, _: argparse.Namespace) -> dict[str, Any]:
    """`assay report --terminal --json --html`: open and judge once, show three times."""
    from fireassay.cli import main as assay

    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(io.StringIO()) as told:
        code = assay(["report", "latest", "--root", str(root), "--terminal", "--json", "--html"])
    page = Path(told.getvalue().strip().splitlines()[-1])
    return {"exit_code": code, "invalid": "INVALID" in said.getvalue(), "page_bytes": page.stat().st_size}


def peak_bytes() -> int:
    """The largest resident memory of this process so far."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def run_stage(asked: argparse.Namespace) -> None:
    """In the stage's own process: run it and print what it took."""
    begin, used = time.perf_counter(), time.process_time()
    found = globals()[asked.stage](asked.root, asked)
    took = {"seconds": round(time.perf_counter() - begin, 2), "processor_s": round(time.process_time() - used, 2)}
    print(json.dumps({"stage": asked.stage, **took, "peak_mb": round(peak_bytes() / 1e6), **found}))


def main() -> int:
    """Print one JSON object; exit with 1 if the promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", default=WORKERS)
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--stage", choices=STAGES, help=argparse.SUPPRESS)
    parser.add_argument("--root", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.stage:
        run_stage(asked)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        words = ["--workers", asked.workers, "--launches", str(asked.launches), "--steps", str(asked.steps), "--root", folder]
        stages = [json.loads(subprocess.check_output([sys.executable, __file__, *words, "--stage", stage])) for stage in STAGES]
    last = stages[-1]
    kept = last["seconds"] <= PROMISE_S and last["peak_mb"] * 1e6 <= PROMISE_BYTES
    result = {
        "benchmark": "simulated_10000",
        "utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.platform(),
        "workers": asked.workers,
        "launches": asked.launches,
        "steps": asked.steps,
        "stages": stages,
        "promise": {"stage": "report", "seconds": PROMISE_S, "peak_mb": PROMISE_BYTES // 10**6, "kept": kept},
    }
    print(json.dumps(result, indent=2))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
