"""Which setting of the knobs is better than today's, and is that so?  Successive halving over blocks, then a trial of its own.

Every round makes all arms in turn, block by block, in one session, each against today's (`assay.runners.session`).  The best share goes
on to a round of twice as many launches; an arm goes out at once where it did other work, lost quality, gave a wrong result or failed,
and the reason is told.  What is left at the end is made again together with today's, and that last round alone decides: numbers that
were looked at to choose would flatter what they chose (as `assay.cli.searching`).  Where the knobs were tried one by one, the best value of
each is put together for the last round, beside the best single arm.
Source of the halving: Karnin, Koren, Somekh (2013), "Almost optimal exploration in multi-armed bandits".
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import Problem, SpecError
from assay.spec.tune import RESERVED, TODAY, Choice, Setting, Tune, choices, is_grid, label, left_out, shown, today

if TYPE_CHECKING:
    from assay.metrics.measured import Measured
    from assay.runners.base import RunProgress
    from assay.spec.experiment import Experiment
    from assay.verdict.compared import Change, Comparison, Side

FEWEST_VALUES = 2
SAME_WORK = 0.005  # items of a launch may differ by this share: a last batch that is not full
Show = Callable[["RunProgress"], None] | None


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One arm after a round."""

    label: str
    settings: Mapping[str, Setting]
    gain: float | None  # how many times better than today's; None: it cannot be told
    low: float | None
    high: float | None
    out: str  # why it goes out at once; ""
    goes_on: bool
    record: Path


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round; the first standing is today's."""

    blocks: int
    metric: str
    standings: tuple[Standing, ...]


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """What came of it."""

    rounds: tuple[Round, ...]
    final: Comparison | None  # None: nothing was left to be held against today's
    sides: tuple[Side, ...]
    adopted: Mapping[str, Setting] | None  # what is shown to be better, with quality held; None: stay with today's
    sentence: str
    left_out: int


def check(experiment: Experiment) -> Tune:
    """The knobs, if every one of them turns something.

    Raises:
        SpecError: there is none, or one is used nowhere.
    """
    tune = experiment.tune
    if tune is None:
        raise SpecError((Problem(
            where="tune", found="nothing", allowed="knobs and their values",
            mend="[tune.knobs] batch = [64, 128, 256], and {batch} in workload.arguments; the first value is today's.",
        ),))  # fmt: skip
    return tune if not (problems := tuple(_problems(experiment, tune))) else _refuse(problems)


def _refuse(problems: tuple[Problem, ...]) -> Tune:
    raise SpecError(problems)


def _problems(experiment: Experiment, tune: Tune) -> list[Problem]:
    words = [*experiment.workload.arguments, *experiment.workload.environment.values()]
    found = []
    for name, values in tune.knobs.items():
        where = f"tune.knobs.{name}"
        if name in RESERVED:
            allowed = "another name: a launch fills this one in itself"
            found.append(Problem(where=where, found=repr(name), allowed=allowed))
        elif not any(f"{{{name}}}" in word for word in words):
            mend = f'For example: arguments = ["--{name.replace("_", "-")}", "{{{name}}}"].'
            found.append(Problem(
                where=where, found=f"{{{name}}} in no argument", allowed="a knob that stands in workload.arguments or workload.environment",
                mend=mend,
            ))  # fmt: skip
        if len(values) < FEWEST_VALUES:
            allowed = f"at least {FEWEST_VALUES} values, the first of them today's"
            found.append(Problem(where=where, found=", ".join(map(shown, values)) or "none", allowed=allowed))
        if len(set(map(shown, values))) < len(values):
            found.append(Problem(where=where, found=", ".join(map(shown, values)), allowed="every value once"))
    return found


def arm(experiment: Experiment, choice: Choice, blocks: int, place: int, number: int) -> Experiment:
    """The experiment with the knobs turned: an ordinary one, whose conditions say how."""

    def filled(word: str) -> str:
        for name, value in choice.settings.items():
            word = word.replace(f"{{{name}}}", shown(value))
        return word

    workload = experiment.workload.model_copy(update={
        "arguments": tuple(filled(word) for word in experiment.workload.arguments),
        "environment": {name: filled(value) for name, value in experiment.workload.environment.items()},
    })  # fmt: skip
    launches = experiment.launches.model_copy(update={
        "per_configuration": blocks, "precision": None, "seed": experiment.launches.seed + 1000 * place,
    })  # fmt: skip
    return experiment.model_copy(update={
        "name": f"{experiment.name[:64]}-{place}-{number}", "workload": workload, "launches": launches, "tune": None, "faults": (),
        "conditions": {**experiment.conditions, **choice.settings},
    })  # fmt: skip


def varying(experiment: Experiment, tune: Tune) -> tuple[str, ...]:
    """What is studied: the knobs, and where they stand."""
    names = [f"conditions.{name}" for name in tune.knobs]
    if any("{" in word for word in experiment.workload.arguments):
        names.append("workload.arguments")
    if any("{" in word for word in experiment.workload.environment.values()):
        names.append("workload.environment")
    return tuple(names)


def tuned(experiment: Experiment, folder: Path, root: Path, show: Show = None) -> Tuned:
    """Run all rounds.

    Raises:
        SpecError: no knobs, or one that turns nothing.
        WorkloadError: today's own launches failed.
        Interrupted: stopped by a signal; what was measured stays in its records.
    """
    tune = check(experiment)
    arms, blocks, rounds = list(choices(tune)), tune.first_blocks, list[Round]()
    while len(arms) > 2 or not rounds:
        found = _round(experiment, tune, arms, blocks, len(rounds), folder, root, show)
        rounds.append(found)
        arms = [
            arms[0],
            *(one for one, standing in zip(arms[1:], found.standings[1:], strict=True) if standing.goes_on),
        ]
        blocks *= 2
    finalists = _finalists(tune, rounds, arms)
    if len(finalists) == 1:
        sentence = "nothing that was tried did the same work with quality held: stay with today's settings"
        return Tuned(
            rounds=tuple(rounds), final=None, sides=(), adopted=None, sentence=sentence, left_out=left_out(tune)
        )
    sides = _measured(experiment, finalists, tune.final_blocks, len(rounds), folder, root, show)
    return _decided(experiment, tune, rounds, finalists, sides)


def _finalists(tune: Tune, rounds: Sequence[Round], arms: Sequence[Choice]) -> list[Choice]:
    """Today's, the best arm, and of knobs that were tried one by one their best values together."""
    found = list(arms)
    if not is_grid(tune):
        together = dict(today(tune))
        for name in tune.knobs:
            own = [one for one in rounds[0].standings[1:] if list(_turned(tune, one)) == [name] and _is_better(one)]
            if own:
                together[name] = max(own, key=lambda one: one.gain or 0.0).settings[name]
        name = label(tune, together)
        if name != TODAY and all(one.label != name for one in found):
            found.append(Choice(settings=together, label=name))
    return found


def _is_better(standing: Standing) -> bool:
    return not standing.out and standing.low is not None and standing.low > 1.0


def _turned(tune: Tune, standing: Standing) -> list[str]:
    base = today(tune)
    return [name for name, value in standing.settings.items() if value != base[name]]


def _round(
    experiment: Experiment, tune: Tune, arms: Sequence[Choice], blocks: int, place: int, folder: Path, root: Path, show: Show
) -> Round:  # fmt: skip
    told = f"round {place + 1}: {len(arms)} arms, {blocks} launch{'es' if blocks != 1 else ''} of each configuration"
    print(f"tune: {told}", file=sys.stderr, flush=True)
    sides = _measured(experiment, arms, blocks, place, folder, root, show)
    changes = [_against_today(experiment, tune, sides[0], side) for side in sides[1:]]
    gains = {
        number: gain
        for number, (gain, _, high, out, _) in enumerate(changes, 1)
        if gain is not None and not out and (high is None or high >= 1.0)  # what is shown to be worse goes out
    }
    best = set(survivors(gains, tune.keep))
    metric = next((name for *_, name in changes if name), "")
    standings = [Standing(
        label=TODAY, settings=arms[0].settings, gain=1.0, low=None, high=None, out="", goes_on=True, record=_path(root, sides[0]),
    )]  # fmt: skip
    for number, (choice, side, (gain, low, high, out, _)) in enumerate(
        zip(arms[1:], sides[1:], changes, strict=True), 1
    ):
        standings.append(Standing(
            label=choice.label, settings=choice.settings, gain=gain, low=low, high=high, out=out, goes_on=number in best,
            record=_path(root, side),
        ))  # fmt: skip
    return Round(blocks=blocks, metric=metric, standings=tuple(standings))


def survivors(gains: Mapping[int, float], keep: float) -> list[int]:
    """The best share of the arms by gain, at least one where there is any."""
    wanted = max(1, math.floor(len(gains) * keep)) if gains else 0
    return sorted(sorted(gains, key=lambda number: -gains[number])[:wanted])


def _path(root: Path, side: Side) -> Path:
    return root / str(side.measured.manifest.get("name", side.label))


def _measured(
    experiment: Experiment, arms: Sequence[Choice], blocks: int, place: int, folder: Path, root: Path, show: Show
) -> tuple[Side, ...]:  # fmt: skip
    """All arms in turn; their records, judged. An arm whose launches all failed is there, and says so."""
    from assay.cli import judging
    from assay.cli.advice import advice
    from assay.errors import Interrupted, WorkloadError
    from assay.record.reader import record_folders
    from assay.runners.session import Arm, run_together

    made = [
        Arm(experiment=arm(experiment, choice, blocks, place, number), folder=folder, label=choice.label)
        for number, choice in enumerate(arms)
    ]
    before = set(record_folders(root)) if root.exists() else set()
    try:
        paths = run_together(made, root=root, on_progress=show, advice=advice())
    except Interrupted:
        raise Interrupted(
            f"interrupted in round {place + 1}: what was measured is kept in {root}, in records that begin with {experiment.name[:64]}-. "
            "A tuning is begun anew by the same command."
        ) from None
    except WorkloadError:
        fresh = set(record_folders(root)) - before
        by_name = {path.name.rpartition("-20")[0]: path for path in fresh}
        paths = [by_name[one.experiment.name] for one in made if one.experiment.name in by_name]
        if len(paths) < len(made) or not _trained(paths[0]):
            raise
    return tuple(judging.side(path, choice.label) for path, choice in zip(paths, arms, strict=True))


def _trained(path: Path) -> bool:
    from assay.metrics.measured import from_record
    from assay.record.reader import open_record

    return from_record(open_record(path)).timed.height > 0


Against = tuple[float | None, float | None, float | None, str, str]  # gain, low, high, why it goes out, metric


def _against_today(experiment: Experiment, tune: Tune, base: Side, side: Side) -> Against:
    from assay.verdict.compare import compare

    if side.measured.timed.height == 0:
        return None, None, None, side.judgement.verdict.sentence, ""
    found = compare((base, side), varying=varying(experiment, tune))
    out = other_work(base, side) or _out(found, side)
    decisive = found.decisive()
    if not decisive:
        return None, None, None, out or found.sentence, found.primary
    gain, low, high = gain_of(decisive[0], higher_is_better(base, found.primary))
    if gain is None and not out:
        out = decisive[0].sentence
    return gain, low, high, out, found.primary


def _out(found: Comparison, side: Side) -> str:
    """Why an arm goes out whatever its speed; "" if nothing speaks against it."""
    if found.refused:
        first = found.refused[0]
        return f"not the same work: {first.field} is {' and '.join(first.values)}"
    if found.quality.get(side.label) == "DEGRADED":
        return "quality lost"
    wrong = [one for one in side.judgement.verdict.findings if one.severity in ("invalid", "fail")]
    if wrong:
        return f"{wrong[0].rule}: {wrong[0].evidence}"
    return ""


def other_work(base: Side, side: Side) -> str:
    """Why a launch of one side does not do the work of the other's; "" where it does, or where work was not counted."""
    for name in base.measured.configurations:
        ours, theirs = (_work(one.measured, name) for one in (base, side))
        if ours and theirs and abs(theirs / ours - 1.0) > SAME_WORK:
            return f"other work: {theirs:g} {base.measured.experiment.workload.work} in a launch with {name} instead of {ours:g}"
    return ""


def _work(measured: Measured, configuration: str) -> float | None:
    """The median items of a launch."""
    import polars as pl

    launches = measured.timed.filter(pl.col("configuration") == configuration).select("launch")
    steps = measured.global_steps.join(launches, on="launch")
    if steps.height == 0 or steps["items"].null_count():
        return None
    return float(steps.group_by("launch").agg(pl.col("items").sum())["items"].median() or 0.0)  # type: ignore[arg-type]


def higher_is_better(base: Side, metric: str) -> bool:
    """Which way is better, by the metric's own word."""
    return bool(base.judgement.metrics[metric].better == "higher")


def gain_of(change: Change, higher: bool) -> tuple[float | None, float | None, float | None]:
    """How many times better, with its interval, whichever way the metric counts."""
    if change.ratio is None:
        return None, None, None
    if higher:
        return change.ratio, change.low, change.high
    return 1.0 / change.ratio, 1.0 / change.high if change.high else None, 1.0 / change.low if change.low else None


def _decided(
    experiment: Experiment, tune: Tune, rounds: Sequence[Round], finalists: Sequence[Choice], sides: tuple[Side, ...]
) -> Tuned:
    from assay.verdict.compare import compare

    final = compare(sides, varying=varying(experiment, tune))
    adopted, sentence = verdict(final, sides, {one.label: one.settings for one in finalists})
    return Tuned(
        rounds=tuple(rounds), final=final, sides=sides, adopted=adopted, sentence=sentence, left_out=left_out(tune)
    )


def verdict(
    final: Comparison, sides: Sequence[Side], settings: Mapping[str, Mapping[str, Setting]]
) -> tuple[Mapping[str, Setting] | None, str]:
    """What to use from now on: the arm that is shown to be better, with quality held; None: today's."""
    from assay.metrics.format import given

    if final.refused:
        first = final.refused[0]
        return None, f"the last round is not comparable: {first.field} is {' and '.join(first.values)}"
    good: list[tuple[float, str, str, str]] = []
    doubtful: list[tuple[float, str, str, str]] = []
    for change in final.decisive():
        side = next(one for one in sides if one.label == change.side)
        gain, low, high = gain_of(change, higher_is_better(side, change.metric))
        if change.outcome != "improved" or gain is None or other_work(sides[0], side) or _out(final, side):
            continue
        held = final.quality.get(change.side, "NOT_MEASURED")
        told = f"{change.side}: {change.metric} {given(gain, 3)} times as good [{_end(low)}, {_end(high)}]"
        (good if held == "HELD" else doubtful).append((gain, change.side, told, held))
    if good:
        gain, name, told, _ = max(good)
        return settings[name], f"use {told}, quality held"
    if doubtful:
        _, _, told, held = max(doubtful, key=lambda one: one[0])
        why = {"DEGRADED": "quality was lost", "INCONCLUSIVE": "it is not shown that quality was held"}.get(
            str(held), "quality was not measured (add [quality], and probe.examples to the script)"
        )
        return None, f"stay with today's settings: {told}, but {why}"
    return None, f"stay with today's settings: nothing was shown to be better. {final.sentence}"


def _end(value: float | None) -> str:
    from assay.metrics.format import given

    return "?" if value is None else given(value, 3)


def document(found: Tuned) -> dict[str, Any]:
    """The result for other programs."""
    return {
        "schema": "assay-tune-1", "sentence": found.sentence, "adopted": None if found.adopted is None else dict(found.adopted),
        "left_out": found.left_out,
        "rounds": [
            {"blocks": one.blocks, "metric": one.metric, "arms": [
                {"label": s.label, "settings": dict(s.settings), "gain": s.gain, "low": s.low, "high": s.high, "out": s.out,
                 "goes_on": s.goes_on, "record": str(s.record)} for s in one.standings
            ]} for one in found.rounds
        ],
    }  # fmt: skip
