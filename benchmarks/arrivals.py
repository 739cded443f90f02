"""Are arrivals what their name says, beside the arrival generators of peers, and how long does a schedule take to make?

The index of dispersion: variance over mean of the counts in windows of 0.25, 1 and 5 s; 1 for Poisson, 0 for constant arrivals.
Rate 20 per second, 400,000 arrivals (4000 windows of 5 s: a standard error of 0.022), fixed seeds.  Peers' generators are made
again here from the formulas in their sources, not run.  Markdown on stdout; exit 1 if a promise is broken.

    python benchmarks/arrivals.py > benchmarks/results/arrivals.md

Promises: Poisson 0.9 to 1.1 in all windows, constant below 0.01, the variation of gamma gaps within 2 %, each for every seed;
equal digests in processes of their own; a million requests scheduled in at most 2 s and 100 bytes each.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fireassay.spec.plan import Configuration
from fireassay.spec.sections.serving import Serving
from fireassay.traffic.arrivals import make
from fireassay.traffic.arrivals.schedule import Schedule

RATE, ARRIVALS = 20.0, 400_000
WINDOWS_S = (0.25, 1.0, 5.0)
MILLION_S, MILLION_BYTES = 2.0, 100
Times = NDArray[np.float64]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="schedules of each kind")
    parser.add_argument("--digest", nargs=3, metavar=("PROCESS", "SEED", "RATE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.digest:
        process, seed, rate = options.digest
        print(make.digest(schedule(process, int(seed), float(rate))))
        return 0
    print(f"# Arrivals: what they are and what peers' are\n\n{options.seeds} seeds; {ARRIVALS} arrivals at {RATE:g} per second.")
    broken = [*dispersions(options.seeds), *variation(options.seeds), *other_processes(), *a_million()]
    print("\n".join(["", "## Broken promises", "", *(f"* {line}" for line in broken or ["none"])]))
    return 1 if broken else 0


def schedule(process: str, seed: int, rate: float, arrivals_wanted: int = ARRIVALS, **keys: Any) -> Schedule:
    """A launch of open arrivals without cold requests and warm-up."""
    asked = {"process": process, "duration_s": arrivals_wanted / rate, "warm_up_s": 0.0, "cold": 0, **keys}
    serving = Serving.model_validate({"rate": [rate], "arrivals": asked})
    one = Configuration(name="one", workers=1, scenario="D(100,100)", load=rate)
    return make.build(serving, one, seed, 1, Path())


def ours(process: str, **keys: Any) -> Callable[[int], Times]:
    return lambda seed: np.asarray(schedule(process, seed, RATE, **keys).due_ns / 1e9)


# ---- peers, from their formulas (their schedulers' source) ----------------------------------------------------------


def guidellm(block: int) -> Callable[[int], Times]:
    """Ten workers whose generators have the same seed add their gaps to one shared offset, `block` at a time."""

    def times(seed: int) -> Times:
        gaps = np.random.default_rng(seed).exponential(1 / RATE, ARRIVALS // 10)
        return np.cumsum(np.concatenate([np.tile(gaps[k : k + block], 10) for k in range(0, len(gaps), block)]))

    return times


def inference_perf_constant(seed: int) -> Times:
    """Exponential gaps, rescaled to fill the duration."""
    gaps = np.random.default_rng(seed).exponential(1.0, ARRIVALS)
    return np.asarray(np.cumsum(gaps) / gaps.sum() * (ARRIVALS / RATE))


def inference_perf_poisson(seed: int) -> Times:
    """A Poisson number per second, whose exponential gaps are rescaled to fill that second exactly."""
    numbers = np.random.default_rng(seed)
    seconds = []
    for second in range(int(ARRIVALS / RATE)):
        gaps = numbers.exponential(1.0, max(1, numbers.poisson(RATE)))
        seconds.append(second + np.cumsum(gaps) / gaps.sum())
    return np.concatenate(seconds)


def vllm(seed: int) -> Times:
    """Exponential gaps, rescaled so that the last request comes at number / rate."""
    return inference_perf_constant(seed)


# ---- the tables -------------------------------------------------------------------------------------------------


def dispersions(seeds: int) -> Iterator[str]:
    title(
        "Index of dispersion (variance over mean of counts; median, and least to most over the seeds)",
        "arrivals|0.25 s|1 s|5 s|an arrival at each whole second|gaps equal to the one before",
    )
    for name, times, within in (
        ("**assay poisson**", ours("poisson"), (0.9, 1.1)),
        ("**assay server (MLPerf)**", ours("server"), (0.9, 1.1)),
        ("**assay gamma, cv = 1**", ours("gamma", cv=1.0), (0.9, 1.1)),
        ("**assay constant**", ours("constant"), (-1.0, 0.01)),
        ("guidellm poisson, 10 workers in turn", guidellm(1), None),
        ("guidellm poisson, 10 workers in blocks of 20", guidellm(20), None),
        ("inference-perf poisson", inference_perf_poisson, None),
        ("inference-perf constant", inference_perf_constant, None),
        ("vLLM bench serve poisson", vllm, None),
    ):
        drawn = [times(seed) for seed in range(seeds)]
        found = {window_s: [dispersion(one, window_s) for one in drawn] for window_s in WINDOWS_S}
        spread = (f"{np.median(values):.2f} ({min(values):.2f} to {max(values):.2f})" for values in found.values())
        row(
            name,
            *spread,
            percent(float(np.mean([whole_seconds(one) for one in drawn]))),
            percent(float(np.mean([repeats(one) for one in drawn]))),
        )
        if within is not None:
            low, high = within
            yield from (
                f"{name} has a dispersion of {value:.3f} in windows of {window_s:g} s"
                for window_s, values in found.items()
                for value in values
                if not low <= value <= high
            )


def dispersion(times: Times, window_s: float) -> float:
    counts = np.histogram(times, bins=np.arange(0.0, ARRIVALS / RATE + window_s / 2, window_s))[0][1:]
    return float(counts.var(ddof=1) / counts.mean())


def whole_seconds(times: Times) -> float:
    """Share of the whole seconds at which something arrives within a microsecond."""
    near = np.abs(times - np.rint(times)) < 1e-6
    return len(np.unique(np.rint(times[near]))) / (ARRIVALS / RATE)


def repeats(times: Times) -> float:
    gaps = np.diff(times)
    return float(np.mean(np.abs(np.diff(gaps)) < 1e-9))


def variation(seeds: int) -> Iterator[str]:
    title("Coefficient of variation of gamma gaps", "asked for|found, least to most over the seeds|largest error")
    for cv in (0.25, 0.5, 1.0, 2.0, 4.0):
        found = []
        for seed in range(seeds):
            # The estimate itself varies by sqrt((1 + 3 cv^2) / 2n): enough gaps that this is far below 2 %.
            gaps = np.diff(schedule("gamma", seed, 1000.0, 500_000, cv=cv).due_ns)
            found.append(float(gaps.std() / gaps.mean()))
        error = max(abs(one / cv - 1) for one in found)
        row(f"{cv:g}", f"{min(found):.4f} to {max(found):.4f}", percent(error))
        if error > 0.02:
            yield f"gamma gaps vary by {found} instead of {cv:g}"


def other_processes() -> Iterator[str]:
    title("SHA-256 of a schedule in four processes of their own", "arrivals|equal|begins")
    for process in ("poisson", "gamma", "constant"):
        found = {make.digest(schedule(process, 1, RATE))}
        for hashes in "123":
            command = [sys.executable, __file__, "--digest", process, "1", str(RATE)]
            environment = {**os.environ, "PYTHONHASHSEED": hashes}
            found.add(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.strip())
        row(process, "yes" if len(found) == 1 else "no", min(found)[:16])
        if len(found) > 1:
            yield f"schedules of {process} arrivals differ between processes"


def a_million() -> Iterator[str]:
    title("A million requests (of 5 runs, the fastest)", "arrivals|build, s|write, s|digest, s|read, s|bytes each on disk")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "schedule.arrow"
        for process in ("constant", "poisson", "gamma"):
            steps = [timed(process, path) for _ in range(5)]
            best = np.min(steps, axis=0)
            size = path.stat().st_size / 1e6
            row(process, *(f"{seconds:.3f}" for seconds in best), f"{size:.1f}")
            if best[0] > MILLION_S or size > MILLION_BYTES:
                yield f"a million {process} requests take {best[0]:.2f} s and {size:.0f} bytes each"


def timed(process: str, path: Path) -> tuple[float, ...]:
    clock = [time.perf_counter()]
    one = schedule(process, 1, 20_000.0, 1_000_000)
    clock.append(time.perf_counter())
    make.write(one, path)
    clock.append(time.perf_counter())
    make.digest(one)
    clock.append(time.perf_counter())
    make.read(path)
    clock.append(time.perf_counter())
    return tuple(np.diff(clock))


def title(text: str, head: str) -> None:
    print(f"\n## {text}\n\n| {head.replace('|', ' | ')} |\n|{'---|' * (head.count('|') + 1)}")


def row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |")


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


if __name__ == "__main__":
    sys.exit(main())
