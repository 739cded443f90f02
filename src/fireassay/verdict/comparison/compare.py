"""Which record is better, by how much, and are they comparable at all?

Refused unless all identity and hardware conditions match except those studied (`fireassay.verdict.comparison.comparability`). Then, for
each side against the first:

    quality     first: examples paired by id, non-inferiority with the baseline's margin, Holm over several sides;
                if not held, or a result is wrong, performance and cost are struck out
    primary     one metric, named before the run, decides at alpha = 1 - confidence, Holm over several sides;
                alpha is smaller if launches were added until intervals were narrow (`fireassay.stats.comparing.multiplicity`)
    others      Benjamini-Hochberg over all other metrics and configurations of the side
    floor       the larger of the sides' values from `assay doctor`, for interleaved or separate launches; a smaller change
                is inconclusive

The unit is the launch, paired by block if both sides were interleaved. Between two sessions the interval includes the variation
between sessions (`fireassay.verdict.comparison.sessions`, as in `check`), and the sentence says so. Fewer than 3 launches per side give no
verdict. Every verdict comes with its minimum detectable effect.
Source: rule 7 of Hoefler & Belli, SC'15; docs/methodology.md, "Comparing two sides".
Cannot tell: why two sides differ.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from fireassay.errors import refuse
from fireassay.estimates.estimate import Value
from fireassay.frames.evaluation.flipped import Flip, flipped, in_turn
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import ALL
from fireassay.printable import shell_word
from fireassay.verdict.comparison.comparability import differences, refusing
from fireassay.verdict.comparison.decide import decided, pairs_of
from fireassay.verdict.comparison.groups import Group, compared, qualities
from fireassay.verdict.comparison.phrases import notes_of, one_sided, refused_sentence, sentence_of
from fireassay.verdict.comparison.rules import rules_of
from fireassay.verdict.comparison.sessions import Days
from fireassay.verdict.comparison.types import Change, Comparison, Mismatch, Side, State

MIN_SIDES: Final = 2


# ---- public functions ------------------------------------------------------------------------------------------------


def compare(
    sides: Sequence[Side],
    *,
    varying: Sequence[str] = (),
    force: bool = False,
    primary: str | None = None,
    at: str | None = None,
    days: Days | None = None,
) -> Comparison:
    """Compare every side with the first, using the confidence, margin and primary metric of the first one's experiment.

    Args:
        sides: two or more judged records with distinct labels.
        varying: studied conditions: catalogue names, prefixes of names, or aliases.
        force: compare even if conditions differ; all results are then marked exploratory.
        primary: deciding metric; default: the one named by the baseline's experiment.
        at: deciding configuration; default: the largest one common to all sides.
        days: variation between sessions; default: unknown, so a deviation is assumed.

    Raises:
        SpecError: unknown condition, metric or configuration; names the closest match.
    """
    _check_labels([side.label for side in sides])
    if kinds := _of_several_kinds(sides):
        return _refusal([side.label for side in sides], sides[0].measured, "", primary, tuple(varying), kinds, kinds)
    mismatches = differences(sides, varying)
    common = _common(sides)
    if at is None:
        _check_candidates(sides, common)
    configuration = _decisive(at, common) if common else ""
    inadmissible = _inadmissible(sides)
    apart = () if common or inadmissible else (_nothing_in_common(sides),)
    refused = (*inadmissible, *refusing(mismatches), *apart)
    if not common:
        labels, differing = [side.label for side in sides], (*inadmissible, *mismatches, *apart)
        return _refusal(labels, sides[0].measured, configuration, primary, tuple(varying), differing, refused)
    groups = [[Group(label=s.label, side=s, configuration=name) for s in sides] for name in common]
    made = _compare(
        groups,
        configuration,
        primary,
        varying=tuple(varying),
        mismatches=(*inadmissible, *mismatches),
        refused=refused,
        forced=force and not inadmissible,
        days=days,
    )
    return replace(made, notes=(*one_sided(sides, common), *made.notes))


def compare_configurations(side: Side, configurations: Sequence[str], *, primary: str | None = None) -> Comparison:
    """Compare configurations of one record with the first one named; launches are paired by block.

    Raises:
        SpecError: unknown configuration or metric, or fewer than two configurations.
    """
    _check_labels(list(configurations))
    for name in configurations:
        _decisive(name, compared(side.measured))
    groups = [Group(label=name, side=side, configuration=name) for name in configurations]
    inadmissible = _inadmissible([side])
    return _compare(
        [groups], configurations[0], primary, varying=("configuration",), mismatches=inadmissible, refused=inadmissible, forced=False
    )


def compare_at(
    sides: Sequence[Side],
    configurations: Sequence[str],
    *,
    varying: Sequence[str] = (),
    force: bool = False,
    primary: str | None = None,
    days: Days | None = None,
) -> Comparison:
    """Compare sides, each at its own configuration, with the first: one worker, several workers, a quantised model.

    A record may occur several times with different configurations. Worker counts count as studied.

    Raises:
        SpecError: unknown configuration, condition or metric, or a record's configuration given twice.
    """
    labels = [f"{side.label} {name}" for side, name in zip(sides, configurations, strict=True)]
    _check_labels(labels)
    for side, name in zip(sides, configurations, strict=True):
        _decisive(name, compared(side.measured))
    mismatches, inadmissible = differences(sides, (*varying, "factor.levels")), _inadmissible(sides)
    refused = (*inadmissible, *refusing(mismatches))
    groups = [Group(label=label, side=side, configuration=name) for label, side, name in zip(labels, sides, configurations, strict=True)]
    return _compare(
        [groups],
        configurations[0],
        primary,
        varying=(*varying, "configuration"),
        mismatches=(*inadmissible, *mismatches),
        refused=refused,
        forced=force and not inadmissible,
        days=days,
    )


def compare_engines(side: Side, engines: Sequence[str] = (), *, primary: str | None = None, at: float | None = None) -> Comparison:
    """Compare engines of one record with the first one named, at every common scenario and load.

    Launches are paired by block. The load `at`, by default the largest, decides; of several scenarios, the last one.

    Raises:
        SpecError: unknown engine, load or metric, or fewer than two engines.
    """
    measured = side.measured
    known = list(dict.fromkeys(configuration.target for configuration in measured.varied if configuration.target))
    names = list(engines) or known
    _check_labels(names)
    for name in names:
        _among(name, known, "engines")
    rows = _same_loads(side, names)
    deciding = rows[-1]
    if at is not None:
        loads = {configuration.name: configuration.load for configuration in measured.varied}
        _among(f"{at:g}", [f"{load:g}" for load in dict.fromkeys(loads.values()) if load is not None], "--at")
        deciding = next(row for row in reversed(rows) if loads[row[0].configuration] == at)
    inadmissible = _inadmissible([side])
    return _compare(
        rows, deciding[0].configuration, primary, varying=("engine",), mismatches=inadmissible, refused=inadmissible, forced=False
    )


def _same_loads(side: Side, engines: Sequence[str]) -> list[list[Group]]:
    """One row per scenario and load: configurations in the order of the engines."""
    by_load: dict[tuple[str, float | None], dict[str, str]] = {}
    for configuration in side.measured.varied:
        by_load.setdefault((configuration.scenario, configuration.load), {})[configuration.target] = configuration.name
    return [[Group(label=name, side=side, configuration=configurations[name]) for name in engines] for configurations in by_load.values()]


def _among(name: str, known: Sequence[str], where: str) -> None:
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        remedy = f"Did you mean {close[0]}?" if close else ""
        raise refuse(where, repr(name), f"one of {', '.join(known)}", remedy, source="the comparison")


# ---- comparability ---------------------------------------------------------------------------------------------------


def _check_labels(labels: Sequence[str]) -> None:
    if len(labels) < MIN_SIDES or len(set(labels)) != len(labels):
        raise refuse(
            "sides",
            ", ".join(labels) or "none",
            "two or more, with distinct names",
            "Give a baseline and at least one other side.",
            source="the comparison",
        )


def _common(sides: Sequence[Side]) -> tuple[str, ...]:
    """Configurations common to all sides, by ascending worker count."""
    return tuple(name for name in compared(sides[0].measured) if all(name in compared(s.measured) for s in sides))


def _check_candidates(sides: Sequence[Side], common: Sequence[str]) -> None:
    """Refuse evaluations that share their reference alone: it would be compared with itself, and be held."""
    others = [[name for name in compared(side.measured) if name not in common] for side in sides]
    if len(common) != 1 or not all(others) or not sides[0].measured.kind.judges_quality:
        return
    fix = f"Name one of each record: {' '.join(f'--at {names[0]}' for names in others)}."
    raise refuse("--at", f"nothing, and {common[0]} alone in every record", "the answers to compare", fix, source="the comparison")


def _of_several_kinds(sides: Sequence[Side]) -> tuple[Mismatch, ...]:
    """The mismatch of records of different kinds. It stands alone: of a training and a load every condition differs."""
    titles = tuple(side.measured.kind.title for side in sides)
    why = "records of different kinds have no number in common"
    return (Mismatch(field="kind", kind="identity", values=titles, refuses=True, why=why),) if len(set(titles)) > 1 else ()


def _nothing_in_common(sides: Sequence[Side]) -> Mismatch:
    """The mismatch of records whose configurations differ, whatever their conditions: no flag but a choice of two compares them."""
    names = tuple(compared(side.measured)[0] for side in sides)  # all of them would hide the difference
    why = f"no configuration was measured on every side; to compare one of each: {' '.join(f'--at {shell_word(name)}' for name in names)}"
    return Mismatch(field="configurations", kind="identity", values=names, refuses=True, why=why)


def _decisive(at: str | None, known: Sequence[str]) -> str:
    if at is None:
        return known[-1]
    if at not in known:
        close = difflib.get_close_matches(at, known, n=1)
        remedy = f"Did you mean --at {close[0]}?" if close else ""
        raise refuse("--at", repr(at), f"one of {', '.join(known)}", remedy, source="the comparison")
    return at


def _inadmissible(sides: Sequence[Side]) -> tuple[Mismatch, ...]:
    """Mismatches for INVALID records, which are never evidence; no flag overrides them."""
    statuses = tuple(side.judgement.verdict.status for side in sides)
    if not any(side.inadmissible(candidate=side is not sides[0]) for side in sides):
        return ()
    why = "; ".join(
        f"{side.label}: {finding.evidence}"
        for side in sides
        for finding in side.judgement.verdict.findings
        if finding.severity == "invalid"
    )
    return (
        Mismatch(
            field="verdict.status", kind="identity", values=statuses, refuses=True, why=f"an inadmissible record is no evidence ({why})"
        ),
    )


# ---- the comparison --------------------------------------------------------------------------------------------------


def _compare(
    groups: Sequence[Sequence[Group]],  # configuration x side, the baseline first
    configuration: str,
    primary: str | None,
    *,
    varying: tuple[str, ...],
    mismatches: tuple[Mismatch, ...],
    refused: tuple[Mismatch, ...],
    forced: bool,
    days: Days | None = None,
) -> Comparison:
    if refused and not forced:
        labels = [group.label for group in groups[0]]
        return _refusal(labels, groups[0][0].measured, configuration, primary, varying, mismatches, refused)
    deciding = next((row for row in groups if row[0].configuration == configuration), groups[0])
    rules = rules_of(deciding, primary, exploratory=bool(refused), varying=varying, days=days or Days())
    held = {(label, row[0].configuration): quality for row in groups for label, quality in qualities(row[0], row[1:]).items()}
    changes = decided(pairs_of(groups, deciding, held, rules), rules)
    state: State = "exploratory" if rules.exploratory else "compared"
    by_items = deciding[0].measured.kind.judges_quality and any(quality.held != "NOT_MEASURED" for quality in held.values())
    if not by_items and not any(_was_measured(change) for change in changes if change.primary):
        state = "nothing_measured"
    comparison = Comparison(
        state=state,
        sides=tuple(group.label for group in deciding),
        varying=varying,
        mismatches=mismatches,
        refused=refused,
        primary=rules.primary,
        configuration=configuration,
        changes=changes,
        table=_table(deciding),
        quality={group.label: held[group.label, deciding[0].configuration].held for group in deciding[1:]},
        confidence=rules.confidence,
        floor=rules.floor,
        equivalence=rules.equivalence,
        smallest_effect=rules.smallest_effect,
        flips=_flips(*deciding) if deciding[0].measured.kind.judges_quality else (),
    )
    noted = replace(comparison, notes=notes_of(comparison, deciding, held))
    return replace(noted, sentence=sentence_of(noted, deciding, held))


def _flips(base: Group, *others: Group) -> tuple[Flip, ...]:
    """The items of each side that score otherwise than at the baseline."""
    reference = (base.measured, base.configuration)
    return tuple(in_turn(flipped(reference, (group.measured, group.configuration), group.label) for group in others))


def _was_measured(change: Change) -> bool:
    return change.low is not None


def _table(deciding: Sequence[Group]) -> dict[str, dict[str, Value]]:
    """side -> metric -> value at the deciding configuration; without metrics of the whole experiment."""
    return {
        group.label: {name: group.value(name) for name, values in group.side.judgement.results.items() if ALL not in values}
        for group in deciding
    }


def _refusal(
    sides: Sequence[str],
    base: RecordData,
    configuration: str,
    primary: str | None,
    varying: tuple[str, ...],
    mismatches: tuple[Mismatch, ...],
    refused: tuple[Mismatch, ...],
) -> Comparison:
    """An empty comparison whose sentence gives the reason and the way out."""
    return Comparison(
        state="incomparable",
        sides=tuple(sides),
        varying=varying,
        mismatches=mismatches,
        refused=refused,
        primary=primary or base.experiment.comparison.primary,
        configuration=configuration,
        table={},
        quality={},
        confidence=base.confidence,
        sentence=refused_sentence(sides, refused),
    )
