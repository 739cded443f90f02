"""What did the user set a score's option to, and is that allowed?"""

from __future__ import annotations

from collections.abc import Sequence

from fireassay.errors import SpecError, refuse
from fireassay.quality.scoring.text_metric import Options
from fireassay.spec.explain import shown


def wrong(metric: str, option: str, value: object, allowed: str, fix: str = "") -> SpecError:
    """An option's value that is not allowed."""
    return refuse(f"evaluation.options.{metric}.{option}", shown(value), allowed, fix, source="the options of scores")


def flag(metric: str, options: Options, option: str) -> bool:
    """An option that is true or false."""
    value = options[option]
    if not isinstance(value, bool):
        raise wrong(metric, option, value, "true or false")
    return value


def whole(metric: str, options: Options, option: str, least: int, most: int) -> int:
    """An option that is a whole number."""
    value = options[option]
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise wrong(metric, option, value, f"a whole number from {least} to {most}")
    return value


def text(metric: str, options: Options, option: str) -> str:
    """An option that is a text; a number stands for its digits, since a label may be one."""
    value = options[option]
    if isinstance(value, bool):
        raise wrong(metric, option, value, "a text", f'{metric}.{option} = "{str(value).lower()}"')
    return str(value)


def choice(metric: str, options: Options, option: str, among: Sequence[str]) -> str:
    """An option that is one of a few words."""
    value = options[option]
    if value not in among:
        raise wrong(metric, option, value, f"one of {', '.join(among)}")
    return str(value)


def yes(value: bool) -> str:
    """As sacrebleu writes it in a signature."""
    return "yes" if value else "no"
