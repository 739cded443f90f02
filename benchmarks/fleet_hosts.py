"""Is a throttled node, or a slow link, named by `assay fleet` on real hosts, and nobody without one?

Six hosts are network namespaces, each pair joined by a link of its own, shaped to 200 Mbit/s in each direction. A throttled node has 75 %
of a processor (the kernel's quota, of periods of 10 ms), a slow link has 140 Mbit/s in one direction. What is struck, and the order of
the trials, are drawn; a fleet's exit code and its findings are compared with the draw.

    python benchmarks/fleet_hosts.py --runs 10 > found.jsonl

Promise: what was planted is named, alone, in at least 9 of 10 trials, and nobody in at least 9 of 10 without one. Root on Linux with ip, tc, tbf
and cgroups of version 1 or 2.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import combinations
from pathlib import Path

NAMES = tuple(f"n{number}" for number in range(1, 7))
TESTS = {"node": "matrix,memory", "link": "bandwidth"}
MBIT, SLOW_MBIT = 200, 140
PERIOD_US, SHARE = 10_000, 0.75
KEPT = 0.9


def run(*words: str) -> None:
    subprocess.run(words, check=True)


def address(name: str) -> str:
    return f"10.80.0.{NAMES.index(name) + 1}"


@contextmanager
def hosts() -> Iterator[None]:
    """The namespaces and their links; a host has one address, and a way to each other host's through the link of the two."""
    with ExitStack() as undo:
        for name in NAMES:
            run("ip", "netns", "add", f"fh-{name}")
            undo.callback(run, "ip", "netns", "del", f"fh-{name}")
            run("ip", "-n", f"fh-{name}", "link", "set", "lo", "up")
            run("ip", "-n", f"fh-{name}", "addr", "add", f"{address(name)}/32", "dev", "lo")
        for pair in combinations(NAMES, 2):
            ends = [["netns", f"fh-{name}"] for name in pair]
            run("ip", "link", "add", f"to-{pair[1]}", *ends[0], "type", "veth", "peer", "name", f"to-{pair[0]}", *ends[1])
            for name, other in (pair, pair[::-1]):
                run("ip", "-n", f"fh-{name}", "link", "set", f"to-{other}", "up")
                run("ip", "-n", f"fh-{name}", "route", "add", address(other), "dev", f"to-{other}", "src", address(name))
                shape(name, other, MBIT)
        yield


def shape(name: str, other: str, mbit: int) -> None:
    """What leaves a host for another."""
    words = ("root", "tbf", "rate", f"{mbit}mbit", "burst", "128k", "latency", "100ms")
    run("ip", "netns", "exec", f"fh-{name}", "tc", "qdisc", "replace", "dev", f"to-{other}", *words)


@contextmanager
def quota() -> Iterator[Path]:
    """A control group with a share of one processor. Returns the file that takes a process in."""
    first = Path("/sys/fs/cgroup/cpu")
    group = (first if first.exists() else Path("/sys/fs/cgroup")) / f"fleet-hosts-{os.getpid()}"
    group.mkdir()
    try:
        if (group / "cpu.cfs_quota_us").exists():
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(int(SHARE * PERIOD_US)))
        else:
            (group / "cpu.max").write_text(f"{int(SHARE * PERIOD_US)} {PERIOD_US}")
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


def prefix(name: str, inside: Path | None) -> list[str]:
    there = ["ip", "netns", "exec", f"fh-{name}"]
    return ["sh", "-c", f'echo $$ > {inside}; exec "$@"', "sh", *there] if inside else there


def fleet(folder: Path, tests: str, rounds: int, throttled: str, inside: Path) -> dict[str, object]:
    """What `assay fleet` says of them."""
    lines = [{"name": name, "address": address(name), "prefix": prefix(name, inside if name == throttled else None)} for name in NAMES]
    one = 'environment = { OMP_NUM_THREADS = "1", OPENBLAS_NUM_THREADS = "1" }'
    table = [
        f"{{ name = {json.dumps(row['name'])}, address = {json.dumps(row['address'])}, prefix = {json.dumps(row['prefix'])}, {one} }}"
        for row in lines
    ]
    (file := folder / "nodes.toml").write_text("hosts = [\n" + ",\n".join(table) + "\n]\n")
    words = [
        sys.executable,
        "-m",
        "fireassay",
        "fleet",
        "--hosts",
        str(file),
        "--tests",
        tests,
        "--rounds",
        str(rounds),
        "--pairs",
        "all",
        "--parallel",
        "--json",
    ]
    done = subprocess.run([*words, "--root", str(folder)], capture_output=True, text=True, check=False)
    try:
        told = json.loads(done.stdout)
    except ValueError:
        return {"exit": done.returncode, "error": done.stderr[-500:]}
    findings = [finding for finding in told["findings"] if finding["severity"] == "fail"]
    return {"exit": done.returncode, "named": [finding["evidence"] for finding in findings]}


def trial(kind: str, draw: random.Random, rounds: int) -> dict[str, object]:
    """Strike one node, one link or nothing."""
    tests = TESTS.get(kind, ",".join(TESTS.values()))
    struck = draw.choice(NAMES)
    link = draw.sample(NAMES, 2)
    with tempfile.TemporaryDirectory() as folder, quota() as inside:
        if kind == "link":
            shape(*link, SLOW_MBIT)
        try:
            told = fleet(Path(folder), tests, rounds, struck if kind == "node" else "", inside)
        finally:
            shape(*link, MBIT)
    planted = {"node": struck, "link": " > ".join(link)}.get(kind, "")
    return {"kind": kind, "planted": planted, **told, "load": round(os.getloadavg()[0], 1)}


def right(found: dict[str, object]) -> bool:
    """Is what was planted named, and nothing else?"""
    named = found.get("named")
    if not isinstance(named, list):
        return False
    return len(named) == bool(found["planted"]) and all(str(found["planted"]) in sentence for sentence in named)


def main() -> int:
    """Print a JSON line per trial; exit with 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10, help="trials of each kind (10)")
    parser.add_argument("--rounds", type=int, default=7, help="of each fleet (7)")
    parser.add_argument("--kinds", nargs="+", default=["none", "node", "link"], choices=["none", "node", "link"])
    asked = parser.parse_args()
    draw, good = random.Random(96), Counter[str]()
    with hosts():
        for _ in range(asked.runs):
            for kind in draw.sample(asked.kinds, len(asked.kinds)):
                found = trial(kind, draw, asked.rounds)
                good[kind] += right(found)
                print(json.dumps({**found, "right": right(found)}), flush=True)
    print(dict(good), file=sys.stderr)
    return 0 if all(good[kind] >= KEPT * asked.runs for kind in asked.kinds) else 1


if __name__ == "__main__":
    sys.exit(main())
