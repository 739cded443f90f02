"""Does `assay time` report the right time, what does it cost per start, and does it call equal commands different?

Beside hyperfine -N and pyperf command on the same work, in turn, in a random order in every round.  The reference is a loop of
posix_spawn and waitpid in one small process that does nothing else, whose starts are timed in it.

    error         (median start as the tool reports it) / (median start of the reference in the same round) - 1, median over rounds
    wall, cpu     of the whole tool, less what the reference needs for as many starts, per start
    false alarms  two equal commands: assay says faster or slower; hyperfine's ratio differs from 1 by more than its sigma;
                  pyperf compare_to says significant (Student t on pooled values)

Promise: the error is at most 5 % or 0.1 ms, whichever is more, and assay's false alarms are compatible with 5 % (one-sided exact test).

    python benchmarks/time_overhead.py --rounds 10 --repeats 20
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

STARTS = 40  # per round and tool
ERROR, ERROR_S = 0.05, 1e-4
REFERENCE = """
import os, sys, time
command, starts = sys.argv[2:], int(sys.argv[1])
null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
for _ in range(starts):
    begin = time.monotonic_ns()
    os.waitpid(os.posix_spawn(command[0], command, os.environ, file_actions=null), 0)
    print(time.monotonic_ns() - begin)
"""
COMMANDS = {
    "/bin/true": ["/bin/true"],
    "python, 300,000 sums": [sys.executable, "-I", "-S", "-c", "sum(range(300_000))"],
    "python -c pass": [sys.executable, "-c", "pass"],
}
Tool = Callable[[list[str], Path], float]  # the median seconds that it reports


def run(words: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL, **more)


def reference(command: list[str], _: Path) -> float:
    lines = run([sys.executable, "-I", "-S", "-c", REFERENCE, str(STARTS), *command]).stdout.split()
    return statistics.median(map(int, lines)) / 1e9


def assay(command: list[str], folder: Path) -> float:
    words = [sys.executable, "-m", "fireassay", "time", "--launches", "4", "--trials", str(STARTS // 4), "--quiet", "--json"]
    found = json.loads(run([*words, "--root", str(folder), "--", *command]).stdout)
    return float(statistics.median(found["commands"][0]["time"]["launch_values"]))


def hyperfine(command: list[str], folder: Path) -> float:
    out = folder / "hyperfine.json"
    import shlex

    run(["hyperfine", "-N", "--warmup", "1", "--runs", str(STARTS), "--export-json", str(out), shlex.join(command)])
    return float(json.loads(out.read_text())["results"][0]["median"])


def pyperf(command: list[str], folder: Path) -> float:
    out = folder / "pyperf.json"
    out.unlink(missing_ok=True)
    run(
        [
            sys.executable,
            "-m",
            "pyperf",
            "command",
            "-q",
            "-p",
            "4",
            "-w",
            "1",
            "-n",
            str(STARTS // 4),
            "-l",
            "1",
            "-o",
            str(out),
            "--",
            *command,
        ]
    )
    import pyperf as library

    return float(library.Benchmark.load(str(out)).median())


TOOLS: dict[str, Tool] = {"reference": reference, "assay": assay, "hyperfine": hyperfine, "pyperf": pyperf}


def measured(tool: Tool, command: list[str], folder: Path) -> tuple[float, float, float]:
    """What it reports, and the wall and processor seconds of all of it."""
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    reported = tool(command, folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return reported, time.perf_counter() - begin, cpu


def one_command(command: list[str], tools: list[str], rounds: int, numbers: random.Random) -> dict[str, Any]:
    """Errors and costs of every tool, medians over rounds."""
    rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in tools}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name in numbers.sample(tools, len(tools)):
                rows[name].append(measured(TOOLS[name], command, Path(folder)))
    base = rows["reference"]
    found: dict[str, Any] = {"reference_ms": 1e3 * statistics.median(row[0] for row in base)}
    for name in tools[1:]:
        pairs = list(zip(rows[name], base, strict=True))
        found[name] = {
            "error": statistics.median(own[0] / ref[0] - 1 for own, ref in pairs),
            "error_ms": 1e3 * statistics.median(own[0] - ref[0] for own, ref in pairs),
            "wall_ms_per_start": 1e3 * statistics.median((own[1] - ref[1]) / STARTS for own, ref in pairs),
            "cpu_ms_per_start": 1e3 * statistics.median((own[2] - ref[2]) / STARTS for own, ref in pairs),
        }
    return found


# ---- equal commands, compared ----------------------------------------------------------------------------------------


def alarm_assay(command: list[str], folder: Path) -> bool:
    words = [sys.executable, "-m", "fireassay", "time", "--launches", "5", "--trials", "8", "--quiet", "--json"]
    found = json.loads(run([*words, "--root", str(folder), "--", *command, "---", *command]).stdout)
    return found["against_first"][0]["word"] in ("faster", "slower")


def alarm_hyperfine(command: list[str], folder: Path) -> bool:
    import shlex

    out, text = folder / "pair.json", shlex.join(command)
    run(["hyperfine", "-N", "--warmup", "1", "--runs", "40", "--export-json", str(out), text, text])
    fast, slow = sorted(json.loads(out.read_text())["results"], key=lambda row: float(row["mean"]))
    ratio = slow["mean"] / fast["mean"]  # with its sigma by error propagation, as hyperfine prints it
    sigma = ratio * ((slow["stddev"] / slow["mean"]) ** 2 + (fast["stddev"] / fast["mean"]) ** 2) ** 0.5
    return bool(ratio - 1 > sigma)


def alarm_pyperf(command: list[str], folder: Path) -> bool:
    files = []
    for name in ("a", "b"):
        out = folder / f"{name}.json"
        out.unlink(missing_ok=True)
        run(
            [
                sys.executable,
                "-m",
                "pyperf",
                "command",
                "-q",
                "-p",
                "5",
                "-w",
                "1",
                "-n",
                "8",
                "-l",
                "1",
                "--name",
                "x",
                "-o",
                str(out),
                "--",
                *command,
            ]
        )
        files.append(str(out))
    text = run([sys.executable, "-m", "pyperf", "compare_to", *files]).stdout
    return "not significant" not in text.lower()


ALARMS: dict[str, Callable[[list[str], Path], bool]] = {"assay": alarm_assay, "hyperfine": alarm_hyperfine, "pyperf": alarm_pyperf}


def false_alarms(tools: list[str], repeats: int, numbers: random.Random) -> dict[str, int]:
    """How often each tool calls two equal commands different."""
    hits = dict.fromkeys(tools, 0)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeats):
            for name in numbers.sample(tools, len(tools)):
                hits[name] += ALARMS[name](COMMANDS["python, 300,000 sums"], Path(folder))
    return hits


def main() -> int:
    """Print one JSON object; exit with 1 if the promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10, help="rounds of every command and tool (default 10)")
    parser.add_argument("--repeats", type=int, default=20, help="comparisons of equal commands (default 20)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    numbers = random.Random(arguments.seed)
    tools = [name for name in TOOLS if name != "hyperfine" or shutil.which("hyperfine")]
    load = os.getloadavg()
    times = {}
    for name, words in COMMANDS.items():
        times[name] = one_command(words, tools, arguments.rounds, numbers)
        print(f"{name}: {json.dumps(times[name])}", file=sys.stderr, flush=True)
    hits = false_alarms(tools[1:], arguments.repeats, numbers) if arguments.repeats else {}
    broken = [
        name for name, found in times.items() if abs(found["assay"]["error"]) > ERROR and abs(found["assay"]["error_ms"]) > 1e3 * ERROR_S
    ]
    if hits and too_many(hits["assay"], arguments.repeats):
        broken.append("false alarms")
    print(
        json.dumps(
            {
                "benchmark": "time_overhead",
                "utc": datetime.now(UTC).isoformat(timespec="seconds"),
                "machine": f"{platform.machine()}, {os.cpu_count()} processors, load {load[0]:.1f} before and {os.getloadavg()[0]:.1f} after",
                "python": platform.python_version(),
                "rounds": arguments.rounds,
                "starts_per_round": STARTS,
                "times": times,
                "false_alarms": {name: f"{count} of {arguments.repeats}" for name, count in hits.items()},
                "broken": broken,
            },
            indent=2,
        )
    )
    return 1 if broken else 0


def too_many(hits: int, n: int) -> bool:
    """Whether 5 % true false alarms would give so many in less than 1 % of cases."""
    from scipy.stats import binom

    return bool(binom.sf(hits - 1, n, 0.05) < 0.01)


if __name__ == "__main__":
    sys.exit(main())
