"""How are answered items scored?  Extraction first, then every score, a whole column at a time.

A failed request has neither a score nor an answer: it is not wrong.  An answer in which nothing was found (NO_ANSWER) was given, and is
scored as an empty text.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from fireassay import catalog
from fireassay.errors import EnvironmentLacks, Problem, refuse, refuse_any
from fireassay.isolated import environment, python
from fireassay.quality.scoring.extractors.support.visible import NO_ANSWER, Span, stripped
from fireassay.quality.scoring.extractors.support.visible import extractor as visible_extractor
from fireassay.quality.scoring.items import Extraction, Extractor
from fireassay.quality.scoring.pictures import Picture
from fireassay.quality.scoring.text_metric import Array, Encoder, Options, Prepared, TextMetric
from fireassay.spec.explain import did_you_mean, shown

PATTERN: Final = "regex:"  # before a pattern of the user's own
OF_PATTERN: Final = "regex|"  # before it in a signature
MAX_PATTERN_S: Final = 2.0  # of processor time, for one text: nested repeats, "(a+)+$", take for ever
LATE: Final = "too slow"  # the rule of a text that the pattern did not read in time


ModelOf = Callable[[str, Options], Any]  # (kind of a model that reads images, the score's options) -> the model
ALLOWED: Final = {
    "pairs": "the folder of a CLIP model",
    "reward": "the folder of a BLIP model with the head's weights",
    "questions": "the folder of a vision-language model, or the address of an engine",
}  # kind of model -> what the option `model` says


class _Late(Exception):
    """A pattern takes too long on a text."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """A score that is ready to be computed."""

    metric: TextMetric
    prepared: Prepared


@dataclass(frozen=True, kw_only=True)
class Scored:
    """The score of each text that was answered: shapes [texts, statistics] and [texts]."""

    name: str
    rows: Array
    scores: Array


def extractor(name: str) -> Extractor:
    """The extractor of that name, or of a pattern of the user's own, "regex:Final: (\\w+)". Raises SpecError: the pattern is invalid."""
    if name.startswith(PATTERN):
        return _of_pattern(name.removeprefix(PATTERN))
    loaded: Extractor = catalog.load("quality.scoring.extractors", name)
    return loaded


def _of_pattern(pattern: str) -> Extractor:
    """What the pattern finds last in the visible part: its first group that takes part, or all of it."""
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise refuse("extractor", shown(PATTERN + pattern), f"a regular expression of Python: {error}", source="the evaluation") from None

    def find(text: str, part: Span, _: Sequence[str]) -> Extraction:
        found = None
        try:
            with _limited():
                for found in compiled.finditer(text, *part):  # noqa: B007
                    pass
        except _Late:
            return Extraction(answer=None, rule=LATE)
        if found is None:
            return NO_ANSWER
        group = next((index for index in range(1, compiled.groups + 1) if found[index] is not None), 0)
        begin, end = stripped(text, *found.span(group))
        return Extraction(answer=text[begin:end], rule="regex", begin=begin, end=end) if begin < end else NO_ANSWER

    return visible_extractor(f"{OF_PATTERN}{pattern}", "a pattern of your own", find)


@contextmanager
def _limited() -> Iterator[None]:
    """Ends a search that takes too long, in the main thread: only there Python receives signals (`found`). Raises _Late."""

    def late(*_: object) -> None:
        raise _Late

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, MAX_PATTERN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def prepared(
    names: Sequence[str], options: Options, encoder_of: Callable[[str], Encoder] | None = None, model_of: ModelOf | None = None
) -> tuple[Score, ...]:
    """The scores by name; options are named "rouge_l.stem", and `encoder_of` loads the model from the folder of option "bertscore.model".

    `model_of` loads a model that reads images, of a kind, by the score's options.

    Raises:
        SpecError: an option of none of these scores.
        EnvironmentLacks: an unknown score, or its library is missing.
    """
    metrics: dict[str, TextMetric] = {name: catalog.load("quality.scoring.metrics", name) for name in names}
    known = {f"{name}.{option}" for name, metric in metrics.items() for option in metric.options}
    unknown = [
        Problem(
            f"evaluation.options.{name}",
            shown(value),
            f"one of {', '.join(sorted(known))}" if known else f"no option: {', '.join(names)} have none",
            did_you_mean(name, known),
        )
        for name, value in options.items()
        if name not in known
    ]
    refuse_any(unknown, "the options of scores")
    return tuple(
        Score(metric=metric, prepared=_prepared(metric, _of(name, metric, options), encoder_of, model_of))
        for name, metric in metrics.items()
    )


def _prepared(metric: TextMetric, options: Options, encoder_of: Callable[[str], Encoder] | None, model_of: ModelOf | None) -> Prepared:
    if metric.prepare_with is None and metric.prepare_images is None:
        return metric.prepare(options)
    folder = options["model"]
    if not isinstance(folder, str) or not folder:
        where = f"evaluation.options.{metric.name}.model"
        allowed = ALLOWED.get(metric.model, "the folder of an encoder")
        raise refuse(where, shown(folder), allowed, f'{metric.name}.model = "path/to/model"', source="the options of scores")
    if metric.prepare_images is not None and model_of is not None:
        return metric.prepare_images(options, model_of(metric.model, options))
    if metric.prepare_with is not None and encoder_of is not None:
        return metric.prepare_with(options, encoder_of(folder))
    raise EnvironmentLacks(f"{metric.title} needs a model of language or of images, which is not loaded here")


def _of(name: str, metric: TextMetric, options: Options) -> Mapping[str, str | int | float | bool]:
    mine = {key.partition(".")[2]: value for key, value in options.items() if key.partition(".")[0] == name}
    return {**metric.options, **mine}


def found(
    extract: Extractor, texts: Sequence[str | None], choices: Sequence[Sequence[str]], stops: Sequence[str] = ()
) -> list[Extraction | None]:
    """What the extractor finds in each text before the first of `stops`; None where there is no text.

    A pattern of the user's own is searched for in the main thread of a process, since it may have to be ended.
    """
    cut = [None if text is None else until(text, stops) for text in texts]
    if extract.name.startswith(OF_PATTERN) and threading.current_thread() is not threading.main_thread():
        return _elsewhere(extract.name.removeprefix(OF_PATTERN), cut)
    return [None if text is None else extract.extract(text, options) for text, options in zip(cut, choices, strict=True)]


def _elsewhere(pattern: str, texts: Sequence[str | None]) -> list[Extraction | None]:
    """What the pattern finds, in a process of its own."""
    command = python("-c", f"from {__name__} import search; search()")
    done = subprocess.run(
        command, input=json.dumps([pattern, texts]), capture_output=True, text=True, check=True, env=environment(os.environ)
    )
    return [None if one is None else Extraction(**one) for one in json.loads(done.stdout)]


def search() -> None:
    """The other side of `_elsewhere`: a pattern and texts on standard input, what was found on standard output."""
    pattern, texts = json.load(sys.stdin)
    print(json.dumps([None if one is None else asdict(one) for one in found(_of_pattern(pattern), texts, [()] * len(texts))]))


def outcome(before: str, extraction: Extraction | None) -> str:
    """The outcome of an item whose text was searched: a search that did not end says nothing about the answer."""
    late = extraction is not None and extraction.rule == LATE
    return f"no verdict: the expression took longer than {MAX_PATTERN_S:g} s" if late else before


NO_SCORE: Final = "no score: "  # begins the outcome of an item that was answered, with a text that a score cannot read


def unscored(scores: Sequence[Score], answer: str, references: Sequence[str]) -> str:
    """The outcome of an item with a text too long for one of the scores: "no score: 9,000 characters, at most 3,000 (TER)"; or nothing."""
    metrics = [score.metric for score in scores if score.metric.reads == "texts"]
    whys = (f"{NO_SCORE}{why} ({one.title})" for one in metrics for wanted in references or ("",) if (why := one.beyond(answer, wanted)))
    return next(whys, "")


def until(text: str, stops: Sequence[str]) -> str:
    """The text before the first stop string: the same for an engine that was not told to stop."""
    return text[: min((place for stop in stops if (place := text.find(stop)) >= 0), default=len(text))]


def score_all(scores: Sequence[Score], answers: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[Scored, ...]:
    return tuple(_scored(score, answers, references) for score in scores)


def _scored(score: Score, answers: Sequence[str], references: Sequence[Sequence[str]]) -> Scored:
    width = len(score.metric.statistics)
    rows = score.prepared.statistics(answers, references) if answers else np.empty((0, width))
    if rows.shape != (len(answers), width):
        raise ValueError(f"{score.metric.name} gave statistics of shape {rows.shape} for {len(answers)} answers and {width} columns")
    return Scored(name=score.metric.name, rows=rows, scores=score.metric.item_scores(rows))


def of_images(score: Score, pictures: Sequence[Picture], references: Sequence[Sequence[Any]]) -> Array:
    """The rows of some images, shape [images, statistics]; those of all are these one below the other."""
    width = len(score.metric.statistics)
    if not pictures or score.prepared.of_images is None:
        return np.empty((0, width))
    rows = score.prepared.of_images(pictures, references)
    if rows.shape != (len(pictures), width):
        raise ValueError(f"{score.metric.name} gave statistics of shape {rows.shape} for {len(pictures)} images and {width} columns")
    return rows
