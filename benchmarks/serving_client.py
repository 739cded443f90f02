"""How fast is assay's client, how late do its requests leave, and what does a token cost it, beside its floors and its peers?

A server in C (native/server.c) is loaded in turn by a bare client in C, by a bare protocol on uvloop (the floors: they find an
answer's end and keep nothing), by one assay client process that records everything, and by any peer that is installed, round by
round in the same run.  Requests per second and the turnaround (from the last send of an answer to the next request at the server's
socket) are the server's own count, for every client alike.  Three modes:

    tokens    answers at once, each token by its own send, which is how engines stream; 64 streams of 32 tokens
    answers   answers at once, all tokens in one send
    wave      512 streams of 64 tokens in step: the first after 50 ms, then one every 10 ms; all end together

    python benchmarks/serving_client.py --rounds 5
    python benchmarks/serving_client.py --mode wave --python         # assay's client in Python as well
    python benchmarks/serving_client.py --peer vllm=/venvs/vllm/bin/python --tokenizer /models/tokenizer
    python benchmarks/serving_client.py --peer-command 'mine=/bin/mine {url} {requests} {connections} {tokens} {tokenizer}'
    python benchmarks/serving_client.py --memory 100000      # what a finished request leaves in memory

Processor time of assay and of the floors is that between the first and the last request; of a peer that of its whole process tree, less
that of a run with few requests.  Needs gcc and Linux, and a quiet machine: `others` is how many processors other programs used.
Without a peer in the run the promise of the rate stays open.  How exact the client's times are is measured by
benchmarks/serving_error.py.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

NATIVE = Path(__file__).parent / "native"
BARE = Path(__file__).parent / "bare_protocol.py"
MIN_TIMES = {"sglang-rust": 1.5, "vllm": 5.0}  # requests per second, of the fastest peers': in Rust and in Python, in the same run
MAX_TIMES_C = 4.0  # processor time per chunk that is a packet of its own, of the bare C client's, which looks for the last bytes only
MAX_TIMES_BARE = 1.5  # processor time per chunk and turnaround in the wave, of the bare protocol's on uvloop
MIN_ACHIEVED = 0.99  # of the bare protocol's rate in the wave
MORE_EVENTS = 4  # role, finish reason, usage, end mark
LEAD_NS = 100_000_000  # between the word to begin and the begin, as assay's runner has it
FEW = 64  # requests of the run that tells a peer's start and end apart from its load

_IDS = (
    "--dataset-name",
    "random-ids",
    "--random-input-len",
    "100",
    "--random-output-len",
    "{tokens}",
    "--random-range-ratio",
    "1",
    "--num-prompts",
    "{requests}",
    "--max-concurrency",
    "{connections}",
    "--disable-tqdm",
)
_RANDOM = (
    "--dataset-name",
    "random",
    "--random-input-len",
    "100",
    "--random-output-len",
    "{tokens}",
    "--num-prompts",
    "{requests}",
    "--max-concurrency",
    "{connections}",
)
PEERS: dict[str, tuple[str, ...]] = {  # behind the peer's Python; vllm and sglang-rust were run, the others are as their documents say
    "vllm": (
        "-m",
        "vllm.entrypoints.cli.main",
        "bench",
        "serve",
        "--backend",
        "openai-chat",
        "--base-url",
        "{url}",
        "--endpoint",
        "/v1/chat/completions",
        "--model",
        "m",
        "--tokenizer",
        "{tokenizer}",
        "--ignore-eos",
        *_RANDOM,
    ),
    "sglang": (
        "-m",
        "sglang.benchmark.serving",
        "--backend",
        "sglang-oai-chat",
        "--base-url",
        "{url}",
        "--model",
        "m",
        "--tokenizer",
        "{tokenizer}",
        *_RANDOM,
    ),
    "sglang-rust": (
        "-m",
        "sglang.benchmark.rust_client",
        "--backend",
        "sglang-oai-chat",
        "--base-url",
        "{url}",
        "--model",
        "m",
        "--tokenizer",
        "{tokenizer}",
        *_IDS,
        "--disable-retokenize",
        "--worker-threads",
        "1",
    ),  # one thread is its best
    "aiperf": (
        "-m",
        "aiperf",
        "profile",
        "--model",
        "m",
        "--url",
        "{url}",
        "--endpoint-type",
        "chat",
        "--streaming",
        "--tokenizer",
        "{tokenizer}",
        "--concurrency",
        "{connections}",
        "--request-count",
        "{requests}",
        "--synthetic-input-tokens-mean",
        "100",
        "--output-tokens-mean",
        "{tokens}",
    ),
    "guidellm": (
        "-m",
        "guidellm",
        "benchmark",
        "--target",
        "{url}",
        "--model",
        "m",
        "--processor",
        "{tokenizer}",
        "--rate-type",
        "concurrent",
        "--rate",
        "{connections}",
        "--max-requests",
        "{requests}",
        "--data",
        "prompt_tokens=100,output_tokens={tokens}",
    ),
    "genai-bench": (
        "-m",
        "genai_bench.cli.cli",
        "benchmark",
        "--api-backend",
        "openai",
        "--api-base",
        "{url}",
        "--api-key",
        "none",
        "--api-model-name",
        "m",
        "--model-tokenizer",
        "{tokenizer}",
        "--task",
        "text-to-text",
        "--traffic-scenario",
        "D(100,{tokens})",
        "--num-concurrency",
        "{connections}",
        "--max-requests-per-run",
        "{requests}",
        "--max-time-per-run",
        "10",
    ),
}


@dataclass(frozen=True)
class Mode:
    """How the server answers, and to how many."""

    server: tuple[str, ...]
    connections: int
    tokens: int
    share: float = 1.0  # of the requests asked for


MODES = {"tokens": Mode((), 64, 32), "answers": Mode(("-a",), 64, 32), "wave": Mode(("-1", "50000", "-2", "10000"), 512, 64, 0.25)}


@dataclass(frozen=True)
class Run:
    """One client's run."""

    requests: int
    seconds: float
    cpu_s: float
    others: float  # processors that other programs used meanwhile
    events: int  # of an answer
    turnaround_ms: tuple[float, float]  # p50, p99
    rss_mib: float | None = None

    def told(self) -> dict[str, float | None]:
        """In numbers that can be compared."""
        return {
            "requests_per_s": self.requests / self.seconds,
            "cpu_us_per_request": self.cpu_s / self.requests * 1e6,
            "cpu_s_per_100k_chunks": self.cpu_s / self.requests / self.events * 1e5,
            "others": self.others,
            "rss_mib": self.rss_mib,
            "turnaround_p50_ms": self.turnaround_ms[0],
            "turnaround_p99_ms": self.turnaround_ms[1],
        }


# ---- the native programs -----------------------------------------------------------------------------------------


def build(folder: Path) -> None:
    """Compile both."""
    for name in ("server", "client"):
        subprocess.run(["gcc", "-O2", "-o", str(folder / name), str(NATIVE / f"{name}.c")], check=True)


class Server:
    """The server, and what it says of its answers when it has ended."""

    def __init__(self, folder: Path, mode: Mode) -> None:
        self._truth, self._turns = folder / "truth.txt", folder / "turnaround.txt"
        options = ("-n", str(mode.tokens), "-t", str(self._truth), "-w", str(self._turns), *mode.server)
        self._process = subprocess.Popen([str(folder / "server"), *options], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def end(self) -> tuple[int, float, tuple[float, float]]:
        """Requests that were answered, the seconds from the first one's coming to the last one's end, and the turnaround."""
        self._process.terminate()
        self._process.wait()
        rows = [line.split() for line in self._truth.read_text().splitlines()]
        if not rows:
            raise SystemExit("the server was asked nothing: did the client start?")
        begin, end = min(int(row[1]) for row in rows), max(int(row[-1]) for row in rows)
        turns = sorted(int(line) / 1e6 for line in self._turns.read_text().splitlines()) or [float("nan")]
        return (len(rows), (end - begin) / 1e9, (turns[len(turns) // 2], turns[min(len(turns) - 1, int(0.99 * len(turns)))]))


def busy_s() -> float:
    """Processor seconds that all programs of the machine have used."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    return (sum(map(int, fields)) - int(fields[3]) - int(fields[4])) / os.sysconf("SC_CLK_TCK")


def cpu_of(pid: int) -> float | None:
    """Processor seconds of a process; None once it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_of(pid: int) -> float:
    """Resident memory of a process, MiB; 0 once it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (OSError, IndexError):
        return 0.0


def measured(folder: Path, mode: Mode, load: Callable[[int], tuple[float, float | None]]) -> Run:
    """Run a client against a fresh server. `load`: port -> processor seconds, resident MiB."""
    server = Server(folder, mode)
    busy, begin, own = busy_s(), time.monotonic(), os.times()
    try:
        cpu, rss = load(server.port)
        spent, passed, ours = busy_s() - busy, time.monotonic() - begin, os.times()
        used = sum(getattr(ours, n) - getattr(own, n) for n in ("user", "system", "children_user", "children_system"))
        server_cpu = cpu_of(server._process.pid) or 0.0
    finally:
        requests, seconds, turnaround = server.end()
    others = max(0.0, (spent - used - server_cpu) / passed)
    return Run(requests, seconds, cpu, others, mode.tokens + MORE_EVENTS, turnaround, rss)


# ---- clients -----------------------------------------------------------------------------------------------------


def floor(folder: Path, mode: Mode, requests: int, program: Sequence[str]) -> Run:
    """A bare client, which prints its processor seconds last."""

    def load(port: int) -> tuple[float, float | None]:
        command = [*program, str(port), str(mode.connections), str(requests), str(mode.tokens)]
        return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-1]), None

    return measured(folder, mode, load)


def assay(folder: Path, mode: Mode, requests: int, transport: str = "auto") -> Run:
    """One client process of assay, which records every chunk."""

    def load(port: int) -> tuple[float, float | None]:
        with tempfile.TemporaryDirectory() as place:
            return one_client(write_job(Path(place), port, mode, requests, transport), requests)

    return measured(folder, mode, load)


def write_job(folder: Path, port: int, mode: Mode, requests: int, transport: str) -> Path:
    """A job of one client process, as assay's runner writes it."""
    from fireassay.spec.plan import Configuration
    from fireassay.spec.sections.serving import Serving, Target
    from fireassay.traffic.arrivals import make

    load = folder / "launch=0000" / "load"
    load.mkdir(parents=True)
    asked = Serving.model_validate(
        {
            "model": "m",
            "scenarios": [f"D(100,{mode.tokens})"],
            "concurrency": [mode.connections],
            "client": {"transport": transport},
            "arrivals": {"requests": requests, "warm_up_s": 0.0, "duration_s": 3600.0, "cold": 0},
        }
    )
    configuration = Configuration(name="benchmark", workers=1, target="server", scenario=asked.scenarios[0], load=mode.connections)
    target = Target(backend="vllm", urls=(f"http://127.0.0.1:{port}",))
    make.write(make.build(asked, configuration, 1, 1, folder), load / "schedule.arrow")
    job = load / "job.json"
    job.write_text(
        json.dumps(
            {
                "launch": 0,
                "clients": 1,
                "folder": str(load.parent),
                "load": str(load),
                "serving": asked.model_dump(mode="json"),
                "configuration": asdict(configuration),
                "target": target.model_dump(mode="json"),
                "seed": 1,
                "base": str(folder),
                "flush_s": 0.5,
            }
        )
    )
    return job


def one_client(job: Path, requests: int) -> tuple[float, float]:
    """Run a job; the client's processor seconds during the load, and its largest resident memory, MiB."""
    process = subprocess.Popen([sys.executable, "-m", "fireassay.traffic.client.process", str(job), "0"])
    try:
        for state, word in (("ready", "go"), ("cold_done", "begin")):
            wait_for(job, process, state)
            before = cpu_of(process.pid) or 0.0
            job.with_name(f".{word}").write_text(str(time.monotonic_ns() + LEAD_NS) if word == "begin" else "")
            job.with_name(f".{word}").replace(job.with_name(word))
        after, rss = before, 0.0
        while process.poll() is None:
            after, rss = cpu_of(process.pid) or after, max(rss, rss_of(process.pid))
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()
    told = json.loads(job.with_name("client-0.json").read_bytes())
    if told["ok"] != requests:
        raise SystemExit(f"only {told['ok']} of {requests} requests were answered: {told['failed']} {told['error']}")
    return after - before, rss


def wait_for(job: Path, process: subprocess.Popen[bytes], state: str) -> None:
    """Wait until the client says so."""
    path = job.with_name("client-0.json")
    while process.poll() is None:
        if path.exists() and json.loads(path.read_bytes())["state"] == state:
            return
        time.sleep(0.002)
    raise SystemExit(f"the client ended with {process.returncode} before it was {state}")


def peer(folder: Path, mode: Mode, command: Sequence[str], requests: int, tokenizer: str) -> Run:
    """Another program; its start and end are told apart by a run with few requests."""
    few = measured(folder, mode, lambda port: (tree_cpu(command, mode, port, FEW, tokenizer), None))
    many = measured(folder, mode, lambda port: (tree_cpu(command, mode, port, requests, tokenizer), None))
    return replace(many, cpu_s=max(0.0, many.cpu_s - few.cpu_s))


def tree_cpu(command: Sequence[str], mode: Mode, port: int, requests: int, tokenizer: str) -> float:
    """Processor seconds of a program and all that it starts, in a folder of its own: some leave their results where they run."""
    filled = {
        "url": f"http://127.0.0.1:{port}",
        "requests": requests,
        "connections": mode.connections,
        "tokens": mode.tokens,
        "tokenizer": tokenizer,
    }
    before = os.times()
    words = [part.format(**filled) for part in command]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(words, cwd=folder, stdout=subprocess.DEVNULL, check=True, timeout=1800)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


# ---- the whole ---------------------------------------------------------------------------------------------------


def clients_of(folder: Path, asked: argparse.Namespace) -> dict[str, Callable[[Mode, int], Run]]:
    """Every client by its name."""
    found: dict[str, Callable[[Mode, int], Run]] = {
        "floor-c": lambda mode, n: floor(folder, mode, n, [str(folder / "client")]),
        "floor-uvloop": lambda mode, n: floor(folder, mode, n, [sys.executable, str(BARE)]),
        "assay": lambda mode, n: assay(folder, mode, n),
    }
    if asked.python:
        found["assay-python"] = lambda mode, n: assay(folder, mode, n, "lean")
    for name, command in commands(asked).items():
        found[name] = lambda mode, n, command=command: peer(folder, mode, command, n, asked.tokenizer)  # type: ignore[misc]
    return found


def compared(clients: dict[str, Callable[[Mode, int], Run]], mode: Mode, rounds: int, requests: int) -> dict[str, Any]:
    """Medians of every client over interleaved rounds."""
    runs: dict[str, list[Run]] = {}
    for _ in range(rounds):
        for name, client in clients.items():
            runs.setdefault(name, []).append(client(mode, int(requests * mode.share)))
    return {name: medians([run.told() for run in made]) for name, made in runs.items()}


def medians(told: list[dict[str, float | None]]) -> dict[str, Any]:
    """The median of each number, and the smallest and largest rate."""
    found: dict[str, Any] = {}
    for name in told[0]:
        values = [value for one in told if (value := one[name]) is not None]
        if values:
            found[name] = round(statistics.median(values), 3)
    rates = [one["requests_per_s"] or 0.0 for one in told]
    return {**found, "least_rate": round(min(rates), 1), "most_rate": round(max(rates), 1)}


def memory(folder: Path, requests: int) -> dict[str, float]:
    """What a finished request leaves in memory: the largest resident memory of a long load less that of one a fifth as long.

    Both schedules are as long, so that only what was done differs.
    """
    found = {}
    for name, part in (("few", requests // 5), ("many", requests)):
        run = assay(folder, MODES["answers"], part)
        found[name] = run.rss_mib or 0.0
    grown = (found["many"] - found["few"]) * 2**20 / (requests - requests // 5)
    return {"rss_mib_few": round(found["few"], 1), "rss_mib_many": round(found["many"], 1), "bytes_per_request": round(grown)}


def times(clients: dict[str, Any]) -> dict[str, float]:
    """What assay takes or gives, in times of its floors and its peers."""
    own = clients["assay"]
    found = {}
    for name, other in clients.items():
        if name.startswith("assay"):
            continue
        found[f"rate of {name}"] = own["requests_per_s"] / other["requests_per_s"]
        if name.startswith("floor"):
            found[f"processor of {name}"] = own["cpu_s_per_100k_chunks"] / other["cpu_s_per_100k_chunks"]
            for share in ("p50", "p99"):
                found[f"turnaround {share} of {name}"] = own[f"turnaround_{share}_ms"] / other[f"turnaround_{share}_ms"]
    return {name: round(value, 2) for name, value in found.items()}


def broken(mode: str, found: dict[str, float]) -> list[str]:
    """The promises of a mode that this run breaks."""
    if mode == "wave":
        most = {f"{what} of floor-uvloop": MAX_TIMES_BARE for what in ("processor", "turnaround p50", "turnaround p99")}
        least = {"rate of floor-uvloop": MIN_ACHIEVED}
    else:
        most = {"processor of floor-c": MAX_TIMES_C} if mode == "tokens" else {}
        least = {f"rate of {name}": value for name, value in MIN_TIMES.items()}
    too_much = [f"{name}: {found[name]}, at most {value}" for name, value in most.items() if found[name] > value]
    return too_much + [f"{name}: {found[name]}, at least {value}" for name, value in least.items() if found.get(name, value) < value]


def parsed() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", action="append", choices=list(MODES), default=[], help="only this (default: all)")
    parser.add_argument("--python", action="store_true", help="run assay's client in Python, too")
    parser.add_argument("--rounds", type=int, default=5, help="how often each client runs (default 5)")
    parser.add_argument("--requests", type=int, default=40_000, help="requests of a run (default 40000)")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON", help=f"one of {', '.join(PEERS)}")
    parser.add_argument("--peer-command", action="append", default=[], metavar="NAME=COMMAND", help="any other program")
    parser.add_argument("--tokenizer", default="", help="a folder with a tokenizer, for peers that need one")
    parser.add_argument("--memory", type=int, default=0, metavar="REQUESTS", help="measure memory instead")
    return parser.parse_args()


def commands(asked: argparse.Namespace) -> dict[str, list[str]]:
    """The peers' command lines."""
    found: dict[str, list[str]] = {}
    for given in asked.peer:
        name, _, python = given.partition("=")
        if name not in PEERS:
            raise SystemExit(f"--peer {name}: not one of {', '.join(PEERS)}")
        found[name] = [python, *PEERS[name]]
    for given in asked.peer_command:
        name, _, command = given.partition("=")
        found[name] = shlex.split(command)
    return found


def main() -> int:
    """Print one JSON object; exit with 1 if the promise is broken on a quiet machine."""
    asked = parsed()
    if shutil.which("gcc") is None:
        raise SystemExit("gcc is needed: install your system's compiler")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        build(folder)
        result: dict[str, Any] = {
            "benchmark": "serving_client",
            "utc": datetime.now(UTC).isoformat(timespec="seconds"),
            "python": platform.python_version(),
            "machine": platform.platform(),
            "processors": os.cpu_count(),
        }
        if asked.memory:
            print(json.dumps(result | {"memory": memory(folder, asked.memory)}, indent=2))
            return 0
        clients = clients_of(folder, asked)
        found = {mode: compared(clients, MODES[mode], asked.rounds, asked.requests) for mode in asked.mode or MODES}
    ratios = {mode: times(own) for mode, own in found.items()}
    promises = {mode: broken(mode, own) for mode, own in ratios.items()}
    quiet = max(one["others"] for own in found.values() for one in own.values()) < 0.15
    result |= {"modes": found, "times": ratios, "quiet": quiet, "rounds": asked.rounds, "requests": asked.requests, "broken": promises}
    print(json.dumps(result, indent=2))
    return 1 if quiet and any(promises.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
