"""How long, and with how much memory, is a load of ten thousand requests exported to each target that is files?

The record is simulated: two concurrencies, five launches each, with chunk times and texts of answers.  Every export is a process of its own, whose
time is the export's alone, judging apart, and whose peak of resident memory (VmHWM) holds the judged record too.

    python benchmarks/exports.py
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROMISE_S = 10.0
PROMISE_BYTES = 1_000_000_000
TARGETS = ("prometheus", "csv", "parquet", "br", "ro-crate", "ro-crate anonymous=yes", "genai-bench", "tensorboard", "otlp spans=10000")


def make(folder: Path, requests: int) -> Path:
    """A sealed record with at least so many requests."""
    from tests.serving_made import seal, simulated

    seconds = requests / 280  # it answers at least so many in a second of both concurrencies, five launches each
    return seal(simulated(concurrency=(8, 32), blocks=5, seconds=seconds, seed=1).measured(), folder)


def one(record: Path, target: str, folder: Path) -> dict[str, float]:
    """Export once, in this process."""
    from fireassay.api.exporting import export
    from fireassay.api.sides import judged, opened
    from fireassay.reports.build_view import build

    begin = time.perf_counter()
    side = judged(record, opened(record))
    view = build(side.measured, side.judgement)
    middle = time.perf_counter()
    name, *options = target.split()
    export(view, record, name, str(folder / "out"), options)
    took = time.perf_counter() - middle
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return {
        "requests": side.measured.table("requests").height,
        "judging_s": middle - begin,
        "s": took,
        "peak_bytes": int(peak.split()[1]) * 1024,
        "bytes": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
    }


def main() -> int:
    """Measure every target; 1 if one breaks the promise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        record, target, folder = arguments.one
        print(json.dumps(one(Path(record), target, Path(folder))))
        return 0
    kept = True
    with tempfile.TemporaryDirectory() as base:
        record = make(Path(base) / "records", arguments.requests)
        print(
            f"{platform.machine()}, Python {platform.python_version()}; promise: {PROMISE_S:g} s and {PROMISE_BYTES / 1e9:g} GB each, 1 repetition\n"
        )
        print("| target | requests | export | judging | peak memory | size |\n|---|---|---|---|---|---|")
        for number, target in enumerate(TARGETS):
            folder = Path(base) / str(number)
            folder.mkdir()
            command = [sys.executable, __file__, "--one", str(record), target, str(folder)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            kept &= found["s"] <= PROMISE_S and found["peak_bytes"] <= PROMISE_BYTES
            print(
                f"| {target} | {found['requests']:,} | {found['s']:.2f} s | {found['judging_s']:.2f} s | {found['peak_bytes'] / 1e6:.0f} MB "
                f"| {found['bytes'] / 1e6:.1f} MB |"
            )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    raise SystemExit(main())
