"""Which numbers of another program does a row hold: scores, and the seconds and dollars of a candidate?

No number is no score: null, an absent field, NaN, "n/a", or a line with an error.  Infinity and a number outside of the declared scale are refused:
a score of the other lines would be another score.  "metrics.clip" is the field clip within the field metrics, unless a field has that name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from fireassay.quality.tasks.support import files
from fireassay.quality.tasks.support.files import SourceRow
from fireassay.spec.sections.evaluation import Evaluation
from fireassay.spec.sections.given_scores import AMOUNT, BestOf, GivenScores

NOTHING: Final = ("", "n/a", "na", "nan", "none", "null", "nil", "-", "--", "?")
LARGEST: Final = 1e100
AMOUNTS: Final = {"seconds": "--seconds-field", "usd": "--cost-field"}

Terms = tuple[float, ...]  # a score alone; of an amount the candidate's and its scorer's


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """Which fields are numbers; `alone`: no score of ours is computed, so no answer and no reference is needed."""

    given: GivenScores | None = None
    best_of: BestOf | None = None
    alone: bool = False
    judged: bool = False  # a model judges the answers, which then are needed

    @property
    def fields(self) -> dict[str, str]:
        """Each field with the flag that names it, scores first."""
        scores = dict.fromkeys(self.given.fields if self.given is not None else (), "--score-field")
        amounts = self.best_of.amounts if self.best_of is not None else {}
        return {**{name: AMOUNTS[what] for what, names in amounts.items() for name in names}, **scores}

    def of(self, row: SourceRow, *, failed: bool) -> dict[str, Terms | None]:
        """The terms of every score and amount; None: there is none. Raises SpecError: no number, or one that is not possible."""
        scores = {} if self.given is None else {name: _score(row, name, self.given, failed=failed) for name in self.given.fields}
        amounts = {} if self.best_of is None else {f"{AMOUNT}{what}": _amount(row, names) for what, names in self.best_of.amounts.items()}
        return {**scores, **amounts}


def numbers_of(evaluation: Evaluation) -> Numbers:
    """Those of an experiment."""
    others = evaluation.given is not None or evaluation.judge is not None
    return Numbers(
        given=evaluation.given, best_of=evaluation.best_of, alone=others and not evaluation.metrics, judged=evaluation.judge is not None
    )


def _score(row: SourceRow, name: str, given: GivenScores, *, failed: bool) -> Terms | None:
    value = None if failed else _number(row, name)
    low, high = given.scale(name)
    if value is not None and not low <= value <= high:
        fix = "Declare the scale that these scores have, or leave --score-scale out if it is not known."
        raise files.wrong(row.where, f"{files.shown(row.values[name])} in {name!r}", f"a score from {low:g} to {high:g}", fix)
    return None if value is None else (value,)


def _amount(row: SourceRow, names: Iterable[str]) -> Terms | None:
    """The candidate's amount, and the sum of the others, its scorer's."""
    values = [_number(row, name) for name in names]
    for name, value in zip(names, values, strict=True):
        if value is not None and value < 0.0:
            raise files.wrong(row.where, f"{value:g} in {name!r}", "a number of at least 0")
    return None if None in values else (values[0] or 0.0, math.fsum(value or 0.0 for value in values[1:]))


def _number(row: SourceRow, name: str) -> float | None:
    found = row.values.get(name)
    if found is None or (isinstance(found, str) and found.strip().lower() in NOTHING):
        return None
    try:
        value = float(found) if isinstance(found, str | int | float) else None
    except (ValueError, OverflowError):
        value = None
    if value is None:
        raise files.wrong(row.where, f"{files.shown(found)} in {name!r}", "a number", "Write null where there is none.")
    if math.isnan(value):
        return None
    if abs(value) > LARGEST:
        raise files.wrong(row.where, f"{value:g} in {name!r}", f"a number up to {LARGEST:g}", "Write null where there is none.")
    return value


# ---- fields within fields --------------------------------------------------------------------------------------------


def unnested(rows: Iterable[SourceRow], names: Iterable[str]) -> Iterator[SourceRow]:
    """The rows with the fields within fields that are named, as "metrics.clip"."""
    dotted = [name for name in names if "." in name]
    for row in rows:
        inner = {name: value for name in dotted if name not in row.values and (value := _within(row.values, name)) is not None}
        yield replace(row, values={**row.values, **inner}) if inner else row


def _within(values: Mapping[str, Any], name: str) -> Any:
    """A field by its path; None if there is none."""
    found: Any = values
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def numeric(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """The fields of a row that hold numbers, also those within fields; for messages."""
    for name, value in values.items():
        if isinstance(value, Mapping) and not prefix:
            yield from numeric(value, f"{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{prefix}{name}"
