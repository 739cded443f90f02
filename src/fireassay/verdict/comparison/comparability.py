"""May these records be compared, and if not, which field forbids it?

Every field of the catalogue of conditions is compared between the baseline and each other side. A difference in identity or hardware
forbids the comparison unless it is declared as studied (`varying`) or follows from that; all others are reported and forbid nothing.
A refusal names the field, all values, why it matters, and the override.

How is a value of a condition shown to people?
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from fireassay.errors import Problem, refuse_any
from fireassay.frames.record_data import RecordData
from fireassay.verdict.comparison.types import Mismatch, Side
from fireassay.verdict.conditions.catalogue import CONDITIONS, known_names
from fireassay.verdict.conditions.condition import Condition, ConditionClass
from fireassay.verdict.conditions.declare import BEFORE

NOT_RECORDED: Final = "not recorded"
REFUSING: Final[tuple[ConditionClass, ...]] = ("identity", "hardware")
ORDER: Final[tuple[ConditionClass, ...]] = ("identity", "hardware", "condition", "context")
_MACHINE = tuple(dict.fromkeys(c.name for c in CONDITIONS if c.kind == "hardware" and not c.name.startswith("software.")))
_CODE = ("workload.script_sha256", "workload.files", "workload.script", "workload.git")
# Alias -> the fields that it stands for.
ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "code": _CODE,
    "script": _CODE,
    "arguments": ("workload.arguments",),
    "environment": ("workload.environment", "workload.variables"),
    "engine": (
        *_CODE,
        "workload.runner",
        "workload.arguments",
        "workload.environment",
        "conditions.engine",
        "launcher.kind",
        "software",
        "allocation.image_id",
        "warm_up",
        "engine",
        "engines",
        "target",
        "serving.tokens_from",
    ),
    "objectives": ("serving.objectives",),
    "prompts": ("serving.prompts", "serving.files", "serving.schedules"),
    "client": ("serving.client",),
    "machine": (*_MACHINE, "host", "noise", "doctor", "gpu", "cpu"),
    "software": ("software", "allocation.image_id", "host.kernel", "host.os", "gpu.driver"),
    "launcher": ("launcher",),
    "model": ("conditions.model", "model", "serving.model", "serving.tokenizer", "engine.model"),
    "dataset": ("conditions.dataset", "data", "dataset", "samples"),
    "batch": ("conditions.batch", "conditions.batch_size", "conditions.global_batch", "batch"),
}
# Declared field -> fields that change with it, so that one change needs one declaration.
FOLLOWS: Final[Mapping[str, tuple[str, ...]]] = {
    "workload.script_sha256": _CODE,
    "workload.script": _CODE,
    "conditions.model": ("model",),
    **dict.fromkeys(("conditions.dataset", "data", "data.version", "data.split"), ("data.content", "dataset", "samples")),
    "data.content": ("dataset", "samples"),
    "conditions.batch": ("batch",),
    "conditions.batch_size": ("batch",),
    "conditions.global_batch": ("batch",),
    "serving.model": ("engine.model", "serving.tokenizer"),
    "serving.prompts": ("serving.files", "serving.schedules"),
    "serving.files": ("serving.schedules",),
    "serving.tokenizer": ("serving.files",),
    "engine.backend": ("engines", "serving.tokens_from"),
    "gpu.models": ("gpu",),
    "cpu.model": ("cpu", "host.machine"),
    "software.torch.version": ("software.torch", "software.packages.triton"),
}


def differences(sides: Sequence[Side], varying: Sequence[str] = ()) -> tuple[Mismatch, ...]:
    """All conditions in which a side differs from the first: refusing ones first, then by class and catalogue.

    Raises:
        SpecError: a name in `varying` is no condition; names the closest ones.
    """
    mismatches = [
        mismatch
        for condition in CONDITIONS
        for mismatch in _of_condition(condition, [condition.fields(s.measured, s.judgement.results) for s in sides])
    ]
    declared = declare(varying, [mismatch.field for mismatch in mismatches], _conditions_of(sides))
    marked = [_declared(mismatch, covers(mismatch.field, declared)) for mismatch in mismatches]
    return tuple(sorted(marked, key=lambda m: (not m.refuses or m.declared, ORDER.index(m.kind))))


def differences_now(measured: RecordData, before: Mapping[str, Any]) -> tuple[Mismatch, ...]:
    """The conditions of machine, software and script in which an environment captured now differs from the record's.

    Not those that only a run shows (data, engines), nor those the record lacks. `before`: as in `environment.before`.
    """
    now = replace(measured, manifest={**measured.manifest, "environment": {"before": before}})
    known = [condition for condition in CONDITIONS if condition.source in (BEFORE, f"{BEFORE} script") and condition.kind != "context"]
    mismatches = [
        found for condition in known for found in _of_condition(condition, [condition.fields(side, {}) for side in (measured, now)])
    ]
    return tuple(mismatch for mismatch in mismatches if mismatch.values[0] != NOT_RECORDED)


def refusing(mismatches: Iterable[Mismatch]) -> tuple[Mismatch, ...]:
    """Those that forbid the comparison."""
    return tuple(mismatch for mismatch in mismatches if mismatch.refuses and not mismatch.declared)


def unknown_on_all(sides: Sequence[Side]) -> tuple[str, ...]:
    """Identity fields that no side recorded: not compared, so they could differ."""
    results = [(side.measured, side.judgement.results) for side in sides]
    kinds = {side.measured.kind for side in sides}
    return tuple(
        c.name
        for c in CONDITIONS
        if c.kind == "identity"
        and any(kind.concerns(c.about) for kind in kinds)
        and c.family is None
        and c.absent == "differs"
        and c.name != "workload.script"
        and not any(c.fields(*result) for result in results)
    )


def _of_condition(condition: Condition, values: Sequence[Mapping[str, Any]]) -> list[Mismatch]:
    fields = list(dict.fromkeys(field for side_values in values for field in side_values))
    mismatches = (_of_field(condition, field, values) for field in fields)
    return [mismatch for mismatch in mismatches if mismatch is not None]


def _of_field(condition: Condition, field: str, values: Sequence[Mapping[str, Any]]) -> Mismatch | None:
    """The mismatch in one field over all sides; None if they agree."""
    absent = [field not in side_values for side_values in values]
    if any(absent) and condition.family is not None and condition.absent == "skip" and all(values):
        return None  # a configuration of one side only
    present = [side_values[field] for side_values in values if field in side_values]
    equal = all(condition.same(present[0], other) for other in present[1:])
    if equal and not any(absent):
        return None
    silent = equal and condition.kind != "identity"  # a gap in hardware or below is reported and forbids nothing
    optional = equal and condition.kind == "identity" and condition.absent == "note"
    return Mismatch(
        field=field,
        kind=condition.kind,
        why=condition.why,
        override=f"--varying {field}, or --force",
        values=tuple(_shown(condition, field, side_values) for side_values in values),
        refuses=condition.kind in REFUSING and not silent and not optional,
    )


def _shown(condition: Condition, field: str, values: Mapping[str, Any]) -> str:
    if field in values:
        return text_of(values[field])
    spoken = condition.family in ("workload.environment.", "conditions.") or (condition.family is not None and values)
    return "not set" if spoken else NOT_RECORDED


def _declared(mismatch: Mismatch, declared: bool) -> Mismatch:
    return replace(mismatch, declared=declared)


def declare(varying: Sequence[str], seen: Iterable[str], conditions: Iterable[str]) -> frozenset[str]:
    """Fields and prefixes that the names stand for, with the fields that follow from them.

    `seen`: fields that differ; `conditions`: keys of `[conditions]` on any side.
    """
    known, keys = {*seen, *known_names()}, set(conditions)
    meant: set[str] = set()
    problems = []
    for name in varying:
        fields = _meaning(name, known, keys)
        if not fields:
            problems.append(_unknown(name, known, keys))
        meant.update(fields)
    refuse_any(problems, "the comparison")
    return frozenset(meant | {more for field in meant for more in FOLLOWS.get(field, ())})


def covers(field: str, declared: Iterable[str]) -> bool:
    """True if a field is declared, by name or by prefix."""
    return any(field == name or field.startswith(f"{name}.") for name in declared)


def _meaning(name: str, known: set[str], keys: set[str]) -> tuple[str, ...]:
    plain = name.removesuffix(".*")
    key = (f"conditions.{plain}",) if plain in keys else ()
    if plain in ALIASES:
        return (*ALIASES[plain], *key)
    families = [condition.removesuffix(".*") for condition in known if condition.endswith(".*")]
    if any(plain == condition or condition.startswith(f"{plain}.") for condition in known) or covers(plain, families):
        return (plain,)
    return key


def _unknown(name: str, known: set[str], keys: set[str]) -> Problem:
    candidates = sorted({*ALIASES, *keys, *(candidate.removesuffix(".*") for candidate in known)})
    last = [candidate for candidate in candidates if name in candidate.split(".")]
    close = [*last, *difflib.get_close_matches(name, candidates, n=3)][:3]
    remedy = f"Did you mean {' or '.join(f'--varying {candidate}' for candidate in close)}?" if close else ""
    return Problem(
        "--varying",
        repr(name),
        fix=remedy,
        allowed=f"a condition, a prefix of a group of conditions, or one of {', '.join(ALIASES)}; docs/reference/conditions.md lists them",
    )


def _conditions_of(sides: Sequence[Side]) -> set[str]:
    return {key for side in sides for key in side.measured.experiment.conditions}


__all__ = ["ALIASES", "NOT_RECORDED", "covers", "declare", "differences", "refusing", "unknown_on_all"]
_BREAKS: Final = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")  # str.splitlines


def text_of(value: Any) -> str:
    """A condition's value as one line: text from a record must not look like a line of the report."""
    if isinstance(value, str):
        return _in_one_line(value) or "(empty)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return _in_one_line(" ".join(value)) or "(none)"
    return json.dumps(value, default=str, sort_keys=True)


def _in_one_line(text: str) -> str:
    """Escape characters that start a new line."""
    return "".join(char if char not in _BREAKS else repr(char)[1:-1] for char in text)
