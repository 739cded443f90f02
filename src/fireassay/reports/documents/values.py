"""How is a number written in JSON, and how does a document declare its keys?

Each key is declared once, with name, type, meaning and content; the document and its reference page are generated from that. JSON has no
infinity: an end of an interval that the data do not bound is null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.printable import json_text
from fireassay.stats.comparing.comparison import Difference

T = TypeVar("T")
Row = tuple[str, str, str]  # key, type, meaning
TOP: Final = "(top)"  # the document itself


@dataclass(frozen=True)
class Key(Generic[T]):
    """A key of a JSON object made from a T."""

    name: str
    kind: str
    meaning: str
    of: Callable[[T], Any]


Keys = tuple[Key[T], ...]


def made(keys: Keys[T], thing: T) -> dict[str, Any]:
    """Build the JSON object of `thing`."""
    return {key.name: key.of(thing) for key in keys}


def declared(**shapes: Keys[Any]) -> dict[str, tuple[Row, ...]]:
    """Keys of each object, for the reference: `top` is the document, every other name is a list in it."""
    names = {name: TOP if name == "top" else f"{name}[]" for name in shapes}
    return {names[name]: tuple((key.name, key.kind, key.meaning) for key in keys) for name, keys in shapes.items()}


# ---- keys of a difference between two values -------------------------------------------------------------------------

DIFFERENCE: Final[Keys[Difference]] = (
    Key("scale", "string or null", "`ratio` or `difference`; null: not compared by numbers", lambda d: d.scale),
    Key("value", "number or null", "the ratio or difference", lambda d: finite(d.value)),
    Key("low", "number or null", "lower end of its interval; null: not bounded", lambda d: finite(d.low)),
    Key("high", "number or null", "upper end of it", lambda d: finite(d.high)),
    Key("p_value", "number or null", "of no change", lambda d: finite(d.p_value)),
    Key("minimum_detectable_effect", "number or null", "relative, at 80 % power", lambda d: finite(d.minimum_detectable_effect)),
    Key("method", "string or null", "how the interval was made", lambda d: d.method),
)


def difference_keys(of: Callable[[T], Difference | None]) -> Keys[T]:
    """Keys of an optional difference."""

    def held(key: Key[Difference]) -> Key[T]:
        return Key(key.name, key.kind, key.meaning, lambda item: None if (difference := of(item)) is None else key.of(difference))

    return tuple(held(key) for key in DIFFERENCE)


# ---- values ----------------------------------------------------------------------------------------------------------


def value_object(value: Value) -> dict[str, Any]:
    """An estimate or an absent value as JSON."""
    if isinstance(value, Absent):
        return {"measured": False, "reason": value.reason, "detail": value.detail}
    return _estimate_object(value)


def _estimate_object(value: Estimate) -> dict[str, Any]:
    ends = (value.value, value.low, value.high)
    return {
        "measured": True,
        "value": finite(value.value),
        "low": finite(value.low),
        "high": finite(value.high),
        "bounded": all(math.isfinite(end) for end in ends),
        "confidence": value.confidence,
        "n_launches": value.n_launches,
        "n_trials": value.n_trials,
        "method": value.method,
        "signature": value.signature,
        "launch_values": [finite(v) for v in value.launch_values],
    }


def finite(number: float | None) -> float | None:
    """The number, or None if JSON cannot represent it."""
    return number if number is not None and math.isfinite(number) else None


def value_fields(value: Value | None) -> dict[str, Any] | None:
    """A number with interval and unit, or why there is none."""
    if value is None:
        return None
    if isinstance(value, Absent):
        return value_object(value)
    ends = {"low": finite(value.low), "high": finite(value.high)}
    return {"measured": True, "value": finite(value.value), **ends, "unit": value.unit}


# ---- text ------------------------------------------------------------------------------------------------------------


def encode(content: Mapping[str, Any]) -> str:
    """Encode a document as strict, indented JSON.

    Raises:
        ValueError: a number is not finite.
    """
    return json_text(json.dumps(content, allow_nan=False, ensure_ascii=False, indent=2)) + "\n"


def key_tables(fields: Mapping[str, Sequence[Row]]) -> list[str]:
    """Markdown lines: a heading and a table of keys for each object of a document."""
    lines = []
    for name, rows in fields.items():
        heading = "The document" if name == TOP else f"`{name}`"
        lines += ["", f"## {heading}", "", "| key | type | meaning |", "|---|---|---|"]
        lines += [f"| `{key}` | {kind} | {meaning} |" for key, kind, meaning in rows]
    return lines
