#!/usr/bin/env python3
"""Does a refactored assay say what it said before?  Records of all kinds, every output of them, and a comparison of two such sets.

    python same_as.py records FOLDER --source /tmp/base/src --package assay      once, with the base code
    python same_as.py snapshot FOLDER OUT --source SRC --package NAME            with any code
    python same_as.py compare OUT1 OUT2 [--all] [--lines N]

Run it with the Python of the project's virtual environment.  `records` needs the base checkout (its tests' builders), `snapshot` needs only SRC.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import html.parser
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

NOWHERE = "/tmp/same-as-no-state"  # as HOME's folders of state and cache: what this machine's `doctor` found is no business of ours


def clean_environment(source: Path) -> dict[str, str]:
    """The same for every process: nothing of the caller's but where its programs are."""
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '/usr/bin:/bin')}",
        "HOME": NOWHERE,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONPATH": str(source),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_STATE_HOME": NOWHERE,
        "XDG_CACHE_HOME": NOWHERE,
        "XDG_CONFIG_HOME": NOWHERE,
        "OMP_NUM_THREADS": "1",
        "POLARS_MAX_THREADS": "1",
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
    }


# ---------------------------------------------------------------------------------------------------------- records

TINY = """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

world = int(os.environ.get("WORLD_SIZE", "1"))
if world > 1:
    dist.init_process_group("gloo")
rank = dist.get_rank() if world > 1 else 0
torch.manual_seed(0)
x, y = torch.randn(480, 16), torch.randn(480, 1)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
if world > 1:
    model = DistributedDataParallel(model)
data = torch.utils.data.TensorDataset(x, y)
sampler = torch.utils.data.distributed.DistributedSampler(data, world, rank, shuffle=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for xb, yb in torch.utils.data.DataLoader(data, batch_size=24 // world, sampler=sampler):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(xb), yb)
        loss.backward()
        optimizer.step()
if world > 1:
    dist.destroy_process_group()
"""

TUNE = """
name = "knobs"
workload = { script = "knobs.py", arguments = ["{batch}", "no", "{less}"] }
factor = { levels = [1] }
launcher = { kind = "plain" }
quality = { metric = "accuracy", margin = 0.02 }
[tune]
combine = "one"
first_blocks = 1
keep = 0.5
final_blocks = 3
[tune.knobs]
batch = [2, 8]
less = [0, 32]
"""

KNOBS_RUN = """
name = "knobs-run"
[workload]
script = "knobs.py"
arguments = ["8", "no", "0"]
[factor]
levels = [1]
[launcher]
kind = "plain"
[launches]
per_configuration = 3
[quality]
metric = "accuracy"
margin = 0.02
[prices]
usd_per_worker_hour = 0.5
date = "2026-01-01"
source = "a list"
[energy]
source = "modelled"
modelled_watts_per_worker = 50.0
[gates]
efficiency = "none"
deadline_s = 100.0
budget_usd = 1.0
"""

ENGINES = """
name = "engines"
[workload]
runner = "serving"
work = "tokens"
[serving]
model = "reference"
scenarios = ["D(20,8)"]
concurrency = [1, 4]
[[serving.targets]]
name = "fast"
command = ["PYTHON", "-m", "assay.instruments.reference_server", "--port", "{port}", "--first-s", "0.01", "--next-s", "0.002"]
replicas = 2
[[serving.targets]]
name = "slow"
command = ["PYTHON", "-m", "assay.instruments.reference_server", "--port", "{port}", "--first-s", "0.03", "--next-s", "0.004"]
replicas = 2
[serving.arrivals]
duration_s = 1.0
warm_up_s = 0.2
cold = 2
[serving.objectives]
ttft_s = 0.2
tpot_s = 0.05
[serving.correctness]
canaries = 0.1
identity = 2
[launches]
per_configuration = 2
[prices]
usd_per_worker_hour = 1.0
date = "2026-01-01"
source = "a list"
[[faults]]
kind = "kill"
at_s = 0.3
for_s = 0.2
"""

SERVER = """
import sys, time
from assay.instruments.reference_server import serving
from assay.instruments.reference_settings import Settings
import json
asked = json.loads(sys.argv[1])
with serving(Settings(**{**asked, "fault": tuple(asked.get("fault", ()))})) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""


class Maker:
    """Runs commands of the base code in FOLDER, and notes which record each has made."""

    def __init__(self, folder: Path, source: Path, package: str) -> None:
        self.folder, self.source, self.package = folder, source, package
        self.index: list[dict[str, str]] = []
        self.lock = threading.Lock()
        self.environment = clean_environment(source)

    def cli(self, *words: object, cwd: Path | None = None, ok: tuple[int, ...] = (0, 1, 3, 4), limit: float = 300) -> str:
        done = subprocess.run(
            [sys.executable, "-m", self.package, *map(str, words)],
            cwd=cwd or self.folder,
            env=self.environment,
            text=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=limit,
        )
        if done.returncode not in ok:
            print(f"!! {' '.join(map(str, words))}: {done.returncode}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}", flush=True)
        return done.stdout + done.stderr

    def made(self, label: str, kind: str, *words: object, **how: Any) -> list[str]:
        """Run a verb that makes records in a root of its own, then move them into FOLDER: several jobs run at once."""
        began = time.monotonic()
        root = self.folder / f".making-{label}"
        self.cli(words[0], "--root", root.name, *words[1:], **how)
        found = sorted(path.parent for path in root.glob("*/manifest.json"))
        names = []
        for place, path in enumerate(found):
            path.rename(self.folder / path.name)
            names.append(path.name)
            self.note(label if len(found) == 1 else f"{label}-{place + 1}", kind, path.name)
        shutil.rmtree(root, ignore_errors=True)
        print(f"{label}: {len(names)} records, {time.monotonic() - began:.0f} s", flush=True)
        return names

    def note(self, label: str, kind: str, path: str) -> None:
        with self.lock:
            self.index.append({"label": label, "kind": kind, "path": path})


def make_records(folder: Path, source: Path, package: str) -> None:
    began = time.monotonic()
    if folder.exists() and any(folder.iterdir()):
        sys.exit(f"{folder} is not empty")
    folder.mkdir(parents=True, exist_ok=True)
    base = source.parent
    maker = Maker(folder, source, package)
    inputs = folder / "inputs"
    inputs.mkdir()
    (folder / "tiny.py").write_text(TINY)
    (folder / "fails.py").write_text("import sys\nprint('no luck', file=sys.stderr)\nsys.exit(3)\n")
    shutil.copy(base / "tests" / "cli" / "knobs.py", folder / "knobs.py")
    (folder / "run.toml").write_text(KNOBS_RUN)
    (folder / "more.toml").write_text(KNOBS_RUN.replace("per_configuration = 3", "per_configuration = 20").replace("knobs-run", "stopped"))
    (folder / "engines.toml").write_text(ENGINES.replace("PYTHON", sys.executable))
    (folder / "prompts.jsonl").write_text("".join(json.dumps({"prompt": f"what is {i} and {i}", "answer": "w"}) + "\n" for i in range(40)))
    for place in ("examples/rubric", "examples/claims"):
        shutil.copytree(base / place, inputs / Path(place).name)
    for place in ("examples/digits", "examples/tune"):
        shutil.copytree(base / place, inputs / Path(place).name)
    (inputs / "bad").mkdir()
    for name, text in BAD.items():
        (inputs / "bad" / f"{name}.toml").write_text(text)
    for path in (base / "examples").glob("*.toml"):
        shutil.copy(path, inputs / path.name)
    errors: list[str] = []

    def chain(*jobs: Callable[[Maker], None]) -> threading.Thread:
        def go() -> None:
            for job in jobs:
                try:
                    job(maker)
                except Exception as error:
                    import traceback

                    traceback.print_exc()
                    errors.append(f"{job.__name__}: {error!r}")

        thread = threading.Thread(target=go)
        thread.start()
        return thread

    threads = [chain(built, simulated_and_imported, timed, serving_real), chain(training_real, tuned, collectives_real)]
    for thread in threads:
        thread.join()
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    broken_copies(maker)
    maker.index.sort(key=lambda one: (one["kind"], one["label"]))
    (folder / "index.json").write_text(json.dumps(maker.index, indent=1))
    kinds = Counter(one["kind"] for one in maker.index)
    print(f"{len(maker.index)} records in {time.monotonic() - began:.0f} s: {dict(kinds)}; problems: {errors}")


def training_real(maker: Maker) -> None:
    maker.made(
        "run-ddp",
        "training",
        "run",
        "--workers",
        "1,2",
        "--launches",
        "2",
        "--name",
        "tiny-ddp",
        "--price",
        "0.5",
        "--price-date",
        "2026-01-01",
        "--watts",
        "50",
        "--energy",
        "modelled",
        "--quiet",
        "--",
        "tiny.py",
    )
    maker.made("run-knobs", "training", "run", "run.toml", "--quiet")
    maker.made(
        "run-fails", "training", "run", "--launcher", "plain", "--launches", "2", "--workers", "1", "--quiet", "--", "fails.py", ok=(5,)
    )
    maker.made(
        "profile",
        "training",
        "profile",
        "--launcher",
        "plain",
        "--quiet",
        "--wait",
        "1",
        "--warm-up",
        "1",
        "--active",
        "2",
        "--",
        "tiny.py",
    )
    root = maker.folder / ".making-stopped"
    job = subprocess.Popen(
        [sys.executable, "-m", maker.package, "run", "more.toml", "--quiet", "--root", root.name],
        cwd=maker.folder,
        env=maker.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(7)
    job.send_signal(signal.SIGINT)
    job.wait(60)
    for path in root.glob("*/manifest.json"):
        path.parent.rename(maker.folder / path.parent.name)
        maker.note("interrupted", "training", path.parent.name)
    shutil.rmtree(root, ignore_errors=True)


def tuned(maker: Maker) -> None:
    folder = maker.folder / "tuning"
    folder.mkdir()
    shutil.copy(maker.folder / "knobs.py", folder)
    (folder / "tune.toml").write_text(TUNE)
    maker.cli("tune", "tuning/tune.toml", "--root", "tuning/records", "--quiet", "--json", ok=(0, 1, 3, 4))
    for place, path in enumerate(sorted(folder.glob("records/*/manifest.json"))):
        maker.note(f"tune-{place + 1}", "training (tuning)", f"tuning/records/{path.parent.name}")


def collectives_real(maker: Maker) -> None:
    maker.made(
        "comm",
        "collectives",
        "comm",
        "--workers",
        "2",
        "--ops",
        "all_reduce,all_gather",
        "--sizes",
        "1K:64K",
        "--launches",
        "2",
        "--seconds",
        "0.02",
        "--quiet",
    )
    maker.made("net", "network", "comm", "--net", "127.0.0.1", "--seconds", "1", "--launches", "2", "--quiet")


def timed(maker: Maker) -> None:
    quick = ("--launches", "3", "--round", "0.02", "--trials", "3", "--quiet")
    python = (sys.executable, "-S", "-c")
    maker.made("time-one", "calls", "time", *quick, "--name", "one", "--", *python, "pass")
    maker.made(
        "time-two",
        "calls",
        "time",
        *quick,
        "--name",
        "two",
        "--show-output",
        "--",
        *python,
        "print(1)",
        "---",
        *python,
        "import time; time.sleep(0.05)",
    )
    maker.made("time-shell", "calls", "time", *quick, "--name", "shell", "--shell", "--ignore-failure", "--", "ls | wc -l; exit 3")
    maker.made("time-fails", "calls", "time", *quick, "--name", "fails", "--", *python, "raise SystemExit(4)", ok=(5,))
    code = (
        "import fireassay, json; fireassay.time(json.dumps, [1, 2, 3], launches=3, round_s=0.02, root='.making-function', name='function')"
    )
    subprocess.run([sys.executable, "-c", code], cwd=maker.folder, env=maker.environment, check=True, timeout=120)
    for path in (maker.folder / ".making-function").glob("*/manifest.json"):
        path.parent.rename(maker.folder / path.parent.name)
        maker.note("time-function", "calls", path.parent.name)
    shutil.rmtree(maker.folder / ".making-function")


def serving_real(maker: Maker) -> None:
    def against(settings: Mapping[str, Any], label: str, *words: str, servers: int = 1) -> None:
        started = [
            subprocess.Popen(
                [sys.executable, "-c", SERVER, json.dumps({"first_s": 0.01, "next_s": 0.002, **settings})],
                cwd=maker.folder,
                env=maker.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(servers)
        ]
        urls = [one.stdout.readline().strip() for one in started]
        maker.made(
            label,
            "serving",
            "load",
            *urls,
            "--model",
            "reference",
            "--name",
            label,
            "--warm-up",
            "0.2s",
            "--launches",
            "2",
            "--quiet",
            *words,
        )
        for one in started:
            one.stdin.close()
            one.wait(20)

    lengths = ("--scenario", "D(20,8)")
    against(
        {},
        "closed",
        *lengths,
        "--concurrency",
        "1,4",
        "--duration",
        "1s",
        "--slo",
        "ttft=0.2,tpot=50ms",
        "--price",
        "1",
        "--price-date",
        "2026-01-01",
        "--watts",
        "80",
        "--cold",
        "2",
    )
    against(
        {},
        "open",
        *lengths,
        "--scenario",
        "N(20,5)/(8,2)",
        "--rate",
        "10,20",
        "--duration",
        "1.5s",
        "--slo",
        "ttft=0.2",
        "--goodput",
        "--canaries",
        "0.2",
        "--identity",
        "2",
        servers=2,
    )
    against({}, "whole", *lengths, "--concurrency", "2", "--duration", "1s", "--no-stream")
    against({"fault": ["status:code=500,share=0.3"]}, "failing", *lengths, "--concurrency", "2", "--duration", "1s", "--slo", "ttft=0.2")
    against({"fault": ["status:code=500"]}, "all-failing", *lengths, "--concurrency", "2", "--duration", "1s")
    against({}, "sessions", *lengths, "--arrival", "users", "--concurrency", "3", "--turns", "3", "--think", "0.05", "--duration", "1.5s")
    against(
        {},
        "answers",
        "--prompts",
        "prompts.jsonl",
        "--answer-field",
        "answer",
        "--quality-metric",
        "contains",
        "--concurrency",
        "1,2",
        "--duration",
        "1s",
    )
    against({"usage": "never"}, "no-usage", *lengths, "--concurrency", "2", "--duration", "1s")
    maker.made("engines-real", "serving", "run", "engines.toml", "--quiet")


def simulated_and_imported(maker: Maker) -> None:
    """The inputs of imports are the tests' own samples; they stay in FOLDER/inputs for `snapshot`, which imports them again."""
    for label, words in SIMULATIONS.items():
        maker.made(label, "training (simulated)", "simulate", *words, "--name", label)
    for path in sorted((maker.folder / "inputs" / "foreign").iterdir()):
        maker.made(f"import-{path.stem}", "imported", "import", f"inputs/foreign/{path.name}", "--name", path.stem.replace("_", "-"))


SIMULATIONS: dict[str, tuple[str, ...]] = {
    "sim-strong": (
        "--workers",
        "1,2,4,...,16",
        "--step-time",
        "1.0",
        "--serial",
        "0.03",
        "--gbps",
        "10",
        "--gradient",
        "1e9",
        "--steps",
        "8",
        "--launches",
        "3",
    ),
    "sim-weak": (
        "--workers",
        "1,4,16",
        "--step-time",
        "250ms",
        "--weak",
        "--overlap",
        "0.5",
        "--buckets",
        "4",
        "--steps",
        "8",
        "--launches",
        "3",
    ),
    "sim-stragglers": (
        "--workers",
        "1,8,32",
        "--step-time",
        "0.8",
        "--alpha",
        "5us",
        "--stragglers",
        "0.1",
        "--slowdown",
        "2",
        "--steps",
        "6",
        "--launches",
        "3",
    ),
    "sim-one": ("--workers", "1", "--step-time", "0.5", "--launches", "2", "--steps", "5"),
}


def broken_copies(maker: Maker) -> None:
    """A record whose table was changed after it was sealed, one without its seal, and a signed one."""
    good = next(one for one in maker.index if one["label"] == "good")["path"]
    for label in ("damaged", "unsealed", "signed", "newer"):
        copy = maker.folder / label
        shutil.copytree(maker.folder / good, copy)
        maker.note(label, "broken", label)
    table = next(iter(sorted((maker.folder / "damaged" / "tables").rglob("*.parquet"))))
    content = bytearray(table.read_bytes())
    content[len(content) // 2] ^= 0xFF
    table.write_bytes(content)
    (maker.folder / "unsealed" / "SEAL").unlink()
    manifest = maker.folder / "newer" / "manifest.json"
    told = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**told, "format_version": 99}))
    key = maker.folder / "inputs" / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "somebody", "-f", str(key)], check=True)
    maker.cli("sign", "signed", "--key", "inputs/key")
    public = key.with_suffix(".pub").read_text().split()
    (maker.folder / "inputs" / "signers").write_text(f"somebody {public[0]} {public[1]}\n")


def built(maker: Maker) -> None:
    """Records written by the tests' builders, and the inputs of imports: in a process of its own, with the base code on its path."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, __file__, "_build", str(maker.folder), "--source", str(maker.source)],
        cwd=maker.source.parent,
        env={**maker.environment, "PYTHONPATH": f"{maker.source}{os.pathsep}{maker.source.parent}"},
        stdout=subprocess.PIPE,
        text=True,
        timeout=600,
    )
    for line in done.stdout.splitlines():
        label, kind, path = line.split("\t")
        maker.note(label, kind, path)
    if done.returncode:
        raise RuntimeError("the builders failed")
    print(f"built: {time.monotonic() - began:.0f} s", flush=True)


def build(folder: Path, source: Path) -> None:
    """Runs with the base code: everything that the tests' builders make in milliseconds."""
    from dataclasses import replace

    from fireassay.clock import FakeClock
    from fireassay.record import folder as record_folder
    from fireassay.spec.experiment import Quality
    from tests import builders, collectives_made, looked, struck
    from tests.runners.foreign import samples, test_nccl_tests
    from tests.serving_made import seal, simulated
    from tests.verdict import checking

    def told(label: str, kind: str, make: Callable[[], Path]) -> None:
        try:
            print(label, kind, make().relative_to(folder), sep="\t", flush=True)
        except Exception as error:
            import traceback

            traceback.print_exc()
            print(f"!! {label}: {error!r}", file=sys.stderr)

    for path in sorted((source.parent / "tests" / "records").iterdir()):
        if path.is_dir() and (path / "SEAL").exists():
            told(path.name, "training", lambda path=path: Path(shutil.copytree(path, folder / path.name)))

    def named(measured: Any, name: str) -> Any:
        return replace(measured, experiment=measured.experiment.model_copy(update={"name": name}))

    def sealed(label: str, kind: str, make: Callable[[], Any]) -> None:
        told(label, kind, lambda: seal(named(make(), label), folder))

    sealed("synthetic", "training", lambda: builders.measured(steps=15))
    sealed("synthetic-failed", "training", lambda: builders.measured(steps=15, failed=True, faults=False))
    sealed("synthetic-many", "training", lambda: builders.measured(launches=3, levels=(1, 2, 4, 8), steps=12, faults=False))
    sealed("synthetic-single", "training", lambda: builders.measured(launches=1, levels=(1,), steps=12, faults=False))
    sealed("struck", "training", lambda: struck.struck().measured())
    sealed("struck-lost", "training", lambda: struck.struck(recovers=False).measured())
    small: dict[str, Any] = {"blocks": 3, "seconds": 4.0, "warm_up_s": 1.0, "tokens_out": 12}
    sealed("served-engines", "serving", lambda: simulated(rate=(4.0, 8.0), engines=("a", "b"), **small).measured())
    sealed("served-closed", "serving", lambda: simulated(concurrency=(1, 4, 16), **small).measured())
    sealed("served-closed-b", "serving", lambda: simulated(concurrency=(1, 4, 16), seed=5, token_s=0.012, **small).measured())
    sealed("served-outage", "serving", lambda: simulated(rate=(8.0,), outage=(1.0, 2.0), **{**small, "seconds": 6.0}).measured())
    sealed("served-failing", "serving", lambda: simulated(rate=(4.0, 8.0), failing=0.1, lag_s=0.01, **small).measured())
    sealed("served-scored", "serving", lambda: simulated(concurrency=(2, 4), scored=0.9, canaries=0.1, **small).measured())
    sealed(
        "served-hostile", "serving", lambda: simulated(rate=(4.0,), conditions={"note": "<script>alert(1)</script>"}, **small).measured()
    )

    def wrong(cell: Any, launch: int, rank: int, call: int) -> tuple[int | None, str | None]:
        return (3, "bits") if (launch, rank, call) == (1, 0, 2) else (0, None)

    made = collectives_made.Made
    sealed("coll", "collectives", lambda: made(ops=("all_reduce", "all_gather"), levels=(2, 4), blocks=3, sizes=("1K:1M",)).measured())
    sealed("coll-wrong", "collectives", lambda: made(blocks=3, sizes=("1K:64K",), wrong=wrong).measured())
    sealed(
        "coll-lacks",
        "collectives",
        lambda: made(
            ops=("all_reduce", "reduce_scatter"), blocks=2, sizes=("1K:64K",), unsupported={"reduce_scatter": "gloo lacks it"}
        ).measured(),
    )
    seen = looked.Seen
    sealed(
        "looked",
        "network",
        lambda: looked.look(
            {"a": seen(scatter=0.1), "b": seen(rtt_s=5e-4, there=2e7, back=3e7)}, grew={"received_bytes": 1500.0, "sent_bytes": 4e4}
        ),
    )
    sealed(
        "looked-bad",
        "network",
        lambda: looked.look(
            {"a": seen(answered=4, unbroken=0.0, again=900), "b": seen(rtt_s=None, answered=0, there=None, back=None)}, grew={"errors": 7.0}
        ),
    )

    def stored(record: Any, root: Path, *, state: str = "complete") -> Path:
        """As in tests/cli/test_check.py: on the disk, with the day and the session that it was made with."""
        day = int(str(record.manifest["created_utc"])[8:10])
        made = record_folder.create(root, record.experiment, "by hand", clock=FakeClock(ns=day * 86_400 * 10**9))
        for table, rows in record.rows.items():
            for row in rows:
                made.writer(row[0]).append(table, row)
        if "session" in record.manifest:
            made.note(session=record.manifest["session"])
        made.finish(state)
        return Path(made.path)

    for day, seconds in enumerate((10.0, 10.3, 9.9, 10.1, 10.2, 10.0, 11.5), 1):
        told(
            f"day-{day}",
            "training (history)",
            lambda day=day, seconds=seconds: stored(checking.made(seconds, day=day, session=f"s{day}", right=380), folder / "history"),
        )
    told("turn-base", "training (history)", lambda: stored(checking.made(10.0, day=1, session="s", right=380), folder / "turns"))
    for label, how in {
        "turn-slower": {"seconds": 11.0, "right": 380},
        "turn-faster": {"seconds": 9.0, "right": 380},
        "turn-worse": {"seconds": 10.0, "right": 330},
        "turn-failed": {"seconds": 10.0, "right": 380, "failed": 2},
    }.items():
        told(label, "training (history)", lambda how=how: stored(checking.made(day=2, session="s", **how), folder / "turns"))

    foreign = folder / "inputs" / "foreign"
    foreign.mkdir()
    write, guide = samples.write, samples.guidellm_benchmark
    write(foreign / "vllm.json", samples.vllm(failed={1}, starts=True))
    write(foreign / "vllm_totals.json", samples.vllm(detailed=False))
    write(foreign / "genai_bench.json", samples.genai_bench(failed={3}))
    write(foreign / "aiperf.jsonl", samples.aiperf_lines(failed={3}, usage=True))
    write(
        foreign / "guidellm.json",
        samples.guidellm(
            guide({"type_": "concurrent", "streams": 8}, failed=1), guide({"type_": "constant", "rate": 4.0}, cut=1, lag_s=0.01)
        ),
    )
    write(foreign / "loadgen.txt", samples.loadgen_detail())
    write(foreign / "loadgen_invalid.txt", samples.loadgen_detail("Offline", valid=False))
    write(foreign / "all_reduce_perf.txt", test_nccl_tests.TEXT)
    write(foreign / "all_gather_perf.json", test_nccl_tests.document(wrong=2.0))
    for name, add_s in (("before", 0.0), ("after", 0.2)):
        (foreign / f"genai_{name}").mkdir()
        for number in range(3):
            run = samples.genai_bench()
            for place, row in enumerate(run["individual_request_metrics"]):
                luck = 0.0005 * ((place + number) % 3)
                row |= {"ttft": row["ttft"] + add_s + luck, "e2e_latency": row["e2e_latency"] + add_s + luck}
            write(foreign / f"genai_{name}" / f"run_{number}.json", run)
        write(foreign / f"genai_{name}" / "experiment_metadata.json", samples.genai_metadata())
    _ = Quality


# --------------------------------------------------------------------------------------------------------- snapshot

REPORTS = ("terminal", "markdown", "json", "html", "excel", "latex", "methods", "panel", "results")
VERBS = (
    "comm",
    "load",
    "profile",
    "run",
    "simulate",
    "time",
    "tune",
    "audit",
    "check",
    "compare",
    "report",
    "rubric",
    "import",
    "list",
    "reproduce",
    "resume",
    "sign",
    "verify",
    "doctor",
    "schema",
)
SCRATCH = "{scratch}"  # in the words of a case: a new folder of its own, kept outside of FOLDER

# What depends on time, place or name, and is therefore replaced before it is stored: (pattern, replacement, only in cases that measure or import anew).
RULES: tuple[tuple[str, str, bool], ...] = (
    (r"fireassay", "assay", False),  # the later rename
    (r"Fireassay", "Assay", False),
    (r"FIREASSAY", "ASSAY", False),
    (r"\bassay \(?\d+\.\d+\.\d+[\w.+]*\)?", "assay <version>", False),  # of the code that speaks
    (r"-\d{8}T\d{6}Z-[0-9a-f]{6}", "-<id>", True),  # of a record that was just made
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?", "<time>", True),
    (r"\b[0-9a-f]{64}\b", "<sha256>", True),
    (r"\bRecord [0-9a-f]{6}\b", "Record <id>", True),
    (r'"[0-9a-f]{6}, complete, sealed', '"<id>, complete, sealed', True),
    (r'"id": "[0-9a-f]{6}"', '"id": "<id>"', True),
    (r'"(before|after)": "[^"\n]*"', r'"\1": "<state of the machine>"', True),
    (r'"changed": (true|false)', '"changed": "<state of the machine>"', True),
    (r"\b[0-9a-f]{12}…", "<sha256>…", True),
)


class Case(dict[str, Any]):
    """name, type, words; columns, tty, colour; measures: makes a record, so that ids and times are replaced; fresh: in a process of its own."""


def case(name: str, type_: str, *words: object, **how: Any) -> Case:
    return Case(name=name, type=type_, words=[str(word) for word in words], **how)


FULL = (
    "good",
    "run-ddp",
    "synthetic",
    "sim-strong",
    "time-two-1",
    "time-function",
    "closed",
    "open",
    "engines-real",
    "coll",
    "comm",
    "looked",
    "import-vllm",
    "import-all_gather_perf",
    "damaged",
)  # every output, each asked for by itself


def record_cases(one: Mapping[str, str]) -> list[Case]:
    """A judging takes a second, so all reports of a record are asked for at once; of those in FULL also one by one, on stdout."""
    path, label, kind = one["path"], one["label"], one["kind"]
    found = [
        case("report-all", "report", "report", path, *(f"--{name}" for name in REPORTS), "--output", f"{SCRATCH}/all"),
        case("audit-json", "audit json", "audit", path, "--json"),
        case("verify", "verify", "verify", path),
        case("reproduce-dry-json", "reproduce json", "reproduce", path, "--dry-run", "--json"),
    ]
    if "(history)" in kind or "(tuning)" in kind:
        return found
    found += [case("report-tty80", "report terminal", "report", path, tty=True, columns=80, colour=True)]
    if label not in FULL:
        return found
    for name in REPORTS:
        target = f"{SCRATCH}/report.xlsx" if name == "excel" else "-"
        words = ("report", path, f"--{name}", *(() if name == "terminal" else ("--output", target)))
        found.append(case(f"report-{name}", f"report {name}", *words))
    found += [
        case("report-tty120", "report terminal", "report", path, tty=True, columns=120),
        case("audit", "audit text", "audit", path),
        case("reproduce-dry", "reproduce", "reproduce", path, "--dry-run"),
        case("compare-alone", "compare terminal", "compare", path),
        case("verify-expect", "verify", "verify", path, "--expect", "0" * 64),
        case("audit-tty80", "audit text", "audit", path, tty=True, columns=80, colour=True),
        case("audit-markdown", "audit markdown", "audit", path, "--markdown"),
        case("check-itself", "check", "check", path, "--against", path),
    ]
    if label == "good":
        found.append(case("resume", "resume", "resume", path, "--quiet"))
    return found


def pair_cases(path: Mapping[str, str]) -> Iterator[Case]:
    pairs: list[tuple[str, tuple[str, ...]]] = [
        ("served-alike", (path["served-closed"], path["served-closed-b"])),
        ("served-primary", (path["served-closed"], path["served-closed-b"], "--primary", "e2e_p50", "--at", "concurrency=4")),
        ("served-engine", (path["served-closed"], path["served-closed-b"], "--varying", "engine", "--day-to-day", "0.05")),
        ("served-unlike", (path["served-closed"], path["served-failing"])),
        ("served-forced", (path["served-closed"], path["served-failing"], "--force")),
        ("served-scored", (path["served-scored"], path["served-closed"], "--force")),
        ("engines", (path["served-engines"],)),
        ("engines-at", (path["served-engines"], "--at", "4")),
        ("engines-two", (path["served-engines"], "--at", "engine=a rate=4", "--at", "engine=b rate=8")),
        ("engines-wrong", (path["served-engines"], "--at", "7")),
        ("quality", (path["good"], path["worse_accuracy"])),
        ("quality-code", (path["good"], path["worse_accuracy"], "--varying", "code")),
        ("quality-only", (path["good"], path["worse_accuracy"], "--force", "--primary", "quality")),
        ("one-record", (path["good"], "--at", "workers=1", "--at", "workers=2")),
        (
            "three-ways",
            (
                path["good"],
                path["good"],
                path["worse_accuracy"],
                "--at",
                "workers=1",
                "--at",
                "workers=2",
                "--at",
                "workers=1",
                "--varying",
                "code",
            ),
        ),
        ("three", (path["good"], path["unsynced"], path["dropped_shard"], "--force")),
        ("synthetic", (path["synthetic"], path["synthetic-many"], "--force")),
        ("turn-slower", (path["turn-base"], path["turn-slower"])),
        ("turn-faster", (path["turn-base"], path["turn-faster"])),
        ("turn-many", (path["turn-base"], path["turn-slower"], path["turn-faster"], path["turn-worse"])),
        ("turn-failed", (path["turn-base"], path["turn-failed"])),
        ("days", (path["day-1"], path["day-7"], "--history", "history")),
        ("commands", (path["time-two-1"], path["time-two-2"], "--varying", "code")),
        ("commands-strict", (path["time-one"], path["time-two-2"])),
        ("collectives", (path["coll"], path["coll-wrong"])),
        ("collectives-forced", (path["coll"], path["coll-lacks"], "--force")),
        ("network", (path["looked"], path["looked-bad"], "--force")),
        ("simulated", (path["sim-strong"], path["sim-weak"])),
        ("simulated-forced", (path["sim-strong"], path["sim-stragglers"], "--force")),
        ("imported", (path["import-genai_before"], path["import-genai_after"])),
        (
            "imported-vouched",
            (path["import-genai_before"], path["import-genai_after"], "--varying", "foreign.environment", "--primary", "e2e_p50"),
        ),
        ("imported-tools", (path["import-vllm"], path["import-genai_bench"])),
        ("imported-ours", (path["served-closed"], path["import-vllm"])),
        ("kinds", (path["good"], path["served-closed"])),
        ("damaged", (path["good"], path["damaged"])),
        ("absent", (path["good"], "no-such-record")),
        ("metric-unknown", (path["good"], path["worse_accuracy"], "--force", "--primary", "no_such_metric")),
        ("itself", (path["good"], path["good"])),
    ]
    every = ("served-alike", "engines", "quality", "three", "turn-many", "commands", "imported-vouched", "kinds", "damaged")
    for name, words in pairs:
        yield case(f"{name}-terminal", "compare terminal", "compare", *words)
        yield case(f"{name}-json", "compare json", "compare", *words, "--json")
        if name not in every:
            continue
        yield case(f"{name}-tty80", "compare terminal", "compare", *words, tty=True, columns=80, colour=True)
        yield case(f"{name}-markdown", "compare markdown", "compare", *words, "--markdown")
        yield case(f"{name}-html", "compare html", "compare", *words, "--html", "--output", "-")


def check_cases(path: Mapping[str, str]) -> Iterator[Case]:
    runs: list[tuple[str, tuple[str, ...]]] = [
        ("history", ("--history", "history")),
        ("history-all", ("--history", "history", "--all", "--margin", "0.03")),
        ("history-early", (path["day-2"], "--history", "history")),
        ("slower", (path["turn-slower"], "--against", path["turn-base"], "--confirm", "never")),
        ("faster", (path["turn-faster"], "--against", path["turn-base"])),
        ("faster-accepted", (path["turn-faster"], "--against", path["turn-base"], "--accept", "improvement,inconclusive")),
        ("worse", (path["turn-worse"], "--against", path["turn-base"], "--confirm", "never")),
        ("failed", (path["turn-failed"], "--against", path["turn-base"], "--confirm", "never")),
        ("both", (path["day-7"], "--against", path["day-6"], "--history", "history", "--confirm", "never")),
        ("unlike", (path["good"], "--against", path["synthetic"], "--confirm", "never")),
        ("served", (path["served-closed-b"], "--against", path["served-closed"], "--confirm", "never", "--all")),
        ("quality", (path["worse_accuracy"], "--against", path["good"], "--confirm", "never")),
        ("collectives", (path["coll-wrong"], "--against", path["coll"], "--confirm", "never", "--force")),
        ("wrong-state", (path["good"], "--against", path["good"], "--accept", "better")),
        ("nothing", (path["good"],)),
    ]
    for name, words in runs:
        yield case(name, "check text", "check", *words, "--quiet")
        yield case(f"{name}-json", "check json", "check", *words, "--quiet", "--json")
        if name in ("history-all", "history-early", "faster-accepted", "unlike", "served", "wrong-state"):
            continue
        more = ("--show", "--output", f"{SCRATCH}/history.html") if "--history" in words else ()
        yield case(
            f"{name}-files",
            "check files",
            "check",
            *words,
            "--quiet",
            "--junit",
            f"{SCRATCH}/check.xml",
            "--markdown",
            f"{SCRATCH}/check.md",
            *more,
        )
    for name, first, second in (
        ("slower", "turn-base", "turn-slower"),
        ("alike", "day-1", "day-6"),
        ("served", "served-closed", "served-closed-b"),
        ("unlike", "good", "served-closed"),
        ("quality", "good", "worse_accuracy"),
        ("imported", "import-genai_before", "import-genai_after"),
    ):
        yield case(f"reproduce-{name}", "reproduce", "reproduce", path[first], "--against", path[second])
        yield case(f"reproduce-{name}-json", "reproduce json", "reproduce", path[first], "--against", path[second], "--json", "--force")


def other_cases(path: Mapping[str, str]) -> Iterator[Case]:
    for columns in (80, 120):
        yield case(f"help-{columns}", "help", "--help", columns=columns)
        for verb in VERBS:
            yield case(f"help-{verb}-{columns}", "help", verb, "--help", columns=columns)
    for name, words in {
        "nothing": (),
        "version": ("--version",),
        "unknown": ("reprot",),
        "unknown-option": ("--reprot",),
        "flag": ("report", "--jsno", "x"),
        "no-record": ("report",),
        "absent": ("report", "nowhere"),
        "two-shapes": ("compare", "a", "b", "--json", "--html"),
        "verify-digest": ("verify", path["good"], "--expect", "xyz"),
        "report-format": ("report", path["good"], "--format", "nothing"),
        "unwritable": ("report", path["good"], "--html", "--output", "/proc/none/x.html"),
        "audit-absent": ("audit", "nothing.toml"),
        "signers": ("verify", path["signed"], "--signers", "inputs/signers"),
        "signers-none": ("verify", path["good"], "--signers", "inputs/signers"),
        "schema": ("schema",),
        "schema-claim": ("schema", "--claim"),
        "schema-keys": ("schema", "--keys"),
        "schema-claim-keys": ("schema", "--claim", "--keys"),
        "list": ("list", "."),
        "list-json": ("list", ".", "--json"),
        "list-history": ("list", "history"),
        "list-tuning": ("list", "tuning/records"),
        "list-store": ("list", "--store", "history"),
        "list-store-json": ("list", "--store", "history", "--json"),
        "list-none": ("list", "inputs"),
        "list-absent": ("list", "nowhere"),
        "doctor-show": ("doctor", "--show"),
        "doctor-client-show": ("doctor", "client", "--show"),
    }.items():
        yield case(name, "json" if name.endswith("json") or name in ("schema", "schema-claim") else "other text", *words)
    for name, words in {
        "scaling": ("scaling.csv",),
        "scaling-limits": ("scaling.csv", "--deadline", "600", "--budget", "1.50"),
        "scaling-predict": ("scaling.csv", "--predict", "48"),
        "scaling-far": ("scaling.csv", "--predict", "4000"),
        "steps": ("steps.csv",),
        "steps-weak": ("steps.csv", "--scaling", "weak", "--work", "1000"),
        "wrong": ("scaling.csv", "--efficiency", "abc", "--tolerance", "-1"),
        "absent": ("nothing.csv",),
    }.items():
        asked = ("rubric", f"inputs/rubric/{words[0]}", *words[1:])
        yield case(f"rubric-{name}", "rubric text", *asked)
        yield case(f"rubric-{name}-tty", "rubric text", *asked, tty=True, columns=80, colour=True)
        yield case(f"rubric-{name}-json", "rubric json", *asked, "--json")
    for claim in ("eight_times", "sound", "tokens_per_second", "two_methods"):
        yield case(f"claim-{claim}", "audit text", "audit", f"inputs/claims/{claim}.toml")
        yield case(f"claim-{claim}-tty", "audit text", "audit", f"inputs/claims/{claim}.toml", tty=True, columns=80, colour=True)
        yield case(f"claim-{claim}-json", "audit json", "audit", f"inputs/claims/{claim}.toml", "--json")
        yield case(f"claim-{claim}-markdown", "audit markdown", "audit", f"inputs/claims/{claim}.toml", "--markdown")
    url = "http://127.0.0.1:9"
    for name, words in {
        "run": ("run", "run.toml"),
        "run-engines": ("run", "engines.toml"),
        "run-digits": ("run", "inputs/digits.toml"),
        "run-comm": ("run", "inputs/comm.toml"),
        "run-quantised": ("run", "inputs/quantised.toml"),
        "run-serving": ("run", "inputs/serving.toml"),
        "run-vllm": ("run", "inputs/serving_vllm_cpu.toml"),
        "run-flags": ("run", "--workers", "1,2", "--launches", "3", "--fault", "kill", "--price", "1", "--price-date", "2026-01-01"),
        "load": ("load", url, "--concurrency", "1,8", "--duration", "10s", "--warm-up", "2s", "--slo", "ttft=0.2"),
        "load-rate": ("load", url, "--rate", "2.5,5", "--launches", "4"),
        "load-server": ("load", url, "--rate", "5", "--arrival", "server", "--duration", "30s"),
        "comm": ("comm", "--workers", "2,4", "--ops", "all"),
        "comm-net": ("comm", "--net", "a", "b", "--seconds", "2"),
    }.items():
        tail = ("--", "tiny.py") if name == "run-flags" else ()
        root = "." if name == "run" else "inputs"
        yield case(f"dry-{name}", "dry run", *words, "--dry-run", "--root", root, *tail)
        yield case(f"dry-{name}-json", "dry run json", *words, "--dry-run", "--json", "--root", root, *tail)
        if words[0] in ("load", "comm"):
            yield case(f"toml-{name}", "toml", *words, "--toml")
    for name in ("tune.toml", "run.toml", "bad-tune.toml"):
        place = {"tune.toml": "tuning/tune.toml", "bad-tune.toml": "inputs/bad/tune.toml"}.get(name, name)
        yield case(f"tune-dry-{name}", "dry run", "tune", place, "--dry-run")
    for number, name in enumerate(BAD):
        yield case(f"bad-{number:02d}-{name}", "errors", "run", f"inputs/bad/{name}.toml", "--dry-run", "--root", "inputs")
    for name, words in {
        "load": ("load", "localhost:8000", "--slo", "speed=1", "--concurrency", "0"),
        "load-both": ("load", url, "--concurrency", "1", "--rate", "1", "--dry-run"),
        "comm": (
            "comm",
            "--workers",
            "2,x",
            "--ops",
            "all_redcue",
            "--sizes",
            "1K:big",
            "--backend",
            "smoke",
            "--root-rank",
            "5",
            "--calls",
            "0",
        ),
        "comm-net": ("comm", "--net", "a", "--ops", "all_reduce"),
        "simulate": ("simulate", "--workers", "1,b", "--step-time", "-1", "--alpha", "x", "--gbps", "0", "--slowdown", "2"),
        "time": ("time", "--"),
        "time-none": ("time", "ls"),
        "run-none": ("run",),
        "run-script": ("run", "--workers", "1", "--", "nothing.py"),
        "profile": ("profile", "--active", "9", "--", "tiny.py"),
        "secret": ("load", url, "--header", "Authorization: Bearer sk-Abcdefghijklmnopqrstuvwx12", "--toml"),
        "import-absent": ("import", "nothing.json"),
        "import-tool": ("import", "inputs/foreign/vllm.json", "--tool", "wrk"),
        "import-garbage": ("import", "run.toml"),
        "sign-key": ("sign", path["good"], "--key", "inputs/nokey"),
        "reproduce-imported": ("reproduce", path["import-vllm"]),
    }.items():
        yield case(f"error-{name}", "errors", *words, *(("--root", SCRATCH) if words[0] == "import" else ()))


# Experiments that make no sense, each in its own way; written below FOLDER/inputs/bad by `records`.
BAD: dict[str, str] = {
    "syntax": "name = \n",
    "empty": "",
    "unknown-key": "name='x'\n[workload]\nscript='a.py'\nscirpt='b'\n",
    "levels": "name='x'\nfactor={levels=[0,'b']}\n[workload]\nscript='a.py'\n",
    "several": "name='x y'\n[launches]\nper_configuration=0\nconfidence=2\n[workload]\nscript='a.py'\n[gates]\nefficiency=7\n[quality]\nmetric=''\nmargin=-1\n",
    "runner": "name='x'\n[workload]\nrunner='nothing'\nscript='a.py'\n",
    "fault": "name='x'\n[workload]\nscript='a.py'\n[[faults]]\nkind='explode'\n",
    "prices": "name='x'\n[workload]\nscript='a.py'\n[prices]\nusd_per_worker_hour=-1\ndate='soon'\nsource=''\n",
    "serving": "name='x'\n[workload]\nrunner='serving'\n",
    "serving-both": "name='x'\n[workload]\nrunner='serving'\n[serving]\nmodel='m'\nconcurrency=[1]\nrate=[2.0]\n[[serving.targets]]\nname='a'\nurls=['nothing']\ncommand=['x']\n",
    "collectives": "name='x'\n[workload]\nrunner='collectives'\n[collectives]\noperations=['sum']\nsizes=['big']\n",
    "secret": "name='x'\n[workload]\nscript='a.py'\narguments=['--api-key','sk-Abcdefghijklmnopqrstuvwx12']\n",
    "tune": "name='x'\n[workload]\nscript='a.py'\n[tune.knobs]\nbatch=[1]\n",
}


def made_cases(folder: Path) -> Iterator[Case]:
    """What makes records anew, and needs no measurement for it: their numbers are known, their ids and times are not."""
    for label, words in SIMULATIONS.items():
        how = ("--name", label, "--root", f"{SCRATCH}/records")
        yield case(label, "simulate", "simulate", *words, *how, measures=True, written=True)
        yield case(f"{label}-json", "simulate json", "simulate", *words, *how, "--json", measures=True)
    for path in sorted((folder / "inputs" / "foreign").iterdir()):
        words = ("import", f"inputs/foreign/{path.name}", "--name", "again", "--root", f"{SCRATCH}/records")
        yield case(f"import-{path.name}", "import", *words, measures=True, written=True)
        yield case(f"import-{path.name}-json", "import json", *words, "--json", measures=True)
    for name, words in {"text": (), "json": ("--json",), "html": ("--html", f"{SCRATCH}/page.html")}.items():
        asked = ("tune", f"{SCRATCH}/tuning/tune.toml", "--root", f"{SCRATCH}/tuning/records", "--resume", "--quiet")
        yield case(f"tune-{name}", f"tune {name}", *asked, *words, copies="tuning")
    yield case("tune-tty80", "tune text", *asked, tty=True, columns=80, colour=True, copies="tuning")


def jobs_of(folder: Path) -> list[tuple[str, list[Case]]]:
    index = json.loads((folder / "index.json").read_text())
    path = {one["label"]: one["path"] for one in index}
    jobs = [(f"record {one['label']}", record_cases(one)) for one in index]
    for name, cases, size in (
        ("compare", pair_cases(path), 25),
        ("check", check_cases(path), 20),
        ("other", other_cases(path), 150),
        ("made", made_cases(folder), 12),
    ):
        every = list(cases)
        for place in range(0, len(every), size):
            jobs.append((f"{name} {place // size + 1}", every[place : place + size]))
    fresh = []  # the same once more, each in a process of its own: does one process for many cases change anything?
    for label in ("good", "engines-real", "coll", "looked", "import-vllm", "sim-strong", "damaged"):
        if label in path:
            names = (
                ("report-terminal", "report-json", "report-html", "audit")
                if label in ("good", "engines-real")
                else ("report-json", "report-terminal")
            )
            fresh += [
                Case({**one, "name": f"{label}@{one['name']}", "fresh": True})
                for one in record_cases({"label": label, "path": path[label], "kind": ""})
                if one["name"] in names
            ]
    jobs += [(f"fresh {half + 1}", fresh[half::2]) for half in (0, 1)]
    jobs.append(("catalogue 1", [Case(name="catalogue", type="catalogue", words=[])]))
    return jobs


def snapshot(folder: Path, out: Path, source: Path, package: str, only: str) -> int:
    began = time.monotonic()
    if out.exists() and any(out.iterdir()):
        sys.exit(f"{out} is not empty")
    out.mkdir(parents=True, exist_ok=True)
    before = digest(folder)
    jobs = sorted((job for job in jobs_of(folder) if re.search(only, job[0])), key=lambda job: -len(job[1]))
    failed: list[str] = []
    waiting = iter(batches(jobs))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                batch = next(waiting, None)
            if batch is None:
                return
            name = ", ".join(group for group, _ in batch)
            environment = clean_environment(source)
            environment["PYTHONPYCACHEPREFIX"] = f"/tmp/same-as-pyc-{hashlib.sha256(str(source).encode()).hexdigest()[:12]}"
            environment.pop("PYTHONDONTWRITEBYTECODE")
            told = json.dumps({"groups": batch, "folder": str(folder), "out": str(out), "source": str(source), "package": package})
            done = subprocess.run(
                [sys.executable, __file__, "_work"],
                input=told,
                text=True,
                env=environment,
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=900,
            )
            if done.returncode:
                failed.append(name)
                print(f"!! {name}: {done.stdout[-3000:]}", flush=True)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for path in folder.rglob("__pycache__"):
        shutil.rmtree(path, ignore_errors=True)
    if digest(folder) != before:
        print(f"!! something in {folder} was changed by the snapshot")
        failed.append("records changed")
    differing = fresh_differs(out)
    for line in differing:
        print(f"!! a fresh process says something else: {line}")
    cases = sum(len(cases) for _, cases in jobs)
    files = sum(1 for path in out.rglob("*") if path.is_file())
    print(
        f"{cases} cases, {files} files in {out}, {time.monotonic() - began:.0f} s; failed: {failed or 'none'}; fresh processes that differ: {len(differing)}"
    )
    return 1 if failed or differing else 0


def batches(jobs: list[tuple[str, list[Case]]], size: int = 60) -> list[list[tuple[str, list[Case]]]]:
    """Several records share a process, for one takes three seconds to start."""
    found: list[list[tuple[str, list[Case]]]] = []
    for job in jobs:
        if found and sum(len(cases) for _, cases in found[-1]) + len(job[1]) <= size and job[0].startswith("record"):
            found[-1].append(job)
        else:
            found.append([job])
    return found


def digest(folder: Path) -> str:
    made = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            made.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return made.hexdigest()


def fresh_differs(out: Path) -> list[str]:
    found = []
    for path in sorted(out.glob("fresh */*")):
        label, _, name = path.name.partition("@")
        twin = out / f"record {label}" / name
        if not twin.exists():  # --only
            continue
        found += [
            f"{path.name}/{file.name}"
            for file in path.iterdir()
            if file.name != "case.json" and file.read_bytes() != (twin / file.name).read_bytes()
        ]
    return found


# ---- one process, many cases -----------------------------------------------------------------------------------------


class Captured(io.TextIOWrapper):
    """Stands for stdout or stderr: keeps bytes, and is a terminal or not as was asked."""

    def __init__(self, *, tty: bool, errors: str) -> None:
        self.kept = io.BytesIO()
        self.is_tty = tty
        super().__init__(self.kept, encoding="utf-8", errors=errors, newline="\n", write_through=True)

    def isatty(self) -> bool:
        return self.is_tty


def work_on(told: Mapping[str, Any]) -> int:
    import importlib

    os.cpu_count = lambda: (
        1
    )  # pictures are drawn in this process instead of one more for each page: they are the same ("fresh" holds it to that)
    package, source = told["package"], Path(told["source"])
    found = Path(str(importlib.import_module(package).__file__))
    if source not in found.parents:
        print(f"{package} is {found}, which is not below {source}")
        return 1
    main = importlib.import_module(f"{package}.cli").main
    for group, one in ((group, one) for group, cases in told["groups"] for one in cases):
        out = Path(told["out"]) / group / one["name"]
        scratch = Path(tempfile.mkdtemp(prefix="same-as-"))
        try:
            run_case(one, out, scratch, told, main)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return 0


def run_case(one: Mapping[str, Any], out: Path, scratch: Path, told: Mapping[str, Any], main: Callable[[list[str]], int]) -> None:
    out.mkdir(parents=True)

    def normal(text: str) -> str:
        for place, name in ((str(scratch), "<scratch>"), (told["folder"], "<records>"), (told["source"], "<source>")):
            text = text.replace(place, name)
        for pattern, replacement, measures in RULES:
            if one.get("measures") or not measures:
                text = re.sub(pattern, replacement, text)
        return text

    (out / "case.json").write_text(json.dumps({"type": one["type"], "words": one["words"]}))
    if one["type"] == "catalogue":
        (out / "stdout.json").write_text(normal(catalogue(Path(told["source"]), told["package"])))
        return
    if one.get("copies"):
        shutil.copytree(Path(told["folder"]) / one["copies"], scratch / one["copies"])
    words = [word.replace(SCRATCH, str(scratch)) for word in one["words"]]
    run = in_fresh_process if one.get("fresh") else in_this_process
    code, stdout, stderr = run(words, one, told["package"], main)
    (out / "exit").write_text(f"{code}\n")
    store(out / "stdout", stdout, normal, is_json=one["type"].endswith("json"), is_html="--html" in words and "-" in words)
    store(out / "stderr", stderr, normal)
    if one.get("copies"):
        shutil.rmtree(scratch / one["copies"])
    for path in sorted(scratch.rglob("*")):
        if path.is_file() and path.relative_to(scratch).parts[0] != "records":
            name = "file-" + "-".join(path.relative_to(scratch).parts)
            if path.suffix == ".xlsx":
                (out / f"{name}.cells.txt").write_text(normal(cells(path)))
            else:
                store(out / name, path.read_bytes(), normal, is_json=path.suffix == ".json", is_html=path.suffix == ".html")
    if one.get("written"):
        for record in sorted((scratch / "records").iterdir()):
            (out / f"written-{normal(record.name)}.txt").write_text(normal(written(record)))


def in_this_process(words: list[str], one: Mapping[str, Any], package: str, main: Callable[[list[str]], int]) -> tuple[int, bytes, bytes]:
    import traceback

    kept = sys.stdout, sys.stderr, dict(os.environ), os.getcwd()
    tty = bool(one.get("tty"))
    sys.stdout, sys.stderr = out, err = Captured(tty=tty, errors="strict"), Captured(tty=tty, errors="backslashreplace")
    if one.get("columns"):
        os.environ |= {"COLUMNS": str(one["columns"]), "LINES": "50"}
    if tty:
        os.environ["TERM"] = "xterm-256color"
        if not one.get("colour"):
            os.environ["NO_COLOR"] = "1"
    try:
        code = main(list(words))
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1 if stop.code else 0
    except BaseException:
        traceback.print_exc()
        code = -1
    finally:
        out.flush()
        err.flush()
        sys.stdout, sys.stderr = kept[0], kept[1]
        os.environ.clear()
        os.environ |= kept[2]
        os.chdir(kept[3])
    return code, out.kept.getvalue(), err.kept.getvalue()


def in_fresh_process(words: list[str], one: Mapping[str, Any], package: str, main: Callable[[list[str]], int]) -> tuple[int, bytes, bytes]:
    done = subprocess.run([sys.executable, "-m", package, *words], capture_output=True, stdin=subprocess.DEVNULL, timeout=300)
    return done.returncode, done.stdout, done.stderr


def store(path: Path, content: bytes, normal: Callable[[str], str], *, is_json: bool = False, is_html: bool = False) -> None:
    try:
        text = normal(content.decode())
    except UnicodeDecodeError:
        path.with_name(path.name + ".sha256").write_text(hashlib.sha256(content).hexdigest())
        return
    if not text and path.name == "stderr":
        return
    stem = path.name.rpartition(".")[0] if path.suffix in (".json", ".html") else path.name
    if is_html or text.lstrip()[:15].lower() == "<!doctype html>":
        path.with_name(f"{stem}.html").write_text(text)
        path.with_name(f"{stem}.visible.txt").write_text(visible(text))
    else:
        path.with_name(f"{stem}.{'json' if is_json else 'txt'}").write_text(text)


class _Visible(html.parser.HTMLParser):
    """The text of a page as a reader sees it, one line for each piece; charts' words too."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in ("script", "style")
        self.lines += [
            f"({name}: {value})" for name, value in attrs if name in ("alt", "aria-label", "title", "href") and value and len(value) < 2000
        ]

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self.hidden and (words := " ".join(data.split())):
            self.lines.append(words)


def visible(text: str) -> str:
    parser = _Visible()
    parser.feed(text)
    return "\n".join(parser.lines) + "\n"


def cells(path: Path) -> str:
    """A workbook as lines: every sheet in its order, every cell with its value, type, number format, weight and link; then its pictures."""
    import zipfile

    import openpyxl

    lines = []
    book = openpyxl.load_workbook(path)
    for sheet in book.worksheets:
        lines.append(
            f"sheet {sheet.title!r} {sheet.dimensions} state={sheet.sheet_state} freeze={sheet.freeze_panes} filter={sheet.auto_filter.ref} "
            f"merged={sorted(map(str, sheet.merged_cells.ranges))}"
        )
        widths = {letter: round(one.width, 2) for letter, one in sheet.column_dimensions.items()}
        lines.append(f"  widths {dict(sorted(widths.items()))}")
        for row in sheet.iter_rows():
            for cell in row:
                if cell.value is not None:
                    link = f" link={cell.hyperlink.target or cell.hyperlink.location}" if cell.hyperlink else ""
                    bold = " bold" if cell.font and cell.font.b else ""
                    lines.append(f"  {sheet.title}!{cell.coordinate}: {cell.value!r} [{cell.number_format}]{bold}{link}")
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if name.startswith(("xl/charts/", "xl/drawings/", "xl/media/")):
                lines.append(f"part {name} {hashlib.sha256(archive.read(name)).hexdigest()[:16]}")
    return "\n".join(lines) + "\n"


def written(record: Path) -> str:
    """What a record holds that was made without measuring: its files, its experiment, its manifest's keys, every value of every table."""
    import polars

    lines = []
    launches = [polars.read_parquet(path)["begin_ns"].min() for path in record.glob("tables/launches/**/*.parquet")]
    began = min((found for found in launches if found is not None), default=0)
    for path in sorted(record.rglob("*")):
        if path.is_dir() or "reports" in path.parts:
            continue
        lines.append(f"file {path.relative_to(record)}")
        if path.suffix == ".parquet":
            frame = polars.read_parquet(path)
            times = [
                name for name in ("begin_ns", "end_ns", "at_ns", "due_ns") if name in frame.columns
            ]  # since the record's first launch began
            frame = frame.with_columns(
                polars.col(times) - began, *([polars.lit("<time>").alias("begin_utc")] if "begin_utc" in frame.columns else [])
            )
            lines.append(f"  {dict(frame.schema)}")
            lines += [f"  {row}" for row in frame.head(400).rows()]
            lines.append(f"  {frame.height} rows, sha256 of all {hashlib.sha256(repr(frame.rows()).encode()).hexdigest()[:20]}")
        elif path.name == "manifest.json":
            lines += [f"  {name}" for name in keys(json.loads(path.read_text()))]
        elif path.suffix == ".toml":
            lines += [f"  {line}" for line in path.read_text().splitlines()]
    return "\n".join(lines) + "\n"


def keys(value: Any, place: str = "") -> Iterator[str]:
    """The keys of a document, those of the machine's state left out."""
    if isinstance(value, dict) and not re.search(r"\.(before|after)$", place):
        for name, inner in value.items():
            yield from keys(inner, f"{place}.{name}")
    else:
        yield place


# ---- the catalogue ---------------------------------------------------------------------------------------------------

CATALOGUED = ("Metric", "Audit", "Gate", "Report", "Verb", "Fault", "FaultKind", "Runner", "Launcher", "Backend", "Task", "Foreign")


def catalogue(source: Path, package: str) -> str:
    """Every plug-in with all its plain fields, wherever its file lies and however many share one: found by the types' names."""
    import dataclasses
    import importlib

    word = re.compile(
        rb"\b(METRIC|AUDIT|GATE|REPORT|VERB|FAULT|RUNNER|LAUNCHER|BACKEND|TASK|FOREIGN)S?(: [^=\n]+)? = |\b(Metric|Audit|Gate)\("
    )
    found: dict[str, Any] = {}

    def add(kind: str, thing: Any) -> None:
        if isinstance(thing, (list, tuple, set, frozenset)):
            for inner in thing:
                add(kind, inner)
            return
        if isinstance(thing, dict):
            for inner in thing.values():
                add(kind, inner)
            return
        name = type(thing).__name__
        own = kind if kind else name
        if (kind or name in CATALOGUED) and isinstance(getattr(thing, "name", None), str):
            fields = [field.name for field in dataclasses.fields(thing)] if dataclasses.is_dataclass(thing) else sorted(vars(thing))
            told = {field: plain(getattr(thing, field)) for field in fields if not field.startswith("_")}
            found[f"{own.lower()} {thing.name}"] = {key: value for key, value in told.items() if value is not None}

    for path in sorted((source / package).rglob("*.py")):
        if path.stem in ("__main__", "sitecustomize") or not word.search(path.read_bytes()):
            continue
        module = ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
        try:
            loaded = importlib.import_module(module)
        except Exception as error:
            found[f"module {module}"] = repr(error)
            continue
        for name, thing in vars(loaded).items():
            match = re.fullmatch(r"(METRIC|AUDIT|GATE|REPORT|VERB|FAULT|RUNNER|LAUNCHER|BACKEND|TASK|FOREIGN)S?", name)
            add(match[1] if match else "", thing) if match or type(thing).__name__ in ("Metric", "Audit", "Gate") else None
    document = {"counts": dict(sorted(Counter(name.split()[0] for name in found).items())), "plug-ins": dict(sorted(found.items()))}
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False)


def plain(value: Any) -> Any:
    """A value that JSON holds; None for functions and types."""
    if isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    return None


# ---------------------------------------------------------------------------------------------------------- compare


def output_type(case_type: str, file: str) -> str:
    if file == "exit":
        return "exit code"
    if file.endswith(".cells.txt"):
        return "workbook cells"
    if file.endswith(".visible.txt"):
        return f"{case_type}: visible text of the page"
    if file.startswith("stderr"):
        return f"{case_type}: stderr"
    if file.startswith("written"):
        return "record written anew"
    if file.startswith("file-"):
        return f"{case_type}: file {file.removeprefix('file-all-').removeprefix('file-')}"
    return case_type + (": page as it is" if file.endswith(".html") else "")


def is_strict(file: str) -> bool:
    """Whether a difference always fails: JSON, exit codes, cells, and what a record holds."""
    return file == "exit" or file.endswith((".json", ".cells.txt")) or file.startswith("written")


def compare(one: Path, other: Path, *, all_: bool, lines: int, shown: int, only: str) -> int:
    def files(root: Path) -> dict[str, Path]:
        found = {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file() and path.name != "case.json"}
        return {name: path for name, path in found.items() if re.search(only, name)}

    first, second = files(one), files(other)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    differing: list[tuple[str, str, str]] = []
    strict = loose = 0
    for name in sorted({*first, *second}):
        folder, _, file = name.rpartition("/")
        told = next(place / folder / "case.json" for place in (one, other) if (place / folder / "case.json").exists())
        kind = output_type(json.loads(told.read_text())["type"], file)
        if name not in first or name not in second:
            state = "only in one"
        else:
            state = how_alike(first[name].read_text(), second[name].read_text(), file)
        counts[kind][state] += 1
        if state not in ("equal", "layout"):
            strict += is_strict(file)
            loose += not is_strict(file)
        loose += state == "layout"
        if state != "equal":
            differing.append((name, kind, state))
    width = max(map(len, counts), default=0)
    print(f"{'output type':<{width}}  equal  layout  different  only in one")
    for kind, found in sorted(counts.items()):
        print(f"{kind:<{width}}  {found['equal']:>5}  {found['layout']:>6}  {found['different']:>9}  {found['only in one']:>11}")
    total = sum(counts.values(), Counter())
    print(f"{'all':<{width}}  {total['equal']:>5}  {total['layout']:>6}  {total['different']:>9}  {total['only in one']:>11}")
    print(
        "layout: the same words in the same order, other line breaks, spaces or rules (JSON: the same document; pages: pictures moved by < 2.5 pixels, as other fonts do)\n"
    )
    differing.sort(key=lambda found: (found[2] == "layout", not is_strict(found[0].rpartition("/")[2]), found[1], found[0]))
    seen: Counter[str] = Counter()
    for name, kind, state in differing:
        if state == "layout" and not all_:
            continue
        seen[kind] += 1
        if seen[kind] > shown:
            continue
        print(f"=== {name} ({kind}): {state}")
        if state != "only in one":
            texts = [path[name].read_text().splitlines() for path in (first, second)]
            diff = list(difflib.unified_diff(*texts, "1", "2", lineterm="", n=1))
            print("\n".join(line[:400] for line in diff[2 : 2 + lines]))
            if len(diff) > lines + 2:
                print(f"... {len(diff) - lines - 2} lines more")
    for kind, number in seen.items():
        if number > shown:
            print(f"... {kind}: {number - shown} more (--shown)")
    print(f"{strict} differences in JSON, exit codes, cells and written records; {loose} in texts")
    return 1 if strict or (all_ and loose) else 0


def how_alike(one: str, other: str, file: str) -> str:
    if one == other:
        return "equal"
    if file.endswith(".json"):
        try:
            return "layout" if json.dumps(json.loads(one), sort_keys=True) == json.dumps(json.loads(other), sort_keys=True) else "different"
        except ValueError:
            return "different"
    if file.endswith((".cells.txt", "exit")):
        return "different"
    if file.endswith(".html") and moved(one, other):
        return "layout"
    words = [re.sub(r"\x1b\[[0-9;]*m|[-─━═]{2,}", " ", text).split() for text in (one, other)]
    return "layout" if words[0] == words[1] else "different"


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
PIXELS = 2.5  # installing a font moved words and marks by up to 2.0


def moved(one: str, other: str) -> bool:
    """Whether only things in pictures stand elsewhere, by a few pixels: how wide words are, and so a chart, depends on the machine's fonts."""
    tag = re.compile(r"<(?:g|path|line|text|rect|svg|circle|clipPath|use|defs|symbol)\b[^>]*>")
    first, second = tag.findall(one), tag.findall(other)
    if tag.sub("", one) != tag.sub("", other) or len(first) != len(second):
        return False
    for x, y in zip(first, second, strict=True):
        if x != y and (
            NUMBER.sub("", x) != NUMBER.sub("", y)
            or any(abs(float(u) - float(v)) > PIXELS for u, v in zip(NUMBER.findall(x), NUMBER.findall(y), strict=False))
        ):
            return False
    return True


def main() -> int:
    if sys.argv[1:2] == ["_work"]:
        return work_on(json.loads(sys.stdin.read()))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name in ("records", "_build", "snapshot"):
        verb = verbs.add_parser(name)
        verb.add_argument("folder", type=Path)
        if name == "snapshot":
            verb.add_argument("out", type=Path)
        verb.add_argument("--source", type=Path, required=True, help="the folder that holds the package")
        verb.add_argument("--package", default="assay", help="the name that it is imported by")
    verb = verbs.add_parser("compare")
    verb.add_argument("one", type=Path)
    verb.add_argument("other", type=Path)
    verb.add_argument("--all", action="store_true", help="a difference in any text fails too")
    verb.add_argument("--lines", type=int, default=20, help="of each diff")
    verb.add_argument("--shown", type=int, default=3, help="diffs of each output type")
    for verb in ("snapshot", "compare"):
        verbs.choices[verb].add_argument("--only", default="", metavar="REGEX", help="only these folders, as in 'record (good|coll)$'")
    asked = parser.parse_args()
    if asked.verb == "compare":
        return compare(asked.one, asked.other, all_=asked.all, lines=asked.lines, shown=asked.shown, only=asked.only)
    source, folder = asked.source.resolve(), asked.folder.resolve()
    if asked.verb == "records":
        return make_records(folder, source, asked.package) or 0
    if asked.verb == "_build":
        return build(folder, source) or 0
    return snapshot(folder, asked.out.resolve(), source, asked.package, asked.only)


if __name__ == "__main__":
    sys.exit(main())
