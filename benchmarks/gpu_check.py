"""Does Fireassay measure on an NVIDIA GPU as it says?  Nine checks in at most eight minutes, without a network.

Each check is a process of its own with its own time limit, so that one that hangs costs no other:

    ddp       an unmodified DistributedDataParallel script on one GPU over nccl: steps, phases and a first gradient are recorded
    phases    data wait, forward, backward and optimizer of those steps sum to the step within 5 %
    mfu       its utilisation is in (0, 1), against the datasheet's dense peak of this device's name
    comm      `assay comm --backend nccl` with one rank times collectives and finds no wrong element
    profile   `assay profile`: kernels of the device, whose parts sum to the steps
    time      `fireassay.time` of a 4096 x 4096 product against torch.utils.benchmark.Timer, within 2 %
    energy    `assay run --energy nvml` measures joules
    power     NVML's joules over ten seconds of products against its power readings times time, within 5 %
    attach    what the hooks add to a step of the script: at most 1 % or 20 microseconds, in turn in one process

`--fake` runs the same checks on the processor, with gloo, small products and a constant 300 W in place of NVML: it tests this script, and its
promises about times are not judged.  It has not yet run on a GPU.

    python benchmarks/gpu_check.py --json gpu_check.json
    python benchmarks/gpu_check.py --fake --only time,power

Exit code: 0 every promise kept, 1 one broken or not checked, 2 no GPU here.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

WITHIN_TIME, WITHIN_PHASES, WITHIN_POWER = 0.02, 0.05, 0.05
MAX_US, MAX_SHARE = 20.0, 0.01
WHOLE_S = 480
FAKE_PATIENCE = 6  # a processor that others keep busy is no reason to call a check broken

# One GPU, one rank, and nothing of Fireassay. Batches lie on the device, so that no copy from the host, which is in no phase, takes time.
SCRIPT = """
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

on_gpu, width, rows = os.environ["CHECK_DEVICE"] == "cuda", int(os.environ["CHECK_WIDTH"]), int(os.environ["CHECK_ROWS"])
dist.init_process_group("nccl" if on_gpu else "gloo")
device = torch.device(f"cuda:{os.environ['LOCAL_RANK']}" if on_gpu else "cpu")
if on_gpu:
    torch.cuda.set_device(device)
torch.manual_seed(0)
data = TensorDataset(torch.randn(48, rows, width, device=device), torch.randint(0, 10, (48, rows), device=device))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=None, sampler=sampler)
model = nn.Sequential(*[nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(8)], nn.Linear(width, 10)).to(device)
model = DistributedDataParallel(model, device_ids=[device.index] if on_gpu else None)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for epoch in range(4):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast(device.type, dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
if on_gpu:
    torch.cuda.synchronize()
dist.destroy_process_group()
"""
# a binding of NVML with one device that draws a constant 300 W; it refuses everything else
NVML = """
import time

class NVMLError(Exception):
    pass

def nvmlInit(): pass
def nvmlDeviceGetCount(): return 1
def nvmlDeviceGetHandleByIndex(index): return index
def nvmlDeviceGetUUID(handle): return f"GPU-{handle}"
def nvmlDeviceGetTotalEnergyConsumption(handle): return 300_000 * time.monotonic()
def nvmlDeviceGetPowerUsage(handle):
    time.sleep(0.01)
    return 300_000

def __getattr__(name):
    def refused(*_):
        raise NVMLError(f"{name} is not faked")
    if name.startswith("nvml"):
        return refused
    if name.startswith("NVML_"):
        return 0
    raise AttributeError(name)
"""
# imported by the timed processes and by this one: the same operands and the same call
PRODUCT = """
import os
from functools import cache

import torch

@cache
def operands():
    n, device = int(os.environ["CHECK_N"]), os.environ["CHECK_DEVICE"]
    torch.manual_seed(0)
    return torch.randn(n, n, device=device), torch.randn(n, n, device=device)

def product():
    a, b = operands()
    return a @ b
"""


class Broken(Exception):
    """A promise that was not kept; the message says which and by how much."""


@dataclass(frozen=True)
class Place:
    """Where a check runs."""

    folder: Path  # shared by all checks, for records
    fake: bool

    @property
    def device(self) -> str:
        return "cpu" if self.fake else "cuda"

    def environment(self) -> dict[str, str]:
        """For the scripts: their device and sizes."""
        sizes = (
            {"CHECK_WIDTH": "64", "CHECK_ROWS": "64", "CHECK_N": "256"}
            if self.fake
            else {"CHECK_WIDTH": "4096", "CHECK_ROWS": "1024", "CHECK_N": "4096"}
        )
        return {**os.environ, **sizes, "CHECK_DEVICE": self.device, "PYTHONPATH": os.pathsep.join([str(self.folder), *sys.path])}


@dataclass(frozen=True)
class Check:
    """One promise."""

    name: str
    promise: str
    limit_s: int
    run: Callable[[Place], dict[str, Any]]  # the figures; raises Broken


@dataclass
class Outcome:
    """How a check ended."""

    name: str
    promise: str
    kept: bool
    seconds: float
    figures: dict[str, Any] = field(default_factory=dict)
    why: str = ""


def require(kept: bool, why: str) -> None:
    if not kept:
        raise Broken(why)


def assay(place: Place, words: str, allowed: tuple[int, ...] = (0, 4, 9)) -> str:
    """Run `assay WORDS --quiet`, and return its output."""
    verb, *options = words.split(" -- ")
    command = [sys.executable, "-m", "fireassay", *verb.split(), "--quiet", *(["--", *options] if options else [])]
    done = subprocess.run(command, cwd=place.folder, env=place.environment(), capture_output=True, text=True, check=False)
    last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
    require(done.returncode in allowed, f"assay {verb} ended with exit code {done.returncode}: {last[:300]}")
    return done.stdout


def opened(place: Place, name: str) -> Any:
    import fireassay

    return fireassay.open(name, root=place.folder / "records")


# ---- the checks ------------------------------------------------------------------------------------------------------


def ddp(place: Place) -> dict[str, Any]:
    assay(place, "run --workers 1 --launches 2 --name ddp --only performance -- train.py", allowed=(0, 1, 4, 9))
    record = opened(place, "ddp")
    steps, launches = record.table("steps"), record.table("launches")
    failed = launches.filter(launches["status"] != "ok")
    require(failed.height == 0, f"a launch failed: {failed['reason'].to_list()[:1]}")
    require(steps.height >= 2 * 100, f"{steps.height} steps were recorded of 2 x 192")
    fingerprints = record.table("fingerprints")["what"].unique().to_list()
    return {"steps": steps.height, "fingerprints": sorted(fingerprints), "step_time_s": float(record.metric("step_time", workers=1).value)}


def phases(place: Place) -> dict[str, Any]:
    steps = opened(place, "ddp").steps()
    names = [name for name in ("data_s", "forward_s", "backward_s", "optimizer_s") if name in steps.columns]
    require(len(names) == 4, f"phases recorded: {names}")
    known = steps.drop_nulls(names)
    require(known.height >= steps.height // 2, f"{known.height} of {steps.height} steps have every phase")
    shares = (known.select(names).sum_horizontal() / known["step_s"]).to_list()
    share = median(shares)
    figures = {"sum_of_phases_over_step": round(share, 4), **{name: round(float(median(known[name].to_list())), 6) for name in names}}
    if not place.fake:  # a step of a fraction of a millisecond on a processor is Python for the most part
        require(abs(share - 1.0) <= WITHIN_PHASES, f"phases sum to {share:.1%} of a step")
    return figures


def mfu(place: Place) -> dict[str, Any]:
    from fireassay.estimates.estimate import Estimate

    record = opened(place, "ddp")
    found, achieved = record.metric("mfu", workers=1), record.metric("achieved_flops", workers=1)
    require(isinstance(achieved, Estimate) and achieved.value > 0, f"no operations per second: {achieved}")
    if place.fake:  # a processor has no datasheet peak, and must not get another device's
        require(not isinstance(found, Estimate), f"a processor has a utilisation of {found}")
        return {"achieved_flops": achieved.value, "mfu": str(found.detail)}
    require(isinstance(found, Estimate), f"no utilisation: {found}")
    require(0.0 < found.value < 1.0, f"utilisation {found.value}")
    peak = achieved.value / found.value
    expected = datasheet(gpu_name())
    require(expected is None or abs(peak / expected - 1.0) < 1e-3, f"peak {peak:.4g} FLOP/s; the datasheet says {expected} for bfloat16")
    return {"mfu": round(found.value, 4), "peak_flops": peak, "datasheet_flops": expected, "achieved_flops": achieved.value}


def datasheet(name: str) -> float | None:
    """Dense bfloat16 FLOP/s of some devices, from NVIDIA's datasheets, entered here apart from Fireassay's own table; None: look it up."""
    dense = {"H200 NVL": 835.5e12, "H200": 989.4e12, "H100 80GB HBM3": 989.4e12, "H100 PCIe": 756.5e12, "A100": 312e12, "L40S": 362.05e12}
    return next((flops for known, flops in dense.items() if known in name), None)


def comm(place: Place) -> dict[str, Any]:
    backend = "gloo" if place.fake else "nccl"
    sizes = "--workers 1 --launches 1 --seconds 0.05 --ops all_reduce,broadcast --sizes 64K:4M --factor 8"
    assay(place, f"comm --backend {backend} {sizes} --name comm")
    calls = opened(place, "comm").table("collectives")
    timed = calls.filter(calls["phase"] == "timed")
    require(timed.height > 0, "no timed call")
    wrong = int((timed["wrong"].fill_null(0) > 0).sum())
    require(wrong == 0, f"{wrong} of {timed.height} calls gave wrong data")
    return {"backend": backend, "calls": timed.height, "operations": sorted(timed["op"].unique().to_list())}


def profile(place: Place) -> dict[str, Any]:
    shown = assay(place, "profile --workers 1 --wait 5 --warm-up 2 --active 3 --name profile --json -- train.py")
    (rank,) = json.loads(shown)["launches"][0]["ranks"]
    require(not rank["absent"], f"the trace: {rank['absent']}")
    require(len(rank["steps"]) == 3, f"{len(rank['steps'])} steps of 3")
    require(place.fake or (rank["on_device"] and bool(rank["kernels"])), "no kernel of a device in the trace")
    parts = ("compute_ns", "exposed_ns", "copy_ns", "idle_ns")
    for step in rank["steps"]:
        require(sum(step[key] for key in parts) == step["window_ns"], f"the parts of step {step['step']} are not the step")
    whole = sum(step["window_ns"] for step in rank["steps"])
    return {key.removesuffix("_ns"): round(sum(step[key] for step in rank["steps"]) / whole, 4) for key in parts}


def timing(place: Place) -> dict[str, Any]:
    import torch
    from torch.utils import benchmark

    import fireassay

    os.environ.update({key: value for key, value in place.environment().items() if key.startswith(("CHECK_", "PYTHONPATH"))})
    sys.path.insert(0, str(place.folder))
    import check_product  # written by `main`

    ratios, ours, theirs = [], [], []
    rounds, launches, seconds = (1, 2, 0.1) if place.fake else (3, 3, 1.0)
    for number in range(rounds):  # in turn: a GPU's clocks drift
        timer = benchmark.Timer("product()", globals={"product": check_product.product}, num_threads=torch.get_num_threads())
        theirs.append(timer.blocked_autorange(min_run_time=2 * seconds).median)
        root = place.folder / "records"
        timed = fireassay.time(
            check_product.product, launches=launches, round_s=seconds, device=place.device, root=root, name=f"product-{number}"
        )
        ours.append(timed.estimate.value)
        ratios.append(ours[-1] / theirs[-1])
    ratio = median(ratios)
    if not place.fake:
        require(abs(ratio - 1.0) <= WITHIN_TIME, f"fireassay.time is {ratio - 1:+.1%} from torch.utils.benchmark")
    return {"ratio": round(ratio, 4), "fireassay_s": median(ours), "torch_benchmark_s": median(theirs)}


def energy(place: Place) -> dict[str, Any]:
    assay(place, "run --workers 1 --launches 1 --energy nvml --name energy -- train.py", allowed=(0, 1, 4, 9))
    rows = opened(place, "energy").table("telemetry")
    joules = rows.filter((rows["counter"] == "energy") & rows["method"].str.to_lowercase().str.contains("counter|nvml"))
    require(joules.height >= 2, "no readings of energy in the telemetry")
    used = float(joules["value"].max() - joules["value"].min())
    require(used > 0.0, "the counter did not move")
    return {"readings": joules.height, "joules": round(used, 1)}


def power(place: Place) -> dict[str, Any]:
    """Trapezoids over NVML's power, sampled ten times a second, against the energy counter that Fireassay reads."""
    from fireassay.instruments.machine.energy.nvml import import_nvml, nvml

    sys.path.insert(0, str(place.folder))  # with --fake, where its binding is
    library = import_nvml()
    found = nvml(lambda: library, os.environ)
    require(bool(found.counters), f"no counter of energy: {found.absence}")
    counter, handle = found.counters[0], library.nvmlDeviceGetHandleByIndex(0)
    length_s, work = (2.0, lambda: None) if place.fake else (10.0, products(place))
    end, samples = time.monotonic() + length_s, []
    begin_j = counter.read()
    while not samples or samples[-1][0] < end:
        work()
        samples.append((time.monotonic(), library.nvmlDeviceGetPowerUsage(handle) / 1e3))
    joules = counter.read() - begin_j
    integral = sum((b - a) * (p + q) / 2 for (a, p), (b, q) in pairwise(samples))
    ratio = joules / integral
    figures = {"joules": round(joules, 1), "power_times_time_j": round(integral, 1), "ratio": round(ratio, 4), "samples": len(samples)}
    require(abs(ratio - 1.0) <= WITHIN_POWER, f"the counter's joules are {ratio - 1:+.1%} from power times time")
    return figures


def products(place: Place) -> Callable[[], None]:
    """A tenth of a second of products on the device."""
    import torch

    a = torch.randn(4096, 4096, device=place.device)

    def work() -> None:
        end = time.monotonic() + 0.1
        while time.monotonic() < end:
            for _ in range(5):
                a @ a
            torch.cuda.synchronize()

    return work


def attach(place: Place) -> dict[str, Any]:
    """The loop of attach_overhead.py, on this device: with hooks and without, in turn."""
    import attach_overhead as bench
    import torch

    torch.set_default_device(place.device)
    width, steps, rounds = (64, 30, 2) if place.fake else (1024, 200, 7)
    layers = [torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU()) for _ in range(8)]
    model = torch.nn.Sequential(*layers)

    def loop() -> Any:
        data = torch.randn(64, width)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        for _ in range(bench.WARM + steps):
            yield
            optimizer.zero_grad()
            model(data).square().mean().backward()
            optimizer.step()
            if not place.fake:
                torch.cuda.synchronize()

    bench.timed(loop())
    bare, hooked, said = [], [], []
    for _ in range(rounds):
        before = bench.timed(loop())[1]
        seen, own, rows = bench.attached(torch, lambda: bench.timed(loop()))
        require(rows >= steps, f"{rows} of {steps} steps were seen")
        bare.append((before + bench.timed(loop())[1]) / 2)
        hooked.append(seen[1])
        said.append(own)
    added = median(b - a for a, b in zip(bare, hooked, strict=True))
    figures = {"step_us": round(median(bare) * 1e6, 1), "added_us": round(added * 1e6, 1), "hooks_say_us": round(median(said) * 1e6, 1)}
    if not place.fake:
        require(
            added * 1e6 <= MAX_US or added <= MAX_SHARE * median(bare),
            f"the hooks add {added * 1e6:.0f} us to a step of {median(bare) * 1e6:.0f} us",
        )
    return figures


CHECKS = (
    Check("ddp", "every launch ends well, and its steps are recorded", 80, ddp),
    Check("phases", "phases sum to the step within 5 %", 20, phases),
    Check("mfu", "in (0, 1), against the datasheet's peak", 20, mfu),
    Check("comm", "collectives of one rank, no wrong element", 60, comm),
    Check("profile", "three steps of kernels, whose parts sum to them", 60, profile),
    Check("time", "within 2 % of torch.utils.benchmark", 90, timing),
    Check("energy", "joules of a launch from NVML", 50, energy),
    Check("power", "joules within 5 % of power times time", 30, power),
    Check("attach", "at most 1 % or 20 us a step", 60, attach),
)


# ---- running them ----------------------------------------------------------------------------------------------------


def gpu_name() -> str:
    import torch

    return str(torch.cuda.get_device_name(0)) if torch.cuda.is_available() else ""


def in_child(check: Check, place: Place) -> Outcome:
    """Run one check in a process of its own, ended at its limit with all that it started."""
    out, limit = place.folder / f"{check.name}.json", check.limit_s * (FAKE_PATIENCE if place.fake else 1)
    command = [sys.executable, __file__, "--child", check.name, "--folder", str(place.folder), *(["--fake"] if place.fake else [])]
    begin = time.monotonic()
    with (place.folder / f"{check.name}.log").open("w+") as log:
        child = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            child.wait(timeout=limit)
            why = "" if out.is_file() else f"the check ended with exit code {child.returncode}"
        except subprocess.TimeoutExpired:
            why = f"not done after {limit} s"
            os.killpg(child.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                child.wait(timeout=5)
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        log.seek(0)
        lines = log.read().strip().splitlines()
    found: Mapping[str, Any] = json.loads(out.read_text()) if out.is_file() and not why else {}
    why = str(found.get("why", "")) if found else f"{why}: {lines[-1][:300]}" if lines else why
    return Outcome(check.name, check.promise, not why, round(time.monotonic() - begin, 1), dict(found.get("figures", {})), why)


def child(name: str, place: Place) -> int:
    """One check; its figures go to a file."""
    check = next(one for one in CHECKS if one.name == name)
    try:
        found: dict[str, Any] = {"figures": check.run(place)}
    except Broken as error:
        found = {"why": str(error)}
    (place.folder / f"{name}.json").write_text(json.dumps(found))
    return 0


def table(whole: Mapping[str, Any]) -> str:
    """The outcomes in Markdown."""
    lines = [f"{whole['device']}, torch {whole['torch']}, {whole['utc']}: {whole['seconds']:.0f} s", ""]
    lines += ["| check | promise | kept | seconds | figures |", "|---|---|---|---|---|"]
    for one in whole["checks"]:
        figures = ", ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in one["figures"].items())
        lines.append(
            f"| {one['name']} | {one['promise']} | {'yes' if one['kept'] else 'NO'} | {one['seconds']:.0f} | {one['why'] or figures} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Print a table; exit with 1 if a promise is broken, 2 without a GPU."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fake", action="store_true", help="on the processor, with a fake NVML: tests this script, judges no time")
    parser.add_argument("--only", default="", help=f"some of {', '.join(check.name for check in CHECKS)}, separated by commas")
    parser.add_argument("--json", type=Path, default=None, help="write the outcomes here too")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, default=None, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return child(arguments.child, Place(arguments.folder, arguments.fake))
    chosen = [check for check in CHECKS if not arguments.only or check.name in arguments.only.split(",")]
    if not chosen:
        parser.error(f"--only {arguments.only}: no such check")
    import torch

    name = "no GPU: faked on the processor, no promise about times is judged" if arguments.fake else gpu_name()
    if not name:
        print("No GPU: torch.cuda is not available here. `--fake` tries the script on the processor.", file=sys.stderr)
        return 2
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
        place = Place(Path(folder), arguments.fake)
        (place.folder / "train.py").write_text(SCRIPT)
        (place.folder / "check_product.py").write_text(PRODUCT)
        if place.fake:
            (place.folder / "pynvml.py").write_text(NVML)
        outcomes = []
        for check in chosen:
            outcomes.append(in_child(check, place))
            print(f"{check.name}: {'kept' if outcomes[-1].kept else outcomes[-1].why} ({outcomes[-1].seconds} s)", file=sys.stderr)
    whole = {
        "benchmark": "gpu_check",
        "device": name,
        "fake": arguments.fake,
        "utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "seconds": round(time.monotonic() - begin, 1),
        "checks": [asdict(one) for one in outcomes],
    }
    print(table(whole))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(whole, indent=2) + "\n")
    return 0 if all(one.kept for one in outcomes) else 1


if __name__ == "__main__":
    assert sum(check.limit_s for check in CHECKS) <= WHOLE_S
    sys.exit(main())
