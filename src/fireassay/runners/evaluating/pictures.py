"""How are answers scored that are images?  A few at a time: each is read and decoded once, for every score and for its small copy in the record.

An image that cannot be decoded leaves its item without a score, which is its outcome.  The answer of an item is the digest of its image's file:
equal images are equal answers, whatever their names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from fireassay.errors import WorkloadError, refuse
from fireassay.instruments import encoder
from fireassay.instruments.images import models
from fireassay.instruments.images.decoding import NotAnImage, decode, pillow, thumbnail
from fireassay.instruments.images.folder import ImageFolder, shown
from fireassay.quality.rows import AT_ONCE, PROPER, Asked, Scores, batch_of
from fireassay.quality.scoring import scoring
from fireassay.quality.scoring.items import Extraction, Item
from fireassay.quality.scoring.pictures import Picture
from fireassay.quality.scoring.scoring import NO_SCORE, Score, Scored
from fireassay.quality.scoring.text_metric import Array, Options
from fireassay.record.batch_writer import BatchWriter
from fireassay.record.images.thumbnails import Thumbnails
from fireassay.runners.evaluating.likelihood import digest

IMAGES: Final = 32  # decoded at once
PIXELS: Final = 100_000_000  # of these, 300 MB; a single image may have more
RULE: Final = "image"  # how the answer was found


def prepared(names: Sequence[str], options: Options) -> tuple[Score, ...]:
    """The scores by name, each with its model. Raises as `scoring.prepared`; WorkloadError: a model cannot be loaded."""
    return scoring.prepared(names, options, encoder.load, models.load)


def check_there(names: Sequence[str | None], folder: Path, file: str) -> None:
    """Check that images can be read, and that at least one is there. Raises EnvironmentLacks: without Pillow. SpecError: the folder is another."""
    pillow()
    images, given = ImageFolder(folder), [name for name in names if name is not None]
    if given and not any(map(images.has, given)):
        found = f"{len(given):,} images of which none is there, the first {shown(given[0])!r}"
        fix = "Put the file of answers into the folder from which its paths lead."
        raise refuse("evaluation.fields.image", found, f"paths of images below {folder.resolve()}", fix, source=file)


@dataclass(frozen=True, kw_only=True)
class References:
    """The reference images: their folder, and the SHA-256 of each by its name when the record began; empty for one that cannot be read."""

    folder: Path
    digests: Mapping[str, str]

    @property
    def identity(self) -> dict[str, str]:
        """What identifies them; nothing without any."""
        texts = [text for pair in sorted(self.digests.items()) for text in pair]
        return {"reference_images": digest(texts)} if texts else {}


def references(items: Sequence[Item], scores: Sequence[Score], folder: Path) -> References:
    """Those of the items; none where no score reads any."""
    if not any(score.prepared.against == "images" for score in scores):
        return References(folder=folder, digests={})
    images = ImageFolder(folder)
    names = sorted({name for item in items for name in item.references})
    return References(folder=folder, digests={name: _digest(images, name) for name in names})


def _digest(images: ImageFolder, name: str) -> str:
    try:
        return hashlib.sha256(images.read(name)).hexdigest()
    except NotAnImage:
        return ""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Every item with its outcome and its scores, and the rows of the table `images` without launch and task."""

    asked: list[Asked]
    scores: list[Scores]
    rows: list[dict[str, Any]]

    def write(self, writer: BatchWriter, launch: int, task: str) -> None:
        """Write the rows of the images."""
        for begin in range(0, len(self.rows), AT_ONCE):
            part = self.rows[begin : begin + AT_ONCE]
            columns = {name: [row[name] for row in part] for name in part[0]}
            writer.append_batch("images", batch_of("images", {**columns, "launch": [launch] * len(part), "task": [task] * len(part)}))


@dataclass(frozen=True, kw_only=True)
class Opened:
    """An item with its decoded image, if it has one, and its reference images, if a score reads them."""

    one: Asked
    picture: Picture | None
    wanted: tuple[Picture, ...] = ()


class Gallery:
    """Scores the images that the texts of answers name, as paths in a folder."""

    def __init__(self, folder: Path, scores: Sequence[Score], wanted: References, thumbnails: Thumbnails) -> None:
        self._images, self._scores, self._thumbnails = ImageFolder(folder), scores, thumbnails
        self._digests, self._references = wanted.digests, ImageFolder(wanted.folder)
        self._rows: list[dict[str, Any]] = []

    def judged(self, asked: Sequence[Asked]) -> Judged:
        """All of them. Raises WorkloadError: a reference image has changed, or a model failed."""
        after, proper = list[Asked](), list[Asked]()
        rows: list[list[Array]] = [[np.empty((0, len(score.metric.statistics)))] for score in self._scores]
        for part in self._parts(asked):
            after += [opened.one for opened in part]
            there = [opened for opened in part if opened.picture is not None]
            proper += [opened.one for opened in there]
            for score, made in zip(self._scores, rows, strict=True):
                made.append(_rows(score, there))
        scored = [_scored(score, np.concatenate(made)) for score, made in zip(self._scores, rows, strict=True)]
        return Judged(asked=after, scores=[(proper, one) for one in scored], rows=self._rows)

    def _parts(self, asked: Sequence[Asked]) -> Iterator[list[Opened]]:
        """Some opened items at a time, as many as memory allows."""
        part, pixels = list[Opened](), 0
        for one in asked:
            opened = self._open(one)
            part.append(opened)
            pixels += sum(each.width * each.height for each in (opened.picture, *opened.wanted) if each is not None)
            if len(part) >= IMAGES or pixels >= PIXELS:
                yield part
                part, pixels = [], 0
        if part:
            yield part

    def _open(self, one: Asked) -> Opened:
        if one.text is None or (self._scores and one.outcome != PROPER):
            return Opened(one=one, picture=None)
        name, content = shown(one.text), None
        try:
            content = self._images.read(one.text)
            picture = decode(content)
            wanted = self._wanted(one.item)
        except NotAnImage as problem:
            if content is not None:
                self._note(one, name, content)
            outcome = f"{NO_SCORE}{problem}" if self._scores else one.outcome  # a score that the file has is one without an image too
            return Opened(one=replace(one, text=name, outcome=outcome), picture=None)
        self._note(one, name, content, picture)
        if one.outcome != PROPER:  # its score is missing, not its image
            return Opened(one=replace(one, text=name), picture=None)
        found = Extraction(answer=f"sha256:{picture.sha256}", rule=RULE, begin=0, end=len(name))
        return Opened(one=replace(one, text=name, extraction=found), picture=picture, wanted=wanted)

    def _wanted(self, item: Item) -> tuple[Picture, ...]:
        """The reference images, if a score reads them. Raises NotAnImage: one is none."""
        if not self._digests:
            return ()
        found = []
        for name in item.references:
            try:
                found.append(decode(self._references.read(name)))
            except NotAnImage as problem:
                raise NotAnImage(f"reference image {shown(name)!r}: {problem}") from None
            if found[-1].sha256 != self._digests.get(name):
                raise WorkloadError(f"the reference image {shown(name)!r} has changed while it was in use. Score again.")
        return tuple(found)

    def _note(self, one: Asked, name: str, content: bytes, picture: Picture | None = None) -> None:
        digest = hashlib.sha256(content).hexdigest() if picture is None else picture.sha256
        self._rows.append(
            {
                "item": one.item.id,
                "repetition": one.repetition,
                "name": name,
                "sha256": digest,
                "format": picture.format if picture is not None else None,
                "bytes": len(content),
                "width": picture.width if picture is not None else None,
                "height": picture.height if picture is not None else None,
                "thumbnail": self._thumbnails.add(digest, thumbnail(picture)) if picture is not None else None,
            }
        )


def _rows(score: Score, there: Sequence[Opened]) -> Array:
    of_images = score.prepared.against == "images"
    references = [opened.wanted if of_images else opened.one.item.references for opened in there]
    return scoring.of_images(score, [opened.picture for opened in there if opened.picture is not None], references)


def _scored(score: Score, rows: Array) -> Scored:
    return Scored(name=score.metric.name, rows=rows, scores=score.metric.item_scores(rows))
