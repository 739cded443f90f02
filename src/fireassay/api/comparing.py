"""What is compared: records, configurations of one record, or its engines, and with which margin of quality?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fireassay.api.sides import Watch, days, labels_of, refuse_itself, unwatched
from fireassay.errors import refuse
from fireassay.frames.evaluation.item_scores import requested
from fireassay.frames.record_data import RecordData
from fireassay.spec.experiment import Quality
from fireassay.verdict.comparison.compare import compare, compare_at, compare_configurations, compare_engines
from fireassay.verdict.comparison.types import Comparison, Side

SOURCE = "the comparison"


def compared(
    sides: tuple[Side, ...],
    *,
    at: Sequence[str] = (),
    varying: Sequence[str] = (),
    force: bool = False,
    primary: str | None = None,
    history: str | None = None,
    day_to_day: float | None = None,
    watch: Watch = unwatched,
) -> Comparison:
    """Compare what the number of sides and configurations asks for: records, configurations of one, or its engines.

    Raises:
        SpecError: unknown configuration, metric or condition, or a side compared with itself.
    """
    if len(sides) == 1 and len(at) < 2 and _engines(sides[0]) > 1:
        return compare_engines(sides[0], primary=primary, at=_load_of(sides[0], at[0]) if at else None)
    if len(sides) == 1:
        _refuse_one_alone(sides[0], at)
        return compare_configurations(sides[0], at, primary=primary)
    at = at or _only_answers(sides)
    # A history counts only under the baseline's conditions, else the effect under study would pass for variation between sessions.
    between = days(history, day_to_day, sides, ("code",), watch)
    if len(at) == len(sides):
        return compare_at(_once_each(sides), at, varying=varying, force=force, primary=primary, days=between)
    refuse_itself(sides, "RECORD")
    if len(at) > 1:
        allowed = "one configuration that decides, or one for each record in their order"
        raise refuse("--at", " ".join(at), allowed, "To compare configurations of one record, give one record.", source=SOURCE)
    return compare(sides, varying=varying, force=force, primary=primary, at=at[0] if at else None, days=between)


def asks_for_quality(side: Side) -> bool:
    """True if the record's result is its quality: an evaluation with a margin."""
    return side.measured.kind.judges_quality and side.measured.experiment.quality is not None


def with_margin(sides: tuple[Side, ...], margin: float | None) -> tuple[Side, ...]:
    """The sides with this margin instead of their own.

    Raises:
        SpecError: it is not above 0, or a record has no score that it could be about.
    """
    return sides if margin is None else tuple(replace(side, measured=_with_margin(side, margin)) for side in sides)


def _with_margin(side: Side, margin: float) -> RecordData:
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
