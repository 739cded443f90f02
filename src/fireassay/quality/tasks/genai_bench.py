"""Which prompts, skills, images and ratings does a copy of GenAI-Bench hold (Li et al., arXiv:2406.13743)?

    genai_image.json      {"00001": {"id", "prompt", "models": {MODEL: [5, 4, 5]}}}      of BaiqiL/GenAI-Bench-1600, as t2v_metrics reads it
    genai_skills.json     {"counting": [3, 17], ..., "basic": [...], "advanced": [...]}  skill -> numbers of prompts
    MODEL/00001.jpeg      the images, if they are there
    *.parquet, *.jsonl    id, prompt, basic_skills, advanced_skills, MODEL_HumanRating   of BaiqiL/GenAI-Bench; lists, or texts of lists

With engines the prompts are asked, and every skill is a subgroup: a prompt has several.  Without one, what the copy holds is judged, a side for
each model: the mean of the ratings of each image (`human_rating`), or the image by a score that reads images.  Skills have the names of the
files.  A prompt of a table is basic where it has no advanced skill.  Images inside a Parquet file are not read.
Cannot tell: who gave which of an image's three ratings; the files do not say whether the first is one person's in every row, so raters are no
clusters here.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fireassay.quality.scoring.items import Format, Held, Item, Task
from fireassay.quality.tasks.answer_file import Source
from fireassay.quality.tasks.support import files, prompts
from fireassay.quality.tasks.support.files import SourceRow

OPTIONS: Final[Mapping[str, files.Option]] = {"size": ""}
METRICS: Final = ("image_made",)
IMAGES, SKILLS = "genai_image.json", "genai_skills.json"
SKILL: Final = "skill"  # the group
RATING: Final = re.compile(r"(.+)_HumanRating")
SCALE: Final = (1, 5)
SUFFIXES: Final = (".jpeg", ".jpg", ".png", ".webp")
TABLES: Final = (".parquet", ".jsonl")
NUMBER: Final = re.compile(r"0*([0-9]{1,9})")
EMPTY: Final = ("", "none", "null", "nan", "[]")
SIZE: Final = re.compile(r"[1-9][0-9]{0,4}x[1-9][0-9]{0,4}")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A prompt with its skills and, of each model, the ratings of its image."""

    where: str
    id: str
    prompt: str
    skills: tuple[str, ...]
    ratings: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A copy of the data set, or a part of it."""

    path: Path  # the file with the prompts; the images are in its folder
    entries: tuple[Entry, ...]
    digests: Mapping[str, str]  # file -> SHA-256

    @property
    def models(self) -> tuple[str, ...]:
        """The models that were rated, in order."""
        return tuple(dict.fromkeys(model for entry in self.entries for model in entry.ratings))

    @property
    def digest(self) -> str:
        """One for all files."""
        return hashlib.sha256("".join(f"{name} {digest}\n" for name, digest in sorted(self.digests.items())).encode()).hexdigest()

    def answers(self) -> Iterator[SourceRow]:
        """A row for each image, with the mean of its ratings."""
        folder = self.path.parent
        suffixes = {model: _suffix(folder / model, self.entries) for model in self.models}
        number = 0
        for entry in self.entries:
            for model, ratings in entry.ratings.items():
                number += 1
                image = f"{model}/{entry.id}{suffixes[model]}" if suffixes[model] else None
                mean = math.fsum(ratings) / len(ratings) if ratings else None
                said = {"id": entry.id, "prompt": entry.prompt, SKILL: list(entry.skills)}
                values = {**said, "model": model, "image": image, "human_rating": mean}
                yield SourceRow(where=f"{entry.where}, {model}", number=number, values=values)


def _suffix(folder: Path, entries: Sequence[Entry]) -> str:
    """How the files of a model's images end; empty if there are none."""
    return next((suffix for suffix in SUFFIXES if any((folder / f"{entry.id}{suffix}").is_file() for entry in entries)), "")


def copy_at(path: Path) -> Copy:
    """A copy in a folder, or in one of its files.

    Raises:
        SpecError: there is none, or a file is invalid.
    """
    file = _file(path)
    copy = _of_table(file) if file.suffix.lower() in TABLES else _of_json(file)
    prompts.distinct([Item(id=entry.id, prompt="") for entry in copy.entries], file.name)
    if not copy.entries:
        raise files.wrong(file.name, "no prompt", "at least one")
    return copy


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    tables = sorted(one for one in path.iterdir() if one.suffix.lower() in TABLES)
    found = [path / IMAGES] if (path / IMAGES).is_file() else tables
    if len(found) != 1:
        there = ", ".join(one.name for one in found[:3])
        allowed = f"the folder with {IMAGES}, or with one file of {' or '.join(f'*{suffix}' for suffix in TABLES)}"
        raise files.wrong(str(path), f"{len(found)} tables ({there})" if found else "neither", allowed, "Name the file itself.")
    return found[0]


# ---- the two layouts ----


def _of_json(path: Path) -> Copy:
    text = files.read(path)
    whole = files.parsed(text.name, text.text)
    if not isinstance(whole, dict) or not all(isinstance(one, dict) for one in whole.values()):
        raise files.wrong(text.name, files.shown(whole), 'an object of prompts, as {"00001": {"id", "prompt", "models"}}')
    digests = {text.name: text.sha256}
    skills: dict[int, list[str]] = {}
    if (path.parent / SKILLS).is_file():
        tags = files.read(path.parent / SKILLS)
        digests[tags.name] = tags.sha256
        skills = _by_number(tags)
    entries = []
    for key, values in whole.items():
        row = SourceRow(where=f"{text.name}, {files.shown(key)}", number=0, values=values)
        models = values.get("models", {})
        if not isinstance(models, dict):
            raise files.wrong(row.where, f"{files.shown(models)} in 'models'", "an object of lists of ratings")
        number = NUMBER.fullmatch(key)
        entries.append(
            Entry(
                where=row.where,
                id=key,
                prompt=files.text_of(row, "prompt").strip(),
                skills=tuple(skills.get(int(number[1]), ())) if number else (),
                ratings={str(model): _ratings(row, f"models.{model}", given) for model, given in models.items()},
            )
        )
    known = {int(number[1]) for entry in entries if (number := NUMBER.fullmatch(entry.id)) is not None}
    if others := sorted(set(skills) - known):
        fix = f"Do {IMAGES} and {SKILLS} belong together? There are copies with 527 and with 1,600 prompts."
        raise files.wrong(SKILLS, f"{len(others):,} prompts that {path.name} lacks ({others[0]}, ...)", "skills of its prompts", fix)
    return Copy(path=path, entries=tuple(entries), digests=digests)


def _by_number(tags: files.Text) -> dict[int, list[str]]:
    whole = files.parsed(tags.name, tags.text)
    if not isinstance(whole, dict) or not all(isinstance(one, list) for one in whole.values()):
        raise files.wrong(tags.name, files.shown(whole), 'an object of lists, as {"counting": [3, 17]}')
    found: dict[int, list[str]] = {}
    for skill, numbers in whole.items():
        for one in numbers:
            number = NUMBER.fullmatch(str(one))
            if number is None or isinstance(one, bool):
                raise files.wrong(f"{tags.name}, {files.shown(skill)}", files.shown(one), "numbers of prompts")
            found.setdefault(int(number[1]), []).append(str(skill))
    return found


def _of_table(path: Path) -> Copy:
    rows, digest = _parquet(path) if path.suffix.lower() == ".parquet" else _lines(path)
    return Copy(path=path, entries=tuple(map(_entry, rows)), digests={path.name: digest})


def _lines(path: Path) -> tuple[Iterable[SourceRow], str]:
    text = files.read(path)
    return files.json_lines(text), text.sha256


def _parquet(path: Path) -> tuple[Iterable[SourceRow], str]:
    """The rows without images, and the digest of what they say: with its images the file has 5 GB."""
    import polars as pl

    try:
        scanned = pl.scan_parquet(path)
        schema = scanned.collect_schema()
        names = [name for name, kind in schema.items() if kind != pl.Binary and not _is_image(kind)]
        values = scanned.select(names).collect().to_dicts()
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise files.wrong(path.name, f"no Parquet ({str(error).splitlines()[0][:100]})", "a Parquet file") from None
    digest = hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()
    return [SourceRow(where=f"{path.name}, row {number}", number=number, values=one) for number, one in enumerate(values, 1)], digest


def _is_image(kind: Any) -> bool:
    return "bytes" in {one.name for one in getattr(kind, "fields", ())}


def _entry(row: SourceRow) -> Entry:
    """A prompt of a table, in its present form or the one before (Index, Prompt, Tags, HumanRatings)."""
    values = row.values
    tags = values.get("Tags") or {"basic": values.get("basic_skills"), "advanced": values.get("advanced_skills")}
    basic, advanced = (_texts(row, f"{level} skills", tags.get(level)) for level in ("basic", "advanced"))
    nested = values.get("HumanRatings") or {}
    columns = {match[1]: value for name, value in values.items() if (match := RATING.fullmatch(name)) is not None}
    key = "id" if "id" in values else "Index"
    return Entry(
        where=row.where,
        id=files.text_of(row, key),
        prompt=files.text_of(row, "prompt" if "prompt" in values else "Prompt").strip(),
        skills=(*basic, *advanced, *(["advanced"] if advanced else ["basic"] if basic else [])),
        ratings={model: _ratings(row, model, given) for model, given in {**nested, **columns}.items() if given is not None},
    )


# ---- cells ----


def _listed(value: Any) -> list[Any] | None:
    """A list, or a text that is one, as JSON or Python writes it: "[5, 4]", "['scene']"; None: it is neither."""
    if not isinstance(value, str):
        return list(value) if isinstance(value, list | tuple) else [] if value is None else None
    text = value.strip()
    if text.lower() in EMPTY:
        return []
    if not text.startswith("["):
        return [part.strip() for part in text.split(",")]
    try:
        found = json.loads(text if '"' in text else text.replace("'", '"'))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def _texts(row: SourceRow, name: str, value: Any) -> tuple[str, ...]:
    found = _listed(value)
    if found is None or not all(isinstance(one, str) and one.strip() for one in found):
        raise files.wrong(row.where, f"{files.shown(value)} as {name}", "a list of texts")
    return tuple(dict.fromkeys(one.strip().lower() for one in found))


def _ratings(row: SourceRow, name: str, value: Any) -> tuple[float, ...]:
    """The ratings of an image; one that is missing is left out."""
    found = _listed(value)
    if found is None:
        raise files.wrong(row.where, f"{files.shown(value)} in {name!r}", "a list of ratings")
    return tuple(_rating(row, name, one) for one in found if one is not None)


def _rating(row: SourceRow, name: str, value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not SCALE[0] <= number <= SCALE[1]:
        raise files.wrong(row.where, f"{files.shown(value)} in {name!r}", f"ratings from {SCALE[0]} to {SCALE[1]}, or null")
    return number


# ---- the task ----


def read(path: Path, given: Mapping[str, files.Option]) -> tuple[Task, ...]:
    """The prompts, to be asked; option `size`: width and height of the images, as 512x512."""
    chosen = files.checked("genai_bench", given, OPTIONS, {})
    if chosen["size"] and not SIZE.fullmatch(str(chosen["size"])):
        raise files.wrong("evaluation.task_options.size", files.shown(chosen["size"]), "WIDTHxHEIGHT, as 1024x1024")
    copy = copy_at(path)
    size = {"image_made.size": chosen["size"]} if chosen["size"] else {}
    task = Task(
        name="genai_bench",
        items=tuple(map(_item, copy.entries)),
        metrics=METRICS,
        method="images",
        max_tokens=0,
        template="{prompt}",
        files=copy.digests,
        options={**chosen, **size},
    )
    return (task,)


def _item(entry: Entry) -> Item:
    """A prompt; the image is held against the prompt itself."""
    groups = {SKILL: tuple(sorted(entry.skills))} if entry.skills else {}
    return Item(id=entry.id, prompt=entry.prompt, references=(entry.prompt,), groups=groups)


def source(path: Path) -> Source:
    """The images of all models with their ratings. Raises SpecError: there are none."""
    copy = copy_at(path)
    if not copy.models:
        raise files.wrong(
            copy.path.name, "no ratings of any model", "MODEL_HumanRating, or 'models' of each prompt", "Name an engine with --target."
        )
    return Source(path=copy.path, sha256=copy.digest, rows=list(copy.answers()))


FORMAT = Format(
    name="genai_bench",
    title="GenAI-Bench",
    layout=f"a folder with {IMAGES}, {SKILLS} and MODEL/ID.jpeg, or a table with id, prompt, skills and MODEL_HumanRating",
    read=read,
    options=OPTIONS,
    held=Held(
        source=source,
        fields={"id": "id", "side": "model", "groups": (SKILL,)},
        scores={"human_rating": f"{SCALE[0]},{SCALE[1]}"},
        image="image",
    ),
    request="text_to_image",
)
