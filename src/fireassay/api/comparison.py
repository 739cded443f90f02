"""Which of two records is better, for a program?

What is compared: records, configurations of one record, or its engines, and with which margin of quality?
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import polars as pl

from fireassay.api.record import ROOT, Record, open, remarks_as_warnings
from fireassay.api.sides import Watch, days, labels_of, named_sides, refuse_itself, refuse_observed, unwatched
from fireassay.errors import RecordError, refuse
from fireassay.estimates.estimate import Estimate, Value
from fireassay.frames.evaluation.item_scores import requested
from fireassay.frames.record_data import RecordData
from fireassay.printable import printable
from fireassay.record.lookup import LATEST, resolve
from fireassay.record.reader import open_record
from fireassay.reports import fragments as html
from fireassay.reports.cell import Tone
from fireassay.reports.pages.comparison_view import ComparisonView, build
from fireassay.spec.experiment import Quality
from fireassay.spec.kind import kind_of
from fireassay.spec.plan import targets_of
from fireassay.verdict.comparison import compare as verdicts
from fireassay.verdict.comparison import types
from fireassay.verdict.comparison.types import Side

SOURCE = "the comparison"


QUALITY: Final = "quality"  # as the metric that decides: what decides is whether quality is held


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked of a comparison."""

    at: Sequence[str] = ()
    varying: Sequence[str] = ()
    force: bool = False
    primary: str | None = None
    margin: float | None = None  # instead of each record's own margin of quality
    history: str | None = None
    day_to_day: float | None = None


@dataclass(frozen=True, kw_only=True)
class Compared:
    """What was compared, and what came of it."""

    sides: tuple[Side, ...]
    comparison: types.Comparison
    by_quality: bool  # quality decides, and not the speed

    @property
    def view(self) -> ComparisonView:
        """As pages show it."""
        base = self.sides[0]
        return build(self.comparison, base.judgement.metrics, base.measured.experiment.workload.work)


def compared(paths: Sequence[Path], question: Question, watch: Watch = unwatched) -> Compared:
    """Judge the records, and compare what their number and that of configurations ask for.

    Raises:
        SpecError: unknown configuration, metric or condition, a side compared with itself, or a margin that is not above 0 or of no score.
        RecordError: a record is missing, damaged, or differs from its seal.
    """
    sides = named_sides(paths)
    refuse_observed(sides)
    if question.margin is not None:
        sides = tuple(replace(side, measured=_with_margin(side, question.margin)) for side in sides)
    by_quality = question.primary == QUALITY or (question.primary is None and _decides_by_quality(sides[0]))
    primary = None if question.primary == QUALITY else question.primary
    found = _within(sides[0], question.at, primary) if len(sides) == 1 else _between(sides, replace(question, primary=primary), watch)
    return Compared(sides=sides, comparison=found, by_quality=by_quality)


def _between(sides: tuple[Side, ...], question: Question, watch: Watch) -> types.Comparison:
    """Several records, at one configuration or at one of each."""
    at = question.at or _only_answers(sides)
    # A history counts only under the baseline's conditions, else the effect under study would pass for variation between sessions.
    between = days(question.history, question.day_to_day, sides, ("code",), watch)
    varying, force, primary = question.varying, question.force, question.primary
    if len(at) == len(sides):
        return verdicts.compare_at(_once_each(sides), at, varying=varying, force=force, primary=primary, days=between)
    refuse_itself(sides, "RECORD")
    if len(at) > 1:
        allowed = "one configuration that decides, or one for each record in their order"
        raise refuse("--at", " ".join(at), allowed, "To compare configurations of one record, give one record.", source=SOURCE)
    return verdicts.compare(sides, varying=varying, force=force, primary=primary, at=at[0] if at else None, days=between)


def _within(side: Side, at: Sequence[str], primary: str | None) -> types.Comparison:
    """One record: its engines at a load, or its configurations."""
    if len(at) < 2 and _engines(side) > 1:
        return verdicts.compare_engines(side, primary=primary, at=_load_of(side, at[0]) if at else None)
    _refuse_one_alone(side, at)
    return verdicts.compare_configurations(side, at, primary=primary)


def _decides_by_quality(side: Side) -> bool:
    """True if the record's result is its quality: an evaluation."""
    return side.measured.kind.judges_quality


def _with_margin(side: Side, margin: float) -> RecordData:
    """The record with this margin instead of its own."""
    measured = side.measured
    names = [measured.experiment.quality.metric] if measured.experiment.quality is not None else list(requested(measured))
    if not 0.0 < margin < float("inf") or not names:
        found = f"{margin:g}" if names else f"{side.label}, a record without scores"
        raise refuse("--margin", found, "a number above 0, for records with scores", source=SOURCE)
    former = measured.experiment.quality or Quality(metric=names[0])
    return replace(measured, experiment=measured.experiment.model_copy(update={"quality": former.model_copy(update={"margin": margin})}))


def _only_answers(sides: tuple[Side, ...]) -> Sequence[str]:
    """The configuration of each side, if all are evaluations of one: what it is called means nothing."""
    names = [side.measured.configurations for side in sides if side.measured.kind.judges_quality]
    alone = len(names) == len(sides) and all(len(name) == 1 for name in names)
    return [name for (name,) in names] if alone and len(set(names)) > 1 else ()


def _once_each(sides: tuple[Side, ...]) -> tuple[Side, ...]:
    """A record given several times keeps one label: its configurations distinguish its sides."""
    records = {side.measured.manifest.get("id"): side for side in reversed(sides)}
    folders = [side.label.rpartition(" (")[0] or side.label for side in records.values()]
    names = labels_of([(side.measured.experiment.name, folder) for side, folder in zip(records.values(), folders, strict=True)])
    label = dict(zip(records, names, strict=True))
    return tuple(replace(side, label=label[side.measured.manifest.get("id")]) for side in sides)


def newest_like(path: Path, root: Path) -> Path | None:
    """The newest record of the same kind; None if that is this one, if there is none, or if this one has engines of its own to compare."""
    record = open_record(path)
    serving = record.experiment.serving
    if serving is not None and len(targets_of(serving)) > 1:
        return None
    with suppress(RecordError):
        found = resolve(f"{LATEST}:{kind_of(record.experiment).name}", root)
        return None if found.resolve() == path.resolve() else found
    return None


def _engines(side: Side) -> int:
    """How many engines a record holds."""
    return len({configuration.target for configuration in side.measured.varied if configuration.target})


def _load_of(side: Side, text: str) -> float:
    """The load that a text names: "8", "rate=8", or a configuration."""
    loads = {configuration.name: configuration.load for configuration in side.measured.varied}
    known = loads.get(text)
    try:
        return known if known is not None else float(text.rpartition("=")[2])
    except ValueError:
        allowed = "a load, for example 8, or two or more configurations"
        raise refuse("--at", repr(text), allowed, f"This record holds {', '.join(loads)}.", source=SOURCE) from None


def _refuse_one_alone(side: Side, configurations: Sequence[str]) -> None:
    if len(configurations) < 2:
        fix = f"Add a record to compare with, or give configurations of this one: {' '.join(f'--at {name}' for name in side.measured.configurations)}."
        raise refuse("RECORD", f"one record, {side.label}", "two or more records, or one with two or more --at", fix, source=SOURCE)


# ---- what is compared ------------------------------------------------------------------------------------------------


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


GRAVITY: Final = ("improved", "higher", "lower", "equivalent", "struck_out", "not_measured", "inconclusive", "worse")


def _gravity(outcome: types.Outcome) -> int:
    return GRAVITY.index(outcome)


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
        found: dict[str, list[types.Outcome]] = {}
        for change in self._compared.decisive():  # several of a side, if it has several benchmarks: the worst of them
            found.setdefault(change.side, []).append(change.outcome)
        return {side: max(outcomes, key=_gravity) for side, outcomes in found.items()}

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
        tone: Tone = next((row.tone for row in self._view.deciding if row.primary), "void")
        return html.verdict(tone, self._view.word, self.sentence) + html.table(heads, rows)


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
    paths = [(record if isinstance(record, Record) else open(record, root=root)).path for record in records]
    with remarks_as_warnings():
        question = Question(at=_listed(at), varying=_listed(varying), primary=primary, force=force, history=history, day_to_day=day_to_day)
        found = compared(paths, question)
    return Comparison(found.comparison, found.view)


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
