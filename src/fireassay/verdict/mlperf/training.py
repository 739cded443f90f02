"""Does a training's log follow MLPerf's rules?  Keys, their order and counts, hyperparameters, target; of one result file.

The rules are those of mlperf-logging's compliance checker (4.1.68, compliance_checker/training_ROUND.0): a key's rule in the benchmark's
file replaces that of the division, which replaces the common one.  A key that must occur once may be repeated with equal values.
Hyperparameters are compared as logged; a log cannot show whether the program used them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fireassay.record.mllog import Entry, Log
from fireassay.spec.mlperf.tables import TRAINING_SOURCE, TrainingRules
from fireassay.verdict.mlperf.types import Rule, rule, shown

SET_UP_MINUTES: Final = {"closed": 30.0, "open": 240.0}  # from the first init_start to init_stop
EPOCH_OR_SAMPLES: Final = ("epoch_num", "samples_count")
METADATA: Final[Mapping[str, Sequence[str]]] = {  # key -> one of these must be in its metadata
    "run_stop": ("status",),
    "block_start": ("epoch_count", "samples_count"),
    "block_stop": ("first_epoch_num", "samples_count"),
    "epoch_start": EPOCH_OR_SAMPLES,
    "epoch_stop": EPOCH_OR_SAMPLES,
    "eval_start": EPOCH_OR_SAMPLES,
    "eval_stop": EPOCH_OR_SAMPLES,
    "eval_accuracy": EPOCH_OR_SAMPLES,
}
OLD_EPOCHS: Final = {"epoch_start": ("epoch_num",), "epoch_stop": ("epoch_num",)}  # of round 4.1
FILLED: Final = ("train_samples", "eval_samples")  # any value but ""
NAMED: Final = ("submission_org", "submission_platform")  # likewise, except in round 5.0
ONCE: Final = ("init_stop", "run_start", "run_stop")
OFTEN: Final = ("cache_clear", "init_start", "eval_accuracy")
EITHER: Final = (("block_start", "epoch_start"), ("block_stop", "epoch_stop"), ("eval_start", "block_start"), ("eval_stop", "block_stop"))
OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {"==": operator.eq, ">=": operator.ge, ">": operator.gt}  # of a key's value
BOUNDS: Final[Mapping[str, tuple[str, Callable[[Any, Any], bool]]]] = {
    "at_least": (">=", operator.ge),
    "above": (">", operator.gt),
    "at_most": ("<=", operator.le),
    "below": ("<", operator.lt),
}
SOME: Final = "at least once"
ONE: Final = "once"


@dataclass
class _Key:
    """The rule of one key, and what is known of it while the lines pass."""

    count: str  # ONE or SOME; "": any number
    required: str = ""  # of its value or order, in words
    wrong: Callable[[Entry], str] = lambda entry: ""  # what is wrong with a line; "": nothing
    failed: tuple[str, Entry] | None = None
    values: list[Any] = field(default_factory=list)
    last: Entry | None = None


def file_rules(log: Log, round_: str, division: str, rules: TrainingRules | None) -> list[Rule]:
    """Every rule of one result file. `rules` None: the log names no known benchmark, which is itself a failure."""
    course = _Course(division)
    keys = _keys(course, round_, rules)
    _pass(log, keys, course)
    return [
        rule("lines", not log.broken, "every line with the marker is JSON", _broken(log), _first_broken(log), TRAINING_SOURCE, log.file),
        *(_counted(name, key, log) for name, key in keys.items()),
        *(_either(names, log) for names in EITHER),
        *(_target(log, rules) if rules is not None else ()),
        *_backwards(log),
    ]


def _backwards(log: Log) -> Iterator[Rule]:
    """A run that ends before it begins, which has no time to train: MLPerf's checker looks at the order of lines only."""
    start, stop = log.first("run_start"), log.first("run_stop")
    if start is not None and stop is not None and stop.time_ms <= start.time_ms:
        found = f"{(start.time_ms - stop.time_ms) / 1e3:g} s before it"
        yield rule("time to train", False, "time_ms of run_stop after that of run_start", found, stop.where, "assay", log.file)


def benchmark_of(log: Log) -> str:
    """The benchmark that a log names; "" if none."""
    return _text(log.value("submission_benchmark"))


def division_of(log: Log) -> str:
    """The division that a log names; "" if none."""
    return _text(log.value("submission_division"))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# ---- keys ------------------------------------------------------------------------------------------------------------


def _keys(course: _Course, round_: str, rules: TrainingRules | None) -> dict[str, _Key]:
    division = course.division
    keys = {name: _Key(count=ONE, required="any value", wrong=_empty) for name in NAMED if round_ != "5.0"}
    keys["submission_division"] = _Key(count=ONE, required=division, wrong=lambda entry: "" if entry.value == division else "another")
    keys["submission_benchmark"] = _Key(count=ONE, required=rules.benchmark if rules else "one of the round", wrong=_is(rules))
    keys |= {name: _Key(count=ONE, required="any value", wrong=_empty) for name in FILLED}
    for name in (*OFTEN, *ONCE, *METADATA):
        if name not in keys:
            count = ONE if name in ONCE else SOME if name in OFTEN else ""
            keys[name] = _Key(count=count, required=course.words(name, round_), wrong=course.check(name, round_))
    if division == "closed":
        keys["gradient_accumulation_steps"] = _Key(count=ONE, required="> 0", wrong=_compared(">", 0, {}))
    if rules is not None:
        keys |= _of_benchmark(rules)
    return keys


def _of_benchmark(rules: TrainingRules) -> dict[str, _Key]:
    seen: dict[str, Any] = {}  # values of earlier lines, for rules between keys
    keys = {}
    for name, (count, *comparison) in rules.keys.items():
        words = " ".join(map(str, comparison)) if comparison else "any value"
        check = _compared(comparison[0], comparison[1], seen) if comparison else _anything
        keys[name] = _Key(count=ONE if count == "one" else SOME, required=words, wrong=_noted(check, name, seen))
    if "FID" not in rules.target:  # its own unit instead of the common rule
        keys |= {name: _Key(count=SOME, required=f"metadata: {rules.unit}", wrong=_has((rules.unit,))) for name in rules.target}
    return keys


def _noted(check: Callable[[Entry], str], name: str, seen: dict[str, Any]) -> Callable[[Entry], str]:
    def noted(entry: Entry) -> str:
        found = check(entry)
        seen[name] = entry.value
        return found

    return noted


def _anything(_: Entry) -> str:
    return ""


def _is(rules: TrainingRules | None) -> Callable[[Entry], str]:
    """What is wrong with the benchmark that a log names."""

    def check(entry: Entry) -> str:
        return "not of the round" if rules is None else "" if entry.value == rules.benchmark else "another"

    return check


def _empty(entry: Entry) -> str:
    return "empty" if entry.value == "" else ""


def _has(names: Sequence[str]) -> Callable[[Entry], str]:
    def check(entry: Entry) -> str:
        return "" if any(name in entry.metadata for name in names) else f"without {' or '.join(names)}"

    return check


def _compared(sign: str, value: Any, seen: dict[str, Any]) -> Callable[[Entry], str]:
    """What is wrong with a line's value; values of another type are wrong, not an error."""

    def check(entry: Entry) -> str:
        try:
            held = FORMULAS[value](entry.value, seen) if sign == "formula" else OPERATORS[sign](entry.value, value)
        except (TypeError, KeyError, ValueError, ZeroDivisionError, OverflowError):
            held = False
        return "" if held else shown(entry.value)

    return check


def _rate_by_batch(value: Any, seen: Mapping[str, Any]) -> bool:
    """Proportional to the global batch size: 8e-5 at 1152."""
    return bool(value * 1152 == seen["global_batch_size"] * 8e-5)


def _decay_by_batch(value: Any, seen: Mapping[str, Any]) -> bool:
    """1,200,000 steps at a batch of 1152, without the warm-up's 8000 there."""
    batch = seen["global_batch_size"]
    return bool(value == math.ceil(1_200_000 * 1152 / batch) - math.ceil(8000 * 1152 / batch))


def _decay_after_warmup(value: Any, seen: Mapping[str, Any]) -> bool:
    """1,200,000 steps without the warm-up's."""
    return bool(value == 1_200_000 - seen["opt_learning_rate_warmup_steps"])


FORMULAS: Final[Mapping[str, Callable[[Any, Mapping[str, Any]], bool]]] = {
    "rate_by_batch": _rate_by_batch,
    "decay_by_batch": _decay_by_batch,
    "decay_after_warmup": _decay_after_warmup,
}


# ---- order -----------------------------------------------------------------------------------------------------------


class _Course:
    """Where a run is while its lines pass: set-up, run."""

    def __init__(self, division: str) -> None:
        self.division = division
        self.limit_ms = 0.0  # known once the division is logged, as the checker has it
        self.begin_ms = math.inf
        self.set_up = self.ready = self.running = False

    def words(self, name: str, round_: str) -> str:
        """What is required of a line with this key."""
        order = {
            "init_start": "before init_stop and run_start",
            "init_stop": f"after init_start, within {SET_UP_MINUTES.get(self.division, 0.0):g} min",
            "run_start": "after init_stop",
            "run_stop": "after run_start; metadata: status",
        }
        names = " or ".join(self._metadata(name, round_))
        return order.get(name) or (f"metadata: {names}" if names else "any value")

    @staticmethod
    def _metadata(name: str, round_: str) -> Sequence[str]:
        return (OLD_EPOCHS if round_ == "4.1" else {}).get(name) or METADATA.get(name, ())

    def check(self, name: str, round_: str) -> Callable[[Entry], str]:
        """What is wrong with a line with this key."""
        order = {"init_start": self._init_start, "init_stop": self._init_stop, "run_start": self._run_start}.get(name)
        if order is not None:
            return order
        if name == "block_start":
            return self._block_start
        missing = _has(self._metadata(name, round_)) if self._metadata(name, round_) else _anything
        return lambda entry: ("" if self.running else "before run_start") or missing(entry) if name == "run_stop" else missing(entry)

    def know(self, entry: Entry) -> None:
        """Take note of the division: the limit of the set-up follows from it."""
        if entry.key == "submission_division":
            self.limit_ms = SET_UP_MINUTES["open" if entry.value == "open" else "closed"] * 60_000.0

    def _init_start(self, entry: Entry) -> str:
        late = self.ready or self.running
        self.set_up, self.begin_ms = True, min(self.begin_ms, entry.time_ms)
        return "after init_stop or run_start" if late else ""

    def _init_stop(self, entry: Entry) -> str:
        took, early, late = entry.time_ms - self.begin_ms, not self.set_up, self.running
        self.ready = True
        if early or late:
            return "before init_start" if early else "after run_start"
        return "" if took < self.limit_ms else f"after {took / 60_000.0:.1f} min"

    def _run_start(self, _: Entry) -> str:
        early, self.running = not self.ready, True
        return "before init_stop" if early else ""

    def _block_start(self, entry: Entry) -> str:
        metadata = entry.metadata
        if not self.running:
            return "before run_start"
        try:
            epochs = "epoch_count" not in metadata or ("first_epoch_num" in metadata and metadata["epoch_count"] > 0)
            samples = "samples_count" not in metadata or metadata["samples_count"] >= 0
        except TypeError:
            epochs = samples = False
        return _has(METADATA["block_start"])(entry) or ("" if epochs and samples else "epoch_count, first_epoch_num or samples_count wrong")


def _pass(log: Log, keys: Mapping[str, _Key], course: _Course) -> None:
    """Let every line pass its key's rule, in their order. Keys `submission_*` are examined once only, as the checker does."""
    for entry in log.entries:
        key = keys.get(entry.key)
        if key is None:
            continue
        again = bool(key.values) and "submission_" in entry.key
        key.values.append(entry.value)
        key.last = entry
        if again:
            continue
        course.know(entry)
        if (found := key.wrong(entry)) and key.failed is None:
            key.failed = (found, entry)


# ---- results ---------------------------------------------------------------------------------------------------------


def _counted(name: str, key: _Key, log: Log) -> Rule:
    values, count = key.values, len(key.values)
    required = ", ".join(part for part in (key.count, key.required) if part)
    if key.count and not values:
        return rule(name, False, required, "missing", log.file, TRAINING_SOURCE, log.file)
    if key.failed is not None:
        found, entry = key.failed
        value = shown(entry.value)
        words = found if found == value or entry.value is None else f"{value}: {found}"
        return rule(name, False, required, words, entry.where, TRAINING_SOURCE, log.file)
    if key.count == ONE and any(value != values[0] for value in values[1:]):
        return rule(name, False, required, f"{count} times, with different values", log.file, TRAINING_SOURCE, log.file)
    value = values[0] if count == 1 and values[0] is not None else f"{count} times" if count != 1 else "once"
    return rule(name, True, required, value, key.last.where if key.last else log.file, TRAINING_SOURCE, log.file)


def _either(names: Sequence[str], log: Log) -> Rule:
    counts = {name: len(log.all(name)) for name in names}
    found = ", ".join(f"{count} {name}" for name, count in counts.items())
    return rule(" or ".join(names), any(counts.values()), SOME, found, log.file, TRAINING_SOURCE, log.file)


def _broken(log: Log) -> str:
    return f"{len(log.broken)} broken: {log.broken[0].reason}" if log.broken else f"{len(log.entries)} lines"


def _first_broken(log: Log) -> str:
    return log.broken[0].where if log.broken else log.file


def _target(log: Log, rules: TrainingRules) -> Iterator[Rule]:
    words = "; ".join(f"{name} {bounds_words(bounds)}" for name, bounds in rules.target.items())
    required = f"one evaluation with {words}"
    points = evaluations(log, rules)
    if points is None:
        yield rule("target", False, required, "an evaluation without its metric or its samples_count", log.file, TRAINING_SOURCE, log.file)
        return
    reached = next((point for point in points if met(point[1], rules)), None)
    if "FID" in rules.target:
        enough = len(points) >= 2 and all(name in scores for _, scores, _ in points for name in rules.target)
        found = f"{len(points)} evaluations"
        yield rule("evaluations", enough, "two or more, each with FID and CLIP", found, log.file, TRAINING_SOURCE, log.file)
    if reached is not None:
        found = ", ".join(f"{name} {shown(score)}" for name, score in reached[1].items())
        yield rule("target", True, required, f"{found} at {shown(reached[0])} {rules.unit}", reached[2].where, TRAINING_SOURCE, log.file)
        return
    last = points[-1] if points else None
    found = "no evaluation" if last is None else "last " + ", ".join(f"{name} {shown(score)}" for name, score in last[1].items())
    yield rule("target", False, required, found, last[2].where if last else log.file, TRAINING_SOURCE, log.file)


def bounds_words(bounds: Mapping[str, float]) -> str:
    """Bounds in words: ">= 0.72 and < 1"."""
    return " and ".join(f"{BOUNDS[name][0]} {value:g}" for name, value in bounds.items())


def met(scores: Mapping[str, Any], rules: TrainingRules) -> bool:
    """True if every score is within its bounds."""
    try:
        return all(BOUNDS[sign][1](scores[name], bound) for name, bounds in rules.target.items() for sign, bound in bounds.items())
    except (KeyError, TypeError):
        return False


def evaluations(log: Log, rules: TrainingRules) -> list[tuple[Any, dict[str, Any], Entry]] | None:
    """(how much was trained, score by name, line) of each evaluation; None: an evaluation does not say how much.

    FID and CLIP of an image generator are logged apart, and joined by their samples_count.
    """
    if "FID" not in rules.target:
        (name,) = rules.target
        return [(entry.metadata.get(rules.unit), {name: entry.value}, entry) for entry in log.all(name)]
    joined: dict[Any, tuple[Any, dict[str, Any], Entry]] = {}
    for entry in log.all("eval_accuracy"):
        if "metric" not in entry.metadata:
            continue
        at, metric = entry.metadata.get(rules.unit), entry.metadata["metric"]
        if at is None or isinstance(at, (list, dict)) or not isinstance(metric, str):
            return None
        joined.setdefault(at, (at, {}, entry))[1][metric] = entry.value
    return list(joined.values())
