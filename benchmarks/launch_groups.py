"""Are intervals that launches cannot carry marked, and percentiles that bursts cannot carry refused?

Launch values whose geometric mean is known (normal, heavy-tailed, skewed, contaminated, two modes on a logarithmic scale), and
requests that come in bursts with a known p50 and p95. Fixed seeds; Markdown on stdout; exit 1 if a promise is broken.

    python benchmarks/launch_groups.py --repetitions 2000 > benchmarks/results/launch_groups.md

Promises: of one group at most 1 % is marked; where 8 launches or more met both modes at least 95 % are; of percentiles in bursts that
some launch met at most 10 % are reported and wrong (each + 3 Monte Carlo standard errors).
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.over_launches import tail_value
from fireassay.stats.groups.launch_groups import groups
from fireassay.stats.intervals.intervals import log_t

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Array]
SIZES = (3, 5, 8, 12, 20)
MODES = ("one launch in ten 3 times as slow", "two modes 50:50, 1.5 times", "two modes 80:20, 1.5 times", "two modes 90:10, 1.5 times")


def modes(share: float, factor: float, spread: float) -> Draw:
    """A `share` of the launches `factor` times as slow, centred: the geometric mean is 1."""

    def draw(rng: np.random.Generator, k: int) -> Array:
        return (rng.random(k) < share) * math.log(factor) - share * math.log(factor) + spread * rng.normal(size=k)

    return draw


LOGS: Mapping[str, Draw] = {
    "normal": lambda rng, k: 0.05 * rng.normal(size=k),
    "Student t, 3 degrees": lambda rng, k: 0.05 * rng.standard_t(3, size=k),
    "exponential": lambda rng, k: 0.1 * (rng.exponential(size=k) - 1.0),
    "lognormal, s = 1": lambda rng, k: 0.1 * (np.exp(rng.normal(size=k)) - math.exp(0.5)),
    MODES[0]: modes(0.1, 3.0, 0.02),
    MODES[1]: modes(0.5, 1.5, 0.02),
    MODES[2]: modes(0.2, 1.5, 0.02),
    MODES[3]: modes(0.1, 1.5, 0.02),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=300, help="simulated experiments in each row")
    repetitions: int = parser.parse_args().repetitions
    broken = [*launches(repetitions), *bursts(max(100, repetitions // 5))]
    print("\n".join(["", "## Broken promises", "", *(f"* {line}" for line in broken or ["none"])]))
    return 1 if broken else 0


def launches(repetitions: int) -> Iterator[str]:
    """Coverage of Student's t on logs, and what the mark says of the intervals beside the truth."""
    title(
        f"Geometric mean of k launches, 95 %, {repetitions} experiments a row, in %",
        "logs of launch values|k|covers|marked|covers, where not marked|both modes met|marked, of those",
    )
    for (name, draw), k in itertools.product(LOGS.items(), SIZES):
        rng = np.random.default_rng([1, k, len(name)])
        drawn = [draw(rng, k) for _ in range(repetitions)]
        intervals = [log_t(np.exp(logs), 0.95) for logs in drawn]
        right = np.array([one.low <= 1.0 <= one.high for one in intervals])
        marked = np.array([groups(np.exp(logs), smallest_effect=0.01) is not None for logs in drawn])
        single = np.array([np.ptp(logs) < 0.2 for logs in drawn]) if name in MODES else np.zeros(repetitions, bool)
        met = ~single if name in MODES else np.zeros(0, bool)
        row(name, k, *map(percent, (right, marked, right[~marked], met, marked[met] if len(met) else met)))
        yield from _broken(name, k, marked, met)


def _broken(name: str, k: int, marked: Array, met: Array) -> Iterator[str]:
    if name == "normal" and marked.mean() > 0.01 + 3 * math.sqrt(0.01 * 0.99 / len(marked)):
        yield f"{percent(marked)} % of one group of {k} are marked"
    if len(met) and k >= 8 and marked[met].mean() < 0.95 - 3 * math.sqrt(0.05 * 0.95 / max(1, met.sum())):
        yield f"{percent(marked[met])} % of the intervals of {name}, {k} launches, are marked where both modes were met"


def bursts(repetitions: int) -> Iterator[str]:
    """Percentiles of requests whose latencies share their burst's luck, or a slow spell of the server."""
    title(
        f"Percentiles of requests in bursts, 95 %, {repetitions} experiments a row, in %",
        "latencies|percentile|launches x requests|mean burst|reported|covers, where reported|reported and wrong|no launch met a spell",
    )
    cases = itertools.product((0.5, 0.95), ((3, 167), (5, 100), (5, 500), (10, 500)), (1, 10, 50))
    for p, (k, n), length in cases:
        rng = np.random.default_rng([2, round(100 * p), k, n, length])
        truth = math.exp(0.5 * float(_normal_quantile(p)))
        yield from _percentiles("shared luck", [shared_luck(rng, k, n, length) for _ in range(repetitions)], p, truth, length)
        if length > 1:
            made = [slow_spells(rng, k, n, length) for _ in range(repetitions)]
            yield from _percentiles("slow spells", made, p, spell_quantile(p), length)


def _percentiles(name: str, made: Sequence[tuple[list[Array], bool]], p: float, truth: float, length: int) -> Iterator[str]:
    values = [tail_value(series, p, "latency", 0.95, "requests", few=True) for series, _ in made]
    told = np.array([isinstance(value, Estimate) for value in values])
    right = np.array([isinstance(value, Estimate) and value.low <= truth <= value.high for value in values])
    unmet = np.array([none for _, none in made])
    k, n = len(made[0][0]), len(made[0][0][0])
    row(name, f"p{100 * p:g}", f"{k} x {n}", length, *map(percent, (told, right[told], told & ~right, unmet)))
    wrong = told & ~right & ~unmet
    if p == 0.95 and wrong.mean() > 0.10 + 3 * math.sqrt(0.09 / len(made)):
        yield f"{percent(wrong)} % of p{100 * p:g} of {k} x {n} requests in bursts of {length} are reported and wrong"


def shared_luck(rng: np.random.Generator, k: int, n: int, length: int) -> tuple[list[Array], bool]:
    """log latency = 0.5 (sqrt(.8) luck of the burst + sqrt(.2) own), bursts of geometric length."""
    series = []
    for _ in range(k):
        ids = np.repeat(np.arange(n), rng.geometric(1.0 / length, size=n))[:n]
        series.append(np.exp(0.5 * (math.sqrt(0.8) * rng.normal(size=n)[ids] + math.sqrt(0.2) * rng.normal(size=n))))
    return series, False


def slow_spells(rng: np.random.Generator, k: int, n: int, length: int) -> tuple[list[Array], bool]:
    """One request in ten meets a slow spell of the server, of geometric length, and takes 3 times as long."""
    series, met = [], False
    for _ in range(k):
        slow = np.zeros(n, dtype=bool)
        on, at = rng.random() < 0.1, 0
        while at < n:
            span = int(rng.geometric(1.0 / (length if on else 9 * length)))
            slow[at : at + span] = on
            on, at = not on, at + span
        met = met or bool(slow.any())
        series.append(np.exp(0.3 * rng.normal(size=n)) * np.where(slow, 3.0, 1.0))
    return series, not met


def spell_quantile(p: float) -> float:
    """The p-quantile of 0.9 LN(0, .3) + 0.1 LN(log 3, .3)."""
    from scipy.optimize import brentq
    from scipy.special import ndtr

    return float(brentq(lambda x: 0.9 * ndtr(math.log(x) / 0.3) + 0.1 * ndtr(math.log(x / 3.0) / 0.3) - p, 0.01, 100.0))


def _normal_quantile(p: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(p))


def title(text: str, columns: str) -> None:
    names = columns.split("|")
    print(f"\n## {text}\n\n| {' | '.join(names)} |\n|{'---|' * len(names)}", flush=True)


def row(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def percent(flags: Array) -> str:
    return f"{100 * float(np.mean(flags)):.1f}" if len(flags) else "–"


if __name__ == "__main__":
    sys.exit(main())
