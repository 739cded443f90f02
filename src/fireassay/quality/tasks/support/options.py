"""Are the options of a layout known and of the right kind?  All problems at once, with the closest name."""

from __future__ import annotations

from collections.abc import Mapping

from fireassay.errors import Problem, refuse_any
from fireassay.spec.explain import did_you_mean, shown

Option = str | int | float | bool
KINDS: dict[type, str] = {str: "a text", int: "a whole number from 0", float: "a number", bool: "true or false"}

LEAST: dict[str, int] = {"max_tokens": 1}  # whole numbers that cannot be 0


def checked(
    layout: str, given: Mapping[str, Option], defaults: Mapping[str, Option], choices: Mapping[str, tuple[str, ...]]
) -> dict[str, Option]:
    """Every option with its value or default.

    Raises:
        SpecError: an unknown option, a value of another type, or none of its choices.
    """
    problems = []
    for name, value in given.items():
        where = f"evaluation.task_options.{name}"
        if name not in defaults:
            known = ", ".join(defaults) or f"no option: {layout} has none"
            problems.append(Problem(where, shown(value), known, did_you_mean(name, defaults)))
        elif name in choices and value not in choices[name]:
            fix = did_you_mean(str(value), choices[name])
            problems.append(Problem(where, shown(value), f"one of {', '.join(choices[name])}", fix))
        elif type(value) is not (kind := type(defaults[name])) and not (kind is float and type(value) is int):
            problems.append(Problem(where, shown(value), KINDS[kind]))
        elif type(value) is int and value < (least := LEAST.get(name, 0)):
            problems.append(Problem(where, shown(value), f"a whole number from {least}"))
    refuse_any(problems, f"the options of {layout}")
    return {**defaults, **given}


def listed(text: Option) -> tuple[str, ...]:
    """A comma-separated option."""
    return tuple(part for one in str(text).split(",") if (part := one.strip()))
