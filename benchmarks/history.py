"""Does the detector over history keep its rates, find what it should, and how does it compare with Apache Otava?

Fixed seeds, so the same figures on every machine; Markdown on stdout.  Exit 1 if a promise is broken.

    python -m venv otava && otava/bin/pip install apache-otava       # pins its own numpy and scipy: never into this environment
    python benchmarks/history.py --repetitions 100 --otava otava/bin/python --series public.json > history.md

Both read the same series; Otava with its own defaults (window 50, p 0.001, no least magnitude).  `public.json` maps a name to
{"values": [...], "changes": [...]}, with the places that its publisher or annotators give (null: none are given).

Promises: at most 1 % of histories of 500 independent values EVER hold a certain change that is none when looked at after each
value, and at most 3 % of AR(0.5) ones; at most 1 % and 3 % show a suspected one at the last look; each + 3 Monte Carlo standard
errors.  A step of 3 standard deviations is told (certain or suspected) in at least 80 % of histories of 100 once 3 values show
it, in 95 % once 5 do, and is certain in 95 % once 10 do.  No prefix of any series holds a certain change that a longer one
lacks.  At least 95 % of series of steps are put in the right class of steady state, with AR(0.5) noise from 100 steps on.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.series.changes import Changes, changes_in_history
from fireassay.stats.series.steady_state import steady_state

Array = NDArray[np.float64]
OTAVA = """
import json, sys
from otava.analysis import compute_change_points
from otava.series import AnalysisOptions
o = AnalysisOptions()
def found(values):
    made, _ = compute_change_points(values, window_len=o.window_len, max_pvalue=o.max_pvalue, min_magnitude=o.min_magnitude)
    return [int(one.index) for one in made]
json.dump([found(values) for values in json.load(sys.stdin)], sys.stdout)
"""
NOISES = {"normal": 0.01, "lognormal": 0.01, "t(3)": 0.01, "2 % outliers": 0.01, "two spreads": 0.01, "AR(0.3)": 0.03, "AR(0.5)": 0.03}
NEAR = 5  # values between a true place and a found one that count as found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--repetitions", type=int, default=100, help="simulated histories in a row; four times as many where a rate is promised"
    )
    parser.add_argument("--otava", metavar="PYTHON", help="an interpreter that has apache-otava")
    parser.add_argument("--series", type=Path, metavar="FILE", help="published histories, as JSON")
    options = parser.parse_args()
    public = json.loads(options.series.read_text()) if options.series else {}
    parts = (
        false_alarms(options.repetitions, options.otava),
        recall(options.repetitions, options.otava),
        several(max(20, options.repetitions // 8), options.otava),
        published(public, options.otava),
        prefixes(public, options.otava),
        speed(options.otava),
        steady_states(options.repetitions),
    )
    broken = [problem for part in parts for problem in part]
    print("\n".join(["", "## Broken promises", "", *(f"* {line}" for line in broken or ["none"])]))
    return 1 if broken else 0


def otava(python: str | None, series: Sequence[Array]) -> list[list[int]] | None:
    """The places that Otava finds in each series; None without it."""
    if python is None:
        return None
    asked = json.dumps([[float(x) for x in values] for values in series])
    made = subprocess.run([python, "-c", OTAVA], input=asked, capture_output=True, text=True, check=True)
    found: list[list[int]] = json.loads(made.stdout)
    return found


def certain(found: Changes) -> list[int]:
    return [change.index for change in found.certain]


def false_alarms(repetitions: int, python: str | None) -> Iterator[str]:
    """Histories without a change in which one is found."""
    title("Histories without a change: found all the same", "noise|n|histories|certain, ever %|suspected, last look %|Otava, last look %")
    for (noise, most), n in itertools.product(NOISES.items(), (50, 200, 500)):
        promised, rng = noise in ("normal", "AR(0.5)"), np.random.default_rng([1, n, len(noise)])
        count = (4 if promised else 1) * repetitions
        series = [noisy(noise, rng, n) for _ in range(count)]
        made = [changes_in_history(values) for values in series]
        ever = sum(bool(one.certain) for one in made) / count
        once = sum(any(c.kind == "suspected" and c.p_value is not None for c in one.changes) for one in made) / count
        theirs = otava(python, series[:repetitions])
        row(noise, n, count, percent(ever), percent(once), percent(sum(map(bool, theirs)) / repetitions) if theirs else "")
        for word, rate in (("certain", ever), ("suspected", once)):
            if rate > most + 3 * math.sqrt(most * (1 - most) / count) and promised:
                yield f"{noise} noise, n = {n}: {rate:.3f} false {word} changes"


def recall(repetitions: int, python: str | None) -> Iterator[str]:
    """One step by its size and the number of values that show it."""
    title("One step in 100 values of normal noise: found within 5 values", "step (sd)|values that show it|certain %|or suspected %|Otava %")
    least = {(3, 3): (0.0, 0.80), (3, 5): (0.0, 0.95), (3, 10): (0.95, 0.95)}
    count = repetitions // 2
    for size, shown in itertools.product((1, 2, 3, 4, 5), (3, 5, 10, 20, 50)):
        rng, at = np.random.default_rng([2, size, shown]), 100 - shown
        series = [rng.normal(size=100) + size * (np.arange(100) >= at) for _ in range(count)]
        made = [changes_in_history(values) for values in series]
        sure = sum(near(at, certain(one)) for one in made) / count
        told = sum(near(at, [change.index for change in one.changes]) for one in made) / count
        theirs = otava(python, series)
        row(size, shown, percent(sure), percent(told), percent(sum(near(at, one) for one in theirs) / count) if theirs else "")
        for rate, asked in zip((sure, told), least.get((size, shown), (0.0, 0.0)), strict=True):
            if rate < asked - 3 * math.sqrt(asked * (1 - asked) / count):
                yield f"a step of {size} sd shown by {shown} values is found in {rate:.3f}"


def near(at: int, places: Sequence[int]) -> bool:
    return any(abs(place - at) <= NEAR for place in places)


def several(count: int, python: str | None) -> Iterator[str]:
    """Several steps of 2 to 6 sd at random places, at least 10 values apart."""
    title(
        "Several steps of 2 to 6 sd, at least 10 values apart, and a drift of 4 sd: per 100 histories",
        "noise|n|steps|found|false|Otava: found|false",
    )
    cases = [(noise, n) for noise in (*NOISES, "drift") for n in (50, 100, 200, 500)]
    for noise, n in cases:
        rng = np.random.default_rng([3, n, len(noise)])
        truth = [steps(rng, n) if noise != "drift" else [] for _ in range(count)]
        series = [noisy(noise, rng, n) + stairs(rng, n, at) for at in truth]
        ours = [certain(changes_in_history(values)) for values in series]
        cells: list[object] = [noise, n, round(100 * sum(map(len, truth)) / count)]
        for found in (ours, otava(python, series)):
            cells += ["", ""] if found is None else scores(truth, found)
        row(*cells)
    yield from ()


def steps(rng: np.random.Generator, n: int) -> list[int]:
    """One to four places."""
    wanted = min(int(rng.integers(1, 5)), n // 20)
    return sorted(10 * (rng.choice(n // 10 - 1, wanted, replace=False) + 1) + rng.integers(-2, 3, wanted) * (n > 50))


def stairs(rng: np.random.Generator, n: int, places: Sequence[int]) -> Array:
    level = np.zeros(n)
    for at in places:
        level[at:] += rng.uniform(2.0, 6.0) * rng.choice([-1.0, 1.0])
    return level


def scores(truth: Sequence[Sequence[int]], found: Sequence[Sequence[int]]) -> list[int]:
    """True places with a found one within 5 values, and found places without a true one, per 100 histories."""
    right = sum(near(at, places) for ats, places in zip(truth, found, strict=True) for at in ats)
    wrong = sum(not near(place, ats) for ats, places in zip(truth, found, strict=True) for place in places)
    return [round(100 * right / len(truth)), round(100 * wrong / len(truth))]


def published(public: dict[str, dict[str, list[float] | None]], python: str | None) -> Iterator[str]:
    """Published histories."""
    if not public:
        return
    title("Published histories", "series|n|given places|certain|suspected|outliers|Otava")
    theirs = otava(python, [np.array(one["values"]) for one in public.values()])
    for i, (name, one) in enumerate(public.items()):
        found = changes_in_history(scaled(one["values"] or []))
        doubtful = [change.index for change in found.changes if change.kind == "suspected"]
        given = "" if one["changes"] is None else listed(one["changes"])
        row(name, found.n, given, listed(certain(found)), listed(doubtful), len(found.outliers), listed(theirs[i]) if theirs else "")
    yield from ()


def prefixes(public: dict[str, dict[str, list[float] | None]], python: str | None) -> Iterator[str]:
    """Whether what was found with fewer values is found with more, at each number of values from 10."""
    series = {name: scaled(one["values"] or []) for name, one in public.items() if len(one["values"] or []) < 180}
    rng = np.random.default_rng(4)
    for noise in ("normal", "t(3)", "2 % outliers", "AR(0.5)"):
        series[f"{noise}, simulated, 3 steps"] = noisy(noise, rng, 100) + stairs(rng, 100, [25, 50, 75])
    title(
        "Read after each value from the 10th on: how often a change that was found is found no more, within 5 values",
        "series|n|certain|Otava",
    )
    for name, values in series.items():
        parts = [values[:m] for m in range(10, len(values) + 1)]
        ours = lost([certain(changes_in_history(part)) for part in parts])
        theirs = otava(python, parts)
        row(name, len(values), ours, lost(theirs) if theirs else "")
        if ours:
            yield f"{name}: {ours} certain changes were lost"


def lost(looks: Sequence[Sequence[int]]) -> int:
    return sum(not near(place, after) for before, after in itertools.pairwise(looks) for place in before)


def speed(python: str | None) -> Iterator[str]:
    """Seconds for one history."""
    title("Seconds of processor time for one history, the whole of it", "n|assay|Otava, with its start")
    for n in (50, 200, 500):
        values = np.random.default_rng(n).normal(size=n)
        begin = time.process_time()
        changes_in_history(values)
        ours, begin = time.process_time() - begin, time.perf_counter()
        theirs = otava(python, [values])
        row(n, f"{ours:.3f}", f"{time.perf_counter() - begin:.1f}" if theirs is not None else "")
    yield from ()


def scaled(values: Sequence[float]) -> Array:
    """On logarithms where all are above 0, as histories of records are."""
    data = np.array(values, dtype=np.float64)
    return np.log(data) if float(data.min()) > 0.0 else data


def listed(places: Sequence[float]) -> str:
    return " ".join(f"{place:g}" for place in places) or "none"


SHAPES = {"flat": "flat", "step": "warm-up", "decay": "warm-up", "throttled": "slow-down", "rising": "no steady state"}


def steady_states(repetitions: int) -> Iterator[str]:
    """Share of series of step times that are put in their class, with independent and with autocorrelated noise of 2 %."""
    title("Series of steps put in their class", "noise|points|" + "|".join(f"{name} %" for name in SHAPES))
    count = max(50, repetitions // 5)
    for noise, n in itertools.product(("normal", "AR(0.5)"), (50, 100, 300, 1000)):
        rng, t = np.random.default_rng([4, n, len(noise)]), np.arange(float(n))
        right = [
            float(np.mean([steady_state(level(shape, t) * (1 + 0.02 * noisy(noise, rng, n))).kind == kind for _ in range(count)]))
            for shape, kind in SHAPES.items()
        ]
        row(noise, n, *map(percent, right))
        carried = n >= (50 if noise == "normal" else 100)  # 50 values of AR(0.5) noise say as much as 17 independent ones
        if carried and min(right) < 0.95 - 3 * math.sqrt(0.95 * 0.05 / count):
            yield f"only {min(right):.2f} of series of {n} points with {noise} noise are put in their class"


def level(shape: str, t: Array) -> Array:
    """The true duration at step t."""
    n = len(t)
    shapes = {
        "flat": np.ones(n),
        "step": np.where(t < 0.2 * n, 1.5, 1.0),
        "decay": 1 + np.exp(-t / (0.04 * n)),
        "throttled": np.where(t < 0.3 * n, 1.0, 1.4),
        "rising": 1 + t / n,
    }
    return shapes[shape]


def noisy(noise: str, rng: np.random.Generator, n: int) -> Array:
    """Noise of about one standard deviation."""
    if noise == "lognormal":
        return np.asarray(np.exp(0.5 * rng.normal(size=n)) / 0.6, dtype=np.float64)
    if noise == "t(3)":
        return np.asarray(rng.standard_t(3, size=n) / math.sqrt(3.0), dtype=np.float64)
    if noise == "2 % outliers":
        return rng.normal(size=n) + np.where(rng.random(n) < 0.02, 10.0 * rng.normal(size=n), 0.0)
    if noise == "two spreads":
        return rng.normal(size=n) * np.where(np.arange(n) < n // 2, 0.6, 1.3)
    if noise == "drift":
        return rng.normal(size=n) + 4.0 * np.arange(n) / n
    phi = float(noise[3:-1]) if noise.startswith("AR") else 0.0
    values = [0.0]
    for e in rng.normal(size=n + 49):
        values.append(phi * values[-1] + math.sqrt(1.0 - phi**2) * e)
    return np.array(values[50:])


def title(text: str, columns: str) -> None:
    names = columns.split("|")
    print(f"\n## {text}\n\n| {' | '.join(names)} |\n|{'---|' * len(names)}", flush=True)


def row(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


if __name__ == "__main__":
    sys.exit(main())
