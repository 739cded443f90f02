"""Which of two records is better, for a program?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Final

import polars as pl

from fireassay.api.comparing import compared
from fireassay.api.record import ROOT, Record, open, remarks_as_warnings
from fireassay.api.sides import named_sides
from fireassay.estimates.estimate import Estimate, Value
from fireassay.printable import printable
from fireassay.reports import fragments as html
from fireassay.reports.pages.comparison_view import ComparisonView, build
from fireassay.verdict.comparison import types

COLUMNS: Final = {
    "metric": "String",
    "configuration": "String",
    "side": "String",
    "outcome": "String",
    "baseline": "Float64",
    "value": "Float64",
    "unit": "String",
    "ratio": "Float64",
    "difference": "Float64",
    "low": "Float64",
    "high": "Float64",
    "p_adjusted": "Float64",
    "primary": "Boolean",
    "sentence": "String",
}


@dataclass(frozen=True)
class Comparison:
    """The comparison of records, or of configurations of one.

    >>> import fireassay
    >>> result = fireassay.compare("digits", at=["workers=1", "workers=2"], primary="step_time")
    >>> result
    Comparison(workers=1, workers=2: improved)
    >>> result.changes.filter("primary").select("metric", "side", "outcome").row(0)
    ('step_time', 'workers=2', 'improved')
    """

    _compared: types.Comparison
    _view: ComparisonView = field(repr=False, compare=False)

    @property
    def state(self) -> types.State:
        """compared, exploratory, incomparable or nothing_measured."""
        return self._compared.state

    @property
    def sentence(self) -> str:
        """The sentence that may be quoted."""
        return self._compared.sentence

    @property
    def sides(self) -> tuple[str, ...]:
        """The labels, the baseline first."""
        return self._compared.sides

    @property
    def outcomes(self) -> Mapping[str, types.Outcome]:
        """Of each side but the baseline: improved, worse, equivalent, inconclusive, ... in the deciding metric."""
        return {change.side: change.outcome for change in self._compared.decisive()}

    @property
    def quality(self) -> Mapping[str, str]:
        """Of each side but the baseline: HELD, DEGRADED, INCONCLUSIVE or NOT_MEASURED."""
        return self._compared.quality

    @property
    def mismatches(self) -> tuple[types.Mismatch, ...]:
        """The conditions that differ, those that forbid the comparison first."""
        return self._compared.mismatches

    @property
    def notes(self) -> tuple[str, ...]:
        """What this comparison cannot tell."""
        return self._compared.notes

    @cached_property
    def changes(self) -> pl.DataFrame:
        """One row per metric, configuration and side; low and high bound the ratio, or the difference where there is no ratio."""
        rows = [_row(change) for change in self._compared.changes]
        return pl.DataFrame(rows, schema={name: getattr(pl, kind) for name, kind in COLUMNS.items()})

    def __repr__(self) -> str:
        answers = dict.fromkeys(self.outcomes.values()) or (self.state,)
        return printable(f"Comparison({', '.join(self.sides)}: {', '.join(answers)})")

    def __str__(self) -> str:
        return printable(self.sentence)

    def _repr_html_(self) -> str:
        rows = (
            (row.title, row.side, row.baseline.full, row.value.full, row.effect.full if row.effect else "", row.word)
            for row in self._view.deciding
            if row.shown or row.primary
        )
        heads = ("metric", "side", "baseline", "value", "change", "verdict")
        return html.paragraph(self._view.word, self.sentence) + html.table(heads, rows)


def _row(change: types.Change) -> dict[str, Any]:
    values = {name: value for name, value in asdict(change).items() if name in COLUMNS}
    unit = next((side.unit for side in (change.value, change.baseline) if isinstance(side, Estimate)), None)
    return {**values, "baseline": _number(change.baseline), "value": _number(change.value), "unit": unit}


def _number(value: Value) -> float | None:
    return value.value if isinstance(value, Estimate) else None


def compare(
    *records: Record | str | os.PathLike[str],
    at: str | Sequence[str] = (),
    varying: str | Sequence[str] = (),
    primary: str | None = None,
    force: bool = False,
    history: str | None = None,
    day_to_day: float | None = None,
    root: str | os.PathLike[str] = ROOT,
) -> Comparison:
    """Compare records with the first one, or configurations of one record, as `assay compare` does.

    >>> import fireassay
    >>> print(fireassay.compare("digits", at=["workers=1", "workers=2"], primary="step_time"))
    workers=2 against workers=1: faster: step time −41 % [−66, −0.9], 3 against 3 launches; ...
    >>> fireassay.compare("digits", "digits")
    Traceback (most recent call last):
    fireassay.errors.SpecError: RECORD: found ..., which are the same record; ...

    Args:
        records: two or more, or one with `at`.
        at: the deciding configuration, one per record, or two or more of one record.
        varying: the conditions under study, which may differ: "code", "engine", a field ...
        primary: the deciding metric; default: the baseline's.
        force: compare although other conditions differ; everything is then marked exploratory.
        history: folder or store of records that show the variation between sessions.
        day_to_day: the assumed variation between sessions without a history, as a share.
        root: the folder that names are looked up in.

    Raises:
        SpecError: unknown configuration, metric or condition, or a record compared with itself.
        RecordError: a record is missing, damaged, or differs from its seal.
    """
    sides = named_sides([(record if isinstance(record, Record) else open(record, root=root)).path for record in records])
    with remarks_as_warnings():
        result = compared(
            sides, at=_listed(at), varying=_listed(varying), primary=primary, force=force, history=history, day_to_day=day_to_day
        )
    base = sides[0]
    return Comparison(result, build(result, base.judgement.metrics, base.measured.experiment.workload.work))


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
