"""Which answers does a file hold?  JSONL or CSV, one answer per line, with its reference.

A list of one answer is that answer, as other programs write it.  References that all end in GSM8K's "#### 42" are what stands behind it: nobody
repeats a whole solution word for word.  Lines with one id are repetitions: several answers to one item.  A line without the answer's field, with
null in it, or with an error in another field, holds no answer: that item is missing, and never wrong.  An invalid line stops reading and is named:
a score of half a file would be another score.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from fireassay.errors import SpecError
from fireassay.printable import some
from fireassay.quality.scoring.extractors.support.numerals import normalised
from fireassay.quality.scoring.items import Item
from fireassay.quality.tasks.support import files
from fireassay.quality.tasks.support.field_names import likely
from fireassay.quality.tasks.support.grouping import grouping
from fireassay.quality.tasks.support.own_task import weight_of
from fireassay.quality.tasks.support.unused import Fields as UnusedFields
from fireassay.quality.tasks.support.unused import Unused
from fireassay.spec.sections.evaluation import Fields

TABLES: Final = {".csv": ",", ".tsv": "\t"}

FAILURES: Final = ("error", "error_message", "exception")  # fields of a line whose request failed
NO_FAILURE: Final = ("", "none", "null", "nan", "false", "no", "0")
ENDS: Final = ("finish_reason", "stop_reason")
CUT: Final = ("length", "max_tokens", "model_length", "MAX_TOKENS")

SOLUTION: Final = re.compile(r"(?:\A|\n)[ \t]*####(?!#)[ \t]*(\S[^\n]*?)\s*\Z")  # with its final answer in the last line

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
    unused: tuple[Unused, ...] = ()  # fields that look like a grade or another answer

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
        )


def _at(values: tuple[T, ...], at: Sequence[int]) -> tuple[T, ...]:
    """Those at these positions; none of a column that is empty."""
    return tuple(values[index] for index in at) if values else ()


def read(path: Path, fields: Fields) -> Answers:
    """The answers in a file.

    Raises:
        SpecError: it cannot be read, a line is invalid, or lines with one id differ in more than the answer.
    """
    file = files.read(path)
    delimiter = TABLES.get(path.suffix.lower())
    rows = files.table(file, delimiter) if delimiter else files.json_lines(file)
    known: dict[str, None] = {}  # every field, in order
    kinds: dict[str, type] = {}
    pairs, ends, firsts = [], list[str | None](), dict[str, Mapping[str, Any]]()
    used = (fields.answer, fields.reference, fields.prompt, fields.id, fields.weight)
    unused = UnusedFields((*used, fields.cluster, *fields.groups, *FAILURES, *ENDS))
    for row in rows:
        unused.add(row.values)
        if not known and fields.reference not in row.values:
            raise _no_field(row.where, fields.reference, "references (--reference)", fields, row.values)
        known.update(dict.fromkeys(row.values))
        pairs.append(_pair(row, fields))
        ends.append(_end(row.values))
        _one_kind(row, fields.id, kinds)
        firsts.setdefault(pairs[-1][0].id, row.values)
    if not pairs:
        raise files.wrong(path.name, "no line with an answer", "at least one line")
    if fields.answer not in known:
        raise _no_field(path.name, fields.answer, "answers (--answer)", fields, known)
    items, texts = _final([item for item, _ in pairs]), tuple(text for _, text in pairs)
    repetitions = tuple(_repetitions(path.name, items, fields))
    found = None if fields.cluster else grouping(firsts.values(), used)
    return Answers(
        items=items, texts=texts, repetitions=repetitions, sha256=file.sha256, ends=tuple(ends), grouping=found, unused=unused.found()
    )


def _no_field(where: str, name: str, what: str, fields: Fields, there: Collection[str]) -> SpecError:
    named = some(map(files.shown, there), files.MAX_NAMED) or "no fields"
    fix = likely(fields, there) or files.did_you_mean(name, sorted(there))
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


def _pair(row: files.SourceRow, fields: Fields) -> tuple[Item, str | None]:
    wanted = _listed(files.value(row, fields.reference), row.values.get(fields.answer))
    references = tuple(_text(row, fields.reference, value) for value in (wanted if isinstance(wanted, list) else [wanted]))
    if not references:
        raise files.wrong(row.where, f"an empty list in {fields.reference!r}", "at least one reference")
    answer, prompt = _only(row.values.get(fields.answer)), row.values.get(fields.prompt)
    item = Item(
        id=files.text_of(row, fields.id) if fields.id else str(row.number),
        prompt=prompt if isinstance(prompt, str) else "",
        references=references,
        cluster=files.text_of(row, fields.cluster) if fields.cluster else None,
        groups={name: files.text_of(row, name) for name in fields.groups},
        weight=_weight(row, fields.weight) if fields.weight else 1.0,
    )
    return item, None if answer is None or _failed(row.values, fields) else _text(row, fields.answer, answer)


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


def _failed(values: Mapping[str, Any], fields: Fields) -> bool:
    """True if the line says that its request failed: what stands there as an answer is none."""
    told = [
        values[name] for name in FAILURES if name not in (fields.answer, fields.reference, fields.prompt, *fields.groups) and name in values
    ]
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
            raise files.wrong(name, found, allowed, "Choose a field with --id that tells items apart.")
        seen[item.id] = (first, count + 1)
        yield count
