"""Which groups are compared: a record's configuration with its launch values, their blocks and its scores?

Launches are paired by block only if both sides were interleaved: two configurations of one record, or two records of one session
(`manifest.session.id`). All else are independent groups; nothing is ever paired by its launch number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from fireassay import catalog
from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.format import bracketed, count, given
from fireassay.frames.links.collective_calls import asked_cells
from fireassay.frames.record_data import RecordData
from fireassay.frames.scores import at_floor, clusters_of, examples_words, undeclared
from fireassay.spec.experiment import Quality as QualitySpec
from fireassay.stats.comparing.comparison import Difference, compare_paired, compare_welch, scale_of
from fireassay.stats.comparing.noninferiority import Decision, crossed, largest_change, unpaired
from fireassay.stats.comparing.paired_test import PairedTest, paired_t
from fireassay.units import SCORE
from fireassay.verdict.comparison.tested import words_of_p
from fireassay.verdict.comparison.types import Side

Held = Literal["HELD", "DEGRADED", "INCONCLUSIVE", "MEASURED", "NOT_MEASURED"]


@dataclass(frozen=True, kw_only=True)
class Group:
    """One configuration of one side."""

    label: str
    side: Side
    configuration: str

    @property
    def measured(self) -> RecordData:
        """The record."""
        return self.side.measured

    def value(self, metric: str) -> Value:
        """The metric's value at this configuration; Absent if it has none."""
        missing = Absent("not_applicable", f"{metric} has no value for {self.configuration}")
        return self.side.judgement.results.get(metric, {}).get(self.configuration, missing)

    def wrong(self) -> tuple[str, ...]:
        """Findings of severity fail: why its result is wrong, whatever its speed."""
        findings = self.side.judgement.verdict.findings
        return tuple(f.rule for f in findings if f.severity == "fail" and f.configuration in (None, self.configuration))

    def blocks(self) -> list[int]:
        """The block of every timed launch, ascending, in the order of launch values."""
        return [block for _, block in self.measured.timed_by_block.get(launched(self.measured, self.configuration), ())]


def compared(measured: RecordData) -> tuple[str, ...]:
    """Comparable units of a record: its configurations; for collectives every operation, then every size."""
    if not measured.kind.sweeps:
        return measured.configurations
    cells = asked_cells(measured)
    return (*dict.fromkeys(cell.group for cell in cells), *(cell.name for cell in cells))


def launched(measured: RecordData, name: str) -> str:
    """The configuration whose launches measured it; one launch of collectives covers every size."""
    return name.partition(" ")[0] if measured.kind.sweeps else name


def in_turn(a: Group, b: Group) -> bool:
    """True if both share blocks: more than one if some were run separately."""
    if a.measured is b.measured:
        return a.configuration != b.configuration
    ours, theirs = a.measured.session, b.measured.session
    if ours is None or theirs is None or ours.get("id") is None or ours.get("id") != theirs.get("id"):
        return False
    # after an interruption: the blocks still in common must suffice
    apart = _made_alone(a) | _made_alone(b)
    return not apart or len((set(a.blocks()) & set(b.blocks())) - apart) > 1


# ---- numbers ---------------------------------------------------------------------------------------------------------


def launch_values(value: Value) -> tuple[float, ...]:
    """One number per launch; a count that is equal in all launches is repeated for each."""
    if isinstance(value, Absent):
        return ()
    exact = value.confidence == 1.0 and value.low == value.high
    return value.launch_values or ((value.value,) * value.n_launches if exact else ())


def difference(a: Group, b: Group, metric: str, confidence: float, smallest_effect: float) -> Difference | None:
    """b against a at launch level; None if a side has no value per launch."""
    ours, theirs = launch_values(a.value(metric)), launch_values(b.value(metric))
    if not ours or not theirs:
        return None
    scale = scale_of(ours, theirs)
    least = smallest_effect if scale == "ratio" else None
    pairs = _pairs(a, b, ours, theirs) if in_turn(a, b) else []
    if len(pairs) > 1:
        first, second = zip(*pairs, strict=True)
        return compare_paired(first, second, confidence, scale=scale, smallest_effect=least)
    return compare_welch(ours, theirs, confidence, scale=scale, smallest_effect=least)


def _pairs(a: Group, b: Group, ours: Sequence[float], theirs: Sequence[float]) -> list[tuple[float, float]]:
    """Values of common blocks; empty if blocks are ambiguous (a launch without a value, a repeated block)."""
    first, second = by_block(a.blocks(), ours), by_block(b.blocks(), theirs)
    apart = _made_alone(a) | _made_alone(b) if a.measured is not b.measured else set()
    return [(first[block], second[block]) for block in sorted((first.keys() & second.keys()) - apart)]


def _made_alone(group: Group) -> set[int]:
    """Blocks run later, after an interruption, without the other sides: they do not share the conditions of the hour."""
    return set((group.measured.session or {}).get("alone", ()))


def by_block(blocks: Sequence[int], values: Sequence[float]) -> dict[int, float]:
    """block -> value; empty if blocks are ambiguous."""
    if len(blocks) != len(values) or len(set(blocks)) != len(blocks):
        return {}
    return dict(zip(blocks, values, strict=True))


def definition(value: Value) -> Mapping[str, str]:
    """The tags of a signature that define a number, without sample size and kind of interval."""
    if isinstance(value, Absent):
        return {}
    name, *tags = value.signature.split("|")
    pairs = (tag.partition(":") for tag in tags if ":" in tag)
    return {"metric": name, **{key: text for key, _, text in pairs if key not in ("k", "reached", "conf", "ci", "agg", "of")}}


# ---- quality ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Quality:
    """True if a side held the baseline's quality."""

    held: Held
    sentence: str
    tested: str = ""  # p of the paired t-test and the relative drop, which decide nothing

    @property
    def full(self) -> str:
        """The decision by the margin, then the test."""
        return "; ".join(filter(None, (self.sentence, self.tested)))


ItemQuality = Callable[[Group, Group, float], Quality]  # (baseline, side, confidence); of kinds whose sample is items


def qualities(base: Group, others: Sequence[Group]) -> dict[str, Quality]:
    """label -> quality against the base.

    Holm's steps, applied to bounds, keep the chance of any wrong HELD below 1 - confidence; DEGRADED is decided for each side separately.
    """
    results = {group.label: quality(base, group) for group in others}
    open_ = [group for group in others if results[group.label].held == "HELD"]
    tested = sum(1 for result in results.values() if result.held not in ("NOT_MEASURED", "MEASURED"))
    if tested <= 1:
        return results
    error, left, kept = 1.0 - base.measured.confidence, tested, set[str]()
    while True:
        stricter = {group.label: quality(base, group, confidence=1.0 - error / left) for group in open_ if group.label not in kept}
        results |= stricter
        new = {label for label, result in stricter.items() if result.held == "HELD"}
        if not new:
            break
        kept |= new
        left -= len(new)
    return {
        label: replace(result, sentence=f"{result.sentence} (Holm over {tested} sides)") if label in {a.label for a in open_} else result
        for label, result in results.items()
    }


def quality(a: Group, b: Group, *, confidence: float | None = None) -> Quality:
    """True if b held a's quality: examples paired by id, margin of a's experiment, and its confidence by default."""
    if a.measured.kind.judges_quality:
        of_items: ItemQuality = catalog.part("kinds", a.measured.kind.name, "between", "QUALITY")
        return of_items(a, b, confidence or a.measured.confidence)
    spec = a.measured.experiment.quality
    if spec is None:
        return Quality(held="NOT_MEASURED", sentence="quality was not measured: the baseline's experiment names no metric")
    ours, theirs = (_scores(group, spec.metric) for group in (a, b))
    if ours.height == 0 or theirs.height == 0:
        who = a.label if ours.height == 0 else b.label
        return Quality(held="NOT_MEASURED", sentence=f"quality was not measured: {who} has no scores of {spec.metric}")
    decided = _decide(a, b, ours, theirs, spec, confidence or a.measured.confidence)
    if isinstance(decided, str):
        return _undecided(decided)
    tested = words_of_p(_tested(ours, theirs, lower=spec.direction == "lower"), margin=True)
    if decided.verdict == "HELD" and decided.low <= 0.0 and (why := at_floor(ours, spec)) is not None:
        return replace(_undecided(f"{a.label} cannot show a loss: {why}"), tested=tested)
    return replace(_said(decided, spec.metric, spec.margin), tested=tested)


def _tested(ours: pl.DataFrame, theirs: pl.DataFrame, *, lower: bool) -> PairedTest | None:
    """The paired t-test of the examples' means over launches."""
    means = [frame.group_by("example").agg(pl.col("score").mean()).sort("example")["score"].to_numpy() for frame in (ours, theirs)]
    return paired_t(means[0], means[1], lower=lower)


def _scores(group: Group, metric: str) -> pl.DataFrame:
    """(launch, block, example, score, cluster, empty) of a side's timed launches."""
    measured = group.measured
    timed = measured.timed.filter(pl.col("configuration") == group.configuration).select("launch", "block")
    # serving scores the answers, by the metric that the record's own experiment names
    rows = measured.scores_of(metric) if measured.kind.names_scores else measured.scores
    return timed.join(rows, on="launch").sort("launch", "example")


def _decide(a: Group, b: Group, ours: pl.DataFrame, theirs: pl.DataFrame, spec: QualitySpec, confidence: float) -> Decision | str:
    """The decision, or the reason for none."""
    examples = sorted(set(ours["example"].to_list()) & set(theirs["example"].to_list()))
    odd = max(ours["example"].n_unique(), theirs["example"].n_unique()) - len(examples)
    if odd:
        return f"{count(odd, 'examples')} were scored on one side only"
    if len(examples) < 2:
        return "one example gives no interval"
    clusters = clusters_of(pl.concat([ours, theirs]), examples)
    wrong = clusters if isinstance(clusters, Absent) else undeclared(clusters, spec.cluster)
    if wrong is not None or isinstance(clusters, Absent):
        return wrong.detail if wrong is not None else ""
    key = "block" if in_turn(a, b) else "launch"
    first, second = (_matrix(frame, key, len(examples)) for frame in (ours, theirs))
    if first is None or second is None:
        return "a launch lacks the score of an example, or has one that is not finite"
    r, c = (np.stack(list(side.values())) for side in (first, second))
    sign, most = (-1.0 if spec.direction == "lower" else 1.0), spec.largest_change
    most = most or largest_change(r, c, clusters)
    shared = sorted(first.keys() & second.keys()) if key == "block" else []
    if len(shared) > 1:
        differences = np.stack([sign * (second[block] - first[block]) for block in shared])
        return crossed(differences, spec.margin, confidence, most, clusters)
    return unpaired(sign * r, sign * c, spec.margin, confidence, most, clusters)


def _matrix(frame: pl.DataFrame, key: str, examples: int) -> dict[int, np.ndarray] | None:
    """block or launch -> scores in the order of the examples; None if any is missing or not finite."""
    scores = {int(rows[key][0]): rows["score"].to_numpy() for rows in frame.partition_by("launch", maintain_order=True)}
    whole = all(len(row) == examples and bool(np.isfinite(row).all()) for row in scores.values())
    return scores if whole else None


def _undecided(why: str) -> Quality:
    return Quality(held="INCONCLUSIVE", sentence=f"whether quality was held is unknown: {why}")


def _said(decided: Decision, metric: str, margin: float) -> Quality:
    """One sentence with the bounds."""
    text, interval = bracketed(decided.estimate, decided.low, decided.high, SCORE, beside=(-margin,))
    words = {"HELD": "held", "DEGRADED": "lost", "INCONCLUSIVE": "not shown to be held"}[decided.verdict]
    needed = (decided.launches_needed, decided.items_needed)
    more = f"; {count(needed[1], 'examples')} would decide" if decided.verdict == "INCONCLUSIVE" and needed[1] else ""
    more = f"; {count(needed[0], 'launches')} would decide" if decided.verdict == "INCONCLUSIVE" and needed[0] else more
    return Quality(
        held=decided.verdict,
        sentence=f"{metric} {words}: changed by {text}, one-sided bounds {interval}, margin {given(margin)}{more}; "
        f"{examples_words(decided.items, decided.clusters, decided.alone)}",
    )
