"""How long until a first plain number, from the command?  `--quick` beside its peers on the same work, in turn, in a random order.

    load     `assay load --quick URL`, guidellm run, aiperf profile and vllm bench serve at the reference server, 8 in flight, each told to
             load for as long as `--quick` does; seconds to the first line that shows a measured value, and to the end; the median TTFT each shows
    command  `assay run --quick -- COMMAND` and hyperfine on a command of 50 ms

Promise: the whole of `--quick` takes at most a minute longer than its load, and at most as long as the fastest peer's whole run.
A peer that is not installed is left out: say where with --peers FOLDER, which holds bin/guidellm and bin/aiperf, and --vllm PYTHON.

    python benchmarks/quick.py --rounds 5 --peers FOLDER --vllm PYTHON --tokenizer FOLDER
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fireassay.instruments.reference_server.server import serving
from fireassay.instruments.reference_server.settings import Settings

LOAD_S = 16  # what `--quick` loads for where requests are short
MOST_S = 60.0
MEASURED = {  # a line that holds a measured value
    "assay": re.compile(r"TTFT.*\d"),
    "guidellm": re.compile(r"successful=[1-9]\d* .*requests/s="),
    "vllm": re.compile(r"(TTFT|throughput).*\d"),
    "aiperf": re.compile(r"(Time to First Token|TTFT).*\d"),
    "assay run": re.compile(r"\d+(\.\d+)? ?(ms|s)\b"),
    "hyperfine": re.compile(r"Time \(mean"),
}
CACHED = "local/tokenizer"  # AIPerf takes no folder: a name, which the hub's cache knows
ASSAY = [sys.executable, "-m", "fireassay"]
COMMAND = [sys.executable, "-I", "-S", "-c", "import time; end = time.process_time() + 0.05\nwhile time.process_time() < end: pass"]


def timed(words: list[str], measured: re.Pattern[str], folder: Path) -> tuple[float | None, float, str]:
    """Seconds to the first line with a measured value, to the end, and what was printed."""
    began, first, lines = time.monotonic(), None, []
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(folder / "hub"), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if first is None and measured.search(line):
                first = time.monotonic() - began
    return first, time.monotonic() - began, "".join(lines)


def cached(hub: Path, tokenizer: Path) -> None:
    """The tokenizer's folder as the cache of a model hub holds it."""
    home, commit = hub / f"models--{CACHED.replace('/', '--')}", "0" * 40
    (home / "refs").mkdir(parents=True)
    (home / "refs/main").write_text(commit)
    (home / "snapshots").mkdir()
    (home / "snapshots" / commit).symlink_to(tokenizer)


def of_loads(url: str, peers: Path, vllm: Path, tokenizer: str) -> dict[str, list[str]]:
    tools = {"assay": [*ASSAY, "load", "--quick", url, "--concurrency", "8"]}
    if (peers / "bin/guidellm").exists():
        tools["guidellm"] = [
            str(peers / "bin/guidellm"),
            "run",
            *("--backend", f"kind=openai_http,target={url},model=m", "--profile", "kind=concurrent,streams=8"),
            *("--constraint", f"kind=max_duration,seconds={LOAD_S}", "--tokenizer", f"kind=huggingface_auto,model={tokenizer}"),
            *("--data", "kind=synthetic_text,prompt_tokens=100,output_tokens=100", "--output", "kind=console", "--disable-progress"),
        ]
    if (peers / "bin/aiperf").exists():
        tools["aiperf"] = [
            str(peers / "bin/aiperf"),
            *("profile", "-m", "m", "--url", url, "--endpoint-type", "chat", "--streaming", "--concurrency", "8"),
            *("--benchmark-duration", str(LOAD_S), "--tokenizer", CACHED, "--ui", "none"),
            *("--synthetic-input-tokens-mean", "100", "--output-tokens-mean", "100"),
        ]
    if vllm.exists():
        tools["vllm"] = [
            *(str(vllm), "-m", "vllm.entrypoints.cli.main", "bench", "serve", "--backend", "openai-chat"),
            *("--base-url", url, "--endpoint", "/v1/chat/completions", "--model", "m", "--tokenizer", tokenizer, "--ignore-eos"),
            *("--dataset-name", "random", "--random-input-len", "100", "--random-output-len", "100", "--max-concurrency", "8"),
            *("--num-prompts", str(LOAD_S * 8)),  # it takes no duration: a second for each request
        ]
    return tools


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", type=Path, default=Path("peers"))
    parser.add_argument("--vllm", type=Path, default=Path("vllm/bin/python"), help="the Python of an environment with vLLM")
    parser.add_argument("--tokenizer", default="")
    parser.add_argument("--show", action="store_true", help="print what each tool printed in the first round")
    asked = parser.parse_args()
    found: dict[str, list[tuple[float | None, float]]] = {}
    with serving(Settings(first_s=0.05, next_s=0.01, tokens=100, model="m")) as server, tempfile.TemporaryDirectory() as scratch:
        cached(Path(scratch) / "hub", Path(asked.tokenizer).resolve())
        tools = of_loads(server.url, asked.peers.resolve(), asked.vllm.absolute(), asked.tokenizer)
        tools["assay run"] = [*ASSAY, "run", "--quick", "--", *COMMAND]
        tools["hyperfine"] = ["hyperfine", "-N", shlex.join(COMMAND)]
        for number in range(asked.rounds):
            for name in random.Random(number).sample(sorted(tools), len(tools)):
                first, end, text = timed(tools[name], MEASURED[name], Path(scratch))
                found.setdefault(name, []).append((first, end))
                if asked.show and not number:
                    print(f"== {name}\n{text}")
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.0f}, {asked.rounds} rounds"
    )
    ends = {name: statistics.median(end for _, end in times) for name, times in found.items()}
    for name, times in found.items():
        firsts = [first for first, _ in times if first is not None]
        shown = f"{statistics.median(firsts):.1f} s" if firsts else "never"
        print(
            f"  {name:<10} first number {shown:>7}, end {ends[name]:.1f} s (median; {min(e for _, e in times):.1f} to {max(e for _, e in times):.1f})"
        )
    peers = [ends[name] for name in ("guidellm", "aiperf", "vllm") if name in ends]
    kept = ends["assay"] <= LOAD_S + MOST_S and all(ends["assay"] <= end for end in peers)
    print("kept" if kept else "BROKEN")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
