"""What are the parts of a comparison?

Two or more records, comparable or refused, metric by metric. The first side is the baseline; every other side is compared with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fireassay.estimates.estimate import Value
from fireassay.frames.record_data import RecordData
from fireassay.stats.comparing.comparison import Difference
from fireassay.verdict.conditions.condition import ConditionClass
from fireassay.verdict.judge import Judgement
from fireassay.verdict.types import QUALITY_AT_FLOOR

if TYPE_CHECKING:
    from fireassay.frames.evaluation.flipped import Flip

# higher and lower give the direction of the number; the metric's `better` says whether that is good.
Outcome = Literal["improved", "worse", "higher", "lower", "equivalent", "inconclusive", "not_measured", "struck_out"]
State = Literal["compared", "exploratory", "incomparable", "nothing_measured"]


@dataclass(frozen=True, kw_only=True)
class Side:
    """One record of a comparison, judged."""

    label: str  # as the user named it; unique in a comparison
    measured: RecordData
    judgement: Judgement

    def inadmissible(self, *, candidate: bool) -> bool:
        """True if its record is no evidence. A candidate at the floor of its own quality is evidence: it lost quality."""
        rules = {f.rule for f in self.judgement.verdict.findings if f.severity == "invalid"}
        return self.judgement.verdict.status == "INVALID" and not (candidate and rules == {QUALITY_AT_FLOOR})


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """A condition in which two sides differ."""

    field: str  # name in the catalogue of conditions: "workload.script_sha256"
    kind: ConditionClass
    values: tuple[str, ...]  # one per side, as shown to people
    why: str  # why it matters
    declared: bool = False  # studied (--varying), or follows from it
    # the flag that overrides the refusal: "--varying script" or "--force"; empty: none does
    override: str = ""
    refuses: bool = False  # forbids the comparison (by its kind) unless declared


@dataclass(frozen=True, kw_only=True)
class Occasion:
    """When two sides were measured, and the difference by launches alone (`fireassay.verdict.comparison.sessions`)."""

    evidence: str  # in turn, alternating, history, assumed or constant
    words: str  # "between these two sessions"; empty if interleaved
    allowance: str  # "with 15 % assumed between sessions"; empty without allowance
    launches: Difference  # without the allowance
    way_on: str  # what would decide; empty if interleaved


@dataclass(frozen=True, kw_only=True)
class Change:
    """One metric of one configuration on one side, against the baseline."""

    metric: str
    configuration: str
    side: str  # label
    outcome: Outcome
    word: str  # as shown to people: "faster", "slower", "cheaper", "equivalent" ...
    baseline: Value
    value: Value
    ratio: float | None = None  # side / baseline; None if undefined
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None  # corrected over the other metrics; the primary only over the sides
    minimum_detectable_effect: float | None = None  # relative, at 80 % power; None: no effect was detectable
    launches_needed: int | None = None  # per side, for a decision; None if decided or unknown
    primary: bool
    method: str = "none"
    sentence: str = ""
    occasion: Occasion | None = None  # when the two were measured; None: nothing was tested
    difference: float | None = None  # side - baseline in the metric's unit, if values of 0 or less have no ratio;
    # low, high and minimum_detectable_effect are then in that unit too


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The result of a comparison."""

    state: State
    sides: tuple[str, ...]  # labels, the baseline first
    varying: tuple[str, ...]  # conditions declared as studied
    mismatches: tuple[Mismatch, ...]  # all differences, refusing ones first
    refused: tuple[Mismatch, ...]  # those that forbid the comparison
    primary: str  # metric
    configuration: str  # the deciding configuration of the primary metric
    changes: tuple[Change, ...] = ()  # the primary first
    table: Mapping[str, Mapping[str, Value]]  # side label -> metric -> value at `configuration`, for a table of many
    quality: Mapping[str, str]  # side label -> HELD, DEGRADED, INCONCLUSIVE, MEASURED, NOT_MEASURED against the baseline
    confidence: float
    floor: float = 0.0  # smallest difference that the machines resolve, from `assay doctor`; 0: unknown
    notes: tuple[str, ...] = ()  # sentences on the limits of this comparison
    sentence: str = ""  # quotable; says "exploratory" if it is
    equivalence: float = 0.03  # differences shown to be below this fraction are equivalent
    smallest_effect: float = 0.01  # differences up to this fraction are not worth acting on
    flips: tuple[Flip, ...] = ()  # of evaluations: the items that score otherwise than at the baseline, of every side in turn

    @property
    def exploratory(self) -> bool:
        """Forced although conditions differ; every display of the verdict must say so."""
        return self.state == "exploratory"

    def decisive(self) -> tuple[Change, ...]:
        """Changes of the primary metric, one per side other than the baseline."""
        return tuple(change for change in self.changes if change.primary)
