"""Which answers does a file hold?  JSONL or CSV, one answer per line, with its reference.

A list of one answer is that answer, as other programs write it.  References that all end in GSM8K's "#### 42" are what stands behind it: nobody
repeats a whole solution word for word.  Lines with one id are repetitions: several answers to one item.  A line without the answer's field, with
null in it, or with an error in another field, holds no answer: that item is missing, and never wrong.  An invalid line stops reading and is named:
a score of half a file would be another score.  Where a field names images, an answer is the image's name, and its references are what it is to show:
the prompt where there is no field of references.

Numbers that another program computed (`support.numbers`) need neither an answer nor a reference; texts that are there are kept.  Sides of one file
are the lines with one value of a field each.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from fireassay.errors import Problem, SpecError
from fireassay.printable import some
from fireassay.quality.scoring.extractors.support.numerals import normalised
from fireassay.quality.scoring.items import Item
from fireassay.quality.tasks.support import files
from fireassay.quality.tasks.support.field_names import likely
from fireassay.quality.tasks.support.grouping import grouping
from fireassay.quality.tasks.support.numbers import Numbers, Terms, numeric, unnested
from fireassay.quality.tasks.support.own_task import weight_of
from fireassay.quality.tasks.support.pooled import Levels
from fireassay.quality.tasks.support.unused import Fields as UnusedFields
from fireassay.quality.tasks.support.unused import Unused
from fireassay.spec.flags.evaluate import side_field, sides_of
from fireassay.spec.sections.evaluation import Fields, answer_file

SOURCE: Final = "the answers"
TABLES: Final = {".csv": ",", ".tsv": "\t"}

FAILURES: Final = ("error", "error_message", "exception")  # fields of a line whose request failed
NO_FAILURE: Final = ("", "none", "null", "nan", "false", "no", "0")
ENDS: Final = ("finish_reason", "stop_reason")
CUT: Final = ("length", "max_tokens", "model_length", "MAX_TOKENS")

SOLUTION: Final = re.compile(r"(?:\A|\n)[ \t]*####(?!#)[ \t]*(\S[^\n]*?)\s*\Z")  # with its final answer in the last line

MAX_SIDES: Final = 100
CHOOSE: Final = "Choose a field with --id that tells items apart."
NO_NUMBERS: Final = Numbers()

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The lines of a file in order: what was asked, the answer (None: missing), and which of the item's answers it is."""

    items: tuple[Item, ...]
    texts: tuple[str | None, ...]
    repetitions: tuple[int, ...]
    sha256: str
    ends: tuple[str | None, ...] = ()  # why each answer ended, as its line says
    grouping: tuple[str, int] | None = None  # a field that groups items though no cluster was named, and its number of groups
    pooled: tuple[str, tuple[str, ...]] | None = None  # a field that tells apart the answers to an item, and its values
    unused: tuple[Unused, ...] = ()  # fields that look like a grade or another answer
    numbers: Mapping[str, tuple[Terms | None, ...]] = field(default_factory=dict)  # of each line: scores, amounts; None: it has none

    def only(self, items: Container[str]) -> Answers:
        """Those to some of the items."""
        at = [index for index, item in enumerate(self.items) if item.id in items]
        return replace(
            self,
            items=_at(self.items, at),
            texts=_at(self.texts, at),
            repetitions=_at(self.repetitions, at),
            ends=_at(self.ends, at),
            unused=tuple(replace(one, grades=_at(one.grades, at)) for one in self.unused),
            numbers={name: _at(values, at) for name, values in self.numbers.items()},
        )


def _at(values: tuple[T, ...], at: Sequence[int]) -> tuple[T, ...]:
    """Those at these positions; none of a column that is empty."""
    return tuple(values[index] for index in at) if values else ()


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file that was opened: its rows are read from here, once for each side."""

    path: Path
    sha256: str
    rows: Iterable[files.SourceRow]


def opened(path: Path) -> Source:
    """A file of answers. Raises SpecError: it cannot be read; later, while its rows are read, an invalid line."""
    file = files.read(path)
    delimiter = TABLES.get(path.suffix.lower())
    return Source(path=path, sha256=file.sha256, rows=files.table(file, delimiter) if delimiter else files.json_lines(file))


@files.called(SOURCE)
def sides(path: Path, name: str) -> tuple[str, ...]:
    """The values of a field of a file, in the order of its lines. Raises SpecError: there is one, or too many to be sides."""
    found = dict.fromkeys(files.text_of(row, name) for row in unnested(opened(path).rows, (name,)))
    if not 2 <= len(found) <= MAX_SIDES:
        raise files.wrong(
            path.name, f"{len(found):,} values of {name!r}", f"2 to {MAX_SIDES} sides", "Name the field that tells the sides apart."
        )
    return tuple(found)


def named_sides(namespace: argparse.Namespace) -> list[dict[str, str]]:
    """The sides that the flags of `assay score` name by a field of one file; none without --side. Raises SpecError: as `sides`."""
    name = side_field(namespace)
    path = Path(answer_file(namespace.files[0], 0)["path"]).expanduser() if name else Path()
    return sides_of(namespace, sides(path, name)) if name else []


def read(path: Path, fields: Fields, numbers: Numbers = NO_NUMBERS, side: str = "", source: Source | None = None) -> Answers:
    """The answers in a file, of one side only if it holds several; `source`: the file, if it was opened already.

    Raises:
        SpecError: it cannot be read, a line is invalid, or lines with one id differ in more than the answer.
    """
    source = source or opened(path)
    known: dict[str, None] = {}  # every field, in order
    kinds: dict[str, type] = {}
    pairs, ends, firsts = [], list[str | None](), dict[str, Mapping[str, Any]]()
    terms: dict[str, list[Terms | None]] = {}
    used = (fields.image or fields.answer, fields.reference, fields.prompt, fields.id, fields.weight, fields.side, *numbers.fields)
    unused = UnusedFields((*used, fields.cluster, *fields.groups, *FAILURES, *ENDS))
    levels = Levels((*used, fields.cluster, *fields.groups, *FAILURES, *ENDS))
    for row in unnested(source.rows, (*used, fields.cluster, *fields.groups)):
        fields = of_images(fields, row.values) if fields.image and not known else fields
        if not known and fields.reference not in row.values and _needed(numbers, fields, "reference"):
            what = "texts that the images are to show (--reference)" if fields.image else "references (--reference)"
            raise _no_field(row.where, fields.reference, what, fields, row.values)
        known.update(dict.fromkeys(row.values))
        if side and files.text_of(row, fields.side) != side:
            continue
        unused.add(row.values)
        levels.add(row.values)
        pairs.append(_pair(row, fields, optional=numbers.alone))
        for name, value in numbers.of(row, failed=_failed(row.values, fields, numbers)).items():
            terms.setdefault(name, []).append(value)
        ends.append(_end(row.values))
        _one_kind(row, fields.id, kinds)
        firsts.setdefault(pairs[-1][0].id, row.values)
    if not pairs:
        raise files.wrong(path.name, "no line with an answer", "at least one line")
    if fields.answer not in known and _needed(numbers, fields, "answer"):
        raise _no_field(path.name, fields.answer, "images (--image)" if fields.image else "answers (--answer)", fields, known)
    for name, flag in numbers.fields.items():
        if name not in known:
            raise _no_number(path.name, name, flag, known, next(iter(firsts.values())))
    items = tuple(item for item, _ in pairs) if fields.image else _final([item for item, _ in pairs])
    texts = tuple(text for _, text in pairs)
    repetitions = tuple(_repetitions(path.name, items, fields))
    return Answers(
        items=items,
        texts=texts,
        repetitions=repetitions,
        sha256=source.sha256,
        ends=tuple(ends),
        grouping=None if fields.cluster else grouping(firsts.values(), used),
        pooled=levels.found([item.id for item in items]) if fields.id else None,
        unused=() if numbers.alone else unused.found(),
        numbers={name: tuple(values) for name, values in terms.items()},
    )


def _needed(numbers: Numbers, fields: Fields, name: str) -> bool:
    """True if a field must be there: beside scores of another program only one that was named."""
    judged = numbers.judged and name == "answer"
    return judged or not numbers.alone or getattr(fields, name) != Fields.model_fields[name].default


def _no_number(where: str, name: str, flag: str, known: Collection[str], first: Mapping[str, Any]) -> SpecError:
    numbered = list(numeric(first))
    named = (
        f"the fields with numbers are {some(map(files.shown, numbered), files.MAX_NAMED)}"
        if numbered
        else "no field of its first line has a number"
    )
    fix = files.did_you_mean(name, [*known, *numbered])
    return files.wrong(where, f"no field {name!r} ({flag})", f"a field of some line; {named}", fix)


def of_images(fields: Fields, there: Container[str]) -> Fields:
    """The fields with the image as the answer; what it is to show is the prompt, if there is no field of references and none was named."""
    named = fields.reference in there or fields.reference != Fields().reference or fields.prompt not in there
    return fields.model_copy(update={"answer": fields.image, "reference": fields.reference if named else fields.prompt})


def _no_field(where: str, name: str, what: str, fields: Fields, there: Collection[str]) -> SpecError:
    named = some(map(files.shown, there), files.MAX_NAMED) or "no fields"
    fix = ("" if fields.image else likely(fields, there)) or files.did_you_mean(name, sorted(there))
    return files.wrong(where, f"no field {name!r}", f"the field with the {what}; the row has {named}", fix)


def _final(items: Sequence[Item]) -> tuple[Item, ...]:
    """The items with the final answers of their references, if all of these are solutions that end in one: most are numbers."""
    ends = [[SOLUTION.search(one) for one in item.references] for item in items]
    if not all(end is not None for found in ends for end in found):
        return tuple(items)
    finals = [tuple(normalised(end[1]) or end[1] for end in found if end is not None) for found in ends]
    if 2 * sum(normalised(one) is not None for found in finals for one in found) < sum(map(len, finals)):
        return tuple(items)  # "#### Results" is a heading
    return tuple(replace(item, references=found) for item, found in zip(items, finals, strict=True))


def _pair(row: files.SourceRow, fields: Fields, *, optional: bool) -> tuple[Item, str | None]:
    """The item of a row and its text; `optional`: no reference is needed, and an answer that is no text is none."""
    given = row.values.get(fields.reference) if optional else files.value(row, fields.reference)
    wanted = [] if given is None else _listed(given, row.values.get(fields.answer))
    references = tuple(_text(row, fields.reference, value) for value in (wanted if isinstance(wanted, list) else [wanted]))
    if not references and not optional:
        raise files.wrong(row.where, f"an empty list in {fields.reference!r}", "at least one reference")
    answer, prompt = _only(row.values.get(fields.answer)), row.values.get(fields.prompt)
    item = Item(
        id=files.text_of(row, fields.id) if fields.id else str(row.number),
        prompt=prompt if isinstance(prompt, str) else "",
        references=references,
        cluster=files.text_of(row, fields.cluster) if fields.cluster else None,
        groups={name: _labels(row, name) for name in fields.groups},
        weight=_weight(row, fields.weight) if fields.weight else 1.0,
    )
    if fields.image:
        return item, _image(row, fields, answer)
    if optional and not isinstance(answer, str):
        return item, None
    return item, None if answer is None or _failed(row.values, fields) else _text(row, fields.answer, answer)


def _labels(row: files.SourceRow, name: str) -> str | tuple[str, ...]:
    """A label, or those of a list: the item is in several subgroups, or in none."""
    found = _listed(files.value(row, name), None)
    if not isinstance(found, list):
        return files.text_of(row, name)
    return tuple(sorted({files.text_of(replace(row, values={name: one}), name) for one in found}))


def _image(row: files.SourceRow, fields: Fields, answer: object) -> str | None:
    """An image's name; None if the line has none."""
    if answer is None or answer == "" or _failed(row.values, fields):
        return None
    name = _text(row, fields.answer, answer)
    if "://" in name[:100] and not name.startswith("data:"):
        allowed = "a path relative to the file's folder: nothing is fetched"
        raise files.wrong(row.where, f"the address {files.shown(name)} in {fields.image!r}", allowed, "Download the images first.")
    return name


def _only(value: object) -> object:
    """The one answer of a list of one, and of one within it."""
    while isinstance(value, list) and len(value) == 1:
        (value,) = value
    return value


def _listed(wanted: object, answer: object) -> object:
    """A cell of a table that is a JSON list of texts, as that list; beside an answer that is a list, it is what was asked for."""
    if not isinstance(wanted, str) or not wanted.lstrip().startswith("[") or (isinstance(answer, str) and answer.lstrip().startswith("[")):
        return wanted
    try:
        found = json.loads(wanted)
    except (ValueError, RecursionError):
        return wanted
    return found if found and all(isinstance(one, str) for one in found) else wanted


def _failed(values: Mapping[str, Any], fields: Fields, numbers: Numbers = NO_NUMBERS) -> bool:
    """True if the line says that its request failed: what stands there as an answer is none."""
    meant = (fields.answer, fields.reference, fields.prompt, *fields.groups, *numbers.fields)
    told = [values[name] for name in FAILURES if name not in meant and name in values]
    return any(one and str(one).strip().lower() not in NO_FAILURE for one in told)


def _end(values: Mapping[str, Any]) -> str | None:
    told = next((value for name in ENDS if isinstance(value := values.get(name), str) and value), None)
    return "length" if told in CUT else told


def _one_kind(row: files.SourceRow, name: str, kinds: dict[str, type]) -> None:
    """Refuse the ids 1 and "1": they would be two answers to one item."""
    if name and kinds.setdefault(str(row.values[name]), type(row.values[name])) is not type(row.values[name]):
        found = f"the {name} {files.shown(row.values[name])}, as a text and as a number"
        raise files.wrong(row.where, found, "ids of one kind", "Write the ids of all lines as texts.")


def _weight(row: files.SourceRow, name: str) -> float:
    files.value(row, name)  # a weight that is given stands in every row
    return weight_of(row, name)


def _text(row: files.SourceRow, name: str, value: object) -> str:
    """A text, which may be empty, or a number as it is written."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise files.wrong(row.where, f"{files.shown(value)} in {name!r}", "a text or a number")
    if not math.isfinite(value):
        raise files.wrong(row.where, f"{value} in {name!r}", "a text or a number", "Write null where there is no answer.")
    return json.dumps(value)


def _repetitions(name: str, items: tuple[Item, ...], fields: Fields) -> Iterator[int]:
    seen: dict[str, tuple[Item, int]] = {}
    for item in items:
        first, count = seen.get(item.id, (item, 0))
        if item != first:
            found = f"lines with the {fields.id} {files.shown(item.id)} that differ in more than the answer"
            allowed = "one item for each id, with several answers at most"
            if replace(item, cluster=first.cluster) == first:
                raise ClustersAreSides((Problem(name, f"{found}: in {fields.cluster}", allowed, CHOOSE),), files.SOURCE)
            raise files.wrong(name, found, allowed, CHOOSE)
        seen[item.id] = (first, count + 1)
        yield count


class ClustersAreSides(SpecError):
    """Lines with one id differ in their cluster alone: its values are sides of one file, as models are that were asked the same."""
