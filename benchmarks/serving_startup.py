"""How long does `assay load` take from the command to the first request, and from the last answer to its exit, and a report?

The server is the reference server: its own log says when the first request's last byte came and when the last of 2,000 answers
left it, on the clock that this script reads when it starts the command and when that has ended.  The load is judged and its page drawn
before the end.  The report is `assay report RECORD --json --html` of 10,000 requests from the command to its end.
Promise: 1.5, 2 and 2 s at the median, on a machine where `python -c "import polars, pyarrow, numpy"` takes 0.35 s; elsewhere as many
times that as the import takes more, which is measured in turn with the loads.  On a busy machine --alone gives the command what it
would have on an idle one (SCHED_RR), but for the caches and memory that it shares.

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

from benchmarks import serving_million
from fireassay.instruments.reference_server.server import Served, serving
from fireassay.instruments.reference_server.settings import Settings

PROMISE_S = {"first_request": 1.5, "exit": 2.0, "report": 2.0}
IMPORTS = "import polars, pyarrow, numpy"
IMPORTS_S = 0.35  # of them, on the machine that the promises are for
AROUND = 2_000  # requests of the load whose begin and end are timed
REQUESTS = 10_000


def imports() -> float:
    """Seconds of the imports that everything else is held against."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)
    return time.monotonic() - began


def around(server: Served, folder: Path, tokenizer: str) -> tuple[float, float]:
    """Seconds from the command to the server's first request, and from the last answer to the command's end."""
    before = len(server.truth())
    words = [
        sys.executable,
        "-m",
        "fireassay",
        "load",
        server.url,
        "--model",
        "m",
        "--scenario",
        "D(100,20)",
        "--concurrency",
        "64",
        "--quiet",
        "--warm-up",
        "0s",
        "--duration",
        "60s",
        "--requests",
        str(AROUND),
        "--launches",
        "1",
        "--slo",
        "ttft=1,tpot=0.1",
        "--root",
        str(folder / "records"),
        *(["--tokenizer", tokenizer] if tokenizer else []),
    ]
    began = time.monotonic_ns()
    subprocess.run(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    ended = time.monotonic_ns()
    truth = server.truth()[before:]
    last = max(entry.sent_ns[-1] for entry in truth if entry.sent_ns)
    return (min(entry.came_ns for entry in truth) - began) / 1e9, (ended - last) / 1e9


def before_others(yes: bool) -> None:
    """Whether this process, and what it starts from now on, comes before everything else on the machine."""
    os.sched_setscheduler(0, os.SCHED_RR if yes else os.SCHED_OTHER, os.sched_param(1 if yes else 0))


def told(seconds: list[float]) -> dict[str, Any]:
    """The numbers of several runs."""
    return {
        "runs": len(seconds),
        "median_s": round(statistics.median(seconds), 2),
        "fastest_s": round(min(seconds), 2),
        "slowest_s": round(max(seconds), 2),
    }


def main() -> int:
    """Measure, print one JSON object, return 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--alone", action="store_true", help="what is measured comes before everything else on the machine")
    parser.add_argument("--tokenizer", default="", help="count the tokens of the texts with this tokenizer.json")
    arguments = parser.parse_args()
    loads = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with serving(Settings(first_s=0.005, next_s=0.0005, truth="ends")) as server:
            before_others(arguments.alone)
            rounds = range(arguments.runs + 1)  # the first fills the file cache
            timed = [(imports(), *around(server, folder, arguments.tokenizer)) for _ in rounds][1:]
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
    found = {
        "imports": told([one[0] for one in timed]),
        "first_request": told([one[1] for one in timed]),
        "exit": told([one[2] for one in timed]),
        "report": told([one["seconds"] for one in reports]),
    }
    scale = max(1.0, found["imports"]["median_s"] / IMPORTS_S)
    print(
        json.dumps(
            {
                "benchmark": "serving_startup",
                "date": datetime.now(UTC).date().isoformat(),
                "machine": platform.platform(),
                "load_average": [round(one, 1) for one in loads],
                "alone": arguments.alone,
                **found,
                "report_cpu_s": statistics.median(one["cpu_s"] for one in reports),
                "report_peak_mb": max(one["peak_mb"] for one in reports),
                "promise_s": {name: round(scale * most, 2) for name, most in PROMISE_S.items()},
            },
            indent=2,
        )
    )
    return 0 if all(found[name]["median_s"] <= scale * most for name, most in PROMISE_S.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
