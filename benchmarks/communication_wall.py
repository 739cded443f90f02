"""How often does the interval of the model of communication hold the next worker count, and how well are s, alpha and beta recovered?

Simulated clusters (`runners.simulated`) whose truth is known: steps of every launch from the simulator, alpha and beta from noisy calls
of one sweep a launch, fitted and predicted as for a record (`stats.models.communication_wall`).  Each row is so many experiments; the
promise is 85 % of held-out worker counts inside the 90 % interval.

    python benchmarks/communication_wall.py --experiments 500
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np

from fireassay.runners.simulated import Cluster, Simulated, simulate
from fireassay.stats.groups.stragglers import spread_of
from fireassay.stats.models.affine_fit import Affine, affine_fit
from fireassay.stats.models.communication_wall import fit, parameter, predict

PROMISE = 0.85
CONFIDENCE = 0.90
LEVELS = (1, 2, 4, 8, 16)
BASE = Cluster(step_s=1.0, serial=0.03, alpha_s=2e-5, beta_s=8e-10, gradient=1e8, buckets=10, jitter=0.02, noise=0.03)
# name, cluster, worker counts, held out, launches, scatter of the links
CASES: tuple[tuple[str, Cluster, tuple[int, ...], int, int, float], ...] = (
    ("as in the tests", BASE, LEVELS, 32, 5, 0.03),
    ("three launches", BASE, LEVELS, 32, 3, 0.03),
    ("quiet launches", replace(BASE, noise=0.005), LEVELS, 32, 5, 0.03),
    ("uneven workers", replace(BASE, jitter=0.10), LEVELS, 32, 5, 0.03),
    ("hidden in part", replace(BASE, overlap=0.2), LEVELS, 32, 5, 0.03),
    ("bound by latency", replace(BASE, alpha_s=1e-3, gradient=1e6), LEVELS, 32, 5, 0.03),
    ("hardly any serial work", replace(BASE, serial=0.001), LEVELS, 32, 5, 0.03),
    ("much serial work", replace(BASE, serial=0.3), LEVELS, 32, 5, 0.03),
    ("four counts, four times as far", BASE, (1, 2, 4, 8), 32, 5, 0.03),
    ("large", replace(BASE, serial=0.001, alpha_s=2e-6, beta_s=2e-11, gradient=1e9), (1, 16, 64, 256), 1024, 3, 0.02),
)


def ring(cluster: Cluster, link: Affine) -> Callable[[float], float]:
    """c(p) of a fitted link."""
    return partial(_ring, cluster, link)


def _ring(cluster: Cluster, link: Affine, p: float) -> float:
    return 2.0 * (p - 1.0) * (cluster.buckets * link.fixed + cluster.gradient * link.per_unit / p)


def slowest(launches: list[Simulated]) -> float:
    """How much longer the slowest computes than the mean, as a record sees it: by how long the ranks wait."""
    waits = [float(np.mean(one.exposed.mean(axis=1) - one.exposed.min(axis=1))) for one in launches]
    own = [float(np.mean(one.compute)) for one in launches]
    return 1.0 + float(np.median([wait / mean for wait, mean in zip(waits, own, strict=True)]))


def experiment(
    cluster: Cluster, levels: tuple[int, ...], last: int, launches: int, links: float, rng: np.random.Generator
) -> dict[str, float]:
    """One experiment: measured, fitted, predicted, and held against what was held out."""
    rows = {p: [simulate(cluster, p, 10, rng) for _ in range(launches)] for p in (*levels, last)}
    times = np.array([[np.median(rows[p][block].step) for p in levels] for block in range(launches)])
    sizes = np.geomspace(1e3, 1e8, 9)
    calls = [
        (cluster.alpha_s + sizes * cluster.beta_s) * math.exp(links * rng.standard_normal()) * np.exp(links * rng.standard_normal(9))
        for _ in range(launches)
    ]
    whole = affine_fit(np.tile(sizes, launches), np.concatenate(calls))
    uneven = [1.0 if p == 1 else slowest(rows[p]) for p in levels]
    spread = float(np.median([spread_of(p, m) for p, m in zip(levels, uneven, strict=True) if p > 1]))
    hidden = max(
        p * float(np.median([np.median((one.sent[:, None] - one.entered - one.exposed).min(axis=1)) for one in rows[p]])) for p in levels
    )
    made = partial(fit, levels, times, hideable_s=max(0.0, hidden) if cluster.overlap else 0.0, slowest=uneven, spread=spread)
    found = made([ring(cluster, whole)] * launches)
    others = [made([ring(cluster, affine_fit(sizes, own))] * launches) for own in calls]
    told = predict(found, last, CONFIDENCE, launches=launches, others=others)
    serial = parameter(found, CONFIDENCE, lambda curve: curve.free, others)
    measured = float(np.exp(np.mean([math.log(np.median(one.step)) for one in rows[last]])))
    return {
        "covered": float(told.low <= measured <= told.high),
        "half_width": (told.high - told.low) / (2.0 * measured),
        "error": told.value / measured - 1.0,
        "serial": serial.value,
        "serial_covered": float(serial.low <= cluster.serial <= serial.high),
        "alpha": whole.fixed / cluster.alpha_s - 1.0,
        "beta": whole.per_unit / cluster.beta_s - 1.0,
    }


def case(place: int, experiments: int) -> dict[str, Any]:
    """Means over so many experiments of one case."""
    name, cluster, levels, last, launches, links = CASES[place]
    rng = np.random.default_rng([20261122, place])
    runs = [experiment(cluster, levels, last, launches, links, rng) for _ in range(experiments)]
    mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    return {
        "case": name,
        "held_out": last,
        "launches": launches,
        "covered": round(mean["covered"], 3),
        "median_half_width": round(float(np.median([run["half_width"] for run in runs])), 4),
        "mean_error": round(mean["error"], 4),
        "serial_true": cluster.serial,
        "serial_mean": round(mean["serial"], 5),
        "serial_covered": round(mean["serial_covered"], 3),
        "alpha_within_10": round(float(np.mean([abs(run["alpha"]) <= 0.10 for run in runs])), 3),
        "beta_within_10": round(float(np.mean([abs(run["beta"]) <= 0.10 for run in runs])), 3),
    }


def main() -> int:
    """Print one JSON object; exit with 1 if the promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=500)
    asked = parser.parse_args()
    cases = [case(place, asked.experiments) for place in range(len(CASES))]
    result = {
        "benchmark": "communication_wall",
        "utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "experiments": asked.experiments,
        "confidence": CONFIDENCE,
        "cases": cases,
        "promise": {"covered_at_least": PROMISE, "kept": all(one["covered"] >= PROMISE for one in cases)},
    }
    print(json.dumps(result, indent=2))
    return 0 if all(one["covered"] >= PROMISE for one in cases) else 1


if __name__ == "__main__":
    sys.exit(main())
