"""Which record is better, by how much, and may one ask at all?

Refused unless all identity and hardware conditions match but for what is studied (`assay.verdict.comparability`).  Then, for
each side against the first:

    quality     first: examples paired by id, non-inferiority with the baseline's margin, several sides: Holm over them;
                not held, or a wrong result: performance and cost are struck out
    primary     one metric, named before anything ran, decides at alpha = 1 - confidence; several sides: Holm over them;
                less where launches were added until intervals were narrow (`assay.stats.sequential`)
    others      Benjamini-Hochberg over all other metrics and configurations of the side
    floor       the larger of what `assay doctor` found on the sides, for launches made in turn or apart; a smaller change
                is inconclusive

The unit is the launch: paired by block where both were made in turn, else Welch; fewer than 3 launches a side give no
verdict (methodology 3.4, rule 7 of Hoefler & Belli).  The minimum detectable effect stands beside every verdict.
Cannot tell: why two sides differ, nor about a day that was good for one of them, unless they were made in turn.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from assay.errors import Problem, SpecError
from assay.metrics.base import ALL, Metric
from assay.metrics.estimate import Absent, Value
from assay.metrics.format import count, given
from assay.metrics.measured import Subject
from assay.stats.comparison import REASONS, Decision, Difference, decide
from assay.stats.multiplicity import benjamini_hochberg, holm
from assay.stats.sequential import comparison_confidence
from assay.verdict.arms import Arm, Quality, compared, definition, difference, in_turn, launch_values, qualities
from assay.verdict.change_words import (
    EXPLORATORY,
    change_text,
    detectable_text,
    direction_word,
    needed_text,
    sentence,
)
from assay.verdict.comparability import differences, refusing, unknown_on_all
from assay.verdict.compared import Change, Comparison, Mismatch, Outcome, Side, State
from assay.verdict.judge import Judgement

AUTO: Final[Mapping[Subject, tuple[str, ...]]] = {
    "training": ("throughput", "step_time", "trial_time", "wall_time"),
    "calls": ("throughput", "step_time", "trial_time", "wall_time"),
    # Goodput where objectives were asked for; of answers without tokens (embeddings) the requests.
    "serving": ("goodput", "output_throughput", "request_throughput", "ttft_p95", "e2e_p95"),
    "collectives": ("collective_time",),
    "network": ("link_rate",),
}  # fmt: skip
OTHERWISE: Final[Mapping[Subject, str]] = {
    "training": "wall_time",
    "calls": "wall_time",
    "serving": "output_throughput",
    "collectives": "collective_time",
    "network": "link_rate",
}
MOST_FLAGS: Final = 5  # of a refusal that are spelled out in its sentence
TESTED: Final = ("performance", "cost")  # dimensions; quality has its own test, and faults are made once
NOT_THE_WORKLOADS: Final = frozenset({"instrument_overhead"})
LEAST_SIDES: Final = 2


# ---- what others call ------------------------------------------------------------------------------------------------


def compare(
    sides: Sequence[Side],
    *,
    varying: Sequence[str] = (),
    force: bool = False,
    primary: str | None = None,
    at: str | None = None,
) -> Comparison:
    """Every side against the first one, at confidence, margin and primary metric of the first one's experiment.

    Args:
        sides: two or more judged records with distinct labels.
        varying: conditions that are studied: names of the catalogue, beginnings of names, or aliases.
        force: compare although conditions differ; everything is then marked exploratory.
        primary: the metric that decides; default: the one that the baseline's experiment names.
        at: the configuration that decides; default: the largest one that all sides have.

    Raises:
        SpecError: an unknown condition, metric or configuration; the closest one is named.
    """
    _check_labels([side.label for side in sides])
    mismatches = differences(sides, varying)
    common = _common(sides)
    configuration = _decisive(at, common) if common else ""
    inadmissible = _inadmissible(sides)
    refused = (*inadmissible, *refusing(mismatches))
    arms = [[Arm(label=s.label, side=s, configuration=name) for s in sides] for name in common]
    return _compare(
        arms, configuration, primary, varying=tuple(varying), mismatches=(*inadmissible, *mismatches), refused=refused,
        forced=force and not inadmissible and bool(common),
    )  # fmt: skip


def compare_configurations(side: Side, configurations: Sequence[str], *, primary: str | None = None) -> Comparison:
    """Configurations of one record against the first one named: launches are paired by block.

    Raises:
        SpecError: an unknown configuration or metric, or fewer than two configurations.
    """
    _check_labels(list(configurations))
    for name in configurations:
        _decisive(name, compared(side.measured))
    arms = [Arm(label=name, side=side, configuration=name) for name in configurations]
    inadmissible = _inadmissible([side])
    return _compare(
        [arms], configurations[0], primary, varying=("configuration",), mismatches=inadmissible, refused=inadmissible,
        forced=False,
    )  # fmt: skip


def compare_at(
    sides: Sequence[Side], configurations: Sequence[str], *, varying: Sequence[str] = (), force: bool = False,
    primary: str | None = None,
) -> Comparison:  # fmt: skip
    """Each side at a configuration of its own, against the first: one worker, several workers, a quantised model.

    A record may be named several times with different configurations.  That worker counts differ is what is studied.

    Raises:
        SpecError: an unknown configuration, condition or metric, or the same configuration of a record twice.
    """
    labels = [f"{side.label} {name}" for side, name in zip(sides, configurations, strict=True)]
    _check_labels(labels)
    for side, name in zip(sides, configurations, strict=True):
        _decisive(name, compared(side.measured))
    mismatches, inadmissible = differences(sides, (*varying, "factor.levels")), _inadmissible(sides)
    refused = (*inadmissible, *refusing(mismatches))
    arms = [
        Arm(label=label, side=side, configuration=name)
        for label, side, name in zip(labels, sides, configurations, strict=True)
    ]
    return _compare(
        [arms], configurations[0], primary, varying=(*varying, "configuration"), mismatches=(*inadmissible, *mismatches),
        refused=refused, forced=force and not inadmissible,
    )  # fmt: skip


def compare_engines(
    side: Side, engines: Sequence[str] = (), *, primary: str | None = None, at: float | None = None
) -> Comparison:
    """Engines of one record against the first one named, at every scenario and load that they have in common.

    Launches are paired by block.  The largest load decides, or the load `at`; of several scenarios the last one asked for.

    Raises:
        SpecError: an unknown engine, load or metric, or fewer than two engines.
    """
    measured = side.measured
    known = list(dict.fromkeys(one.target for one in measured.varied if one.target))
    names = list(engines) or known
    _check_labels(names)
    for name in names:
        _among(name, known, "engines")
    rows = _same_loads(side, names)
    deciding = rows[-1]
    if at is not None:
        loads = {one.name: one.load for one in measured.varied}
        _among(f"{at:g}", [f"{load:g}" for load in dict.fromkeys(loads.values()) if load is not None], "--at")
        deciding = next(row for row in reversed(rows) if loads[row[0].configuration] == at)
    inadmissible = _inadmissible([side])
    return _compare(
        rows, deciding[0].configuration, primary, varying=("engine",), mismatches=inadmissible, refused=inadmissible,
        forced=False,
    )  # fmt: skip


def _same_loads(side: Side, engines: Sequence[str]) -> list[list[Arm]]:
    """One row for each scenario and load: the engines' configurations, in the order of the engines."""
    found: dict[tuple[str, float | None], dict[str, str]] = {}
    for one in side.measured.varied:
        found.setdefault((one.scenario, one.load), {})[one.target] = one.name
    return [[Arm(label=name, side=side, configuration=by[name]) for name in engines] for by in found.values()]


def _among(name: str, known: Sequence[str], where: str) -> None:
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        mend = f"Did you mean {close[0]}?" if close else ""
        problem = Problem(where=where, found=repr(name), allowed=f"one of {', '.join(known)}", mend=mend)
        raise SpecError((problem,), "the comparison")


# ---- may one ask? ----------------------------------------------------------------------------------------------------


def _check_labels(labels: Sequence[str]) -> None:
    if len(labels) < LEAST_SIDES or len(set(labels)) != len(labels):
        raise SpecError((Problem(
            where="sides", found=", ".join(labels) or "none", allowed="two or more, each with a name of its own",
            mend="A comparison needs a baseline and something to compare with it.",
        ),), "the comparison")  # fmt: skip


def _common(sides: Sequence[Side]) -> tuple[str, ...]:
    """Configurations that all sides have, by ascending worker count."""
    return tuple(name for name in compared(sides[0].measured) if all(name in compared(s.measured) for s in sides))


def _decisive(at: str | None, known: Sequence[str]) -> str:
    if at is None:
        return known[-1]
    if at not in known:
        close = difflib.get_close_matches(at, known, n=1)
        mend = f"Did you mean --at {close[0]}?" if close else ""
        problem = Problem(where="--at", found=repr(at), allowed=f"one of {', '.join(known)}", mend=mend)
        raise SpecError((problem,), "the comparison")
    return at


def _inadmissible(sides: Sequence[Side]) -> tuple[Mismatch, ...]:
    """An INVALID record is no evidence, whatever it is compared with; nothing overrides that."""
    statuses = tuple(side.judgement.verdict.status for side in sides)
    if "INVALID" not in statuses:
        return ()
    why = "; ".join(
        f"{side.label}: {finding.evidence}"
        for side in sides for finding in side.judgement.verdict.findings if finding.severity == "invalid"
    )  # fmt: skip
    return (Mismatch(
        field="verdict.status", kind="identity", values=statuses, declared=False, override="", refuses=True,
        why=f"an inadmissible record is no evidence ({why})",
    ),)  # fmt: skip


# ---- the comparison --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Rules:
    """What decides, from the baseline's experiment."""

    primary: str
    confidence: float
    equivalence: float
    smallest_effect: float
    floor: float
    exploratory: bool


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """One metric of one side's configuration beside the baseline's, before it is decided."""

    metric: Metric
    a: Arm
    b: Arm
    held: Quality
    difference: Difference | None
    primary: bool
    reason: str = ""  # why there is no difference

    @property
    def p_value(self) -> float:
        """Of no difference; 1 where nothing was tested."""
        return 1.0 if self.difference is None else self.difference.p_value


def _compare(
    arms: Sequence[Sequence[Arm]],  # configuration x side, the baseline first
    configuration: str,
    primary: str | None,
    *,
    varying: tuple[str, ...],
    mismatches: tuple[Mismatch, ...],
    refused: tuple[Mismatch, ...],
    forced: bool,
) -> Comparison:
    if refused and not forced:
        return _refusal(arms, configuration, primary, varying, mismatches, refused)
    deciding = next((row for row in arms if row[0].configuration == configuration), arms[0])
    rules = _rules(deciding, primary, exploratory=bool(refused))
    held = {(label, row[0].configuration): one for row in arms for label, one in qualities(row[0], row[1:]).items()}
    changes = _decided(_pairs(arms, deciding, held, rules), rules)
    state: State = "exploratory" if rules.exploratory else "compared"
    if not any(_was_measured(change) for change in changes if change.primary):
        state = "nothing_measured"
    made = Comparison(
        state=state, sides=tuple(arm.label for arm in deciding), varying=varying, mismatches=mismatches, refused=refused,
        primary=rules.primary, configuration=configuration, changes=changes, table=_table(deciding),
        quality={arm.label: held[arm.label, deciding[0].configuration].held for arm in deciding[1:]},
        confidence=rules.confidence, floor=rules.floor, notes=(), sentence="", equivalence=rules.equivalence,
        smallest_effect=rules.smallest_effect,
    )  # fmt: skip
    noted = replace(made, notes=_notes(made, deciding, held))
    return replace(noted, sentence=_sentence(noted, deciding, held))


def _rules(deciding: Sequence[Arm], primary: str | None, *, exploratory: bool) -> _Rules:
    base = deciding[0]
    asked = base.measured.experiment.comparison
    return _Rules(
        primary=_primary(primary or asked.primary, deciding), confidence=_confidence(deciding),
        equivalence=asked.equivalence, smallest_effect=asked.smallest_effect, exploratory=exploratory,
        floor=max(_floor(arm, base) for arm in deciding),
    )  # fmt: skip


def _confidence(deciding: Sequence[Arm]) -> float:
    """The baseline's, raised where records stopped when their intervals were narrow: their spread is underestimated."""
    base = deciding[0].measured
    looked = {id(arm.measured) for arm in deciding if arm.measured.looks}
    return max(base.confidence, comparison_confidence(base.experiment.launches.confidence, len(looked)))


def _floor(arm: Arm, base: Arm) -> float:
    """What the machine can show of records made apart is less than of launches made in turn."""
    together = arm is base or in_turn(arm, base)
    return (arm.measured.noise_floor if together else arm.measured.noise_floor_apart) or 0.0


def _primary(name: str, deciding: Sequence[Arm]) -> str:
    known = deciding[0].side.judgement.metrics
    if name == "auto":
        subject = deciding[0].measured.subject
        names = AUTO[subject]
        there = [one for one in names if all(launch_values(arm.value(one)) for arm in deciding)]
        partly = [one for one in names if one in known and any(launch_values(arm.value(one)) for arm in deciding)]
        return (*there, *partly, OTHERWISE[subject])[0]
    if (
        name in known
        and ALL not in deciding[0].side.judgement.results.get(name, {})
        and known[name].better != "neither"
    ):
        return name
    able = [one for one, metric in known.items() if metric.dimension in TESTED and metric.better != "neither"]
    close = difflib.get_close_matches(name, able, n=1)
    mend = f"Did you mean {close[0]}?" if close else ""
    problem = Problem(
        where="--primary", found=repr(name), mend=mend,
        allowed="a metric that has a value for every configuration and a better direction; docs/reference/metrics.md lists them",
    )  # fmt: skip
    raise SpecError((problem,), "the comparison")


def _pairs(
    arms: Sequence[Sequence[Arm]], deciding: Sequence[Arm], held: Mapping[tuple[str, str], Quality], rules: _Rules
) -> list[_Pair]:
    """Everything that is tested, the primary metric at the deciding configuration first."""
    found = []
    for row in arms:
        for arm in row[1:]:
            for name, metric in _tested(row[0].side.judgement, rules.primary).items():
                first = name == rules.primary and row is deciding
                pair = _pair(metric, row[0], arm, held[arm.label, row[0].configuration], rules, primary=first)
                found += [pair] if first or _worth_showing(pair) else []
    return sorted(found, key=lambda pair: (not pair.primary, pair.a.configuration != deciding[0].configuration))


def _tested(judgement: Judgement, primary: str) -> dict[str, Metric]:
    return {
        name: metric for name, metric in judgement.metrics.items()
        if name == primary or (
            metric.dimension in TESTED and metric.better != "neither" and name not in NOT_THE_WORKLOADS
            and ALL not in judgement.results.get(name, {ALL: None})
        )
    }  # fmt: skip


def _pair(metric: Metric, a: Arm, b: Arm, held: Quality, rules: _Rules, *, primary: bool) -> _Pair:
    ours, theirs = a.value(metric.name), b.value(metric.name)
    reason = _incomparable_values(a, b, ours, theirs)
    found = None if reason else difference(a, b, metric.name, rules.confidence, rules.smallest_effect)
    if found is None and not reason:
        reason = "it has no value for each launch, so it is listed and not tested"
    return _Pair(metric=metric, a=a, b=b, held=held, difference=found, primary=primary, reason=reason)


def _incomparable_values(a: Arm, b: Arm, ours: Value, theirs: Value) -> str:
    for arm, value in ((a, ours), (b, theirs)):
        if isinstance(value, Absent):
            return f"not measured on {arm.label}: {value.detail}"
    if a.side is b.side:
        return ""
    first, second = definition(ours), definition(theirs)
    unlike = [key for key in first.keys() & second.keys() if first[key] != second[key]]
    return (
        f"defined differently ({', '.join(f'{k}: {first[k]} / {second[k]}' for k in sorted(unlike))})" if unlike else ""
    )


def _worth_showing(pair: _Pair) -> bool:
    """A number on some side, and a test or the reason why one side lacks it; equal counts (a speedup of the base) need none."""
    if all(_exact(arm.value(pair.metric.name)) for arm in (pair.a, pair.b)) and _nothing_varies(pair):
        return False
    one_side = isinstance(pair.a.value(pair.metric.name), Absent) != isinstance(pair.b.value(pair.metric.name), Absent)
    return pair.difference is not None or (one_side and pair.metric.primary) or pair.reason.startswith("defined")


def _exact(value: Value) -> bool:
    return not isinstance(value, Absent) and value.confidence == 1.0


# ---- from differences to verdicts ---------------------------------------------------------------------------------------


def _decided(pairs: Sequence[_Pair], rules: _Rules) -> tuple[Change, ...]:
    adjusted = _adjusted(pairs)
    return tuple(_change(pair, p, rules) for pair, p in zip(pairs, adjusted, strict=True))


def _adjusted(pairs: Sequence[_Pair]) -> list[float | None]:
    """Corrected p-values: Holm over the primaries of all sides, Benjamini-Hochberg over the others of each side."""
    found: list[float | None] = [None] * len(pairs)
    primaries = [i for i, pair in enumerate(pairs) if pair.primary and pair.difference is not None]
    families = {pair.b.label: [
        i for i, other in enumerate(pairs) if other.b.label == pair.b.label and not other.primary and other.difference
    ] for pair in pairs}  # fmt: skip
    for places, correct in ((primaries, holm), *((family, benjamini_hochberg) for family in families.values())):
        for place, p in zip(places, correct([pairs[i].p_value for i in places]), strict=True):
            found[place] = p
    return found


def _change(pair: _Pair, p_adjusted: float | None, rules: _Rules) -> Change:
    if pair.difference is None:
        return _without(pair, rules)
    found, relative = pair.difference, pair.difference.scale == "ratio"
    decision = decide(
        found, better=pair.metric.better, margin=rules.equivalence if relative else None,
        smallest_effect=rules.smallest_effect if relative else None, floor=rules.floor if relative else 0.0,
        p_adjusted=p_adjusted,
    )  # fmt: skip
    outcome, word, why = _outcome(pair, decision)
    effect = decision.minimum_detectable_effect
    change = Change(
        metric=pair.metric.name, configuration=_place(pair), side=pair.b.label, outcome=outcome, word=word,
        baseline=pair.a.value(pair.metric.name), value=pair.b.value(pair.metric.name), low=found.low, high=found.high,
        ratio=found.value if relative else None, difference=None if relative else found.value, p_value=found.p_value,
        p_adjusted=p_adjusted, minimum_detectable_effect=effect if math.isfinite(effect) else None,
        launches_needed=decision.launches_needed, primary=pair.primary, method=found.method, sentence="",
    )  # fmt: skip
    return replace(
        change, sentence=sentence(change, pair.metric.title, pair.a.label, exploratory=rules.exploratory, why=why)
    )


def _outcome(pair: _Pair, decision: Decision) -> tuple[Outcome, str, str]:
    """Outcome, its word, and why where that is not plain."""
    wrong = [f"{arm.label} gives a wrong result ({', '.join(arm.wrong())})" for arm in (pair.a, pair.b) if arm.wrong()]
    if wrong or pair.held.held in ("DEGRADED", "INCONCLUSIVE"):
        return "struck_out", "struck out", "; ".join(wrong) or pair.held.sentence
    if decision.verdict in ("higher", "lower"):
        word = direction_word(pair.metric, decision.verdict)
        plain: Outcome = "higher" if decision.verdict == "higher" else "lower"
        return (decision.change if decision.change != "neither" else plain), word, ""
    if decision.verdict == "equivalent" or _nothing_varies(pair):
        return "equivalent", "equivalent", ""
    word = "no verdict: too few launches" if decision.verdict == "insufficient" else "inconclusive"
    return "inconclusive", word, REASONS[decision.reason]


def _nothing_varies(pair: _Pair) -> bool:
    """All launches of both sides gave the same number: equal, whatever the scale."""
    values = [*launch_values(pair.a.value(pair.metric.name)), *launch_values(pair.b.value(pair.metric.name))]
    return len(set(values)) == 1 and pair.difference is not None and min(pair.difference.k_a, pair.difference.k_b) >= 3


def _without(pair: _Pair, rules: _Rules) -> Change:
    """No test: a side has no number, or none for each launch."""
    listed = pair.reason.startswith("it has")
    change = Change(
        metric=pair.metric.name, configuration=_place(pair), side=pair.b.label,
        outcome="inconclusive" if listed else "not_measured", word="not tested" if listed else "not measured",
        baseline=pair.a.value(pair.metric.name), value=pair.b.value(pair.metric.name), ratio=None, low=None, high=None,
        p_value=None, p_adjusted=None, minimum_detectable_effect=None, launches_needed=None, primary=pair.primary,
        method="none", sentence="",
    )  # fmt: skip
    if pair.reason.startswith("defined"):
        change = replace(change, word="not compared")
    return replace(
        change,
        sentence=sentence(change, pair.metric.title, pair.a.label, exploratory=rules.exploratory, why=pair.reason),
    )


def _place(pair: _Pair) -> str:
    return pair.b.configuration


def _was_measured(change: Change) -> bool:
    return change.low is not None


# ---- what is said ----------------------------------------------------------------------------------------------------


def _table(deciding: Sequence[Arm]) -> dict[str, dict[str, Value]]:
    """side -> metric -> value at the deciding configuration; metrics of the whole experiment are left out."""
    return {
        arm.label: {name: arm.value(name) for name, values in arm.side.judgement.results.items() if ALL not in values}
        for arm in deciding
    }


def _refusal(
    arms: Sequence[Sequence[Arm]], configuration: str, primary: str | None, varying: tuple[str, ...],
    mismatches: tuple[Mismatch, ...], refused: tuple[Mismatch, ...],
) -> Comparison:  # fmt: skip
    """Nothing is compared, and the sentence says why and what would change that."""
    sides = [arm.label for arm in arms[0]] if arms else _labels(mismatches)
    base = arms[0][0].measured if arms else None
    asked = base.experiment.comparison if base else None
    return Comparison(
        state="incomparable", sides=tuple(sides), varying=varying, mismatches=mismatches, refused=refused,
        primary=primary or (asked.primary if asked else "auto"), configuration=configuration, changes=(), table={},
        quality={}, confidence=base.confidence if base else 0.95, floor=0.0, notes=(),
        sentence=_refused_sentence(sides, refused),
    )  # fmt: skip


def _labels(mismatches: Sequence[Mismatch]) -> list[str]:
    return [f"side {place + 1}" for place in range(len(mismatches[0].values))] if mismatches else []


def _refused_sentence(sides: Sequence[str], refused: Sequence[Mismatch]) -> str:
    parts = [f"{m.field} differs ({' / '.join(shortened(value) for value in m.values)})" for m in refused[:3]]
    more = f" and {count(len(refused) - 3, 'more fields')}" if len(refused) > 3 else ""
    few = len(refused) <= MOST_FLAGS
    flags = (
        " ".join(f"--varying {m.field}" for m in refused) if few else "--varying with each of them, or a group of them"
    )
    tail = f". If that is what is studied: {flags}, or --force" if all(m.override for m in refused) else ""
    return f"{_listed(sides)} are not comparable: {'; '.join(parts)}{more}{tail}."


def _listed(names: Sequence[str]) -> str:
    """ "a, b and c"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def shortened(text: str, most: int = 60) -> str:
    """A long value with its middle left out."""
    return text if len(text) <= most else f"{text[: most - 20]}…{text[-18:]}"


def _sentence(made: Comparison, deciding: Sequence[Arm], held: Mapping[tuple[str, str], Quality]) -> str:
    base, where = deciding[0], deciding[0].configuration
    metrics = base.side.judgement.metrics
    title = metrics[made.primary].title.lower() if made.primary in metrics else made.primary
    claims = [_claim(change, title, base.label, held[change.side, where]) for change in made.decisive()]
    studied = f" Studied: {', '.join(made.varying)}." if made.varying else ""
    head = ""
    if made.exploratory:
        head = f"{EXPLORATORY}, forced although {', '.join(m.field for m in made.refused)} differ: "
    place = "" if len({arm.configuration for arm in deciding}) > 1 else f"At {where}: "
    if "engine" in made.varying and base.measured is deciding[-1].measured:
        place = f"At {shared_load(base)}: "
    return f"{head}{place}{'. '.join(claims)}. {given(made.confidence * 100)} % confidence.{studied}"


def shared_load(arm: Arm) -> str:
    """What the configurations of all engines at one load have in common: the name without its engine."""
    return arm.configuration.removeprefix(f"engine={arm.label} ")


def _claim(change: Change, title: str, baseline: str, held: Quality) -> str:
    number = change_text(change)
    if not number:
        return f"{change.side} against {baseline}: {title} {change.word} ({change.sentence.rpartition('; ')[2]})"
    launches = f"{_launches(change.baseline)} against {_launches(change.value)} launches"
    parts = [f"{title} {number}, {launches}", detectable_text(change), needed_text(change), held.sentence]
    return f"{change.side} against {baseline}: {change.word}: {'; '.join(part for part in parts if part)}"


def _launches(value: Value) -> int:
    return 0 if isinstance(value, Absent) else value.n_launches


def _notes(made: Comparison, deciding: Sequence[Arm], held: Mapping[tuple[str, str], Quality]) -> tuple[str, ...]:
    """What limits this comparison, in sentences."""
    base = deciding[0]
    notes = [f"{arm.label}: {held[arm.label, base.configuration].sentence}." for arm in deciding[1:]]
    unpaired = [arm.label for arm in deciding[1:] if not in_turn(base, arm)]
    if unpaired:
        notes.append(
            f"{', '.join(unpaired)} and {base.label} were not run in turn: a change of the machine between them would look like a "
            "change of the workload."
        )
    if not made.floor:
        notes.append("The noise floor of the machine is not known: run `assay doctor` before measuring.")
    notes += [_mismatch_note(m) for m in made.mismatches if m.kind != "context" and not m.refuses]
    notes += _price_notes(made) + _unknown_notes(deciding) + _idle_notes(made, deciding)
    return tuple(notes)


def _mismatch_note(mismatch: Mismatch) -> str:
    values = " / ".join(shortened(value) for value in mismatch.values)
    return f"{mismatch.field} differs beyond its tolerance ({values}): {mismatch.why}."


def _price_notes(made: Comparison) -> list[str]:
    differ = any(mismatch.field == "prices" for mismatch in made.mismatches)
    return ["The prices differ: a difference in cost is also one of prices."] if differ else []


def _unknown_notes(deciding: Sequence[Arm]) -> list[str]:
    if all(arm.side is deciding[0].side for arm in deciding):
        return []
    names = unknown_on_all([arm.side for arm in deciding])
    return [f"Recorded on no side, so not compared: {', '.join(names)}."] if names else []


def _idle_notes(made: Comparison, deciding: Sequence[Arm]) -> list[str]:
    """A factor that was declared and does not differ: perhaps the wrong records are compared."""
    if not made.varying or len({id(arm.measured) for arm in deciding}) == 1 or any(m.declared for m in made.mismatches):
        return []
    return [f"Declared as studied, but the same on all sides: {', '.join(made.varying)}."]
