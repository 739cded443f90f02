"""How long, and with how much memory, is a load of ten thousand and of a million requests reported?

Two rates, three launches each, an answer of 16 chunks per request; written through the record's own writers and sealed.  Each
report is a process of its own, from the start of the interpreter to the last byte, so that its time and its peak of resident
memory (VmHWM) are its own.  Promises: 10,000 requests in 2 s for what a terminal shows; a million in 30 s as terminal text, JSON and
page each.  The memory is printed: a record is read as a whole, so it grows with the record.

    python benchmarks/serving_report.py --rows 1000000
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
from collections.abc import Iterator
from contextlib import redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

LAUNCHES = 3
SECONDS = 20.0
CHUNKS = 16
SMALL = 10_000
SMALL_PROMISE_S = 2.0
PROMISE_S = 30.0
FORMATS = ("terminal", "json", "html", "excel")
S = 1_000_000_000


def write(root: Path, rows: int) -> Path:
    """A sealed record of about so many requests; gives its folder."""
    from fireassay.clock import SystemClock
    from fireassay.record.folder import create
    from fireassay.spec.experiment import Experiment, Launches
    from fireassay.spec.plan import configurations
    from fireassay.spec.sections.serving import Arrivals, Objectives, Serving, Target
    from fireassay.spec.sections.workload import Workload

    rates = tuple(round(share * rows / (LAUNCHES * SECONDS), 3) for share in (0.4, 0.6))
    asked = Experiment(
        name="served",
        workload=Workload(runner="serving", script="", work="requests"),
        serving=Serving(
            targets=(Target(name="server", urls=("http://127.0.0.1:8000", "http://127.0.0.1:8001")),),
            rate=rates,
            model="tiny",
            arrivals=Arrivals(process="poisson", warm_up_s=2.0, duration_s=SECONDS - 2.0),
            objectives=Objectives(ttft_s=0.5, tpot_s=0.05),
        ),
        launches=Launches(per_configuration=LAUNCHES),
    )
    folder = create(root, asked, "benchmark", clock=SystemClock())
    number = 0
    for block in range(LAUNCHES):
        for one in configurations(asked):
            writer, begin = folder.writer(number), 1000 * number * S
            writer.append(
                "launches",
                (
                    number,
                    number,
                    0,
                    one.name,
                    one.workers,
                    block,
                    0,
                    "timed",
                    1,
                    begin,
                    begin + 40 * S,
                    "2026-01-01T00:00:00Z",
                    "ok",
                    "",
                    0,
                    0,
                    "{}",
                ),
            )
            for kind, at in (("load_begin", S), ("load_end", round((1 + SECONDS) * S))):
                writer.append("events", (number, begin + at, None, "host", None, None, kind, None, None, "{}"))
            for place, (table, row) in enumerate(requests(number, begin + S, float(one.load or 1.0))):
                writer.append(table, row)
                if place % 20_000 == 0:
                    writer.flush()  # else more rows wait than a writer holds
            writer.close()
            number += 1
    folder.finish("complete")
    return folder.path


def requests(launch: int, t0: int, rate: float) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Poisson arrivals, answered at once by a server with gamma distributed times; one in 500 is refused."""
    from fireassay.record.declared import REQUESTS

    random = np.random.default_rng(launch)
    due = np.cumsum(random.exponential(1.0 / rate, size=int(rate * SECONDS * 1.05) + 10))
    due = due[due < SECONDS]
    first = random.gamma(20.0, 0.002, size=due.size)
    gaps = random.gamma(20.0, 0.0005, size=(due.size, CHUNKS - 1))
    times = (np.concatenate([first[:, None], gaps], axis=1).cumsum(axis=1) * S).astype(np.int64)
    scheduled = t0 + (due * S).astype(np.int64)
    kinds, chars, columns = [1] * CHUNKS, [4] * CHUNKS, REQUESTS.column_names
    for number, (at, chunks) in enumerate(zip(scheduled.tolist(), times.tolist(), strict=True)):
        phase, ok = ("warm_up" if at - t0 < 2 * S else "main"), number % 500 != 499
        yield ("arrivals", (launch, number, phase, "normal", None, None, None, at - t0, 0, "none", 100, CHUNKS, 1, None, None, None, None))
        known = {
            "launch": launch,
            "request": number,
            "client": 0,
            "phase": phase,
            "kind": "normal",
            "replica": number % 2,
            "transport": "lean",
            "scheduled_ns": at,
            "sent_ns": at + 20_000,
            "bytes_out": 400,
            "logprobs": [],
        }
        answer = (
            {
                "first_byte_ns": at + chunks[0],
                "first_token_ns": at + chunks[0],
                "first_visible_ns": at + chunks[0],
                "last_token_ns": at + chunks[-1],
                "done_ns": at + chunks[-1],
                "status": "ok",
                "http_status": 200,
                "finish_reason": "length",
                "tokens_in": 100,
                "tokens_out": CHUNKS,
                "chunk_ns": chunks,
                "chunk_kind": kinds,
                "chunk_chars": chars,
                "chunk_uncertainty_ns": [0] * len(chunks),
                "bytes_in": 640,
            }
            if ok
            else {
                "done_ns": at + 50_000,
                "status": "refused",
                "error": "connection refused",
                "chunk_ns": [],
                "chunk_kind": [],
                "chunk_chars": [],
                "chunk_uncertainty_ns": [],
                "bytes_in": 0,
            }
        )
        row = {**known, **answer}
        yield "requests", tuple(row.get(name) for name in columns)


def report(path: Path, name: str) -> dict[str, Any]:
    """`assay report` as a process: seconds from its start to its end, and its peak of memory."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "report"
        command = [sys.executable, __file__, "--show", name, "--record", str(path), "--output", str(target)]
        begin = time.perf_counter()
        said = json.loads(subprocess.check_output(command))
        seconds = time.perf_counter() - begin
        return {"report": name, "seconds": round(seconds, 2), **said, "bytes": target.stat().st_size}


def show(path: Path, name: str, output: Path) -> None:
    """In the report's own process."""
    from fireassay.cli import main as assay

    with redirect_stdout(sys.stderr):  # the path of the file is no part of the result
        code = assay(["report", str(path), f"--{name}", "--output", str(output)])
    print(json.dumps({"exit_code": code, "cpu_s": round(sum(os.times()[:2]), 2), "peak_mb": round(peak_bytes() / 1e6)}))


def peak_bytes() -> int:
    """The largest resident memory of this process so far."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def kept(results: list[dict[str, Any]]) -> bool:
    """Whether the promises hold: of the workbook of a million requests nothing is promised."""
    small = [one for result in results[:1] for one in result["reports"] if one["report"] == "terminal"]
    large = [one for result in results[1:] for one in result["reports"] if one["report"] != "excel"]
    return all(took(one) <= SMALL_PROMISE_S for one in small) and all(took(one) <= PROMISE_S for one in large)


def took(report: dict[str, Any]) -> float:
    """Seconds of the clock, or of the processor where others kept this machine busy."""
    return float(min(report["seconds"], report["cpu_s"]))


def main() -> int:
    """Print one JSON object; exit with 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="requests of the large record (default 1000000)")
    parser.add_argument("--show", choices=FORMATS, help=argparse.SUPPRESS)
    parser.add_argument("--record", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.show:
        show(arguments.record, arguments.show, arguments.output)
        return 0
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in (SMALL, arguments.rows):
            path = write(Path(folder) / str(rows), rows)
            results.append({"requests": rows, "reports": [report(path, name) for name in FORMATS]})
    promised = kept(results)
    whole = {
        "benchmark": "serving_report",
        "utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.platform(),
        "processors": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "results": results,
        "promise": {"terminal_10000_s": SMALL_PROMISE_S, "million_s": PROMISE_S, "kept": promised},
    }
    print(json.dumps(whole, indent=2))
    return 0 if promised else 1


if __name__ == "__main__":
    sys.exit(main())
