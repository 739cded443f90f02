"""Which rows does an evaluation show: scores by task and subgroup, decisions, flips, outcomes, calibration in bins of as many items each?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import percent, show
from fireassay.frames.evaluation.flipped import flipped, flips, in_turn
from fireassay.frames.evaluation.forced import doubted
from fireassay.frames.evaluation.forced import sides as forced_sides
from fireassay.frames.evaluation.item_scores import (
    Confidences,
    answers_of,
    choices_were_rated,
    confidences,
    deciding,
    grouping_of,
    identity,
    item_scores,
    metrics_of,
    paired,
    pooled_over,
    requested,
    tasks,
    undeclared,
)
from fireassay.frames.evaluation.rated import by_judge, were_rated
from fireassay.frames.evaluation.steps import compares_budgets
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.audits.graded import unused_words
from fireassay.kinds.evaluation.audits.reading import extractor_of
from fireassay.kinds.evaluation.audits.scores import OF_REFERENCE, WORDS
from fireassay.kinds.evaluation.choice import choice_rows
from fireassay.kinds.evaluation.gates import more_items, status_of, words
from fireassay.kinds.evaluation.groups import change_of, group_rows, score_row
from fireassay.kinds.evaluation.held import Held, chance_of, held
from fireassay.kinds.evaluation.image_tables import candidate_images, worst_images
from fireassay.kinds.evaluation.judges import judge_words
from fireassay.kinds.evaluation.people import people_words
from fireassay.kinds.evaluation.recorded import calibrations
from fireassay.kinds.evaluation.steps import knee_rows, step_rows
from fireassay.printable import one_line, some
from fireassay.quality.scoring.likelihoods import METHOD
from fireassay.quality.scoring.reading import WHOLE
from fireassay.reports.charts.evaluation import sure
from fireassay.reports.evaluation_view import (
    CalibrationBin,
    CalibrationRow,
    DivergenceRow,
    EvaluationRows,
    HeldRow,
    OutcomeRow,
    PowerRow,
    RatedRow,
    ScoreRow,
)
from fireassay.reports.sessions import session_rows
from fireassay.stats.calibration import Bin, reliability
from fireassay.stats.comparing.item_power import supported_margin
from fireassay.units import SCORE
from fireassay.verdict.comparison.tested import words_of_p
from fireassay.verdict.types import Status

MAX_NAMED: Final = 4  # values of a field
MAX_CELL_LENGTH: Final = 4_000  # of a cell of a workbook, which holds 32,767 at most
ITEM_COLUMNS: Final = (
    *("outcome", "rule", "finish_reason", "cluster", "groups", "weight"),
    *("prompt", "references", "text", "answer", "judged"),
)


def rows(measured: RecordData, labels: Mapping[str, str]) -> EvaluationRows:
    """All of them; `labels`: configuration -> its name on the page."""
    base = measured, measured.base
    others = () if compares_budgets(measured) else tuple(name for name in measured.configurations if name != measured.base)
    quality = measured.experiment.quality
    return EvaluationRows(
        scores=tuple(_scores(measured)),
        groups=group_rows(measured, labels),
        held=tuple(_held(measured, labels)),
        margin=None if quality is None else quality.margin,
        flips=tuple(in_turn(flipped(base, (measured, name), labels[name]) for name in others)),
        outcomes=tuple(_outcomes(measured, labels)),
        divergence=tuple(_divergence(measured, labels)),
        calibration=calibration(measured, labels),
        power=() if were_rated(measured) or by_judge(measured) else tuple(_power(measured, labels)),
        items=every_item(measured, labels),
        chances=_chances(measured),
        rated=tuple(_rated(measured, labels)),
        people=people_words(measured),
        judge=judge_words(measured),
        extractor="" if were_rated(measured) else _extractor(measured),
        independence=_independence(measured),
        pooled=_pooled(measured),
        unused="; ".join(unused_words(measured)),
        grouping=(_grouped(measured) or ("", ("", 0)))[1][0],
        steps=tuple(step_rows(measured)),
        knees=knee_rows(measured),
        choices=choice_rows(measured, labels),
        worst=worst_images(measured, labels),
        candidates=candidate_images(measured, labels),
        unscaled=", ".join(undeclared(measured)),
        sessions=session_rows(measured),
    )


def _extractor(measured: RecordData) -> str:
    """ "last_number (chosen: 99 % of answers read; the whole text reads 0 %)"; several tasks may have several."""
    evaluation = measured.before.get("evaluation")
    tried = evaluation.get("reading") if isinstance(evaluation, Mapping) else None
    told = []
    for task in tasks(measured):
        name, shares = extractor_of(measured, task), tried.get(task) if isinstance(tried, Mapping) else None
        if name and identity(measured)[task].get("method") != METHOD:
            told.append(f"{name}{_chosen(name, shares) if isinstance(shares, Mapping) else ''}")
    return ", ".join(dict.fromkeys("whole, the text as it is" if one == WHOLE else one for one in told))


def _chosen(name: str, shares: Mapping[str, float]) -> str:
    read, whole = (percent(shares.get(one, 0.0)) for one in (name, WHOLE))
    return f" (chosen: {read} of answers read; the whole text reads {whole})"


def _pooled(measured: RecordData) -> str:
    """ "answers of sd, flux to one item (field model); --side model compares them"."""
    found = next((found for task in tasks(measured) if (found := pooled_over(measured, task))), None)
    if found is None:
        return ""
    name, values = found
    field = one_line(name)
    remedy = f"; --side {shlex.quote(field)} compares them" if len(measured.configurations) == 1 else ""
    return f"answers of {some(map(one_line, values), MAX_NAMED)} to one item (field {field}){remedy}"


def _independence(measured: RecordData) -> str:
    """ "taken as independent; field passage puts them into 30 groups", of the task that most speaks against it."""
    found = _grouped(measured)
    if found is None:
        return "taken as independent" if _taken_alone(measured) else ""
    task, (field, groups) = found
    where = f" of {task}" if len(tasks(measured)) > 1 else ""
    return f"taken as independent; field {field}{where} puts them into {groups:,} groups"


def _grouped(measured: RecordData) -> tuple[str, tuple[str, int]] | None:
    """The first task whose items a field groups, the field, and the number of groups."""
    return next(((task, found) for task in _taken_alone(measured) if (found := grouping_of(measured, task)) is not None), None)


def _taken_alone(measured: RecordData) -> list[str]:
    return [task for task in tasks(measured) if (name := deciding(measured, task)) and _alone(measured, task, name)]


def _alone(measured: RecordData, task: str, metric: str) -> bool:
    return item_scores(measured, measured.base, task, metric).labels is None


def _scores(measured: RecordData) -> Iterator[ScoreRow]:
    for task in tasks(measured):
        for metric in metrics_of(measured, task):
            sides = {name: item_scores(measured, name, task, metric) for name in measured.configurations}
            yield score_row(measured, task, metric, sides)


def _held(measured: RecordData, labels: Mapping[str, str]) -> Iterator[HeldRow]:
    quality = measured.experiment.quality
    for name in measured.configurations:
        for task in held(measured, name):
            yield HeldRow(
                task=task.task,
                column=labels[name],
                metric=task.title,
                status=status_of(task),
                change=change_of(task, quality, measured.confidence),
                worse=task.worse,
                better=task.better,
                items=task.items,
                sentence=words(task, quality, 1),
                more="" if quality is None else more_items(task, quality.margin),
                why=task.overturned,
                worse_within=not isinstance(task.decision, Absent) and task.decision.worse_within_margin,
                control=task.control.words if task.control is not None and task.control.draws else "",
                flips=_share(measured, name, task),
                itself=_share(measured, measured.base, task),
                independence=task.independence,
                share=task.share,
                tested=words_of_p(task.tested, margin=quality is not None),
            )


def _share(measured: RecordData, configuration: str, task: Held) -> Value | None:
    """Flips of a configuration against the base, or of the base against itself."""
    found = flips(measured, configuration, task.task, task.metric)
    return None if found is None else found.estimate(measured.confidence)


def _power(measured: RecordData, labels: Mapping[str, str]) -> Iterator[PowerRow]:
    """Of tasks whose items are right or wrong and stand alone: of others the share of flips does not say it."""
    for name in measured.configurations:
        for task in held(measured, name):
            pairs = paired(measured, name, task.task, task.metric)
            sides = (pairs.reference, pairs.candidate)
            binary = all(set(side.metric.item_scores(side.rows)) <= {0.0, 1.0} for side in sides)
            if task.items < 2 or sides[0].metric.corpus or sides[0].labels is not None or not binary:
                continue
            share = (task.worse + task.better) / task.items
            yield PowerRow(
                task=task.task,
                column=labels[name],
                items=task.items,
                flips=share,
                supported=supported_margin(task.items, share, measured.confidence),
                curve=tuple((size, supported_margin(size, share, measured.confidence)) for size in _sizes(task.items)),
            )


def _sizes(items: int) -> tuple[float, ...]:
    """Numbers of items from a tenth to thirty times as many, evenly on a logarithmic scale."""
    return tuple(float(round(size)) for size in np.geomspace(max(10.0, items / 10.0), items * 30.0, 32))


def _chances(measured: RecordData) -> Mapping[str, float]:
    """Only guessing: that nothing right scores nothing needs no line in a plot."""
    found = {}
    for task in tasks(measured):
        if metric := deciding(measured, task):
            chance = chance_of(measured, task, item_scores(measured, measured.base, task, metric))
            if chance is not None and chance.guessed:
                found[task] = chance.value
    return found


def every_item(measured: RecordData, labels: Mapping[str, str]) -> pl.DataFrame:
    """A row for each answer: its side, its texts cut to what a cell holds, and a column for each score."""
    keys = ["launch", "task", "item", "repetition"]
    sides = pl.concat(
        [answers_of(measured, name).select(pl.lit(labels[name]).alias("side"), *keys, *ITEM_COLUMNS) for name in measured.configurations]
    )
    names, scores = requested(measured), measured.table("scores")
    for name in names:
        of_one = scores.filter(pl.col("metric") == name).select(*keys, pl.col("score").alias(f"score {name}"))
        sides = sides.join(of_one, on=keys, how="left")
    texts = (pl.col(name).str.slice(0, MAX_CELL_LENGTH) for name in ("prompt", "references", "text", "answer", "judged"))
    return sides.with_columns(*texts).sort("task", "item", "side", "launch", "repetition")


def _outcomes(measured: RecordData, labels: Mapping[str, str]) -> Iterator[OutcomeRow]:
    """How many items ended in which way; an answer in which nothing was found is one of them."""
    for name in measured.configurations:
        ended = pl.coalesce(pl.col("judged").str.split(": ").list.first(), "outcome")  # of a program, how it ended
        told = pl.when((pl.col("outcome") == "ok") & pl.col("answer").is_null()).then(pl.lit("NO_ANSWER")).otherwise(ended)
        counted = answers_of(measured, name).group_by("task", told.alias("outcome")).len().sort("task", "len", descending=[False, True])
        for task, outcome, number in counted.iter_rows():
            yield OutcomeRow(task=task, column=labels[name], outcome=outcome, items=number)


def _rated(measured: RecordData, labels: Mapping[str, str]) -> Iterator[RatedRow]:
    """How often each rating was given to each side; nothing where nobody rated."""
    if not were_rated(measured):
        return
    rows = measured.table("ratings").join(measured.timed.select("launch", "configuration"), on="launch")
    for name in measured.configurations:
        ours = rows.filter(pl.col("configuration") == name)
        given_to = ours.filter(pl.col("rating").is_not_null()).group_by("rating").len().sort("rating")
        yield RatedRow(
            column=labels[name],
            raters=ours["rater"].n_unique(),
            items=ours.select("task", "item").n_unique(),
            ratings=tuple((float(value), int(number)) for value, number in given_to.iter_rows()),
            missing=ours["rating"].null_count(),
        )


def _divergence(measured: RecordData, labels: Mapping[str, str]) -> Iterator[DivergenceRow]:
    statuses: dict[str, Status] = {"corrupt": "FAIL", "different": "INCONCLUSIVE", "coarser": "INCONCLUSIVE"}
    words = WORDS
    if doubted(forced_sides(measured)) == "reference":
        words, statuses["corrupt"] = {**WORDS, "corrupt": OF_REFERENCE}, "INCONCLUSIVE"
    for side in forced_sides(measured):
        replica = "" if side.replica is None else f", replica {side.replica}"
        yield DivergenceRow(
            column=f"{labels[side.configuration]}{replica}{', against itself' if side.floor else ''}",
            words="the floor: another number format, or asked again" if side.floor else words[side.nature],
            status="PASS" if side.floor else statuses.get(side.nature, "PASS"),
            tokens=side.tail.positions,
            mean=side.tail.mean,
            p999=side.tail.p999,
            local=side.tail.local,
            agreement=side.agreement,
            nll_change=side.nll_change,
            bound=side.bound,
        )


# ---- calibration -----------------------------------------------------------------------------------------------------


def calibration(measured: RecordData, labels: Mapping[str, str]) -> tuple[CalibrationRow, ...]:
    """A row for each configuration; none if no task was answered by log probabilities of choices."""
    if not choices_were_rated(measured):
        return ()
    errors = calibrations(measured)["calibration_error"].compute(measured, {})
    return tuple(_calibration_row(measured, name, labels[name], errors[name]) for name in measured.configurations)


def _calibration_row(measured: RecordData, configuration: str, label: str, error: Value) -> CalibrationRow:
    found = confidences(measured, configuration)
    if not len(found.stated):
        return CalibrationRow(
            column=label, whole=None, bins=(), sentence=f"{label}: no item with several choices was answered", error=error
        )
    bins = reliability(found.stated, found.right, measured.confidence, binning="mass", clusters=found.labels)
    (every,) = reliability(found.stated, found.right, measured.confidence, bins=1, clusters=found.labels)
    whole = _bin(every, found, measured.confidence)
    return CalibrationRow(
        column=label,
        whole=whole,
        bins=tuple(_bin(one, found, measured.confidence) for one in bins),
        sentence=_sentence(label, whole, error),
        error=error,
    )


def _bin(one: Bin, found: Confidences, confidence: float) -> CalibrationBin:
    units = "whole clusters together" if found.labels is not None else "Wilson's interval"
    right = Estimate(
        value=one.right.value,
        low=one.right.low,
        high=one.right.high,
        unit=SCORE,
        confidence=confidence,
        n_launches=1,
        n_trials=one.items,
        method=f"share of right choices, {units}",
        signature="share of right choices|v:1",
    )
    return CalibrationBin(items=one.items, confidence=one.confidence, right=right)


def _sentence(label: str, whole: CalibrationBin, error: Value) -> str:
    """What the shares of all items say; errors in both directions cancel there, so then the error decides."""
    shown = show(whole.right, beside=(whole.confidence,))
    told = f"at a mean confidence of {sure(whole)} it is right in {shown.full}"
    if not whole.right.low <= whole.confidence <= whole.right.high:
        return f"{label} is {'over' if whole.confidence > whole.right.high else 'under'}-confident: {told}"
    if isinstance(error, Absent):
        return f"{label}: {told}; whether each confidence means what it says is unknown: {error.detail}"
    if error.low > 0.0:
        return f"{label} is as sure as it is right on average, not everywhere: {told}, and the calibration error is {show(error).full}"
    return f"{label} is not shown to be over- or under-confident: {told}"
