"""How do people's own test suites assert that code is not slower, and that quality was held?

    from fireassay.testing import assert_held, assert_not_slower

    def test_parse():
        assert_not_slower(parsing.parse, parsing.parse_before, margin=0.05)     # functions: measured here, in turn
        assert_not_slower("latest", "records/release", history="records")       # records: nothing is measured
        assert_held("latest")                                                   # quality, within the record's own margin

For pytest, unittest or a plain script.  Only what was shown passes: a test that could decide nothing raises `Inconclusive`, never passes.

The rule of `assay check` for one metric, with the margin as the smallest effect of interest: with equal sides at most 2.5 % of the assertions
raise `Slower` (the upper end of a two-sided interval of 95 %), with a true slowdown at the margin at most 5 % pass.
Source: Schuirmann, J. Pharmacokin. Biopharm. 15, 1987; docs/methodology.md, "Comparing two sides".
Cannot tell: why a side is slower; a bias that all launches of one side share.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fireassay.api.comparison import QUALITY, Question, compared
from fireassay.api.lookup import folders_of
from fireassay.api.record import ROOT, Record, open, remarks_as_warnings
from fireassay.api.sides import comparable, refuse_itself, refuse_observed, side, sides
from fireassay.api.timing import measure, of_function, timed
from fireassay.errors import refuse
from fireassay.estimates.format import percent, show
from fireassay.verdict.checking.check import check
from fireassay.verdict.comparison.compare import compare

if TYPE_CHECKING:
    from fireassay.verdict.checking.types import Check, CheckRow
    from fireassay.verdict.comparison.types import Mismatch, Side
    from fireassay.verdict.types import GateResult

__all__ = ["Inadmissible", "Inconclusive", "NotHeld", "Slower", "assert_held", "assert_not_slower"]
Measured = Record | str | os.PathLike[str] | Callable[..., object]
ROUNDS: Final = 7  # fresh processes of each function
ROUND_S: Final = 0.2  # of calls in each
MIN_ROUNDS: Final = 3  # fewer decide nothing
SOURCE: Final = "the assertion"


class Slower(AssertionError):
    """A slowdown is shown, and its estimate lies beyond the margin."""


class NotHeld(AssertionError):
    """Quality is degraded."""


class Inconclusive(AssertionError):
    """Neither is shown. `would_decide`: what would."""

    def __init__(self, message: str, would_decide: str) -> None:
        super().__init__(f"{message}\nTo decide: {would_decide}")
        self.would_decide = would_decide


class Inadmissible(AssertionError):
    """The sides are no evidence: an inadmissible record, conditions that differ, or nothing measured."""


def assert_not_slower(
    measured: Measured,
    base: Measured,
    *,
    margin: float = 0.05,
    metric: str | None = None,
    at: str | None = None,
    varying: Sequence[str] = ("code",),
    history: str | None = None,
    root: str | os.PathLike[str] = ROOT,
    **timing: Any,
) -> str:
    """Assert that one side is not slower than the other by more than the margin; returns the sentence that says what was shown.

    Args:
        measured, base: two functions, which are timed in fresh processes in turn, or two records: an object, name, path or address.
        margin: largest tolerable loss, a share.
        metric: of records: what decides; default: the base's primary metric.
        at: of records: the configuration that decides; default: the largest.
        varying: of records: the conditions that may differ.
        history: of records: folder or store of records that show the variation between sessions; without one 15 % are assumed.
        root: folder in which names of records are looked up, and in which timings of functions become records.
        timing: of functions: rounds=7 fresh processes and round_s=0.2 seconds of calls in each.

    Raises:
        Slower, Inconclusive, Inadmissible: see there.
        SpecError: a wrong argument, or a function that a fresh process cannot import.
        WorkloadError: a function raised.
    """
    __tracebackhide__ = True
    if not 0.0 < margin < 1.0:
        raise refuse("margin", f"{margin!r}", "a share above 0 and below 1", "Write margin=0.05 for 5 %.", source=SOURCE)
    functions = _functions(measured, base, timing)
    if functions is not None:
        rounds = timing.get("rounds", ROUNDS)
        first, second = _timed(functions, rounds, timing.get("round_s", ROUND_S), Path(root))
        found, row = judged(first, second, margin=margin, metric="trial_time", varying=("workload",))
        return _settled(found, row, "rounds={}".format, rounds)
    with remarks_as_warnings():
        first, second = (_opened(one, root, label) for one, label in ((base, "base"), (measured, "measured")))
        refuse_observed((first, second))
        refuse_itself((first, second), "base")
        past = comparable(first, sides(folders_of(history)), varying) if history else []
        found, row = judged(first, second, margin=margin, metric=metric, varying=varying, at=at, past=past)
    return _settled(found, row, "records with {} launches each".format, 0)


def assert_held(
    record: Record | str | os.PathLike[str],
    base: Record | str | os.PathLike[str] | None = None,
    *,
    at: str | Sequence[str] = (),
    margin: float | None = None,
    varying: Sequence[str] = (),
    root: str | os.PathLike[str] = ROOT,
) -> str:
    """Assert that quality was held, in a record or against another; returns the sentence that says what was shown.

    Args:
        record: the record: its configurations against its base configuration, by its own margin.
        base: another record to hold it against.
        at: the configurations that count (default: all); with a base the one that decides.
        margin: with a base: largest loss of the score; default: the base's own.
        varying: with a base: the conditions that may differ.
        root: folder in which names are looked up.

    Raises:
        NotHeld, Inconclusive, Inadmissible: see there.
        SpecError: a wrong argument.
    """
    __tracebackhide__ = True
    names = [at] if isinstance(at, str) else list(at)
    if base is None:
        if margin is not None or varying:
            raise refuse("margin, varying", "given without a base", "with base=RECORD: a record alone has its own margin", source=SOURCE)
        return _held_alone(record if isinstance(record, Record) else open(record, root=root), names)
    paths = [(one if isinstance(one, Record) else open(one, root=root)).path for one in (base, record)]
    with remarks_as_warnings():
        found = compared(paths, Question(at=names, varying=varying, primary=QUALITY, margin=margin)).comparison
    said = "; ".join(change.sentence for change in found.changes if change.metric == QUALITY and change.sentence) or found.sentence
    if found.state == "incomparable":
        raise Inadmissible(_studied(found.sentence, found.refused))
    return _answered({*found.quality.values()}, said, "more items, or more launches of both sides; or a margin that these items can show")


def _studied(sentence: str, refused: Sequence[Mismatch]) -> str:
    """The refusal, with the argument that a flag of the command line is here."""
    fields = tuple(mismatch.field for mismatch in refused if mismatch.override)
    return f"{sentence}\nIf that is what you study: varying={fields!r}" if fields else sentence


# ---- speed -----------------------------------------------------------------------------------------------------------


def judged(
    base: Side,
    now: Side,
    *,
    margin: float,
    metric: str | None = None,
    varying: Sequence[str] = (),
    at: str | None = None,
    past: Sequence[Side] = (),
) -> tuple[Check, CheckRow | None]:
    """The check of two judged records, and the row of the metric that decides: up to the margin a slowdown is tolerated, however certain."""
    experiment = base.measured.experiment
    rules = experiment.comparison.model_copy(update={"equivalence": margin, "smallest_effect": margin})
    tolerant = replace(base, measured=replace(base.measured, experiment=experiment.model_copy(update={"comparison": rules})))
    found = check(compare((tolerant, now), varying=varying, primary=metric, at=at), tolerant, now, past=past, margin=margin)
    return found, next((row for row in found.rows if row.primary), None)


def _settled(found: Check, row: CheckRow | None, more: Callable[[int], str], rounds: int) -> str:
    __tracebackhide__ = True
    if row is None or row.state in ("nothing_measured", "listed"):
        raise Inadmissible(
            _studied(found.sentence, found.refused) if row is None else f"{row.sentence}: no metric with a direction decides"
        )
    values = [
        f"{label} {show(value).full}" for label, value in ((found.record, row.value), (found.baseline, row.baseline)) if value is not None
    ]
    said = f"{row.sentence}; {' against '.join(values)}; margin {percent(row.margin or 0.0, 12)}"
    if row.state == "regression":
        raise Slower(said)
    if row.state == "inconclusive" or found.gaps:
        raise Inconclusive("; ".join((said, *found.gaps)), _decides(found, row, more, rounds))
    return said


def _decides(found: Check, row: CheckRow, more: Callable[[int], str], rounds: int) -> str:
    """What would decide: launches in the same sessions, or sessions that need no allowance."""
    if found.gaps:
        return "launches that all succeed, of every configuration"
    if found.design == "two records":
        return "; ".join(note for note in found.notes if "session" in note) or "a history of 5 comparable records"
    if row.launches_needed:
        return more(row.launches_needed)
    return more(2 * rounds) if rounds else "a quieter machine, or a wider margin"


def _opened(one: Any, root: str | os.PathLike[str], label: str) -> Side:
    record = one if isinstance(one, Record) else open(one, root=root)
    return side(record.path, f"{record.name} ({label})")


def _functions(measured: Measured, base: Measured, timing: dict[str, Any]) -> tuple[Callable[..., object], Callable[..., object]] | None:
    """Both as functions, the base first; None if both are records."""
    if unknown := sorted(timing.keys() - {"rounds", "round_s"}):
        raise TypeError(f"assert_not_slower() got an unexpected keyword argument {unknown[0]!r}")
    if callable(measured) and callable(base):
        rounds, seconds = timing.get("rounds", ROUNDS), timing.get("round_s", ROUND_S)
        if not isinstance(rounds, int) or rounds < MIN_ROUNDS:
            raise refuse("rounds", repr(rounds), f"{MIN_ROUNDS} or more: fewer launches decide nothing", source=SOURCE)
        if not isinstance(seconds, int | float) or not 0.0 < seconds < math.inf:
            raise refuse("round_s", repr(seconds), "seconds above 0", source=SOURCE)
        return base, measured
    if callable(measured) or callable(base):
        found = "a function beside a record: they would be of two sessions"
        fix = "Time the function first: fireassay.time(function).record."
        raise refuse("measured, base", found, "two functions, or two records", fix, source=SOURCE)
    return None


def _timed(functions: Sequence[Callable[..., object]], rounds: int, round_s: float, root: Path) -> tuple[Side, Side]:
    """Both timed in turn, as sides of a comparison."""
    sections: dict[str, dict[str, Any]] = {"launches": {"per_configuration": rounds}, "timing": {"round_s": round_s}}
    specs = [of_function(function, sections=sections) for function in functions]
    names = [target for _, target in specs]
    if len({*names}) == 1:
        names = [f"{names[0]} (base)", names[0]]
    paths = measure([(spec, name) for (spec, _), name in zip(specs, names, strict=True)], root=root)
    timed(paths, names)  # a round that failed is an error
    first, second = (side(path, name) for path, name in zip(paths, names, strict=True))
    return first, second


# ---- quality ---------------------------------------------------------------------------------------------------------


def _held_alone(record: Record, at: Sequence[str]) -> str:
    __tracebackhide__ = True
    verdict = record.judge()
    if unknown := [name for name in at if name not in record.configurations]:
        raise refuse("at", ", ".join(unknown), f"of {', '.join(record.configurations)}", source=SOURCE)
    if verdict.status == "INVALID":
        raise Inadmissible(verdict.sentence)
    gates: list[GateResult] = [gate for gate in verdict.gates if gate.gate in (QUALITY, "held")]
    chosen = [gate for gate in gates if not at or gate.configuration in at]
    if not chosen:
        raise Inadmissible(
            f"{record.name}: no margin of quality was fixed beforehand, so nothing can be held; for example margin = 0.02 in [quality]"
        )
    needed = next((f"{gate.examples_needed} examples" for gate in chosen if gate.examples_needed), "")
    needed = needed or next(
        (f"{gate.launches_needed} launches" for gate in chosen if gate.launches_needed), "more scored examples or launches"
    )
    words = {"PASS": "HELD", "FAIL": "DEGRADED", "INVALID": "INVALID"}
    states = [words.get(gate.status, gate.status) for gate in chosen]
    order = ("DEGRADED", "INVALID", "NOT_MEASURED", "INCONCLUSIVE", "HELD")
    worst = min(states, key=order.index)
    said = "; ".join(f"{gate.configuration}: {gate.sentence}" for gate, state in zip(chosen, states, strict=True) if state == worst)
    return _answered({*states}, f"{said} ({record.name})", needed)


def _answered(states: set[str], said: str, needed: str) -> str:
    __tracebackhide__ = True
    if "DEGRADED" in states:
        raise NotHeld(said)
    if not states or states & {"INVALID", "NOT_MEASURED", "MEASURED"}:
        raise Inadmissible(said)
    if "INCONCLUSIVE" in states:
        raise Inconclusive(said, needed)
    return said
