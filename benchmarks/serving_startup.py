"""How long does `assay load` take from the command to the first request at the server, and a report of 10,000 requests?

The server is the reference server: its own log says when the first request's last byte came, on the clock that this script
reads just before it starts the command.  The report is `assay report RECORD --json --html` from the command to its end.
Promise: 1.5 s and 2 s at the median, on a machine that has a processor free; on a busy one --alone gives the command what it
would have there (SCHED_RR), but for the caches and memory that it shares.

    python benchmarks/serving_startup.py --runs 10
    python benchmarks/serving_startup.py --runs 10 --alone      # as root
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.instruments.reference_server import Served, serving
from assay.instruments.reference_settings import Settings
from benchmarks import serving_million

PROMISE_S = {"first_request": 1.5, "report": 2.0}
REQUESTS = 10_000


def first_request(server: Served, folder: Path, url: str) -> float:
    """Seconds from the command to the server's first request."""
    before = len(server.truth())
    began = time.monotonic_ns()
    subprocess.run(
        [
            sys.executable, "-m", "assay", "load", url, "--model", "m", "--scenario", "D(100,20)", "--concurrency", "4", "--quiet",
            "--warm-up", "0s", "--duration", "0.2s", "--launches", "1", "--root", str(folder / "records"),
        ],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    return (min(entry.came_ns for entry in server.truth()[before:]) - began) / 1e9


def before_others(yes: bool) -> None:
    """Whether this process, and what it starts from now on, comes before everything else on the machine."""
    os.sched_setscheduler(0, os.SCHED_RR if yes else os.SCHED_OTHER, os.sched_param(1 if yes else 0))


def told(seconds: list[float]) -> dict[str, Any]:
    """The numbers of several runs."""
    return {
        "runs": len(seconds), "median_s": round(statistics.median(seconds), 2), "fastest_s": round(min(seconds), 2),
        "slowest_s": round(max(seconds), 2),
    }  # fmt: skip


def main() -> int:
    """Measure, print one JSON object, return 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument(
        "--alone", action="store_true", help="what is measured comes before everything else on the machine"
    )
    arguments = parser.parse_args()
    loads = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with serving(Settings(first_s=0.005, next_s=0.0005, truth="ends")) as server:
            before_others(arguments.alone)
            first = [first_request(server, folder, server.url) for _ in range(arguments.runs + 1)][
                1:
            ]  # fills the file cache
        before_others(False)
        built = folder / "server"
        native = Path(__file__).resolve().parent / "native" / "server.c"
        subprocess.run(["gcc", "-O2", "-o", str(built), str(native)], check=True)
        with subprocess.Popen([str(built)], stdout=subprocess.PIPE, text=True) as engine:
            assert engine.stdout is not None
            record, _ = serving_million.load(folder / "many", int(engine.stdout.readline()), REQUESTS, 64)
            engine.kill()
        before_others(arguments.alone)
        reports = [serving_million.report(record) for _ in range(arguments.runs + 1)][1:]
    loads.append(os.getloadavg()[0])
    found = {"first_request": told(first), "report": told([one["seconds"] for one in reports])}
    print(json.dumps({
        "benchmark": "serving_startup", "date": datetime.now(UTC).date().isoformat(), "machine": platform.platform(),
        "load_average": [round(one, 1) for one in loads], "alone": arguments.alone, **found,
        "report_cpu_s": statistics.median(one["cpu_s"] for one in reports), "report_peak_mb": max(one["peak_mb"] for one in reports),
        "promise_s": PROMISE_S,
    }, indent=2))  # fmt: skip
    return 0 if all(found[name]["median_s"] <= most for name, most in PROMISE_S.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
