"""How much memory and time does a load of a million requests take: in its client, in the coordinator, in the report?

One client process sends them in a closed loop of 64 to a server in C that answers at once with 32 tokens, one chunk each; then
the record is sealed and reported as JSON and HTML.  Resident memory is read several times a second.  Promise: the client
stays below 500 MB, a finished request leaves less than 1 KB in it, the report takes at most 30 s, and every request that was due
has exactly one outcome: answered whole, the last ones of a load that ends by time too.

    python benchmarks/serving_million.py                       # some minutes, 2 GB of disk
    python benchmarks/serving_million.py --requests 10000      # report within 2 s
    python benchmarks/serving_million.py --streams 512 --seconds 600 --gap-ms 20     # waves of 512, for ten minutes

Needs gcc and Linux.
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

from fireassay.launchers.support import supervisor

HERE = Path(__file__).resolve().parent
COORDINATOR = HERE.parent / "tests" / "survival" / "coordinator.py"
MIB = 1 << 20
LOOK_S = 0.25
TOKENS = 32
MAX_CLIENT_MB, MAX_BYTES_PER_REQUEST = 500.0, 1000.0
MAX_REPORT_S = {1_000_000: 30.0, 10_000: 2.0}


def experiment(port: int, requests: int, streams: int, seconds: float) -> dict[str, Any]:
    """A closed loop of so many requests or seconds, once."""
    return {
        "name": "million",
        "workload": {"runner": "serving", "work": "tokens"},
        "serving": {
            "model": "m",
            "scenarios": [f"D(100,{TOKENS})"],
            "concurrency": [streams],
            "targets": [{"name": "native", "backend": "vllm", "urls": [f"http://127.0.0.1:{port}"]}],
            "arrivals": {"requests": requests, "duration_s": seconds, "warm_up_s": 1.0, "cold": 1},
            "objectives": {"ttft_s": 0.2, "tpot_s": 0.05},
        },
        "launches": {"per_configuration": 1},
        "limits": {"launch_timeout_s": 7200.0},
    }


def memory(pid: int, what: str) -> float:
    """VmRSS or VmHWM of a process, MB; 0 where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(what + ":")), 0.0)


def client_of(record: Path) -> int | None:
    """The client process of a record's load."""
    for pid in supervisor.marked(f"{record.name}."):
        try:
            if b"fireassay.traffic.client.process" in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
        except OSError:
            continue
    return None


def load(folder: Path, port: int, requests: int, streams: int, seconds: float = 3600.0) -> tuple[Path, dict[str, Any]]:
    """Run the load to its seal; the record, and what was seen."""
    words = [sys.executable, str(COORDINATOR), "run", str(folder / "records"), str(folder)]
    began = time.monotonic()
    coordinator = subprocess.Popen([*words, json.dumps(experiment(port, requests, streams, seconds))])
    client, path = None, None
    seen: list[tuple[int, float]] = []  # finished, MB
    peak = before = client_peak = 0.0
    ended = began
    while coordinator.poll() is None:
        time.sleep(LOOK_S)
        peak = max(peak, memory(coordinator.pid, "VmHWM"))
        path = path or next(iter((folder / "records").glob("*/manifest.json")), None)
        if path is not None and client is None:
            client = client_of(path.parent)
        if client is not None and (now := memory(client, "VmRSS")):
            client_peak = max(client_peak, memory(client, "VmHWM"))
            before, ended = peak, time.monotonic()
            told = path.parent / "streams" / "launch=0000" / "load" / "client-0.json" if path else None
            if told is not None and told.exists():
                seen.append((json.loads(told.read_bytes())["done"], now))
    if coordinator.returncode or path is None:
        raise SystemExit(f"the load ended with {coordinator.returncode}")
    most = seen[-1][0]
    later = [(done, mb) for done, mb in seen if most / 4 <= done < most] or seen
    per_request = statistics.linear_regression(*zip(*later, strict=True)).slope * 1e6
    return path.parent, {
        "client_peak_mb": round(client_peak, 1),
        "client_mb_at_finished": [[done, round(mb, 1)] for done, mb in seen[:: max(1, len(seen) // 12)]],
        "client_bytes_per_finished_request": round(per_request, 1),
        "load_s": round(ended - began, 1),
        "coordinator_peak_mb_under_load": round(before, 1),
        "coordinator_peak_mb_sealing": round(peak, 1),
        "settling_and_sealing_s": round(time.monotonic() - ended, 1),
    }


def outcomes(record: Path) -> dict[str, Any]:
    """How many requests became due, what became of them, and how many have no outcome or several.

    In a closed loop that ends by time a stream that is behind has planned requests that never became due.
    """
    import polars as pl

    from fireassay.frames.record_data import from_record
    from fireassay.record.reader import open_record
    from fireassay.verdict.audits.serving.requests import due

    measured = from_record(open_record(record))
    texts = pl.col("chunk_kind").list.eval(pl.element() == 1).list.sum()
    ended = measured.table("requests").select("launch", "request", "done_ns", "status", "transport", whole=texts == TOKENS)
    launches = measured.table("launches").select("launch", "configuration")
    planned = measured.table("arrivals").join(launches, on="launch")
    each = (
        due(measured, ended, planned)
        .select("launch", "request")
        .join(ended.group_by("launch", "request").agg(n=pl.len()), on=["launch", "request"], how="full", coalesce=True)
    )
    return {
        "due": each.height,
        "outcomes": dict(ended["status"].value_counts(sort=True).iter_rows()),
        "transports": dict(ended["transport"].value_counts().iter_rows()),
        "with_all_tokens": int(ended["whole"].sum()),
        "planned_and_never_due": planned.height - each.height,
        "not_exactly_one": each.filter(pl.col("n").fill_null(0) != 1).height,
    }


def report(record: Path) -> dict[str, Any]:
    """Seconds, processor seconds and peak memory of `assay report RECORD --json --html`."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "fireassay", "report", str(record), "--json", "--html"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    told = process.stderr.read().decode()
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    page = record / "reports" / "report.html"
    if not page.exists():
        raise SystemExit(told)
    return {
        "seconds": round(time.monotonic() - began, 2),
        "cpu_s": round(used.ru_utime + used.ru_stime, 2),
        "peak_mb": round(used.ru_maxrss * 1024 / 1e6, 1),
        "page_mb": round(page.stat().st_size / 1e6, 2),
    }


def main() -> int:
    """Measure, print one JSON object, return 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=3600.0, help="end the load by then; --requests says how many are planned")
    parser.add_argument("--gap-ms", type=int, default=0, help="between two tokens of an answer; 0: all at once")
    parser.add_argument("--reports", type=int, default=3, help="how often it is reported (3)")
    parser.add_argument("--keep", type=Path, help="a folder for the record; it is kept then")
    arguments = parser.parse_args()
    averages = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        built = Path(temporary) / "server"
        subprocess.run(["gcc", "-O2", "-o", str(built), str(HERE / "native" / "server.c")], check=True)
        pace = str(1000 * arguments.gap_ms)
        server = subprocess.Popen([str(built), "-1", pace, "-2", pace], stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            record, found = load(folder, port, arguments.requests, arguments.streams, arguments.seconds)
        finally:
            server.kill()
            server.wait()
        averages.append(os.getloadavg()[0])
        reports = [report(record) for _ in range(arguments.reports)]
        ended = outcomes(record)
        bytes_on_disk = sum(file.stat().st_size for file in record.rglob("*") if file.is_file())
    most_s = MAX_REPORT_S.get(arguments.requests, 30.0)
    kept = {
        "client below 500 MB": found["client_peak_mb"] < MAX_CLIENT_MB,
        "below 1 KB per finished request": found["client_bytes_per_finished_request"] < MAX_BYTES_PER_REQUEST,
        f"report within {most_s:g} s": sorted(one["seconds"] for one in reports)[len(reports) // 2] <= most_s,
        "one outcome each": ended["not_exactly_one"] == 0 and ended["due"] == ended["with_all_tokens"],
    }
    print(
        json.dumps(
            {
                "benchmark": "serving_million",
                "date": datetime.now(UTC).date().isoformat(),
                "machine": platform.platform(),
                "load_average": [round(one, 1) for one in (*averages, os.getloadavg()[0])],
                "streams": arguments.streams,
                **found,
                **ended,
                "record_mb": round(bytes_on_disk / 1e6, 1),
                "reports": reports,
                "kept": kept,
            },
            indent=2,
        )
    )
    return 0 if all(kept.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
