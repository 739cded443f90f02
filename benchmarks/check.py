"""How often does `assay check` cry wolf on equal code, and which regressions does it find?

Fixed seeds, so the same figures on every machine; Markdown on stdout.  Exit 1 if a promise is broken.

    python benchmarks/check.py --repetitions 2000 > check.md

Simulated: records of 5 launches; log launch value = day + launch, both normal, standard deviations as in the tables.
Promises: on equal code, with 15 % between days and 3 % between launches, at most 5 % of checks (+ 3 Monte Carlo standard
errors) say regression or improvement, without a history, with one of 5 to 20 records, and in turn; at least 80 % of
regressions of the printed minimum detectable effect are found.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.comparing.between_records import against_history, assumed, between, level, widened
from fireassay.stats.comparing.comparison import SMALLEST_EFFECT, Difference, compare_paired, compare_welch, detectable_effect
from fireassay.verdict.checking.check import DAYS

Array = NDArray[np.float64]
LAUNCHES = 5
LAUNCH_SD = 0.03
HISTORIES = (0, 5, 10, 20)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=400, help="simulated checks in each row")
    repetitions: int = parser.parse_args().repetitions
    broken = [problem for part in (false_alarms, power) for problem in part(repetitions)]
    print("\n".join(["", "## Broken promises", "", *(f"* {line}" for line in broken or ["none"])]))
    return 1 if broken else 0


def false_alarms(repetitions: int) -> Iterator[str]:
    """Equal code on both sides."""
    head = "sd between days %|history|false changes %|of launches alone (Welch) %|history alone %|in turn %"
    title("Equal code: checks that say regression or improvement", head)
    limit = 0.05 + 3 * math.sqrt(0.05 * 0.95 / repetitions)
    for days in (0.0, 0.01, 0.05, DAYS):
        for records in HISTORIES:
            rng = np.random.default_rng([1, int(1000 * days), records])
            own = [simulated(rng, days, records, 0.0) for _ in range(repetitions)]
            rates = [share([changed(one[name]) for one in own]) for name in ("check", "welch", "alone", "turn")]
            row(f"{100 * days:g}", records or "none", *(percent(x) for x in rates))
            for name, rate in zip(("check", "history alone", "in turn"), (rates[0], rates[2], rates[3]), strict=True):
                if not math.isnan(rate) and rate > limit:
                    yield f"{name}: {rate:.3f} false changes with {days:.0%} between days and {records} records"


def power(repetitions: int) -> Iterator[str]:
    """A real regression: the new code is slower by the given share."""
    head = "sd between days %|history|slower by %|found by check %|history alone %|in turn %"
    title("Slower code: regressions found", head)
    for days, records, slower in (
        (0.01, 0, 0.1),
        (0.01, 0, 1.0),
        (0.01, 10, 0.05),
        (0.01, 10, 0.1),
        (0.05, 10, 0.1),
        (0.05, 20, 0.3),
        (DAYS, 0, 0.3),
        (DAYS, 0, 1.0),
        (DAYS, 10, 0.3),
        (DAYS, 20, 1.0),
    ):
        rng = np.random.default_rng([2, int(1000 * days), records, int(100 * slower)])
        own = [simulated(rng, days, records, math.log1p(slower)) for _ in range(repetitions)]
        rates = [share([changed(one[name], "worse") for one in own]) for name in ("check", "alone", "turn")]
        row(f"{100 * days:g}", records or "none", f"{100 * slower:g}", *(percent(x) for x in rates))
    rng = np.random.default_rng(3)
    sure = compare_paired(*np.exp(rng.normal(0.0, LAUNCH_SD, (2, 4000))))
    effect = math.log1p(printed_effect(sure.cv))
    found = share([changed(simulated(rng, DAYS, 0, effect)["turn"], "worse") for _ in range(repetitions)])
    print(f"\nIn turn, at the effect that 5 blocks are said to find ({math.expm1(effect):.1%}): {found:.1%} found.")
    if found < 0.8 - 3 * math.sqrt(0.8 * 0.2 / repetitions):
        yield f"{found:.3f} of regressions of the minimum detectable effect are found in turn"


def printed_effect(cv: float) -> float:
    """The effect that is printed for 5 blocks of this spread, where the smallest effect of interest is 1 %."""
    return math.expm1(detectable_effect(cv * math.sqrt(2.0 / LAUNCHES), LAUNCHES - 1.0, 0.95, math.log1p(0.01)))


def simulated(rng: np.random.Generator, days: float, records: int, slower: float) -> dict[str, Difference | None]:
    """Baseline and new record on two days, and both again in turn on one; times, so lower is better."""
    launches: Array = rng.normal(0.0, days, (records + 2, 1)) + rng.normal(0.0, LAUNCH_SD, (records + 2, LAUNCHES))
    launches[1] += slower
    values = np.exp(launches)
    raw = compare_welch(values[0], values[1])
    a, b = (level(list(one), "ratio") for one in values[:2])
    past = [level(list(one), "ratio") for one in values[2:]]
    known = between(past)
    blocks = rng.normal(0.0, days, (1, LAUNCHES)) + rng.normal(0.0, LAUNCH_SD, (2, LAUNCHES))
    blocks[1] += slower
    return {
        "check": assumed(raw, a, b, DAYS) if known is None else widened(raw, a, b, known),
        "welch": raw,
        "alone": None if known is None else against_history(list(values[1]), past, 0.95, "ratio"),
        "turn": compare_paired(*np.exp(blocks)),
    }


def changed(found: Difference | None, how: str = "") -> float:
    """1 if the check says so (`how`: only for the worse), 0 if not, NaN where there is no such check."""
    if found is None:
        return math.nan
    if found.low <= 1.0 <= found.high or abs(math.log(found.value)) <= math.log1p(SMALLEST_EFFECT):
        return 0.0  # the rule of stats.comparison.decide, without its planning
    return float(not how or found.value > 1.0)


def share(values: list[float]) -> float:
    return float(np.mean(values))


def percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.1f}"


def title(text: str, head: str) -> None:
    columns = head.split("|")
    print(f"\n## {text}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")


def row(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
