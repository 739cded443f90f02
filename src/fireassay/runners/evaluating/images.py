"""How are prompts put to engines of the images API, and where is what they make kept?

Beside the record, in the folder RECORD-images: every image under its digest, and for each engine a file of answers that `assay score` reads, with
a line for each prompt and pass.  The record has the type, size and digest of each image, and its small copy where Pillow is installed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from fireassay.errors import refuse
from fireassay.quality.rows import PROPER, Asked, Scores, all_scored
from fireassay.quality.scoring.image_heads import described
from fireassay.quality.scoring.items import Task
from fireassay.quality.scoring.scoring import NO_SCORE, Score
from fireassay.record.images.thumbnails import Thumbnails
from fireassay.runners.evaluating.pictures import Gallery, Judged, References
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.serving import Serving
from fireassay.traffic.backends.support.media import SIZE

METHOD: Final = "images"
REQUEST: Final = "text_to_image"
LINK: Final = f"{NO_SCORE}a link in place of an image"


def makes_images(tasks: Sequence[Task]) -> bool:
    """True if the answers of these tasks are images."""
    return any(task.method == METHOD for task in tasks)


def as_requests(load: Serving, tasks: Sequence[Task]) -> Serving:
    """The load as one of images, of the size that the tasks ask for."""
    size = next((str(task.options["size"]) for task in tasks if task.options.get("size")), "")
    sized = {SIZE: size} if size else {}
    targets = tuple(target.model_copy(update={"options": {**sized, **target.options}}) for target in load.targets)
    return load.model_copy(update={"task": REQUEST, "targets": targets})


def check(experiment: Experiment, scores: Sequence[Score]) -> None:
    """Check that the images will be on this machine, and that scores read them against their prompts.

    Raises:
        SpecError: clients on other hosts would keep the images there, or a score needs reference images.
    """
    against = next((score.metric.name for score in scores if score.prepared.against == "images"), None)
    if against is not None:
        allowed = f"{against}.against=text: the task has prompts, and no reference images"
        raise refuse("evaluation.options", f"{against}.against=image", allowed, source="the evaluation")
    if experiment.launcher.hosts:
        raise refuse("launcher.hosts", "hosts of clients", "clients on this machine, which keeps the images", source="the evaluation")


def kept_at(record: Path) -> Path:
    """The folder for the images of a record."""
    return record.resolve().with_name(f"{record.resolve().name}-images")


def judged(asked: Sequence[Asked], scores: Sequence[Score], kept: Path, thumbnails: Thumbnails) -> tuple[list[Asked], list[Scores], Judged]:
    """The items with their outcomes, every score in order, and the rows of the table `images`; without Pillow, images are only described."""
    read = [score for score in scores if score.metric.reads == "images"]
    asked = [replace(one, outcome=LINK) if one.outcome == PROPER and not described(one.text) else one for one in asked]
    files = [replace(one, text=_file(one)) for one in asked] if read or find_spec("PIL") is not None else []
    gallery = Gallery(kept, read, References(folder=kept, digests={}), thumbnails).judged(files)
    after = [replace(one, outcome=seen.outcome) for one, seen in zip(asked, gallery.asked, strict=True)] if files else list(asked)
    of_heads = all_scored(after, [score for score in scores if score.metric.reads == "heads"])
    found = {scored.name: (items, scored) for items, scored in (*gallery.scores, *of_heads)}
    return after, [found[score.metric.name] for score in scores], gallery


def _file(one: Asked) -> str | None:
    """The name of an answer's file."""
    heads = described(one.text)
    return heads[0].file if heads else None


def write_answers(folder: Path, engine: str, asked: Sequence[Asked]) -> None:
    """Add a pass to an engine's file of answers. Raises OSError: the disk is full."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{engine}.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(_row(one), ensure_ascii=False)}\n" for one in asked)


def _row(one: Asked) -> dict[str, Any]:
    return {"id": one.item.id, "prompt": one.item.prompt, **one.item.groups, "image": _file(one)}
