"""How does a document declare its keys, and how is a number written in JSON?

A class per JSON object: each annotation is a key with its type, `key` says what it means and where its value comes from.  The document,
its JSON Schema and its reference page are generated from that.  JSON has no infinity: an end of an interval that the data do not bound
is null.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, ClassVar, Final, Union, get_args, get_origin, get_type_hints

from fireassay.estimates.dispersion import dispersion
from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.printable import json_text

KeyRow = tuple[str, str, str]  # key, type, meaning
Of = Callable[[Any], Any]
TOP: Final = "(top)"  # the document itself
DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
NUMBER: Final[Mapping[str, Any]] = {"type": "number"}
PAIR: Final[Mapping[str, Any]] = {"type": "array", "prefixItems": [NUMBER, NUMBER], "items": False}
# Type of a key in the reference -> its JSON Schema. "X or null" is either.
TYPES: Final[Mapping[str, Mapping[str, Any]]] = {
    **{name: {"type": name} for name in ("string", "integer", "number", "boolean", "null", "object")},
    "[number, number]": PAIR,
    "list of objects": {"type": "array", "items": {"type": "object"}},
    "list of numbers": {"type": "array", "items": {"type": ["number", "null"]}},
    "list of strings": {"type": "array", "items": {"type": "string"}},
    "list of [percent, seconds]": {"type": "array", "items": PAIR},
}
NAMES: Final[Mapping[Any, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
    tuple[float, float]: "[number, number]",
    list[str]: "list of strings",
    list[float]: "list of numbers",
    list[tuple[float, float]]: "list of [percent, seconds]",
}


@dataclass(frozen=True)
class Key:
    """A key: what it means, and how its value is taken from the thing that the object describes."""

    meaning: str
    of: Of | None  # None: the attribute, or item of a mapping, of the key's name
    when: Callable[[Any], bool] | None = None  # whether the key is present; None: always
    spread: bool = False  # the keys of its object stand in its place
    name: str = ""
    kind: str = ""  # of TYPES
    shape: type[JsonObject] | None = None  # of the object, or of each object in the list

    def value(self, thing: Any) -> Any:
        """What the thing has under this key."""
        if self.of is not None:
            return self.of(thing)
        return thing[self.name] if isinstance(thing, Mapping) else getattr(thing, self.name)

    @property
    def listed(self) -> bool:
        """True if it holds a list of objects."""
        return self.kind.startswith("list")


def key(meaning: str, of: str | Of | None = None, *, when: Callable[[Any], bool] | None = None) -> Any:
    """A key; `of`: a dotted attribute or a function of the thing, None: the attribute, or item of a mapping, of the key's name."""
    return Key(meaning, _getter(of), when)


def spread(of: str | Of | None = None) -> Any:
    """The keys of an object in place of one key; null where there is no such object."""
    return Key("", _getter(of), spread=True)


def _getter(of: str | Of | None) -> Any:
    return attrgetter(of) if isinstance(of, str) else of


class JsonObject:
    """The keys of a JSON object, which describes a thing with these attributes: any object, or one put together here."""

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)

    @classmethod
    def of(cls, thing: Any) -> dict[str, Any]:
        """The object that describes a thing, as plain Python values."""
        return {key.name: _content(key, thing) for key in keys(cls) if key.when is None or key.when(thing)}

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """Its JSON Schema."""
        required = [key.name for key in keys(cls) if key.when is None]
        return {"type": "object", "properties": {key.name: _key_schema(key) for key in keys(cls)}, "required": required}


class Document(JsonObject):
    """The JSON object that `assay VERB --json` prints."""

    VERB: ClassVar[str]
    VERSION: ClassVar[str] = ""  # name and version of the schema, the first key of the document; empty: no such key

    @classmethod
    def render(cls, thing: Any) -> str:
        """The document as strict, indented JSON."""
        return encode(cls.of(thing))

    @classmethod
    def fields(cls) -> dict[str, tuple[KeyRow, ...]]:
        """Keys by object, for the reference; an object that occurs several times is listed once."""
        return _fields(cls, "", set())

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON Schema of the document."""
        schema = cls.schema()
        if cls.VERSION:
            schema["properties"]["schema"] = {"const": cls.VERSION}
        return {"$schema": DRAFT, "title": f"assay {cls.VERB} --json", **schema}


KEYS: Final[dict[Any, tuple[Key, ...]]] = {}  # of each object, once asked for


def keys(shape: type[JsonObject]) -> tuple[Key, ...]:
    """The keys of an object in their order."""
    if shape not in KEYS:
        KEYS[shape] = tuple(_keys(shape))
    return KEYS[shape]


def _keys(shape: type[JsonObject]) -> Iterator[Key]:
    if issubclass(shape, Document) and (version := shape.VERSION):
        yield Key(f"always `{version}`; another number is another shape", lambda _: version, name="schema", kind="string")
    for name, hint in get_type_hints(shape).items():
        if isinstance(declared := getattr(shape, name, None), Key):
            key = _named(declared, name.rstrip("_"), hint)
            yield from (_lifted(inner, key) for inner in keys(key.shape)) if key.spread and key.shape is not None else (key,)


def _named(declared: Key, name: str, hint: Any) -> Key:
    several = get_origin(hint) in (Union, types.UnionType)
    kinds = get_args(hint) if several else (hint,)
    item = get_args(kinds[0])[0] if get_origin(kinds[0]) is list else kinds[0]
    shape = item if isinstance(item, type) and issubclass(item, JsonObject) else None
    return replace(declared, name=name, kind=" or ".join(map(_type_name, kinds)), shape=shape)


def _type_name(hint: Any) -> str:
    if hint in NAMES:
        return NAMES[hint]
    return "list of objects" if get_origin(hint) is list else "object"


def _lifted(inner: Key, whole: Key) -> Key:
    """A key of a part as one of the whole; null without the part."""
    when = inner.when

    def of(thing: Any) -> Any:
        return None if (part := whole.value(thing)) is None else inner.value(part)

    def present(thing: Any) -> bool:
        return (part := whole.value(thing)) is None or when is None or when(part)

    return replace(inner, of=of, when=present if when else None)


def _content(key: Key, thing: Any) -> Any:
    raw = key.value(thing)
    if key.shape is not None and raw is not None:
        return [key.shape.of(item) for item in raw] if key.listed else key.shape.of(raw)
    if isinstance(raw, float) and "null" in key.kind:
        return finite(raw)
    if isinstance(raw, (tuple, list)):
        return [finite(item) if isinstance(item, float) else item for item in raw]
    return dict(raw) if isinstance(raw, Mapping) else raw


def finite(number: float | None) -> float | None:
    """The number, or None if JSON cannot represent it."""
    return number if number is not None and math.isfinite(number) else None


def encode(content: Mapping[str, Any]) -> str:
    """Encode a document as strict, indented JSON.

    Raises:
        ValueError: a number is not finite.
    """
    return json_text(json.dumps(content, allow_nan=False, ensure_ascii=False, indent=2)) + "\n"


# ---- reference and schema --------------------------------------------------------------------------------------------


def _fields(shape: type[JsonObject], path: str, seen: set[type[JsonObject]]) -> dict[str, tuple[KeyRow, ...]]:
    fields = {path or TOP: tuple((key.name, key.kind, key.meaning) for key in keys(shape))}
    for key in keys(shape):
        if key.shape is not None and key.shape not in seen:
            seen.add(key.shape)
            name = f"{key.name}[]" if key.listed else key.name
            fields |= _fields(key.shape, f"{path}.{name}" if path else name, seen)
    return fields


def _key_schema(key: Key) -> dict[str, Any]:
    kinds = [dict(TYPES[kind]) for kind in key.kind.split(" or ")]
    if key.shape is not None:
        shape = key.shape.schema()
        kinds[0] = {**kinds[0], "items": shape} if key.listed else shape
    return {**(kinds[0] if len(kinds) == 1 else {"anyOf": kinds}), "description": key.meaning}


def key_tables(fields: Mapping[str, Sequence[KeyRow]]) -> list[str]:
    """Markdown lines: a heading and a table of keys for each object of a document."""
    lines = []
    for name, rows in fields.items():
        heading = "The document" if name == TOP else f"`{name}`"
        lines += ["", f"## {heading}", "", "| key | type | meaning |", "|---|---|---|"]
        lines += [f"| `{key}` | {kind} | {meaning} |" for key, kind, meaning in rows]
    return lines


def reference_page(title: str, module: str, document: type[Document], command: str, words: str | None) -> str:
    """A generated page: what a module says of its document, and the document's keys."""
    lines = [
        *(f"# {title}", "", f"<!-- generated by {module}.reference(); do not edit -->", ""),
        *(f"`{command}` writes one JSON object of the shape `{document.VERSION}`.", ""),
        *(words or "").split("\n\n", 1)[1].strip().splitlines(),
        *key_tables(document.fields()),
    ]
    return "\n".join(lines) + "\n"


# ---- numbers ---------------------------------------------------------------------------------------------------------


def is_measured(value: Any) -> bool:
    """True if there is a number."""
    return isinstance(value, Estimate)


def is_absent(value: Any) -> bool:
    """True if there is none."""
    return isinstance(value, Absent)


def _bounded(value: Estimate) -> bool:
    return all(map(math.isfinite, (value.value, value.low, value.high)))


class Dispersed(JsonObject):
    """How far the launches of a number lie apart."""

    count: int = key("launches, or rounds of a ratio")
    mean: float = key("their mean")
    deviation: float = key("standard deviation, by n - 1")
    min: float = key("the smallest", "smallest")
    max: float = key("the largest", "largest")
    variation: float | None = key("deviation / mean; null where the mean is 0")


def _is_dispersed(value: Value) -> bool:
    return dispersion(value) is not None


class Measured(JsonObject):
    """A number with its interval, or why there is none."""

    measured: bool = key("false: no number; `reason` and `detail` say why", is_measured)
    value: float | None = key("only if measured; null if it is infinite", when=is_measured)
    low: float | None = key("only if measured; lower end of the interval, null where the data do not bound it", when=is_measured)
    high: float | None = key("only if measured; upper end of the interval, null where the data do not bound it", when=is_measured)
    bounded: bool = key("only if measured; whether value, low and high are all finite", _bounded, when=is_measured)
    confidence: float = key("only if measured; 0..1, 1 for a complete count", when=is_measured)
    n_launches: int = key("only if measured; independent launches behind the value", when=is_measured)
    n_trials: int = key("only if measured; repeated units inside those launches", when=is_measured)
    method: str = key("only if measured; how value and interval were made", when=is_measured)
    signature: str = key("only if measured; two values may be compared only if their signatures agree", when=is_measured)
    launch_values: list[float] = key("only if measured; one for each launch or round, may be empty", when=is_measured)
    dispersion: Dispersed = key("only with two or more launch values", dispersion, when=_is_dispersed)
    reason: str = key("only if not measured: `not_measured`, `insufficient`, `not_applicable`, `undefined` or `refused`", when=is_absent)
    detail: str = key("only if not measured; what is missing, and how to obtain it", when=is_absent)


class BriefMeasured(JsonObject):
    """The same without its making."""

    measured: bool = Measured.measured
    value: float | None = Measured.value
    low: float | None = Measured.low
    high: float | None = Measured.high
    unit: str = key("only if measured; of the three", when=is_measured)
    reason: str = Measured.reason
    detail: str = Measured.detail


class Bounds(JsonObject):
    """A number between two others."""

    value: float | None = key("the ratio or difference")
    low: float | None = key("lower end of its interval; null: not bounded")
    high: float | None = key("upper end of it")


class Difference(JsonObject):
    """How far two sides are apart."""

    scale: str | None = key("`ratio` or `difference`; null: not compared by numbers")
    value: float | None = Bounds.value
    low: float | None = Bounds.low
    high: float | None = Bounds.high
    p_value: float | None = key("of no change")
    minimum_detectable_effect: float | None = key("relative, at 80 % power")
    method: str | None = key("how the interval was made")
