"""How often do `assay compare` and `assay check` call equal code of two sessions changed, and what do they still find?

    python benchmarks/between_days.py --repetitions 20000 --pairs 60 --seed 1 > between_days.md

Simulated: log launch value = session + launch, both normal; sessions differ by 0 to 10 %, launches by 3 % (standard deviations),
3 to 10 launches a side.  The rule is that of `fireassay.verdict.comparison.sessions`, which both commands ask.  It is computed on whole
arrays here, and 40 cases of every row are computed again by the functions that the commands call and must agree.
`--pairs`: as many pairs of real records, written and judged, go through `compare` and `check` themselves.
Promises: equal code is called changed in at most 5 % (+ 3 Monte Carlo standard errors) of every row.  Exit 1 if one is broken.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from fireassay.stats.comparing.between_records import Sitting, alternating, assumed, between, level, widened
from fireassay.stats.comparing.comparison import SMALLEST_EFFECT, Difference, compare_paired, compare_welch, decide
from fireassay.verdict.comparison.sessions import DAYS

Array = NDArray[np.float64]
LAUNCH_SD = 0.03
SESSIONS = (0.0, 0.01, 0.02, 0.05, 0.10)
LAUNCHES = (3, 4, 5, 6, 8, 10)
HISTORIES = (5, 10, 20)
SITTINGS = (3, 5)
CHECKED = 40  # cases of a row that the product's functions compute again
LEVEL = 0.05
INTEREST = math.log1p(SMALLEST_EFFECT)
HALF = 0.5 + 0.95 / 2.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=2000, help="simulated pairs in each row (2000)")
    parser.add_argument("--pairs", type=int, default=20, help="pairs of real records through both commands (20)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    parts = (
        false_alarms(rng, arguments.repetitions),
        unequal(rng, arguments.repetitions),
        power(rng, arguments.repetitions),
        real_records(rng, arguments.pairs),
    )
    broken = [problem for part in parts for problem in part]
    print("\n".join(["", "## Broken promises", "", *(f"* {line}" for line in broken or ["none"])]))
    return 1 if broken else 0


# ---- tables ----------------------------------------------------------------------------------------------------------


def false_alarms(rng: np.random.Generator, repetitions: int) -> Iterator[str]:
    title("Equal code: called faster or slower, %", ["sessions differ by %", "launches", "launches alone (Welch)", *WAYS])
    for days in SESSIONS:
        for k in LAUNCHES:
            found = rates(rng, days, k, k, 0.0, repetitions)
            row(f"{100 * days:g}", k, *(percent(found[name]) for name in ("welch", *WAYS)))
            yield from too_many(found, f"{days:.0%} between sessions, {k} launches", repetitions)


def unequal(rng: np.random.Generator, repetitions: int) -> Iterator[str]:
    """The pair has other launch counts than the history."""
    title("Equal code, unequal records: called faster or slower, %", ["sessions differ by %", "launches", "of the history", *WAYS])
    for days in SESSIONS:
        for k, past in ((3, 10), (10, 3)):
            found = rates(rng, days, k, past, 0.0, repetitions)
            row(f"{100 * days:g}", k, past, *(percent(found[name]) for name in WAYS))
            yield from too_many(found, f"{days:.0%} between sessions, {k} launches beside {past}", repetitions)


def power(rng: np.random.Generator, repetitions: int) -> Iterator[str]:
    title("Slower code: found slower, % (5 launches)", ["sessions differ by %", "slower by %", *WAYS])
    for days in SESSIONS:
        for slower in (0.05, 0.1, 0.2, 0.5, 1.0):
            found = rates(rng, days, 5, 5, math.log1p(slower), repetitions)
            row(f"{100 * days:g}", f"{100 * slower:g}", *(percent(found[name]) for name in WAYS))
    yield from ()


def too_many(found: dict[str, float], where: str, repetitions: int) -> Iterator[str]:
    limit = LEVEL + 3.0 * math.sqrt(LEVEL * (1.0 - LEVEL) / repetitions)
    for name in WAYS:
        if found[name] > limit:
            yield f"{name}: {found[name]:.3f} called changed with {where}"


# ---- the rule, on arrays ---------------------------------------------------------------------------------------------

WAYS = ("no history", *(f"history of {n}" for n in HISTORIES), *(f"{m} sittings each" for m in SITTINGS), "in turn")


def rates(rng: np.random.Generator, days: float, k: int, past: int, effect: float, repetitions: int) -> dict[str, float]:
    """The share of pairs that each way calls changed; with an effect, called slower."""

    def records(count: int, launches: int) -> Array:
        return rng.normal(0.0, days, (repetitions, count, 1)) + rng.normal(0.0, LAUNCH_SD, (repetitions, count, launches))

    pair = records(2, k)
    pair[:, 1] += effect
    a, b = pair[:, 0], pair[:, 1]
    found = {"welch": share(a, b, welch(a, b), effect), "no history": share(a, b, without(a, b), effect)}
    again(a, b, lambda x, y: assumed(compare_welch(x, y), level(x, "ratio"), level(y, "ratio"), DAYS), without(a, b))
    for n in HISTORIES:
        history = records(n, past)
        half = with_history(a, b, history)
        found[f"history of {n}"] = share(a, b, half, effect)
        again(a, b, product_history(history), half)
    for m in SITTINGS:
        found[f"{m} sittings each"] = sittings(rng, days, m, k, effect, repetitions)
    one = rng.normal(0.0, LAUNCH_SD, (2, repetitions, k))  # what a session has in common divides out
    deltas = one[1] - one[0] + effect
    half = stdtrit(k - 1.0, HALF) * deltas.std(axis=1, ddof=1) / math.sqrt(k)
    found["in turn"] = called(deltas.mean(axis=1), half, effect)
    check(compare_paired(np.exp(one[0][0]), np.exp(one[1][0] + effect)), deltas[0].mean(), half[0])
    return found


def welch(a: Array, b: Array) -> Array:
    k = a.shape[1]
    first, second = a.var(axis=1, ddof=1) / k, b.var(axis=1, ddof=1) / k
    df = (first + second) ** 2 / ((first**2 + second**2) / (k - 1))
    return np.asarray(stdtrit(df, HALF) * np.sqrt(first + second))


def without(a: Array, b: Array) -> Array:
    """Half-widths with an assumed deviation between sessions."""
    k = a.shape[1]
    first, second = a.var(axis=1, ddof=1) / k, b.var(axis=1, ddof=1) / k
    variance = 2.0 * DAYS**2 + first + second
    df = np.minimum(variance**2 / ((first**2 + second**2) / (k - 1)), 1e6)
    return np.asarray(np.maximum(stdtrit(df, HALF) * np.sqrt(variance), welch(a, b)))


def with_history(a: Array, b: Array, history: Array) -> Array:
    n, past = history.shape[1], history.shape[2]
    total = history.mean(axis=2).var(axis=1, ddof=1)
    within = (history.var(axis=2, ddof=1) / past).mean(axis=1)
    own = (a.var(axis=1, ddof=1) + b.var(axis=1, ddof=1)) / a.shape[1]
    error = np.sqrt(2.0 * total + np.maximum(0.0, own - 2.0 * within))
    return np.asarray(np.maximum(stdtrit(n - 1.0, HALF) * error, welch(a, b)))


def sittings(rng: np.random.Generator, days: float, m: int, k: int, effect: float, repetitions: int) -> float:
    """Both sides made alternately, m sittings each; a sitting of k launches has its own luck."""
    means = rng.normal(0.0, math.hypot(days, LAUNCH_SD / math.sqrt(k)), (repetitions, 2 * m))
    side = np.tile([0.0, 1.0], m)
    means += effect * side
    times = np.arange(2.0 * m)
    design = np.column_stack([np.ones(2 * m), side, (times - times.mean()) / np.ptp(times)])
    inverse = np.linalg.inv(design.T @ design)
    fitted = means @ design @ inverse
    left = means - fitted @ design.T
    df = 2.0 * m - 3.0
    half = stdtrit(df, HALF) * np.sqrt((left**2).sum(axis=1) / df * inverse[1, 1])
    made = [Sitting(side=int(s), at_s=t, mean=x) for s, t, x in zip(side, times, means[0], strict=True)]
    check(alternating(made, compare_welch([1.0, 1.1, 0.9], [1.0, 1.1, 0.9])), fitted[0, 1], half[0])
    return called(fitted[:, 1], half, effect)


def called(centre: Array, half: Array, effect: float) -> float:
    changed = (np.abs(centre) > half) & (np.abs(centre) > INTEREST)
    return float(np.mean(changed & (centre > 0.0)) if effect else np.mean(changed))


def share(a: Array, b: Array, half: Array, effect: float) -> float:
    return called(b.mean(axis=1) - a.mean(axis=1), half, effect)


# ---- the same by the functions that the commands call ----------------------------------------------------------------


def product_history(history: Array) -> object:
    def made(x: list[float], y: list[float], place: int) -> Difference:
        known = between([level(list(np.exp(one)), "ratio") for one in history[place]])
        assert known is not None
        return widened(compare_welch(x, y), level(x, "ratio"), level(y, "ratio"), known)

    return made


def again(a: Array, b: Array, how: object, half: Array) -> None:
    for place in range(min(CHECKED, len(a))):
        x, y = list(np.exp(a[place])), list(np.exp(b[place]))
        words = (x, y) if how.__code__.co_argcount == 2 else (x, y, place)  # type: ignore[attr-defined]
        check(how(*words), float(b[place].mean() - a[place].mean()), float(half[place]))  # type: ignore[operator]


def check(found: Difference, centre: float, half: float) -> None:
    """The interval, and the decision of `fireassay.stats.comparing.comparison.decide`."""
    assert math.isclose(math.log(found.low), centre - half, rel_tol=1e-6, abs_tol=1e-9), (found, centre, half)
    assert math.isclose(math.log(found.high), centre + half, rel_tol=1e-6, abs_tol=1e-9), (found, centre, half)
    changed = abs(centre) > half and abs(centre) > INTEREST
    assert (decide(found, better="lower").verdict in ("higher", "lower")) == changed


# ---- real records through both commands ------------------------------------------------------------------------------


def real_records(rng: np.random.Generator, pairs: int) -> Iterator[str]:
    """A/A pairs of records of two days, 5 launches each, sessions that differ by 5 %."""
    from fireassay.verdict.checking.check import check as checked
    from fireassay.verdict.comparison.compare import compare

    words: dict[str, dict[str, int]] = {"compare": {}, "check": {}}
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(pairs):
            sides = [record(Path(folder), f"pair-{pair}-{side}", rng, 0.05) for side in ("first", "second")]
            made = compare(sides)
            state = checked(compare(sides, varying=("code",)), *sides).state
            for name, word in (("compare", made.decisive()[0].word), ("check", state)):
                words[name][word] = words[name].get(word, 0) + 1
    title(f"{pairs} A/A pairs of real records, sessions that differ by 5 %, through both commands", ["command", "says"])
    for name, counts in words.items():
        row(name, ", ".join(f"{word} {number}" for word, number in sorted(counts.items())))
        wrong = sum(counts.get(word, 0) for word in ("faster", "slower", "regression", "improvement"))
        if wrong > LEVEL * pairs + 3.0 * math.sqrt(LEVEL * pairs):
            yield f"{name} called {wrong} of {pairs} A/A pairs changed"


def record(root: Path, name: str, rng: np.random.Generator, days: float) -> object:
    """A sealed record of 5 launches of one worker, judged."""
    from fireassay.api.sides import side
    from fireassay.clock import SystemClock
    from fireassay.record.folder import create
    from fireassay.spec.experiment import Experiment, Factor, Launches
    from fireassay.spec.sections.workload import Workload

    asked = Experiment(
        name="same", workload=Workload(script="train.py"), factor=Factor(levels=(1,)), launches=Launches(per_configuration=5)
    )
    folder = create(root / name, asked, "benchmark", clock=SystemClock())
    session = rng.normal(0.0, days)
    for launch in range(5):
        wall_ns = round(1e10 * math.exp(session + rng.normal(0.0, LAUNCH_SD)))
        row_ = (
            launch,
            launch,
            0,
            "workers=1",
            1,
            launch,
            0,
            "timed",
            launch,
            0,
            wall_ns,
            "2026-01-01T00:00:00+00:00",
            "ok",
            "",
            0,
            0,
            "{}",
        )
        folder.writer(launch).append("launches", row_)
    folder.finish("complete")
    return side(folder.path, name)


# ---- output ----------------------------------------------------------------------------------------------------------


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def title(text: str, columns: list[str]) -> None:
    print(f"\n## {text}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")


def row(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
