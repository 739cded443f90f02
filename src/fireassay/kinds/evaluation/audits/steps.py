"""Did the engine do as many steps as were requested?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl

from fireassay.estimates.format import count, given
from fireassay.frames.evaluation.item_scores import answers_of
from fireassay.frames.evaluation.steps import Curve, curves, steps_of
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.held import chance_of
from fireassay.kinds.evaluation.steps import found
from fireassay.metrics.metric import Results
from fireassay.quality.scoring.text_metric import Array
from fireassay.stats.intervals.item_means import of_items
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.types import Finding, Severity

AUDITS: Final = Audits(about=("evaluation",))
ALL_THE_SAME: Final = 0.9  # of the items; fewer are easy items


@AUDITS.add("ignored_budget", "Did reasoning grow with its budget?", title="a budget of reasoning that the engine ignores")
def examine_budget(measured: RecordData, _: Results) -> Iterator[Finding]:
    """Invalid where the tokens of the same items are not shown to be more at the largest budget than at the smallest.

    Reasoning tokens by the server's usage, else all output tokens. The levels of such a record are one condition, and differences of their scores
    are chance. Where no tokens are known, a warning. Cannot tell: an engine that thinks more and hides it from its usage.
    """
    steps = steps_of(measured)
    for curve in curves(measured) if steps is not None and steps.what == "reasoning_tokens" else ():
        ends = curve.levels[0], curve.levels[-1]
        named = next((name for name in ("tokens_reasoning", "tokens_out") if all(_known(level.sums[name]) for level in ends)), "")
        if not named:
            evidence = "the server reports no tokens, so whether it kept to the budgets is not known"
            yield Finding("ignored_budget", "warning", ends[1].configuration, evidence, "use a server that reports usage")
            continue
        grown = ends[1].sums[named] - ends[0].sums[named]
        bound = of_items(grown, ends[0].scores.weights, ends[0].scores.labels, (-np.inf, np.inf), measured.confidence)
        if bound.low > 0.0:
            continue
        what = "reasoning tokens" if named == "tokens_reasoning" else "output tokens"
        evidence = (
            f"{what} do not grow with the budget: {_mean(ends[0].sums[named])} an item at {ends[0].steps:,}, {_mean(ends[1].sums[named])} at "
            f"{ends[1].steps:,}, over {count(len(grown), 'items')}"
        )
        assert steps is not None
        remedy = f"does the engine know the key {steps.key}? It may have another name, or need another model: --step-field KEY"
        yield Finding("ignored_budget", "invalid", ends[1].configuration, evidence, remedy)


def _known(values: Array) -> bool:
    return not bool(np.isnan(values).any())


def _mean(values: Array) -> str:
    return given(float(f"{values.mean():.4g}"))


@AUDITS.add("incomplete_curve", "Was every item answered at every number of steps?", title="items left out of a curve over steps")
def examine_left(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning for items that lack an answer or a score at some number of steps and are therefore in none; invalid where more than
    evaluation.most_failed of the answers, those of earlier turns among them, were never given.

    Items whose requests fail may be the hard ones.
    """
    evaluation = measured.experiment.evaluation
    for curve in curves(measured):
        items = len(curve.levels[0].scores.items) + curve.left
        if not curve.left or evaluation is None or curve.rises:  # candidates without a score are `unanswered_items`
            continue
        names = {level.configuration for level in curve.levels}
        launches = measured.timed.filter(pl.col("configuration").is_in(list(names))).select("launch")
        given = measured.table("answers").filter(pl.col("task") == curve.task).join(launches, on="launch", how="semi")["outcome"] == "ok"
        failed = len(given) - int(given.sum())
        evidence = (
            f"{curve.left:,} of {count(items, 'items')} lack an answer or a score at some number of steps, and are left out of all of them"
        )
        if failed:
            evidence += f": {failed:,} of {count(len(given), 'answers')} were never given"
        severity: Severity = "invalid" if failed > evaluation.most_failed * len(given) else "warning"
        yield Finding(
            "incomplete_curve", severity, curve.levels[-1].configuration, evidence, "find out why they failed, then evaluate again"
        )


@AUDITS.add("steps_at_floor", "Is any number of steps better than guessing?", title="steps none of which solves the items")
def examine_floor(measured: RecordData, _: Results) -> Iterator[Finding]:
    """Invalid where the best number of steps leads guessing, or nothing right, by the margin at most: then every number is as good as the best.

    The chance level is that of `fireassay.kinds.evaluation.held`. Cannot tell: a task whose chance level is unknown.
    """
    for one in found(measured):
        scores = one.curve.levels[one.best].scores
        chance = chance_of(measured, one.curve.task, scores)
        if chance is None or (one.curve.rises and not one.given):  # without a margin a choice decides nothing
            continue
        lead = (scores.value - chance.value) * (1.0 if scores.metric.better == "higher" else -1.0)
        if lead <= one.margin * (1.0 + 1e-9):
            what = "guessing" if chance.guessed else "nothing right"
            best = f"the best number of steps, {one.curve.levels[one.best].steps:,}, has {given(scores.value, 3)}"
            evidence = (
                f"{best}, within the margin of {given(one.margin)} of {what}, {given(chance.value, 3)}: fewer steps have nothing to lose"
            )
            remedy = "ask items that the model can solve, or look at its answers: the prompts or the extraction may be broken"
            yield Finding("steps_at_floor", "invalid", one.curve.levels[one.best].configuration, evidence, remedy)


@AUDITS.add("copied_samples", "Do the samples of an item differ?", title="samples that are copies")
def examine_samples(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning where all samples of nine items in ten are one text: a vote of copies is that of one.

    Cannot tell: an engine that ignores the temperature from a model that is sure.
    """
    steps = steps_of(measured)
    for curve in curves(measured) if steps is not None and steps.what == "samples" else ():
        yield from _copies(measured, curve)


def _copies(measured: RecordData, curve: Curve) -> Iterator[Finding]:
    where = curve.levels[-1].configuration
    answered = answers_of(measured, where).filter((pl.col("task") == curve.task) & pl.col("text").is_not_null())
    texts = answered.group_by("item").agg(pl.col("text").n_unique(), pl.len()).filter(pl.col("len") > 1)
    same = texts.filter(pl.col("text") == 1).height
    if texts.height and same >= ALL_THE_SAME * texts.height:
        evidence = f"all samples of {same:,} of {count(texts.height, 'items')} are the same text, so a vote of them is one answer"
        yield Finding("copied_samples", "warning", where, evidence, "does the engine use the temperature and the seed that it was sent?")
