"""How long does `assay --help` take, in units of an empty interpreter's start?

Each round starts an empty interpreter, one that imports assay, and `assay --help`, one after the other, so that a slow
moment of the machine hits all three.  The answer is the ratio of medians.  The promise is at most 3 for `--help`.

    python benchmarks/startup.py --rounds 41
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime

COMMANDS = {
    "empty interpreter": [sys.executable, "-c", "pass"],
    "import fireassay": [sys.executable, "-c", "import fireassay"],
    "assay --help": [sys.executable, "-c", "import sys; from fireassay.cli import main; sys.exit(main(['--help']))"],
}
PROMISE = 3.0


def measure(rounds: int) -> dict[str, float]:
    """Median seconds of each command over interleaved rounds; one round before them fills the file cache."""
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for number in range(rounds + 1):
        for name, command in COMMANDS.items():
            begin = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            if number:
                seconds[name].append(time.perf_counter() - begin)
    return {name: statistics.median(values) for name, values in seconds.items()}


def main() -> int:
    """Print one JSON object; exit with 1 if the promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=41, help="how often each command is started (default 41)")
    rounds = parser.parse_args().rounds
    medians = measure(rounds)
    ratios = {name: value / medians["empty interpreter"] for name, value in medians.items()}
    result = {
        "benchmark": "startup",
        "utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.platform(),
        "rounds": rounds,
        "median_ms": {name: round(value * 1e3, 1) for name, value in medians.items()},
        "ratio": {name: round(value, 2) for name, value in ratios.items()},
        "promise": PROMISE,
    }
    print(json.dumps(result, indent=2))
    return 0 if ratios["assay --help"] <= PROMISE else 1


if __name__ == "__main__":
    sys.exit(main())
