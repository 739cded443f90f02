"""How often is `assay gate` right, which errors do its looks and its remeasurement leave, and how long does it take?

    python benchmarks/gate.py --repetitions 20000                    simulated, fixed seeds: the same figures on every machine
    python benchmarks/gate.py --runs 10 --work 0.3 --budget 60s      real: planted +8 %, +1 % and equal commands, on this machine
    python benchmarks/gate.py --runs 10 --work 0.5 --waits           the same of a command that waits

Simulated: log ratios of pairs, normal, with a margin of 5 %; the looks of `api/gating.py` without a budget, and the second series after a
slowdown. Promises: of true slowdowns at the margin at most 5 % (+ 3 Monte Carlo standard errors) pass; of equal codes at most 0.1 % fail.
Real: a loop of a Python script, as many turns as take --work seconds here, in a Git repository whose branches differ by the turns; with
--waits the script sleeps. Interrupted, it tells what it has.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from fireassay.api.gating import CONFIDENCE, MAX_PAIRS, PAIRS
from fireassay.stats.comparing.multiplicity import GROWTH, comparison_confidence, next_analysis
from fireassay.stats.intervals.intervals import t_quantile
from fireassay.verdict.checking.in_turn import Rule

MARGIN = 0.05
STATES = ("inconclusive", "regression", "pass", "improvement")
TOLD = 40  # repetitions held against the verb's own rule
PLANTED = {"+8 %": 1.08, "+1 %": 1.01, "equal": 1.0}
SCRIPT = "turns = {turns}\nfor i in range(turns):\n    i & 7\n# {name}\n"
WAITS = "import time\nturns = {turns}\ntime.sleep(turns / 1e6)\n# {name}\n"
IDENTITY = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost", "-c", "commit.gpgsign=false")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=4000, help="simulated gates in each row")
    parser.add_argument("--runs", type=int, default=0, help="real gates of each planted change")
    parser.add_argument("--work", type=float, default=0.3, help="seconds of the command")
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--primary", default="trial_time", help="what decides (trial_time)")
    parser.add_argument("--waits", action="store_true", help="a command that sleeps")
    asked = parser.parse_args()
    if asked.runs:
        turns = round(1e6 * asked.work) if asked.waits else turns_for(asked.work)
        real(asked.runs, turns, WAITS if asked.waits else SCRIPT, ["--budget", asked.budget, "--primary", asked.primary])
        return 0
    broken = list(simulated(asked.repetitions))
    print("\n".join(["", "## Broken promises", "", *(f"* {line}" for line in broken or ["none"])]))
    return 1 if broken else 0


# ---- simulated -------------------------------------------------------------------------------------------------------


def looks() -> list[int]:
    found = [PAIRS]
    while found[-1] < MAX_PAIRS:
        found.append(min(next_analysis(math.ceil(GROWTH * found[-1]) - 1), MAX_PAIRS))
    return found


def simulated(repetitions: int) -> Iterator[str]:
    title("Simulated gates, margin 5 %", "slower by %|sd of a pair %|pass %|fail %|undecided %|faster %|pairs, mean")
    limit = 0.05 + 3 * math.sqrt(0.05 * 0.95 / repetitions)
    for slower in (0.0, 0.01, MARGIN, 0.08):
        for sd in (0.01, 0.03, 0.06, 0.12, 0.2):
            rng = np.random.default_rng([round(1000 * slower), round(1000 * sd)])
            (first, pairs), (second, more) = (series(rng, slower, sd, repetitions) for _ in range(2))
            again = first == 1
            state = np.where(again, np.where(second == 3, 2, second), first)
            rates = [float(np.mean(state == which)) for which in (2, 1, 0, 3)]
            row(f"{100 * slower:g}", f"{100 * sd:g}", *(f"{100 * x:.2f}" for x in rates), f"{np.mean(pairs + again * more):.0f}")
            if slower == MARGIN and rates[0] > limit:
                yield f"{rates[0]:.3f} of the gates pass at the margin, with a deviation of {sd:.0%}"
            if slower == 0.0 and rates[1] > 0.001:
                yield f"{rates[1]:.4f} of the gates of equal codes fail, with a deviation of {sd:.0%}"


def series(rng: np.random.Generator, slower: float, sd: float, repetitions: int) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """The states and the pairs of so many series: `Rule.now` for all of them at once, held against it for some."""
    logs = rng.normal(math.log1p(slower), sd, (repetitions, MAX_PAIRS))
    state, pairs = np.zeros(repetitions, int), np.full(repetitions, MAX_PAIRS)
    confidence, room = comparison_confidence(CONFIDENCE, 2), math.log1p(MARGIN)
    for k in looks():
        mean, error = logs[:, :k].mean(axis=1), logs[:, :k].std(axis=1, ddof=1) / math.sqrt(k)
        both, one = t_quantile((1 + confidence) / 2, k - 1) * error, t_quantile(confidence, k - 1) * error
        now = np.select([(mean > both) & (mean > room), (mean < -both) & (mean < -room), mean + one < room], [1, 3, 2], 0)
        for index in range(min(TOLD, repetitions)):
            told = Rule(margin=MARGIN, confidence=CONFIDENCE).now(dict.fromkeys(range(k), 1.0), dict(enumerate(np.exp(logs[index, :k]))))
            assert told[0] == STATES[now[index]], (told, now[index])
        open_ = (state == 0) & (now > 0)
        state[open_], pairs[open_] = now[open_], k
    return state, pairs


# ---- real ------------------------------------------------------------------------------------------------------------


def real(runs: int, turns: int, script: str, flags: list[str]) -> None:
    found: dict[str, list[dict[str, float | str]]] = {name: [] for name in PLANTED}
    load = f"load {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors"
    with suppress(KeyboardInterrupt):
        for _ in range(runs):
            for name, factor in PLANTED.items():
                with tempfile.TemporaryDirectory() as temporary:
                    found[name].append(gated(planted(Path(temporary), turns, factor, script), flags))
                print(name, found[name][-1], file=sys.stderr, flush=True)
    columns = "planted|runs|pass|fail|undecided|faster|smallest change shown %, median|of wall time %|change %, median|seconds, median"
    title(f"Real gates: {' '.join(flags)}, {'waiting' if script == WAITS else 'computing'}, {load}", columns)
    for name, gates in found.items():
        states = [one["state"] for one in gates]
        counts = [states.count(state) for state in ("pass", "regression", "inconclusive", "improvement")]
        middles = [float(np.median([float(one[key]) for one in gates])) for key in ("smallest", "smallest wall", "change", "seconds")]
        row(name, len(gates), *counts, *(f"{middle:.1f}" for middle in middles))


def turns_for(work_s: float) -> int:
    """So many turns take so much processor time here."""
    script, tried = SCRIPT.format(turns=2_000_000, name="calibration"), []
    for _ in range(5):
        begin = time.process_time()
        exec(compile(script, "work.py", "exec"), {})
        tried.append(time.process_time() - begin)
    return round(2_000_000 * work_s / min(tried))


def planted(folder: Path, turns: int, factor: float, script: str) -> Path:
    """A repository with the base in main and the change in the working tree's branch."""
    git(folder, "init", "-q", "-b", "main")
    for name, count in (("base", turns), ("change", round(factor * turns))):
        (folder / "work.py").write_text(script.format(turns=count, name=name))
        git(folder, "add", "work.py")
        git(folder, *IDENTITY, "commit", "-q", "-m", name)
        if name == "base":
            git(folder, "checkout", "-q", "-b", "topic")
    return folder


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True)


def gated(folder: Path, flags: list[str]) -> dict[str, float | str]:
    begin = time.monotonic()
    words = [
        sys.executable,
        "-m",
        "fireassay",
        "gate",
        "main",
        *flags,
        "--quiet",
        "--json",
        "--junit",
        "gate.xml",
        "--",
        "python",
        "work.py",
    ]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    document = json.loads(done.stdout)
    deciding = next(one for one in document["rows"] if one["primary"])
    told = {one.get("name"): one.get("value", "") for one in ElementTree.parse(folder / "gate.xml").iter("property")}
    wall = next(one for one in document["rows"] if one["metric"] == "trial_time")
    return {
        "state": document["state"],
        "wall": wall["state"],  # of the same pairs, without a series of its own
        "smallest wall": 100 * wall["minimum_detectable_effect"],
        "change": 100 * (deciding["value"] - 1),
        "smallest": float(told["smallest_change"].split()[0] or "inf"),
        "seconds": time.monotonic() - begin,
    }


def title(text: str, head: str) -> None:
    columns = head.split("|")
    print(f"\n## {text}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")


def row(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
