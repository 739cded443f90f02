"""May a judge's scores decide anything: are there labels of people, are they a sample, did it say something, and is it one of the sides?"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from fireassay.estimates.format import count, given, percent
from fireassay.frames.evaluation.item_scores import judge_of, tasks
from fireassay.frames.evaluation.judged import unread
from fireassay.frames.evaluation.rated import by_judge
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation import powered
from fireassay.kinds.evaluation.judges import changed
from fireassay.metrics.metric import Results
from fireassay.stats.people.prediction_powered import Judged
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.types import Finding

AUDITS: Final = Audits(about=("evaluation",))
CHOSEN_Z: Final = 4.0  # standard errors between labelled items and others: one sample in 16,000 is that far off
MAX_REASONS: Final = 2
FAILED_REMEDY: Final = "see why the judge's server fails, then judge again: with --judge-cache DIR only what has no reply is asked"
UNREAD_REMEDY: Final = "read some of its replies (the record's table replies); ask for less, raise max_tokens, or use another judge"
SAMPLE_REMEDY: Final = "label a random sample: assay rate DIR --record RECORD --items N chooses one"
OWN_REMEDY: Final = "look at judge_bias of that side, or ask a judge of another family"


@AUDITS.add(
    "judged_without_gold", "Is a margin judged by a model whose error nobody knows?", title="a judge without labels of people", first=True
)
def examine_gold(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each side but the first with fewer than 20 labelled items, or fewer than 10 clusters with labels.

    INVALID with a margin: a judge that errs alike on all items moves the change by its error, which no number of judged items shows.  Without one a
    warning beside the judge's plain number.  How many labels: for 80 % power without a true change, as if the judge were worth nothing.
    """
    if not by_judge(measured):
        return
    quality = measured.experiment.quality
    for name in measured.configurations:
        if name == measured.base and len(measured.configurations) > 1:
            continue
        found = _judged(measured, name)
        if found is None or _enough(measured, name):
            continue
        there = count(found.labels, "items") if found.labels else "no item"
        model = judge_of(measured).model
        if quality is None or name == measured.base:
            evidence = f"{model} judged alone: {there} labelled by people, so its error is unknown"
            yield Finding("judged_without_gold", "warning", name, evidence, _remedy(measured, powered.MIN_LABELS))
            continue
        wanted = powered.first_labels(found, quality.margin, measured.confidence)
        evidence = f"the margin is judged by {model} alone: {there} labelled by people, at least {powered.MIN_LABELS} are needed"
        yield Finding("judged_without_gold", "invalid", name, evidence, _remedy(measured, wanted))


def _remedy(measured: RecordData, labels: int) -> str:
    likert = "" if judge_of(measured).pairs else " --likert"
    return (
        f"have people label about {labels:,} items (assay rate gold --record RECORD --items {labels}{likert}), then score again with "
        "--gold gold/ratings.csv"
    )


def _judged(measured: RecordData, configuration: str) -> Judged | None:
    """The judge's values beside labels, of the first task."""
    task = next(iter(tasks(measured)), "")
    pairs, changes = changed(measured, configuration, task)
    return powered.beside(pairs, changes)


def _enough(measured: RecordData, configuration: str) -> bool:
    return all(powered.of_pairs(*changed(measured, configuration, task)) is not None for task in tasks(measured))


@AUDITS.add("gold_not_sampled", "Are the labelled items a random sample of all?", title="labels of chosen items")
def examine_sample(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each side whose labelled items the judge scores otherwise than the rest, by more than 4 standard errors.

    The correction by labels holds for a random sample.  Cannot tell: a choice that the judge does not see.
    """
    if not by_judge(measured):
        return
    for name in (name for name in measured.configurations if name != measured.base):
        found = _judged(measured, name)
        if found is None or found.labels < powered.MIN_LABELS or len(found.judge) - found.labels < powered.MIN_LABELS:
            continue
        ours, others = found.judge[found.labelled], found.judge[~found.labelled]
        gap = float(ours.mean() - others.mean())
        error = math.sqrt(float(np.var(ours, ddof=1)) / len(ours) + float(np.var(others, ddof=1)) / len(others))
        if error > 0.0 and abs(gap) > CHOSEN_Z * error and found.clusters is None:
            evidence = (
                f"the judge scores the {found.labels:,} labelled items {given(gap, 2)} apart from the others: they are no random sample"
            )
            yield Finding("gold_not_sampled", "warning", name, evidence, SAMPLE_REMEDY)


@AUDITS.add("unread_judgements", "Did the judge say something of nearly every answer?", title="judgements that cannot be read")
def examine_unread(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each side with judgements that failed or could not be read; beyond evaluation.most_failed INVALID.

    They are neither losses nor ties: what is left is another sample of items.
    """
    evaluation = measured.experiment.evaluation
    if evaluation is None or not by_judge(measured):
        return
    for name in measured.configurations:
        lacking, asked = unread(measured, name)
        if not lacking:
            continue
        number = sum(lacking.values())
        too_many = number > evaluation.most_failed * asked
        kinds = ", ".join(f"{many:,} {outcome}" for outcome, many in lacking.items())
        most = f", more than {percent(evaluation.most_failed)}" if too_many else ""
        what = count(asked, "pairs" if judge_of(measured).pairs else "answers")
        evidence = f"{number:,} of {what} have no judgement ({kinds}){most}{_reasons(measured)}"
        remedy = FAILED_REMEDY if "failed" in lacking else UNREAD_REMEDY
        yield Finding("unread_judgements", "invalid" if too_many else "warning", name, evidence, remedy)


def _reasons(measured: RecordData) -> str:
    """Why replies could not be read, most of them first, and what the first request without a reply met."""
    notes = measured.before.get("judge")
    notes = notes if isinstance(notes, Mapping) else {}
    whys = [str(why) for why in (notes.get("unread") or {})][:MAX_REASONS]
    return "".join(f"; {why}" for why in (*whys, notes.get("first_failure")) if why)


@AUDITS.add("own_style", "Does a judge judge its own answers?", title="a judge of its own answers")
def examine_own(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning for each side that is called as the judge's model is: models favour answers of their own (Panickssery et al., NeurIPS 2024)."""
    if not by_judge(measured):
        return
    model = _plain(judge_of(measured).model)
    serving = measured.experiment.serving
    models = {target.name: target.model or serving.model for target in serving.targets} if serving is not None else {}
    for configuration in measured.varied:
        if model and model in {_plain(configuration.target), _plain(models.get(configuration.target, ""))}:
            evidence = f"the judge {judge_of(measured).model} is the model of the side {configuration.target}"
            yield Finding("own_style", "warning", configuration.name, evidence, OWN_REMEDY)


def _plain(name: str) -> str:
    """A model's name without its folder, case and marks."""
    return re.sub(r"[^a-z0-9]+", "", name.rpartition("/")[2].lower())
