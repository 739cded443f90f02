"""Can the answers of an evaluation be scored, and do they depend on the items?"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from fireassay.estimates.format import count, percent
from fireassay.frames.evaluation.item_scores import (
    answers_of,
    deciding,
    grouping_of,
    identity,
    item_scores,
    metric_of,
    paired,
    requested,
    tasks,
)
from fireassay.frames.evaluation.rated import by_judge, were_rated
from fireassay.frames.evaluation.steps import chooses, compares_budgets
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.held import at_ceiling, at_floor, held
from fireassay.metrics.metric import Results
from fireassay.printable import some
from fireassay.quality.scoring.elsewhere import METHOD as ELSEWHERE
from fireassay.quality.scoring.likelihoods import METHOD
from fireassay.quality.scoring.scoring import NO_SCORE
from fireassay.reports.words import cut
from fireassay.spec.sections.evaluation import Evaluation
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.types import Finding

AUDITS = Audits(about=("evaluation",))


# ---- degenerate answers ----

DEGENERATE_MIN_ANSWERS: Final = 10  # answers of a task, of which a share says something
LOOPING: Final = 0.1  # share of the answers
SAME: Final = 0.5
BLANK: Final = 0.1
UNFOUND: Final = 0.5
CUT: Final = 0.2
ABOVE_REFERENCES: Final = 2.0  # times as common as the most common reference
TURNS: Final = 4  # of a loop
DEGENERATE_SHORTEST: Final = 16  # characters of a loop
WHOLE: Final = 64  # characters; of a longer text only the second half must loop
QUOTED: Final = 40  # characters of a text in the evidence
DEGENERATE_REMEDY: Final = "read some of the answers; a loop or one text for all means a wrong weight, chat template or stop string"
FIND: Final = "read some of them: another --extract finds what they say, or the prompt must ask for its form"
LONGER: Final = "raise max_tokens, then evaluate again: what was cut off is scored as wrong"


@dataclass(frozen=True, kw_only=True)
class Degenerate:
    """How many answers of a task are no answers of their own."""

    task: str
    answers: int
    loops: int
    loop: str  # what the most common loop repeats
    same: int  # 0 if the references are as alike
    text: str
    blank: int
    unfound: int
    cut: int

    @property
    def shares(self) -> tuple[tuple[int, float, str], ...]:
        """Each number with its limit and its words."""
        return (
            (self.loops, LOOPING, f"end in a loop, {_quoted(self.loop)}"),
            (self.same, SAME, f"are the same text, {_quoted(self.text)}"),
            (self.blank, BLANK, "are white space alone"),
            (self.unfound, UNFOUND, "hold no answer that the extractor finds"),
            (self.cut, CUT, "were cut at the token limit"),
        )

    @property
    def worst(self) -> float:
        """The largest share in multiples of its limit; from 1 it is too large."""
        return round(max(number / limit for number, limit, _ in self.shares) / self.answers, 9)

    @property
    def evidence(self) -> str:
        """Every share that is too large."""
        large = (f"{number:,} {words}" for number, limit, words in self.shares if round(number / limit / self.answers, 9) >= 1.0)
        return f"of {count(self.answers, 'answers')} {', '.join(large)}"

    @property
    def remedy(self) -> str:
        """What to do: a limit that cuts healthy answers, or an extractor that does not fit them, needs no other model."""
        if replace(self, cut=0, unfound=0).worst >= 1.0:
            return DEGENERATE_REMEDY
        return FIND if replace(self, cut=0).worst >= 1.0 else LONGER


@AUDITS.add(
    "degenerate_answers",
    "Are the answers texts at all, or loops, one text for every item, or pieces cut at the token limit?",
    title="answers that are loops, alike or cut",
)
def examine_degenerate(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each configuration, with its worst task.

    A broken weight, a wrong chat template or a low token limit shows in the answers before it shows in a score: two sides that both repeat
    one token agree on every item, and a comparison of them says nothing.  Five shares of a task's answers are counted, the first of each
    item:

        loop     its second half (all of a short text) is one unit of text, four times or more
        same     the most common text, which must be at least twice as common as the most common reference: labels repeat, essays do not
        blank    white space alone
        unfound  the extractor finds no answer in them
        cut      ended at the token limit, with no answer found or, where the whole text counts, with less than the highest score

    Source of the first limit: greedy decoding of a good model loops in most long texts, people and sampling in less than 1 % of theirs
    (Holtzman et al., The Curious Case of Neural Text Degeneration, ICLR 2020, table 1); a tenth is neither. Cannot tell: loops that count
    up or change a word, and whether the items ask for repetition.
    """
    for name in measured.configurations:
        found = [one for task in _written(measured) if (one := _degenerate_of(measured, name, task)) is not None and one.worst >= 1.0]
        if found:
            worst = max(found, key=lambda one: one.worst)
            where = f"{worst.task}: " if len(tasks(measured)) > 1 else ""
            more = f"; {count(len(found) - 1, 'more tasks')} likewise" if len(found) > 1 else ""
            yield Finding("degenerate_answers", "warning", name, f"{where}{worst.evidence}{more}", worst.remedy)


def _written(measured: RecordData) -> list[str]:
    """The tasks whose answers are texts that a model wrote."""
    if were_rated(measured):
        return []
    return [task for task in tasks(measured) if identity(measured).get(task, {}).get("method") not in (METHOD, ELSEWHERE)]


def _degenerate_of(measured: RecordData, configuration: str, task: str) -> Degenerate | None:
    """None of fewer than `DEGENERATE_MIN_ANSWERS` answers."""
    answers = answers_of(measured, configuration).filter((pl.col("task") == task) & (pl.col("outcome") == "ok"))
    stripped = pl.col("text").str.strip_chars()
    first = answers.sort("launch", "repetition").unique("item", keep="first", maintain_order=True)
    every = first.with_columns(stripped.alias("stripped"))
    first = every.filter(pl.col("stripped").str.len_chars() > 0)
    if every.height < DEGENERATE_MIN_ANSWERS:
        return None
    loops = Counter(loop for text in first["stripped"] if (loop := loop_of(text)))
    text, same = max(Counter(first["stripped"]).items(), key=lambda pair: pair[1], default=("", 0))
    wanted = max(Counter(json.loads(one)[0] for one in first["references"] if one != "[]").values(), default=0)
    return Degenerate(
        task=task,
        answers=every.height,
        loops=loops.total(),
        loop=loops.most_common(1)[0][0] if loops else "",
        same=same if same >= ABOVE_REFERENCES * wanted else 0,
        text=text,
        blank=every.height - first.height,
        unfound=first["answer"].null_count(),
        cut=_cut(measured, task, first),
    )


def _cut(measured: RecordData, task: str, first: pl.DataFrame) -> int:
    """Answers that the limit cut before they said what is scored."""
    metric = deciding(measured, task)
    top = metric_of(measured, metric).scale[1] if metric else float("inf")
    scores = measured.table("scores").filter((pl.col("task") == task) & (pl.col("metric") == metric))
    keys = ["launch", "task", "item", "repetition"]
    cut = first.filter(pl.col("finish_reason") == "length").join(scores.select(*keys, "score"), on=keys, how="left")
    lost = pl.col("answer").is_null() | ((pl.col("rule") == "whole") & (pl.col("score").fill_null(0.0) < top))
    return cut.filter(lost).height


def loop_of(text: str) -> str:
    """What a text repeats to its end; empty if nothing."""
    tail = text.strip()
    backwards = tail[len(tail) // 2 if len(tail) > WHOLE else 0 :][::-1]
    needle = backwards[: max(1, len(backwards) // TURNS)]
    period = backwards.find(needle, 1)  # of a text with a period of at most a quarter of it, this is the smallest one
    if len(backwards) < DEGENERATE_SHORTEST or period < 1 or period * TURNS > len(backwards) or backwards[period:] != backwards[:-period]:
        return ""
    unit = tail[-period:]
    space = unit.find(" ") + 1  # a turn begins with a word
    return unit[space:] + unit[:space]


def _quoted(text: str) -> str:
    words = " ".join(text.split())
    return f'"{words if len(words) <= QUOTED else f"{words[:QUOTED]} …"}"'


# ---- empty replies ----

EMPTY_REPLIES_REMEDY = (
    "look into the harness's own log for failed requests; if the model said nothing, import again with --most-failed 0.99"
)


@AUDITS.add("empty_replies", "Did a harness score replies without any text, which may be failures?", title="empty replies counted as wrong")
def examine_empty_replies(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each configuration with empty replies.

    lm-evaluation-harness turns a failed request into an empty reply and scores it as any other: 23 failures of 40 become a score of .425,
    and nothing in its files tells them from a model that said nothing.  Beyond evaluation.most_failed the score is not admissible.
    """
    foreign, evaluation = measured.foreign or {}, measured.experiment.evaluation
    assert evaluation is not None
    for configuration, empty in (foreign.get("empty") or {}).items():
        number = sum(empty.values())
        total = answers_of(measured, configuration).height
        if not number or configuration not in measured.configurations:
            continue
        too_many = number > evaluation.most_failed * total
        limit = f", more than {percent(evaluation.most_failed)}" if too_many else ""
        yield Finding(
            rule="empty_replies",
            severity="invalid" if too_many else "warning",
            configuration=configuration,
            evidence=f"{number:,} of {count(total, 'replies')} are empty{limit}, and {foreign.get('title')} scored them: it gives a failed "
            "request no other mark",
            remedy=EMPTY_REPLIES_REMEDY,
        )


# ---- grouped items ----

GROUPED_ELSEWHERE: Final = "write the answers with {field} into a file, and score that with --cluster {field}"
GROUPED_REMEDY: Final = (
    "score again with --cluster {field} (fields.cluster of a task), which takes whole groups as units; if they share nothing, leave it"
)


@AUDITS.add("grouped_items", "Does a field of the data group items that were taken as independent?", title="items that share content")
def examine_grouped(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each task with such a field.

    Ten questions on one passage are right or wrong together, so that an interval over single questions is too narrow.
    Cannot tell: whether the items of a group do share anything, nor groups that no field names.
    """
    for task in (task for task in tasks(measured) if deciding(measured, task)):
        scores = item_scores(measured, measured.base, task, deciding(measured, task))
        if scores.labels is None and (found := grouping_of(measured, task)) is not None:
            where = f"{task}: " if len(tasks(measured)) > 1 else ""
            evidence = (
                f"{where}the field {found[0]!r} puts {count(len(scores.items), 'items')} into {found[1]:,} groups, and they were taken as independent: "
                "every interval over items is too narrow if a group's items are right or wrong together"
            )
            remedy = GROUPED_REMEDY if measured.foreign is None else GROUPED_ELSEWHERE
            yield Finding("grouped_items", "warning", None, evidence, remedy.format(field=found[0]))


# ---- unscored items ----

UNSCORED_REMEDY: Final = "look at these answers: NaN, an infinite number or one beyond 1e100 is no score; or choose a score that reads them"


@AUDITS.add("unscored_items", "Were answers left out because they have no score?", title="answers without a score")
def examine_unscored(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each configuration whose deciding score could not be made of some answers.

    An answer that is no number has no correlation, and a harness may have logged NaN or null.  They are left out of the score, which is one over other items.
    What a judge did not say is the question of `unread_judgements`.
    """
    if by_judge(measured):
        return
    for configuration in measured.configurations:
        scored = [
            item_scores(measured, configuration, task, deciding(measured, task)) for task in tasks(measured) if deciding(measured, task)
        ]
        failed = answers_of(measured, configuration).filter(pl.col("outcome") != "ok").select("task", "item").n_unique()
        left = sum(scores.unscored for scores in scored) - failed
        if left > 0:
            total = count(sum(len(one.items) for one in scored) + left, "items")
            evidence = f"no {scored[0].metric.title} of {count(left, 'answers')}, which the score leaves out of {total}"
            yield Finding("unscored_items", "warning", configuration, evidence, UNSCORED_REMEDY)


# ---- uneven answers ----

UNEVEN_REMEDY: Final = "look for lines that are there twice; an item counts once, by the mean of its answers"
CANDIDATES_REMEDY: Final = "give every item as many candidates: the best of k is known up to the fewest that an item has"


@AUDITS.add("uneven_answers", "Were some items answered more often than others?", title="items answered more often than others")
def examine_uneven(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each configuration in which some items of a task have more answers than others.

    Repetitions are planned for every item alike; a file that was joined from parts holds some items again.
    Cannot tell: whether they were meant.
    """
    if were_rated(measured):  # who rates what is chance, and intervals know it
        return
    for configuration in measured.configurations:
        numbers = answers_of(measured, configuration).group_by("task", "item").len()
        least = pl.col("len").min().over("task")
        if more := numbers.filter(pl.col("len") > least).height:
            evidence = f"{more:,} of {count(numbers.height, 'items')} have more answers than the others"
            remedy = CANDIDATES_REMEDY if chooses(measured) else UNEVEN_REMEDY
            yield Finding("uneven_answers", "warning", configuration, evidence, remedy)


# ---- unanswered items ----

UNANSWERED_REMEDY = "find out why they failed, then evaluate again"
UNFILLED_REMEDY: Final = "find out why these lines have no answer, then score again"
NO_IMAGE_REMEDY: Final = "look at these files: an image that cannot be decoded was not made, or not copied whole"
TOO_LONG_REMEDY: Final = "score without the metric that cannot compare such texts, or split the texts"


@AUDITS.add("unanswered_items", "Were so many items not answered that the score says little?", title="failures counted as answers")
def examine_unanswered(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each configuration with failures.

    A failed request or a missing answer is neither right nor wrong.  Beyond evaluation.most_failed the items that are left are another
    sample. The finding bounds the score: as if every missing item were wrong, and as if every one were right.
    """
    evaluation = measured.experiment.evaluation
    assert evaluation is not None
    of_file = measured.experiment.workload.runner == "answers" and measured.foreign is None
    for configuration in measured.configurations:
        answers = answers_of(measured, configuration)
        failed = answers.filter(pl.col("outcome") != "ok")
        if failed.height == 0:
            continue
        too_many = failed.height > evaluation.most_failed * answers.height
        yield Finding(
            rule="unanswered_items",
            severity="invalid" if too_many else "warning",
            configuration=configuration,
            evidence=f"{_failures(failed, answers.height)}"
            f"{_allowed(evaluation.most_failed) if too_many else ''}{_bounds(measured, configuration, answers.height)}",
            remedy=_remedy_of(evaluation) if _long(failed).height == failed.height else UNFILLED_REMEDY if of_file else UNANSWERED_REMEDY,
        )


def _remedy_of(evaluation: Evaluation) -> str:
    """What to do where no item failed but some have no score."""
    return NO_IMAGE_REMEDY if evaluation.fields.image else TOO_LONG_REMEDY


def _long(failed: pl.DataFrame) -> pl.DataFrame:
    """The items that were answered, with texts that are too long for a score."""
    return failed.filter(pl.col("outcome").str.starts_with(NO_SCORE))


def _failures(failed: pl.DataFrame, items: int) -> str:
    """ "3 of 40 items were not answered (3 missing); 1 of 40 items has no score (item 7: 4,501 characters, at most 3,000 (TER))"."""
    long, of = _long(failed), f"of {count(items, 'items')}"
    unanswered = failed.filter(~pl.col("outcome").str.starts_with(NO_SCORE))
    told = [f"{unanswered.height:,} {of} were not answered ({_kinds(unanswered)})"] if unanswered.height else []
    if long.height:
        named = [f"item {cut(item)}: {outcome.removeprefix(NO_SCORE)}" for item, outcome in long.select("item", "outcome").iter_rows()]
        told.append(f"{long.height:,} {of} {'has' if long.height == 1 else 'have'} no score ({some(named)})")
    return "; ".join(told)


def _kinds(failed: pl.DataFrame) -> str:
    counts = failed.group_by("outcome").len().sort("len", descending=True)
    return ", ".join(f"{number:,} {outcome}" for outcome, number in counts.iter_rows())


def _allowed(most: float) -> str:
    return f", more than {percent(most)}"


def _bounds(measured: RecordData, configuration: str, replies: int) -> str:
    """The score if every missing item had the lowest, or the highest score."""
    names = requested(measured)
    scored = [item_scores(measured, configuration, task, names[0]) for task in tasks(measured)] if names else []
    if len(scored) != 1 or scored[0].metric.corpus or not scored[0].items:
        return ""
    (scores,) = scored
    low, high = scores.metric.scale
    left = max(0, replies - len(scores.items))
    if not high - low < float("inf"):
        return ""
    total = float(scores.rows[:, 0].sum())
    return f"; {scored[0].metric.title} lies between {(total + left * low) / replies:.3f} and {(total + left * high) / replies:.3f} whatever they were"


# ---- insensitive items ----

BROKEN: Final = (
    "look at the reference's answers: the prompts, the extraction or the model is broken, or the margin is too wide; then evaluate again"
)
EASY: Final = (
    "evaluate harder items as well; if the references are the reference side's own answers, say so with --own-references "
    "(evaluation.own_references)"
)
INSENSITIVE_FEW: Final = "evaluate more items, or items that the reference answers better, or choose a narrower margin"


@AUDITS.add("insensitive_items", "Can these items show a loss of quality at all?", title="items that cannot show a loss")
def examine_insensitive(measured: RecordData, _: Results) -> Iterator[Finding]:
    """Per task one finding on the reference, or one on each side that was not shown to be able to lose.

    A reference at chance has nothing to lose: INVALID.  Items that both sides answer perfectly are too easy to tell them apart, and items
    whose negative control was held show nothing (`fireassay.kinds.evaluation.held`): held is INCONCLUSIVE.
    """
    if measured.experiment.quality is None or len(measured.configurations) < 2 or compares_budgets(measured):
        return
    for task in tasks(measured):
        metric = deciding(measured, task)
        if not metric:
            continue
        where = f"{task}: " if len(tasks(measured)) > 1 else ""
        if (why := at_floor(measured, task, item_scores(measured, measured.base, task, metric))) is not None:
            evidence = f"{where}the reference cannot show a loss of quality: {why}"
            yield Finding(rule="insensitive_items", severity="invalid", configuration=measured.base, evidence=evidence, remedy=BROKEN)
            continue
        for name in (name for name in measured.configurations if name != measured.base):
            if found := _insensitive_of(measured, name, task, metric):
                yield Finding(
                    rule="insensitive_items", severity="warning", configuration=name, evidence=f"{where}{found[0]}", remedy=found[1]
                )


def _insensitive_of(measured: RecordData, configuration: str, task: str, metric: str) -> tuple[str, str] | None:
    """Why a side could not have been seen to lose, and what to do."""
    if (why := at_ceiling(measured, paired(measured, configuration, task, metric))) is not None:
        return why, EASY
    made = next((found.control for found in held(measured, configuration) if found.task == task), None)
    return (made.why, INSENSITIVE_FEW) if made is not None and made.why else None
