"""Do two hosts whose clocks are 5 s and 50 ppm apart measure as two whose clocks do not drift?  And as one host?

Two network namespaces joined by a link, a power meter on each (60 and 140 W), one worker on each, a training that talks much. In each round one
launch with the clocks apart (a time namespace, and a library that makes them drift), one on clocks that differ by exactly 1 s (on equal
clocks they would count as one machine), and one by the launcher `local` without a link, in random order. What a launch measured is compared within its round.

    python benchmarks/apart_hosts.py --rounds 8

Promise: the 95 % intervals of apart / no drift hold 1 for exposed communication, goodput and time per step, and joules are 200 W times the launch's
length within 2 %. The ratio to one host is printed, as the link has a cost of its own. Root on Linux; a C compiler.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import tomli_w

import fireassay
from fireassay.frames.costs import launch_joules
from fireassay.stats.intervals.intervals import log_t
from tests.launchers.apart import METER, WATTS, apart
from tests.launchers.test_nodes import TRAIN

STEPS, WIDTH = 3000, 2000
KINDS = {"apart": (5, 50.0), "no drift": (1, 0.0), "one host": (1, 0.0)}
METRICS = {
    "exposed communication, ms a step": ("comm_exposed", 1e3),
    "goodput, %": ("training_goodput", 100.0),
    "time per step, ms": ("step_time", 1e3),
}
POWER, MOST_OFF = sum(WATTS.values()), 0.02


def launch(kind: str, folder: Path) -> dict[str, float]:
    """One launch of its own record."""
    (folder / "train.py").write_text(TRAIN.replace("range(8)", f"range({STEPS})").replace("Linear(64, 10)", f"Linear(64, {WIDTH})"))
    offset_s, ppm = KINDS[kind]
    with apart(folder, offset_s=offset_s, ppm=ppm) as places:
        launcher = {"kind": "nodes", "hosts": [place.host() for place in places]} if kind != "one host" else {"kind": "local"}
        energy = {
            "source": "prometheus",
            "endpoint": f"http://127.0.0.1:{METER}/metrics",
            "metric": "node_power_watts",
            "sample_every_s": 0.5,
        }
        spec = {
            "name": "apart",
            "workload": {"script": "train.py"},
            "factor": {"levels": [2]},
            "launches": {"per_configuration": 1},
            "launcher": launcher,
            **({} if kind == "one host" else {"energy": energy}),
        }
        (folder / "e.toml").write_text(tomli_w.dumps(spec))
        words = [*places[0].words, sys.executable, "-m", "fireassay", "run", "e.toml"]
        subprocess.run(words, cwd=folder, capture_output=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"})
    [path] = (folder / "records").iterdir()
    record = fireassay.open(path)
    found = {}
    for words_of, (name, factor) in METRICS.items():
        value = record.metric(name, workers=2)
        found[words_of] = factor * getattr(value, "value", float("nan"))
    if kind != "one host":
        [(begin, end)] = record._measured.table("launches").select("begin_ns", "end_ns").iter_rows()
        [(_, total)] = launch_joules(record._measured).iter_rows()
        found["watts"] = total / ((end - begin) / 1e9)
    return found


def main() -> int:
    """Print a table; exit with 1 if the promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=8)
    asked = parser.parse_args()
    draw, found = random.Random(92), {kind: list[dict[str, float]]() for kind in KINDS}
    for number in range(asked.rounds):
        for kind in draw.sample(list(KINDS), len(KINDS)):
            with tempfile.TemporaryDirectory() as folder:
                found[kind].append(launch(kind, Path(folder)))
            print(number, kind, found[kind][-1], file=sys.stderr, flush=True)
    load = os.getloadavg()[0]
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {platform.platform()}, {os.cpu_count()} CPUs, load average {load:.1f}\n")
    return 0 if told(found) else 1


def told(found: dict[str, list[dict[str, float]]]) -> bool:
    """The table; whether the promise is kept."""
    print("| | apart | no drift | one host | apart / no drift | no drift / one host |\n|---|---|---|---|---|---|")
    kept = True
    for name in METRICS:
        means = {kind: statistics.geometric_mean(run[name] for run in runs) for kind, runs in found.items()}
        ratios = []
        for one, other in (("apart", "no drift"), ("no drift", "one host")):
            ratio = log_t([a[name] / b[name] for a, b in zip(found[one], found[other], strict=True)], 0.95)
            ratios.append(ratio)
        kept &= ratios[0].low <= 1.0 <= ratios[0].high
        cells = [f"{means[kind]:.4g}" for kind in KINDS] + [f"{r.value:.3f} [{r.low:.3f}, {r.high:.3f}]" for r in ratios]
        print(f"| {name} | {' | '.join(cells)} |")
    watts = {kind: [run["watts"] for run in runs] for kind, runs in found.items() if kind != "one host"}
    kept &= all(abs(value / POWER - 1.0) <= MOST_OFF for values in watts.values() for value in values)
    cells = [f"{min(values):.1f} to {max(values):.1f}" for values in watts.values()]
    print(f"| joules / length, W (of {POWER:.0f}) | {' | '.join(cells)} | | | |")
    return kept


if __name__ == "__main__":
    sys.exit(main())
