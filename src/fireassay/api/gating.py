"""Is the working tree slower than its base?  Both codes are measured here, in turn, until that is decided.

Pairs are added until the slowdown is shown, until one beyond the margin is excluded, or until the budget is spent; a slowdown that is shown is
a suspicion, and is measured again by fresh pairs, which decide (docs/decisions/0015-check.md).  `CONFIDENCE` pays for all of these looks
together: with true slowdowns at the margin at most 5 % of the gates pass, and equal codes fail in less than 0.1 % (benchmarks/gate.py).
"""

from __future__ import annotations

import itertools
import math
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from fireassay.api.base_tree import Base, Trees, only_here
from fireassay.api.interim_analysis import advice, computed
from fireassay.api.sides import Watch, side, unwatched
from fireassay.errors import Interrupted, SpecError, WorkloadError
from fireassay.frames.record_data import RecordData, from_record
from fireassay.metrics.results import about, deciding_metrics
from fireassay.record.reader import judged_from, open_record
from fireassay.runners.experiment.progress import Look, RunProgress
from fireassay.runners.experiment.run import Member, run_together
from fireassay.spec.experiment import Experiment
from fireassay.stats.comparing.multiplicity import GROWTH, next_analysis
from fireassay.verdict.checking.check import check, confirm
from fireassay.verdict.checking.in_turn import Rule
from fireassay.verdict.checking.types import STATES, Check
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.groups import by_block, launch_values
from fireassay.verdict.comparison.types import Side

CONFIDENCE: Final = 0.9825  # of the experiment; that of every look is higher still (decision 0011)
PAIRS: Final = 6  # before the first look
MAX_PAIRS: Final = 60
MIN_GROWTH: Final = 1.15  # of the pairs, for which another look is worth its error
FOLDER: Final = "gates"  # below the root, so that `latest` and histories do not take these for a build's records
VARYING: Final = ("code", "workload.environment.PYTHONPATH")
CHANGE: Final = "the working tree"


def prepared(experiment: Experiment, margin: float, pairs: int | None) -> Experiment:
    """The experiment as a gate measures it; `pairs`: a fixed number of them. Without the sentinel: in turn, drift meets both sides alike."""
    launches = {"per_configuration": pairs or PAIRS, "precision": margin, "at_most": pairs or MAX_PAIRS, "confidence": CONFIDENCE}
    rules = {"equivalence": margin, "smallest_effect": margin}
    return experiment.model_copy(
        update={
            "launches": experiment.launches.model_copy(update=launches),
            "comparison": experiment.comparison.model_copy(update=rules),
            "noise": experiment.noise.model_copy(update={"repeat": 0, "sentinel_s": 0.0}),
            "faults": (),
        }
    )


@dataclass(frozen=True, kw_only=True)
class Round:
    """What one series of pairs showed."""

    check: Check
    records: tuple[Path, ...]  # of the base, of the change
    sides: tuple[Side, Side]  # likewise
    pairs: int
    seconds: float
    disturbed: tuple[str, ...] = ()  # how the machine was, by the audits


@dataclass(frozen=True, kw_only=True)
class Gated:
    """The result of a gate."""

    base: Base
    check: Check  # as decided
    rounds: tuple[Round, ...]  # two if it was measured again
    margin: float
    copied: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """That of its state, as of a check."""
        return STATES[self.check.state][0]


@dataclass(frozen=True, kw_only=True)
class Gate:
    """What is measured, and how."""

    base: Base
    trees: Trees
    experiment: Experiment  # `prepared`
    budget_s: float  # for each of the two series
    root: Path
    primary: str | None = None
    on_progress: Callable[[RunProgress], None] | None = None
    told: Callable[[str], None] = lambda _: None
    watch: Watch = unwatched

    def run(self) -> Gated:
        """Measure until decided.

        Raises:
            WorkloadError: the command failed on a side.
            Interrupted: stopped by a signal; what was measured is kept.
        """
        rounds = [self._round()]
        found = rounds[0].check
        if found.state == "regression":
            self.told(f"{found.sentence}\nthat is a suspicion: measuring both again")
            rounds.append(self._round())
            found = confirm(found, rounds[1].check)
        margin = self.experiment.comparison.equivalence
        return Gated(base=self.base, check=found, rounds=tuple(rounds), margin=margin, copied=self.trees.copied)

    def _round(self) -> Round:
        looks = Looks(experiment=self.experiment, primary=self.primary, budget_s=self.budget_s)
        judging = replace(advice(), looks=looks.due, together=looks.look)
        root = self.root / FOLDER
        try:
            paths = run_together(self._members(), root=root, on_progress=self.on_progress, advice=judging, seed=secrets.randbits(32))
        except Interrupted as error:  # resuming cannot interleave them, and the base's tree is gone by then
            stopped = str(error).partition(";")[0]
            raise Interrupted(f"{stopped}: undecided. What was measured is kept in {root}; the same command begins anew.") from error
        except (WorkloadError, SpecError) as error:
            if lacking := self._lacking():
                raise WorkloadError(f"{error}\n{lacking}") from error
            raise
        first, second = (side(path, label, self.watch) for path, label in zip(paths, (self.base.name, CHANGE), strict=True))
        comparison = compare((first, second), varying=VARYING, primary=self.primary)
        checked = check(comparison, first, second)
        pairs = min(one.measured.timed["block"].n_unique() for one in (first, second))
        return Round(
            check=checked,
            records=tuple(paths),
            sides=(first, second),
            pairs=pairs,
            seconds=looks.seconds,
            disturbed=_disturbed((first, second)),
        )

    def _members(self) -> list[Member]:
        sides = zip(("base", "change"), (self.trees.base, self.trees.change), (self.base.name, CHANGE), self.trees.variables, strict=True)
        return [Member(experiment=self._named(word, more), folder=folder, label=label) for word, folder, label, more in sides]

    def _named(self, word: str, variables: Mapping[str, str]) -> Experiment:
        workload = self.experiment.workload
        changed = workload.model_copy(update={"environment": {**workload.environment, **variables}})
        return self.experiment.model_copy(update={"name": f"{self.experiment.name}-{word}", "workload": changed})

    def _lacking(self) -> str:
        workload = self.experiment.workload
        lacking = ", ".join(only_here((workload.script, *workload.arguments), self.trees))
        return f"{self.base.name} has no {lacking}: bring it there first, by a change of its own without this gate" if lacking else ""


DISTURBANCES: Final = ("foreign_load", "steal", "throttled", "slow_sentinel", "drift")


def _disturbed(sides: Sequence[Side]) -> tuple[str, ...]:
    """One sentence a kind of disturbance, of the side that it disturbed more."""
    found = [finding for one in sides for finding in one.judgement.verdict.findings if finding.rule in DISTURBANCES]
    worst: dict[str, str] = {}
    for finding in found:
        words = finding.evidence.partition(";")[0]
        if finding.severity == "warning" and _figure(words) >= _figure(worst.get(finding.rule, "")):
            worst[finding.rule] = words
    return tuple(dict.fromkeys(worst.values()))


def _figure(words: str) -> float:
    """The share that a sentence names; 0 without one."""
    found = re.search(r"([\d.]+) %", words)
    return float(found[1]) if found else 0.0


# ---- when to stop ----------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Looks:
    """When the pairs made so far are looked at, and what they say.  The next look comes when half as many pairs again fit into the budget,
    else when it is spent."""

    experiment: Experiment
    primary: str | None
    budget_s: float
    now: Callable[[], float] = time.monotonic
    planned: list[int] = field(default_factory=list)
    _begun: float = 0.0

    def __post_init__(self) -> None:
        self.planned.append(self.experiment.launches.per_configuration)
        self._begun = self.now()

    @property
    def seconds(self) -> float:
        """How long it has taken."""
        return self.now() - self._begun

    def due(self, _: Experiment) -> Iterator[int]:
        """The numbers of pairs at which to look; those beyond the next are provisional."""
        return itertools.chain(self.planned, itertools.count(self.planned[-1] + 1))

    def look(self, paths: Sequence[Path], pairs: int) -> Look:
        """Look at the first metric that both sides have."""
        state, sentence = self._state(paths)
        fitting = int(pairs * self.budget_s / max(self.seconds, 1e-9))
        following = min(next_analysis(math.ceil(GROWTH * pairs) - 1), fitting, self.experiment.blocks)
        spent = following < MIN_GROWTH * pairs and pairs < self.experiment.blocks
        ended = "decided" if state != "inconclusive" else "budget" if spent else ""
        self.planned.append(max(following, pairs + 1))
        confidence = self.experiment.launches.confidence
        return Look(blocks=pairs, confidence=confidence, enough=bool(ended), widths={}, sentence=f"{pairs} pairs: {sentence}", ended=ended)

    def _state(self, paths: Sequence[Path]) -> tuple[str, str]:
        measured = [from_record(open_record(path)) for path in paths]
        for name in self._metrics(measured[0]):
            with judged_from(paths[0]):
                first, second = (_by_block(one, name) for one in measured)
            if first and second:
                floor = max(one.noise_floor or 0.0 for one in measured)
                launches, rules = self.experiment.launches, self.experiment.comparison
                better = about(measured[0])[name].better
                state, found = Rule(margin=rules.equivalence, better=better, confidence=launches.confidence, floor=floor).now(first, second)
                return state, f"{state} {found.effect:+.1%}" if found is not None and found.scale == "ratio" else state
        return "inconclusive", "nothing measured"

    def _metrics(self, measured: RecordData) -> Sequence[str]:
        name = self.primary or self.experiment.comparison.primary
        return deciding_metrics(measured.kind) if name == "auto" else (name,)


def _by_block(measured: RecordData, name: str) -> dict[int, float]:
    """block -> value, at the configuration that decides."""
    at = measured.configurations[-1]
    value = computed(measured, (name,)).get(name, {}).get(at)
    timed = measured.timed
    blocks = sorted(timed.filter(timed["configuration"] == at)["block"].to_list())
    return {} if value is None else by_block(blocks, launch_values(value))
