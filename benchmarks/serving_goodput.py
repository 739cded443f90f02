"""Is the goodput of a closed loop that of the server's own log, from answers of 5 ms to answers of 10 s?

    python benchmarks/serving_goodput.py
    python benchmarks/serving_goodput.py --latency 0.05 --latency 2 --streams 32

For each latency one launch of `assay load` with its default window (2 s of warm-up, 30 s measured, longer where asked for) on a reference
server that logs its own times; every answer is good.  The truth knows nothing of a window: it is the sum over the server's
connections of (answers - 1) / (last end - first end), of the answers that began behind the warm-up's first wave.  The goodput
must be within 2 % of it.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

from fireassay.instruments.reference_server.server import serving
from fireassay.instruments.reference_server.settings import Settings
from fireassay.instruments.reference_server.truth import Entry

LATENCIES = (0.005, 0.05, 0.5, 1.5, 2.0, 10.0)
TOKENS = 8
MAX_DISAGREEMENT = 0.02
DURATION_S = 30.0


def truth(entries: list[Entry]) -> float:
    """Answers per second, stream by stream, by the server's log."""
    ends: dict[int, list[int]] = defaultdict(list)
    for entry in entries:
        if entry.outcome == "complete" and entry.sent_ns:
            ends[entry.connection].append(entry.sent_ns[-1])
    steady = {connection: sorted(own)[1:] for connection, own in ends.items() if len(own) > 2}
    return sum((len(own) - 1) * 1e9 / (own[-1] - own[0]) for own in steady.values() if len(own) > 1)


def measured(latency_s: float, streams: int, duration_s: float) -> dict[str, Any]:
    """One load of this latency: its goodput, the truth, and the verdict."""
    first, after = latency_s / 2, latency_s / 2 / (TOKENS - 1)
    with serving(Settings(first_s=first, next_s=after)) as server, tempfile.TemporaryDirectory() as root:
        command = [
            sys.executable,
            "-m",
            "fireassay",
            "load",
            server.url,
            "--model",
            "m",
            "--scenario",
            f"D(20,{TOKENS})",
            "--concurrency",
            str(streams),
            "--duration",
            f"{duration_s:g}s",
            "--launches",
            "1",
            "--slo",
            "e2e=1000",
            "--root",
            root,
            "--json",
            "--quiet",
        ]
        made = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        told, entries = json.loads(made.stdout), list(server.truth())
    (value,) = (found for found in told["metrics"] if found["metric"] == "goodput")
    real, own = truth(entries), value.get("value")
    return {
        "latency_s": latency_s,
        "streams": streams,
        "goodput": own,
        "truth": round(real, 4),
        "off": None if own is None else round(own / real - 1.0, 5),
        "status": told["verdict"]["status"],
        "why": value.get("detail"),
    }


def main() -> int:
    """Print one JSON object; exit with 1 if a goodput is off by more."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, action="append", help="seconds of an answer (default: 5 ms to 10 s)")
    parser.add_argument("--streams", type=int, default=32, help="streams (default 32)")
    parser.add_argument("--duration", type=float, default=DURATION_S, help="seconds that are measured (default 30)")
    asked = parser.parse_args()
    runs = [measured(latency, asked.streams, asked.duration) for latency in asked.latency or LATENCIES]
    kept = all(run["off"] is not None and abs(run["off"]) <= MAX_DISAGREEMENT for run in runs)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    print(json.dumps({"benchmark": "serving_goodput", "utc": now, "machine": platform.platform(), "runs": runs, "kept": kept}, indent=2))
    return 0 if kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
