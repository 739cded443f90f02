"""Is a load by many clients on several hosts the load of one client, and what does an open stream cost a client process?

    python benchmarks/client_hosts.py split --rounds 8       1, 2 and 8 clients on 1, 2 and 3 hosts, in turn
    python benchmarks/client_hosts.py streams 500 2000 4000  memory and processor time of one client by open streams

split: three network namespaces with clocks of their own (time namespaces), and a fourth with the reference server, on a bridge. Each round has one
launch of each number of clients, in random order, with one seed: the same schedule. Promises: equal digests of what was sent, no difference between
merged percentiles and the single client's (the 95 % interval of their ratio, over rounds, holds 1), throughput within 2 % of the sum over the clients.
The mean of equal launches lies inside another's 95 % interval in 83 % of cases only: that was asked first, and is no test.
streams: a server in C (native/server.c) sends each of N streams a token a second; the client's memory and processor time are read in the middle.
Needs root (ip, unshare) for split, gcc for streams.
"""

from __future__ import annotations

import argparse
import platform
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import psutil

from fireassay.frames.record_data import RecordData, from_record
from fireassay.frames.serving.client_clocks import client_clocks
from fireassay.record.reader import open_record
from fireassay.runners.experiment.run import run
from fireassay.spec.load import from_mapping
from fireassay.stats.intervals.intervals import log_t

NATIVE = Path(__file__).parent / "native"
CLIENTS = {1: "a", 2: "ab", 8: "abc"}  # client processes -> their hosts
APART_S = {"a": 5000, "b": 70, "c": 12345}  # of each host's monotonic clock
MEASURES = {
    "TTFT p50": ("ttft_s", 0.5),
    "TTFT p90": ("ttft_s", 0.9),
    "TTFT p50 from sending": ("ttft_sent_s", 0.5),
    "E2E p50": ("e2e_s", 0.5),
    "E2E p90": ("e2e_s", 0.9),
}
MOST_APART = 0.02
PORT = 8400
WARM_UP_S = 1.0


def experiment(url: str, seed: int, **more: Any) -> dict[str, Any]:
    serving = {"model": "reference", "targets": [{"name": "reference", "urls": [url]}], **more.pop("serving")}
    return {
        "name": "client-hosts",
        "workload": {"runner": "serving", "work": "tokens"},
        "serving": serving,
        "launches": {"per_configuration": 1, "seed": seed},
        "noise": {"sentinel_s": 0.0},
        **more,
    }


# ---- one schedule, several hosts ---------------------------------------------------------------------------------


@contextmanager
def network() -> Iterator[dict[str, list[str]]]:
    """Host -> the prefix that runs a command there; also "server", at 10.79.0.1."""

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)

    names = ["server", *APART_S]
    with ExitStack() as undo:
        ip("link", "add", "chbr", "type", "bridge")
        undo.callback(ip, "link", "del", "chbr")
        ip("link", "set", "chbr", "up")
        for number, name in enumerate(names, start=1):
            space = f"ch-{name}"
            ip("netns", "add", space)
            undo.callback(ip, "netns", "del", space)
            ip("link", "add", f"ch{number}", "type", "veth", "peer", "name", "eth0", "netns", space)
            ip("link", "set", f"ch{number}", "master", "chbr", "up")
            ip("-n", space, "addr", "add", f"10.79.0.{number}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                ip("-n", space, "link", "set", device, "up")
        ip("addr", "add", "10.79.0.254/24", "dev", "chbr")  # the coordinator asks whether the server is there
        prefixes = {name: ["ip", "netns", "exec", f"ch-{name}"] for name in names}
        yield {
            name: [*words, *(["unshare", "--time", "--fork", "--kill-child", "--monotonic", str(APART_S[name])] if name in APART_S else [])]
            for name, words in prefixes.items()
        }


@contextmanager
def reference_server(prefix: list[str]) -> Iterator[str]:
    times = ("--first-s", "0.08", "--spread-first-s", "0.04", "--next-s", "0.01")
    words = [sys.executable, "-m", "fireassay.instruments.reference_server", "--host", "10.79.0.1", "--port", str(PORT), *times]
    process = subprocess.Popen([*prefix, *words], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60.0
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("10.79.0.1", PORT), timeout=1.0).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://10.79.0.1:{PORT}"
    finally:
        process.terminate()
        process.wait()


def one(url: str, prefixes: dict[str, list[str]], clients: int, seed: int, root: Path, rate: float) -> dict[str, Any]:
    serving = {
        "scenarios": ["D(20,16)"],
        "rate": [rate],
        "arrivals": {"process": "poisson", "duration_s": 10.0, "warm_up_s": WARM_UP_S},
        "prompts": {"cache": "as_is"},
        "client": {"processes": clients},
    }
    hosts = [{"name": name, "address": name, "prefix": prefixes[name]} for name in CLIENTS[clients]]
    data = experiment(url, seed, serving=serving, launcher={"kind": "nodes", "hosts": hosts})
    record = open_record(run(from_mapping(data), root=root, folder=root))
    return measured_of(from_record(record), record.table("requests"), record.manifest["schedules"]["0"])


def by_own_clock(record: RecordData, raw: pl.DataFrame, window_s: float) -> float:
    """Answers per second of each client, by its own clock and its own begin, added up."""
    rows = raw.join(record.table("arrivals").drop_nulls("due_ns").select("request", "due_ns"), on="request")
    begins = rows.group_by("client").agg((pl.col("scheduled_ns") - pl.col("due_ns")).first().alias("begin"))
    since = (pl.col("done_ns") - pl.col("begin")) / 1e9 - WARM_UP_S
    return float(rows.join(begins, on="client").filter((since >= 0.0) & (since < window_s)).height / window_s)


def measured_of(record: RecordData, raw: pl.DataFrame, schedule: dict[str, Any]) -> dict[str, Any]:
    counted = record.served.requests.filter("counted")
    window = record.served.windows.row(0, named=True)
    if window["seconds"] is None:
        raise SystemExit(f"no window: {client_clocks(record.tables)}, {record.table('events')['kind'].value_counts()}")
    found = {name: counted[column].drop_nulls().quantile(share, "linear") for name, (column, share) in MEASURES.items()}
    ended = record.served.requests.filter(pl.col("done_ns").is_between(window["begin_ns"], window["end_ns"])).height
    failed = counted.filter(~pl.col("ok")).height
    return {
        **found,
        "digest": (schedule["sha256"], schedule["sent"]["sum"], schedule["sent"].get("others", [])),
        "throughput": ended / window["seconds"],
        "sum": by_own_clock(record, raw, window["seconds"]),
        "failed": failed,
        "bound_ms": record.unsure_ns[0] / 1e6,
        "lag_p99_ms": 1e3 * (counted["lag_s"].quantile(0.99, "lower") or 0.0),
    }


def split(rounds: int, rate: float) -> bool:
    draw, found = random.Random(1), {clients: list[dict[str, Any]]() for clients in CLIENTS}
    with tempfile.TemporaryDirectory() as folder, network() as prefixes, reference_server(prefixes["server"]) as url:
        for number in range(rounds):
            for clients in draw.sample(list(CLIENTS), len(CLIENTS)):
                found[clients].append(one(url, prefixes, clients, 1000 + number, Path(folder) / "records", rate))
                print(number, clients, {k: v for k, v in found[clients][-1].items() if k != "digest"}, file=sys.stderr, flush=True)
    return told(found)


def told(found: dict[int, list[dict[str, Any]]]) -> bool:
    rounds = len(found[1])
    same = all(len({runs[number]["digest"][:2] for runs in found.values()}) == 1 for number in range(rounds))
    others = [runs[number]["digest"][2] for runs in found.values() for number in range(rounds) if runs[number]["digest"][2]]
    print(f"| | {' | '.join(f'{clients} clients, {len(hosts)} hosts' for clients, hosts in CLIENTS.items())} |")
    print("|---|---|---|---|")
    kept = same and not others
    for name in MEASURES:
        means = {clients: statistics.geometric_mean(run[name] for run in runs) for clients, runs in found.items()}
        cells = [f"{1e3 * means[1]:.1f}"]
        for clients in (2, 8):
            ratio = log_t([run[name] / single[name] for run, single in zip(found[clients], found[1], strict=True)], 0.95)
            inside = ratio.low <= 1.0 <= ratio.high
            kept &= inside
            percent = [f"{100 * (value - 1):+.2f}" for value in (ratio.value, ratio.low, ratio.high)]
            cells.append(f"{1e3 * means[clients]:.1f} ({percent[0]} % [{percent[1]}, {percent[2]}]){'' if inside else ' OUTSIDE'}")
        print(f"| {name}, ms | {' | '.join(cells)} |")
    for name in ("throughput", "sum", "bound_ms", "lag_p99_ms", "failed"):
        print(f"| {name} | {' | '.join(f'{statistics.mean(run[name] for run in runs):.3f}' for runs in found.values())} |")
    apart = max(abs(run["throughput"] / run["sum"] - 1.0) for runs in found.values() for run in runs)
    means_apart = max(
        abs(statistics.mean(run["throughput"] for run in runs) / statistics.mean(run["sum"] for run in runs) - 1.0)
        for runs in found.values()
    )
    print(
        f"equal digests in all {rounds} rounds: {same and not others}; throughput from the sum: {means_apart:.2%}, at most {apart:.2%} in a launch"
    )
    return kept and means_apart <= MOST_APART


# ---- open streams ------------------------------------------------------------------------------------------------


@contextmanager
def slow_server(folder: Path, seconds: int) -> Iterator[str]:
    subprocess.run(["gcc", "-O2", "-o", str(folder / "server"), str(NATIVE / "server.c")], check=True)
    words = [str(folder / "server"), "-1", "1000000", "-2", "1000000", "-n", str(seconds)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait()


def streams(counts: list[int], seconds: int = 24) -> None:
    print("| open streams | client, MB | client's processor time, of one | microseconds a chunk | chunks/s |")
    print("|---|---|---|---|---|")
    points = []
    for count in counts:
        with tempfile.TemporaryDirectory() as folder, slow_server(Path(folder), seconds) as url:
            use: dict[str, float] = {}
            watcher = threading.Thread(target=watch, args=(use, seconds))
            watcher.start()
            serving = {
                "scenarios": [f"D(20,{seconds})"],
                "concurrency": [count],
                "arrivals": {"process": "closed", "duration_s": float(seconds), "warm_up_s": 0.0, "cold": 0, "requests": count},
                "client": {"keep_text": False},
            }
            record = open_record(run(from_mapping(experiment(url, 1, serving=serving)), root=Path(folder) / "records", folder=Path(folder)))
            watcher.join()
            rows = record.table("requests").filter(pl.col("status") == "ok")
            chunks = rows["chunk_ns"].list.len().sum() / seconds
            points.append((rows.height, use["rss"]))
            print(
                f"| {rows.height:,} | {use['rss'] / 1e6:.0f} | {use['share']:.1%} | {1e6 * use['share'] / chunks:.1f} | {chunks:,.0f} |",
                flush=True,
            )
    slope = statistics.linear_regression([x for x, _ in points], [y for _, y in points]).slope
    print(f"memory of an open stream (slope): {slope / 1e3:.1f} KB")


def watch(use: dict[str, float], seconds: int) -> None:
    """Memory and processor time of the client, from a quarter of the load to three quarters."""
    client = None
    while client is None:
        client = next((p for p in psutil.Process().children(recursive=True) if "fireassay.traffic.client.process" in p.cmdline()), None)
        time.sleep(0.1)
    folder = Path(client.cmdline()[client.cmdline().index("fireassay.traffic.client.process") + 1]).parent
    while not (folder / "begin").exists():
        time.sleep(0.1)
    time.sleep(seconds / 4)
    before, at = client.cpu_times(), time.monotonic()
    time.sleep(seconds / 2)
    after, use["rss"] = client.cpu_times(), float(client.memory_info().rss)
    use["share"] = (after.user + after.system - before.user - before.system) / (time.monotonic() - at)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    of_split = verbs.add_parser("split")
    of_split.add_argument("--rounds", type=int, default=8)
    of_split.add_argument("--rate", type=float, default=40.0)
    verbs.add_parser("streams").add_argument("counts", type=int, nargs="+")
    arguments = parser.parse_args()
    load = psutil.getloadavg()[0]
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {platform.platform()}, {psutil.cpu_count()} CPUs, load average {load:.1f}")
    if arguments.verb == "split":
        return 0 if split(arguments.rounds, arguments.rate) else 1
    streams(arguments.counts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
