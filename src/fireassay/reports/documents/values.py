"""How does a document declare its keys, and how is a number written in JSON?

Each key is declared once, with name, type, meaning and content; the document, its JSON Schema and its reference page are generated from
that. JSON has no infinity: an end of an interval that the data do not bound is null.
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

S = TypeVar("S")
T = TypeVar("T")
Row = tuple[str, str, str]  # key, type, meaning
TOP: Final = "(top)"  # the document itself
DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
NUMBER: Final[Mapping[str, Any]] = {"type": "number"}
# Type of a key -> its JSON Schema. "X or Y" is either.
TYPES: Final[Mapping[str, Mapping[str, Any]]] = {
    **{name: {"type": name} for name in ("string", "integer", "number", "boolean", "null", "object")},
    "[number, number]": {"type": "array", "prefixItems": [NUMBER, NUMBER], "items": False},
    "list of objects": {"type": "array", "items": {"type": "object"}},
    "list of numbers": {"type": "array", "items": {"type": ["number", "null"]}},
    "list of strings": {"type": "array", "items": {"type": "string"}},
    "list of [percent, seconds]": {"type": "array", "items": {"type": "array", "prefixItems": [NUMBER, NUMBER], "items": False}},
}


@dataclass(frozen=True)
class Key(Generic[T]):
    """A key of a JSON object made from a T."""

    name: str
    kind: str  # of TYPES
    meaning: str
    of: Callable[[T], Any] | None = None  # None: the attribute, or item of a mapping, of the same name
    shape: Keys[Any] = ()  # of the object, or of each object in the list
    when: Callable[[T], bool] | None = None  # whether the key is present; None: always


Keys = tuple[Key[T], ...]


@dataclass(frozen=True, kw_only=True)
class Document(Generic[T]):
    """The JSON object that `assay VERB --json` prints."""

    verb: str
    schema: str = ""  # name and version, the first key of the document; empty: no such key
    keys: Keys[T]

    @property
    def shape(self) -> Keys[T]:
        """All keys."""
        if not self.schema:
            return self.keys
        return (Key("schema", "string", f"always `{self.schema}`; another number is another shape", lambda thing: self.schema), *self.keys)

    def content(self, thing: T) -> dict[str, Any]:
        """The document as plain Python values."""
        return made(self.shape, thing)

    def render(self, thing: T) -> str:
        """The document as strict, indented JSON."""
        return encode(self.content(thing))

    @property
    def fields(self) -> dict[str, tuple[Row, ...]]:
        """Keys by object, for the reference; a shape that occurs several times is listed once."""
        return _fields(self.shape, "", set())

    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema of the document."""
        schema = _object_schema(self.shape)
        if self.schema:
            schema["properties"]["schema"] = {"const": self.schema}
        return {"$schema": DRAFT, "title": f"assay {self.verb} --json", **schema}


def made(keys: Keys[T], thing: T) -> dict[str, Any]:
    """Build the JSON object of `thing`."""
    return {key.name: _content(key, thing) for key in keys if key.when is None or key.when(thing)}


def _content(key: Key[T], thing: T) -> Any:
    raw = _raw(key, thing)
    if key.shape and raw is not None:
        return [made(key.shape, item) for item in raw] if key.kind.startswith("list") else made(key.shape, raw)
    if isinstance(raw, float) and "null" in key.kind:
        return finite(raw)
    return list(raw) if isinstance(raw, tuple) else dict(raw) if isinstance(raw, Mapping) else raw


def _raw(key: Key[T], thing: T) -> Any:
    if key.of is not None:
        return key.of(thing)
    return thing[key.name] if isinstance(thing, Mapping) else getattr(thing, key.name)


def lifted(keys: Keys[S], part_of: Callable[[T], S | None]) -> Keys[T]:
    """The keys of a part of a T as keys of the T; null without the part."""

    def lift(key: Key[S]) -> Key[T]:
        def of(thing: T) -> Any:
            return None if (part := part_of(thing)) is None else _raw(key, part)

        def when(thing: T) -> bool:
            part = part_of(thing)
            return part is None or key.when is None or key.when(part)

        return Key(key.name, key.kind, key.meaning, of, key.shape, when if key.when else None)

    return tuple(map(lift, keys))


# ---- reference and schema --------------------------------------------------------------------------------------------


def _fields(keys: Keys[Any], path: str, seen: set[int]) -> dict[str, tuple[Row, ...]]:
    fields = {path or TOP: tuple((key.name, key.kind, key.meaning) for key in keys)}
    for key in keys:
        if key.shape and id(key.shape) not in seen:
            seen.add(id(key.shape))
            name = f"{key.name}[]" if key.kind.startswith("list") else key.name
            fields |= _fields(key.shape, f"{path}.{name}" if path else name, seen)
    return fields


def _object_schema(keys: Keys[Any]) -> dict[str, Any]:
    required = [key.name for key in keys if key.when is None]
    return {"type": "object", "properties": {key.name: _key_schema(key) for key in keys}, "required": required}


def _key_schema(key: Key[Any]) -> dict[str, Any]:
    kinds = [dict(TYPES[kind]) for kind in key.kind.split(" or ")]
    if key.shape:
        shape = _object_schema(key.shape)
        kinds[0] = {**kinds[0], "items": shape} if key.kind.startswith("list") else shape
    return {**(kinds[0] if len(kinds) == 1 else {"anyOf": kinds}), "description": key.meaning}


def key_tables(fields: Mapping[str, Sequence[Row]]) -> list[str]:
    """Markdown lines: a heading and a table of keys for each object of a document."""
    lines = []
    for name, rows in fields.items():
        heading = "The document" if name == TOP else f"`{name}`"
        lines += ["", f"## {heading}", "", "| key | type | meaning |", "|---|---|---|"]
        lines += [f"| `{key}` | {kind} | {meaning} |" for key, kind, meaning in rows]
    return lines


# ---- shared shapes ---------------------------------------------------------------------------------------------------

DIFFERENCE: Final[Keys[Difference]] = (
    Key("scale", "string or null", "`ratio` or `difference`; null: not compared by numbers"),
    Key("value", "number or null", "the ratio or difference"),
    Key("low", "number or null", "lower end of its interval; null: not bounded"),
    Key("high", "number or null", "upper end of it"),
    Key("p_value", "number or null", "of no change"),
    Key("minimum_detectable_effect", "number or null", "relative, at 80 % power"),
    Key("method", "string or null", "how the interval was made"),
)


def measured(value: Value) -> bool:
    """Whether there is a number."""
    return isinstance(value, Estimate)


def absent(value: Value) -> bool:
    """Whether there is none."""
    return isinstance(value, Absent)


VALUE: Final[Keys[Value]] = (
    Key("measured", "boolean", "false: no number; `reason` and `detail` say why", measured),
    Key("value", "number or null", "only if measured; null if it is infinite", when=measured),
    Key("low", "number or null", "only if measured; lower end of the interval, null where the data do not bound it", when=measured),
    Key("high", "number or null", "only if measured; upper end of the interval, null where the data do not bound it", when=measured),
    Key(
        "bounded",
        "boolean",
        "only if measured; whether value, low and high are all finite",
        lambda value: isinstance(value, Estimate) and all(map(math.isfinite, (value.value, value.low, value.high))),
        when=measured,
    ),
    Key("confidence", "number", "only if measured; 0..1, 1 for a complete count", when=measured),
    Key("n_launches", "integer", "only if measured; independent launches behind the value", when=measured),
    Key("n_trials", "integer", "only if measured; repeated units inside those launches", when=measured),
    Key("method", "string", "only if measured; how value and interval were made", when=measured),
    Key("signature", "string", "only if measured; two values may be compared only if their signatures agree", when=measured),
    Key(
        "launch_values",
        "list of numbers",
        "only if measured; one for each launch or block, may be empty",
        lambda value: [finite(number) for number in value.launch_values] if isinstance(value, Estimate) else None,
        when=measured,
    ),
    Key(
        "reason", "string", "only if not measured: `not_measured`, `insufficient`, `not_applicable`, `undefined` or `refused`", when=absent
    ),
    Key("detail", "string", "only if not measured; what is missing, and how to obtain it", when=absent),
)
BRIEF_VALUE: Final[Keys[Value]] = (
    *(key for key in VALUE if key.name in ("measured", "value", "low", "high")),
    Key("unit", "string", "only if measured; of the three", when=measured),
    *(key for key in VALUE if key.when is absent),
)


def finite(number: float | None) -> float | None:
    """The number, or None if JSON cannot represent it."""
    return number if number is not None and math.isfinite(number) else None


def encode(content: Mapping[str, Any]) -> str:
    """Encode a document as strict, indented JSON.

    Raises:
        ValueError: a number is not finite.
    """
    return json_text(json.dumps(content, allow_nan=False, ensure_ascii=False, indent=2)) + "\n"
