"""Are the evaluations on the way to a target what the target is about?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import count, given
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.evaluated_scores import evaluated_scores
from fireassay.frames.training.time_to_quality import launches_to_quality
from fireassay.metrics.metric import Results
from fireassay.metrics.training.quality_target import unread_line
from fireassay.spec.scores import PROPORTIONS, has_word
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.types import Finding

AUDITS = Audits(about=("training",))
PER_CENT: Final = 1.5  # a share beyond it is none
COARSE: Final = 4  # evaluations before the target: the time is known to one of them


@AUDITS.add("target", "Are the evaluations what the target is about?", title="evaluations on the way to the target")
def examine_target(measured: RecordData, _: Results) -> Iterator[Finding]:
    """Scores in per cent against a target that is a share: invalid. Ranks that report different scores, scores that are no numbers, printed
    lines that were skipped among others that were read, and evaluations too rare to time the target: warnings. So is a target missed again."""
    target = measured.experiment.target
    if target is None:
        return
    goal, every = target.parsed, "whole experiment"
    scores = evaluated_scores(measured).filter(pl.col("name") == goal.name)
    if scores.height == 0:
        return
    largest = scores.filter(pl.col("score").is_finite())["score"].max()
    if has_word(goal.name, PROPORTIONS, ("accurac",)) and abs(goal.value) <= 1.0 and isinstance(largest, float) and largest > PER_CENT:
        evidence = f"the script reports {goal.name} in per cent, up to {given(largest, 4)}, and the target is the share {given(goal.value)}"
        yield Finding(
            "target_in_other_unit", "invalid", every, evidence, f'write the target in the same unit: "{goal.name}={100 * goal.value:g}"'
        )
    apart = scores.filter((pl.col("spread") > 0.0) & pl.col("spread").is_finite())
    if apart.height:
        evidence = (
            f"ranks report different scores in {count(apart.height, 'evaluations')}, up to {given(float(apart['spread'].max()), 3)} apart"  # type: ignore[arg-type]
        )
        remedy = "their mean counts; reduce the score over all ranks before p.evaluate, or report it on rank 0 only"
        yield Finding("scores_differ_by_rank", "warning", every, evidence, remedy)
    nans = scores.filter(~pl.col("score").is_finite()).height
    if nans:
        evidence = f"{count(nans, 'scores')} of {goal.name} are not finite numbers; they never meet the target"
        yield Finding("scores_not_finite", "warning", every, evidence, "find out whether the training diverged, or the score divides by 0")
    if (unread := unread_line(measured)) is not None and (scores["source"] != "script").any():
        evidence = f"a printed line was not read as {goal.name}, as it may be another number, of training data or of a batch: {unread!r}"
        yield Finding("scores_unread", "warning", every, evidence, f"call p.evaluate(step, score, name={goal.name!r}) at each evaluation")
    yield from _missed_again(measured, str(goal), scores)
    yield from _coarse(measured, str(goal), scores)


def _missed_again(measured: RecordData, goal: str, scores: pl.DataFrame) -> Iterator[Finding]:
    """The first evaluation that met the target was not followed by another that did."""
    met = launches_to_quality(measured).filter(pl.col("reached") & (~pl.col("held") | (pl.col("held_s") > pl.col("time_s"))))
    later = scores.join(met.select("launch", "time_s"), on="launch").filter(pl.col("since_s") > pl.col("time_s"))
    if lost := later["launch"].n_unique():
        evidence = f"{count(lost, 'launches')} met {goal} and missed it at the next evaluation"
        remedy = "time_to_quality_held is the time until two evaluations in a row meet it; larger held-out data make the score steadier"
        yield Finding("target_missed_again", "warning", "whole experiment", evidence, remedy)


def _coarse(measured: RecordData, goal: str, scores: pl.DataFrame) -> Iterator[Finding]:
    """Few evaluations until the target: its time is that of the next one."""
    reached = launches_to_quality(measured).filter(pl.col("reached")).select("launch", "time_s")
    before = scores.join(reached, on="launch").filter(pl.col("since_s") <= pl.col("time_s")).group_by("launch").len()
    few = before.filter(pl.col("len") < COARSE).height
    if few:
        evidence = f"{count(few, 'launches')} met {goal} within {COARSE - 1} evaluations: the time to it is as coarse as the gaps between evaluations"
        yield Finding("evaluations_too_rare", "warning", "whole experiment", evidence, "evaluate more often, or choose a harder target")
