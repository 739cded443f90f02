"""Which image answers an item, which are the worst, and which one was chosen of several?

Names, digests and sizes are the record's; a small copy is read only where it is shown (`fireassay.record.images.thumbnails`).  Of several answers to
an item the image is the first one's, its score their mean.  The worst: by what an item lost against the reference, then by its score; of a single
side by its score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import polars as pl

from fireassay.errors import RecordError
from fireassay.frames.evaluation.item_scores import answers_of, deciding, item_scores, matched, metric_of, metrics_of, tasks
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.quality.scoring.scoring import NO_SCORE
from fireassay.quality.scoring.text_metric import Array
from fireassay.record.images.thumbnails import Copies

KEYS: Final = ["launch", "task", "item", "repetition"]
MAX_SCORES: Final = 4  # of an image that are shown, the deciding one first
MISSING: Final = "missing"  # an outcome: there is no answer, or no score of another program
Scores = tuple[tuple[str, float], ...]  # titles and values


@dataclass(frozen=True, kw_only=True)
class ItemImage:
    """An image that answers an item, or why there is none."""

    name: str  # of its file, as the answers name it
    launch: int
    sha256: str = ""  # of the file; empty: nothing was read
    format: str = ""
    file_bytes: int = 0
    width: int = 0  # pixels; 0: not decoded
    height: int = 0
    entry: str = ""  # its small copy in the launch's archive; empty: none
    missing: str = ""  # why there is no image
    scores: Scores = ()  # of its item at its side; of a candidate its own
    copies: Copies | None = field(default=None, repr=False, compare=False)

    def copy(self) -> bytes:
        """Its small copy, a checked JPEG. Raises RecordError: why there is none."""
        if not self.entry or self.copies is None:
            raise RecordError(self.missing or "the record has no small copy of it")
        return self.copies.jpeg(self.launch, self.sha256, self.entry)


@dataclass(frozen=True, kw_only=True)
class Answered:
    """An image as an answer: what it is to show, and what it scores."""

    task: str
    item: str
    side: str  # its label
    prompt: str
    image: ItemImage
    score: float  # the deciding one
    change: float | None  # of it against the reference, better is positive; None: there is no reference


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """The candidates for an item, the best by the deciding score first; it is the chosen one."""

    task: str
    item: str
    side: str
    prompt: str
    images: tuple[ItemImage, ...]
    best: float
    mean: float  # of the scored ones


@once_per_record
def have_images(measured: RecordData) -> bool:
    """True if answers are images."""
    return measured.table("images").height > 0


def image_rows(measured: RecordData, configuration: str) -> pl.DataFrame:
    """A row for each answer of a task of images: KEYS, outcome, text, prompt and the columns of `images`, null where there is none."""
    answers = answers_of(measured, configuration).select(*KEYS, "outcome", "text", "prompt")
    images = measured.table("images").select(*KEYS, "name", "sha256", "format", "bytes", "width", "height", "thumbnail")
    once = images.unique(KEYS, keep="first", maintain_order=True)  # a stranger's table may hold one twice
    return (
        answers.join(once.select("task").unique(), on="task", how="semi")
        .join(once, on=KEYS, how="left")
        .sort("task", "item", "launch", "repetition")
    )


def image_of(measured: RecordData, row: Mapping[str, Any]) -> ItemImage:
    """Of a row of `image_rows`."""
    return ItemImage(
        name=str(row["name"] or row["text"] or ""),
        launch=int(row["launch"]),
        sha256=str(row["sha256"] or ""),
        format=str(row["format"] or ""),
        file_bytes=int(row["bytes"] or 0),
        width=int(row["width"] or 0),
        height=int(row["height"] or 0),
        entry=str(row["thumbnail"] or ""),
        missing="" if row["width"] else _why(str(row["outcome"]), bool(row["text"])),
        copies=measured.copies,
    )


def _why(outcome: str, named: bool) -> str:
    """Why an answer has no image."""
    if outcome == "ok" or (outcome == MISSING and named):
        return "nothing was decoded"
    return "no answer" if outcome == MISSING else outcome.removeprefix(NO_SCORE)


def images_of(measured: RecordData, configuration: str) -> Mapping[tuple[str, str], ItemImage]:
    """(task, item) -> the image of its first answer; empty where answers are no images."""

    def fold(data: RecordData) -> Mapping[tuple[str, str], ItemImage]:
        first = image_rows(data, configuration).unique(["task", "item"], keep="first", maintain_order=True)
        return {(row["task"], row["item"]): image_of(data, row) for row in first.iter_rows(named=True)}

    return measured.once(f"images of {configuration}", fold) if have_images(measured) else {}


def image_shown(measured: RecordData, configuration: str, task: str, item: str) -> ItemImage | None:
    """The image of an item's first answer, with the item's scores; None where answers are no images."""
    image = images_of(measured, configuration).get((task, item))
    return None if image is None else replace(image, scores=scores_by_item(measured, configuration, task).get(item, ()))


def scores_by_item(measured: RecordData, configuration: str, task: str) -> Mapping[str, Scores]:
    """What the first few scores of a task say of each item that the deciding one scored."""

    def fold(data: RecordData) -> Mapping[str, Scores]:
        columns = [_column(data, configuration, task, name) for name in metrics_of(data, task)[:MAX_SCORES]]
        named = [(title, values) for title, values in columns if values]
        first: Mapping[str, float] = named[0][1] if named else {}
        return {item: tuple((title, of[item]) for title, of in named if item in of) for item in first}

    return measured.once(f"scores by item of {configuration} {task}", fold)


def _column(measured: RecordData, configuration: str, task: str, name: str) -> tuple[str, Mapping[str, float]]:
    scores = item_scores(measured, configuration, task, name)
    values = scores.metric.item_scores(scores.rows).tolist() if scores.items else []
    return scores.metric.title, dict(zip(scores.items, values, strict=True))


# ---- the worst -------------------------------------------------------------------------------------------------------


def worst(measured: RecordData, configuration: str, side: str, most: int) -> list[Answered]:
    """The images of a configuration that lost most, then those with the worst scores; each of the tasks in turn, by name."""
    if not have_images(measured):
        return []
    of_task = [_worst(measured, configuration, side, task, most) for task in tasks(measured) if deciding(measured, task)]
    return [one for some in of_task for one in some][:most]


def _worst(measured: RecordData, configuration: str, side: str, task: str, most: int) -> Iterator[Answered]:
    items, scores, changes = _changes(measured, configuration, task)
    prompts = _prompts(measured, configuration)
    for index in np.lexsort((scores, np.zeros(len(items)) if changes is None else changes))[:most]:
        item = items[index]
        image = image_shown(measured, configuration, task, item)
        if image is not None:
            yield Answered(
                task=task,
                item=item,
                side=side,
                prompt=prompts.get((task, item), ""),
                image=image,
                score=_sign(measured, task) * float(scores[index]) + 0.0,  # no minus zero
                change=None if changes is None else float(changes[index]),
            )


def _changes(measured: RecordData, configuration: str, task: str) -> tuple[tuple[str, ...], Array, Array | None]:
    """Items with their scores, better is larger, and their changes against the base, if that is another side."""
    metric = deciding(measured, task)
    sign = _sign(measured, task)
    ours = item_scores(measured, configuration, task, metric)
    if configuration == measured.base:
        return ours.items, sign * ours.metric.item_scores(ours.rows) if ours.items else np.empty(0), None
    pairs = matched(item_scores(measured, measured.base, task, metric), ours)
    if not pairs.candidate.items:
        return (), np.empty(0), np.empty(0)
    first, second = (sign * one.metric.item_scores(one.rows) for one in (pairs.reference, pairs.candidate))
    return pairs.candidate.items, second, second - first


def _sign(measured: RecordData, task: str) -> float:
    """1, or -1 where a lower deciding score is better."""
    return -1.0 if metric_of(measured, deciding(measured, task)).better == "lower" else 1.0


def _prompts(measured: RecordData, configuration: str) -> Mapping[tuple[str, str], str]:
    def fold(data: RecordData) -> Mapping[tuple[str, str], str]:
        rows = answers_of(data, configuration).select("task", "item", "prompt").unique(["task", "item"], keep="first")
        return {(task, item): prompt or "" for task, item, prompt in rows.iter_rows()}

    return measured.once(f"prompts of {configuration}", fold)


# ---- the best of several ---------------------------------------------------------------------------------------------


def candidates(measured: RecordData, configuration: str, side: str, most: int) -> Iterator[Candidates]:
    """The items whose chosen image scores worst, with all their candidates."""
    for task in tasks(measured) if have_images(measured) else ():
        metric = deciding(measured, task)
        if not metric:
            continue
        sign, title = _sign(measured, task), metric_of(measured, metric).title
        scores = measured.table("scores").filter(pl.col("metric") == metric).select(*KEYS, "score").unique(KEYS, keep="first")
        rows = image_rows(measured, configuration).filter(pl.col("task") == task).join(scores, on=KEYS, how="left")
        of_item = rows.group_by("item").agg((sign * pl.col("score")).max().alias("best"), pl.col("score").mean().alias("mean"))
        shown = of_item.filter(pl.col("best").is_not_null()).sort("best", "item").head(most)
        parts = _by_item(rows.join(shown.select("item"), on="item", how="semi"), sign)
        for item, best, mean in shown.select("item", "best", "mean").iter_rows():
            made = tuple(replace(image_of(measured, row), scores=_own(title, row["score"])) for row in parts[item])
            prompt = parts[item][0]["prompt"] or ""
            yield Candidates(task=task, item=item, side=side, prompt=prompt, images=made, best=sign * best, mean=mean)


def _own(title: str, score: float | None) -> Scores:
    return () if score is None else ((title, score),)


def _by_item(rows: pl.DataFrame, sign: float) -> Mapping[str, list[Mapping[str, Any]]]:
    """The rows of each item, the best first, of equal ones the first answer, and those without a score last."""
    ordered = rows.sort(sign * pl.col("score"), descending=True, nulls_last=True, maintain_order=True)
    parts: dict[str, list[Mapping[str, Any]]] = {}
    for row in ordered.iter_rows(named=True):
        parts.setdefault(row["item"], []).append(row)
    return parts


def every_image(measured: RecordData) -> Iterator[tuple[str, Mapping[str, Any], ItemImage]]:
    """(configuration, row of `image_rows` with `score`, image) of every answer, configuration by configuration."""
    if not have_images(measured):
        return
    deciders = {task: deciding(measured, task) for task in tasks(measured)}
    named = pl.DataFrame({"task": list(deciders), "metric": list(deciders.values())}, schema={"task": pl.String, "metric": pl.String})
    scores = measured.table("scores").join(named, on=["task", "metric"], how="semi").select(*KEYS, "score").unique(KEYS, keep="first")
    for name in measured.configurations:
        for row in image_rows(measured, name).join(scores, on=KEYS, how="left", maintain_order="left").iter_rows(named=True):
            yield name, row, image_of(measured, row)
