"""Does the extractor read the answers at all?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import polars as pl

from fireassay.estimates.format import count, percent
from fireassay.frames.evaluation.item_scores import answers_of, deciding, identity, item_scores, tasks
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.quality.scoring.elsewhere import METHOD as ELSEWHERE
from fireassay.quality.scoring.likelihoods import METHOD
from fireassay.quality.scoring.reading import MAX_TEXTS, WHOLE, form_of, reading
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.types import Finding

AUDITS: Final = Audits(about=("evaluation",))
MOST: Final = 0.5  # of the answers may be unread where every score is the lowest
FEWEST: Final = 10  # items; of fewer, a model may fail at each
UNFIT: Final = "read some beside their references: another --extract or --metric fits them, or --reference names another field"
NONE_READS: Final = "read some of the answers: no extractor that was tried finds one in them, so the prompt or the model is at fault"


@AUDITS.add(
    "unread_answers",
    "Is a score the lowest possible because the extractor reads most answers not at all?",
    title="answers that the extractor does not read",
)
def examine_unread(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each side and task of which every item has the lowest score and more than half of the answers are unread.

    Such a score is the extractor's, not the model's.  Unread are NO_ANSWER, and of the whole text what has not the form that all references
    have (a number, a letter, yes or no).  The extractors of that form are tried on the texts, and the one that reads them is named.
    The same holds of files where most answers hold their reference among other words.
    Where every item of every side has the lowest score, the references have no form and the answers are no references of other items, answers
    and references do not fit: sides that are all 0 are not equally good.  Invalid with several files, else a warning.
    Cannot tell: whether what it reads is right.
    """
    if measured.foreign is not None:  # another program extracted, and what it saw is not known
        return
    for task in (task for task in tasks(measured) if identity(measured).get(task, {}).get("method") not in (METHOD, ELSEWHERE)):
        yield from list(_of_sides(measured, task)) or _at_the_floor(measured, task)


def _of_sides(measured: RecordData, task: str) -> Iterator[Finding]:
    for name in measured.configurations:
        if _is_lowest(measured, name, task) and (found := _unread(measured, name, task) or _beside(measured, name, task)):
            where = f"{task}: " if len(tasks(measured)) > 1 else ""
            yield Finding("unread_answers", "invalid", name, f"{where}{found[0]}", found[1])


def _at_the_floor(measured: RecordData, task: str) -> Iterator[Finding]:
    names = measured.configurations
    asked = answers_of(measured, names[0]).filter(pl.col("task") == task).unique("item")
    if asked.height < FEWEST or not all(_is_lowest(measured, name, task) for name in names):
        return
    references = [json.loads(one) for one in asked["references"]]
    if form_of(references) is not None or _are_labels(measured, task, references):  # such answers were read, and are wrong
        return
    evidence = f"no answer{' of any side' if len(names) > 1 else ''} agrees with its reference, in {count(asked.height, 'items')}"
    of_files = len(names) > 1 and measured.experiment.serving is None  # an engine's model may be as weak as that, and more is known of it
    yield Finding("unread_answers", "invalid" if of_files else "warning", names[0], evidence, UNFIT)


def _are_labels(measured: RecordData, task: str, references: Sequence[Sequence[str]]) -> bool:
    """True if most answers are references of other items, as "cat" is where the items are asked for one of a few words."""
    labels = {_words(one) for of_item in references for one in of_item}
    answers = [
        one for name in measured.configurations for one in answers_of(measured, name).filter(pl.col("task") == task)["answer"] if one
    ]
    return len(labels) < len(references) and sum(_words(one) in labels for one in answers) > MOST * len(answers)


def _beside(measured: RecordData, configuration: str, task: str) -> tuple[str, str] | None:
    """How many answers hold their reference, though each has the lowest score; None if they are few."""
    answered = answers_of(measured, configuration).filter((pl.col("task") == task) & (pl.col("outcome") == "ok"))
    pairs = answered.select("answer", "references").iter_rows()
    held = sum(any(_holds(answer or "", one) for one in json.loads(references)) for answer, references in pairs)
    if measured.experiment.serving is not None or answered["item"].n_unique() < FEWEST or held <= MOST * answered.height:
        return None
    side = next((f" of {one.target}" for one in measured.varied if one.name == configuration and len(measured.varied) > 1), "")
    return f"the score{side} is 0, and {held:,} of {count(answered.height, 'answers')} hold their reference", UNFIT


def _holds(answer: str, reference: str) -> bool:
    """True if the words of the reference stand in the answer; "(A)" and "A" are one word, and a code's marks are none."""
    return bool(_words(reference).strip()) and _words(reference) in _words(answer)


def _words(text: str) -> str:
    return " ".join(["", *re.findall(r"\w+", text.casefold()), ""])


def _is_lowest(measured: RecordData, configuration: str, task: str) -> bool:
    metric = deciding(measured, task)
    scores = item_scores(measured, configuration, task, metric) if metric else None
    if scores is None or not scores.items or scores.metric.corpus:
        return False
    worst = scores.metric.scale[0 if scores.metric.better == "higher" else 1]
    return bool(np.all(scores.metric.item_scores(scores.rows) == worst))


def _unread(measured: RecordData, configuration: str, task: str) -> tuple[str, str] | None:
    """How many answers are unread, and which extractor reads them; None if they are few."""
    answered = answers_of(measured, configuration).filter((pl.col("task") == task) & (pl.col("outcome") == "ok"))
    references = [json.loads(one) for one in answered["references"]]
    form = form_of(references)
    wrong = sum(
        answer is None or (rule == WHOLE and form is not None and not form.has(answer))
        for answer, rule in answered.select("answer", "rule").iter_rows()
    )
    if wrong <= MOST * answered.height:
        return None
    used = extractor_of(measured, task)
    side = next((one.target for one in measured.varied if one.name == configuration and len(measured.varied) > 1), "")
    whose = f" of {side}" if side else ""
    evidence = f"the score{whose} is 0 as {used} reads no answer in {wrong:,} of {count(answered.height, 'texts')}"
    tried = reading(answered["text"].to_list(), references)
    if tried is None or tried.likely in (WHOLE, used):
        return evidence, NONE_READS
    share = percent(tried.shares[tried.likely])
    of = f" of the first {MAX_TEXTS}" if answered.height > MAX_TEXTS else ""
    return f"{evidence}, and {tried.likely} in {share}{of}", _remedy(measured, tried.likely)


def extractor_of(measured: RecordData, task: str) -> str:
    """ "last_number" of "extract:last_number@2"; empty if it was not recorded."""
    signature = str(identity(measured).get(task, {}).get("extractor") or "")
    return signature.removeprefix("extract:").rpartition("@")[0]


def _remedy(measured: RecordData, extractor: str) -> str:
    if measured.experiment.serving is None:
        return f"score again with --extract {extractor}"
    return f'evaluate again with extractor = "{extractor}" of the task, or ask for the form that it reads in the prompt'
