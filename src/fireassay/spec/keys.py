"""Which keys has an experiment, and what may each of them hold?

Error messages, the editor schema and the reference page all take their words from the models, through here.
A key is written as a path: "launches.seed"; "faults[].kind" is a key of every table in a list.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from fireassay.spec.model import Flag, Model

AnyModel = TypeVar("AnyModel", bound=BaseModel)
PATTERN_WORDS = "letters, digits, dots, dashes and underscores, beginning with a letter or digit"


@dataclass(frozen=True, kw_only=True)
class Key:
    """One key of the experiment."""

    path: str
    type: str  # "whole number", "text", "strong | weak" ...
    allowed: str  # "a whole number from 1 to 1000"
    description: str
    required: bool
    default: object  # meaningless where required
    section: bool  # holds other keys
    flags: tuple[Flag, ...] = ()  # flags that set it


def keys(model: type[BaseModel], prefix: str = "", *, plug_ins: bool = True) -> dict[str, Key]:
    """Every key below a model by path, sections before their keys, in model order.

    With `plug_ins`, loads plug-ins and includes their keys.
    """
    model = complete(model) if plug_ins else model
    every: dict[str, Key] = {}
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        every[path] = _key(path, field, plug_ins)
        every.update(_below(path, field, plug_ins))
    return every


def siblings(all_keys: Mapping[str, Key], section: str) -> tuple[str, ...]:
    """The names of the keys directly inside a section ("" for the top)."""
    prefix = f"{section}." if section else ""
    names = (path.removeprefix(prefix) for path in all_keys if path.startswith(prefix))
    return tuple(name for name in names if "." not in name and not name.endswith("[]"))


def _key(path: str, field: FieldInfo, plug_ins: bool) -> Key:
    kind, bounds = _bare(field.annotation, field.metadata)
    factory, model = field.default_factory, model_of(kind)
    return Key(
        path=path,
        type=_type(kind),
        allowed=_allowed(kind, bounds) if model is None else _tables(kind, complete(model) if plug_ins else model),
        description=field.description or _doc(kind),
        required=field.is_required(),
        default=factory() if factory else field.default,  # type: ignore[call-arg]
        section=model is not None,
        flags=tuple(part for part in field.metadata if isinstance(part, Flag)),
    )


def _below(path: str, field: FieldInfo, plug_ins: bool) -> dict[str, Key]:
    kind, _ = _bare(field.annotation, field.metadata)
    if (model := model_of(kind)) is not None:
        inside = f"{path}[]." if get_origin(kind) is tuple else f"{path}."
        return keys(model, inside, plug_ins=plug_ins)
    if get_origin(kind) is tuple:
        return {f"{path}[]": _item(f"{path}[]", *_bare(get_args(kind)[0], ()))}
    if get_origin(kind) is dict:
        item = _item(f"{path}.*", *_bare(get_args(kind)[1], ()))
        return {item.path: replace(item, allowed="text, a number or true/false") if _mixed(kind) else item}
    return {}


def _item(path: str, kind: Any, bounds: Sequence[Any]) -> Key:
    return Key(
        path=path,
        type=_type(kind),
        allowed=_allowed(kind, bounds),
        description="",
        required=False,
        default=PydanticUndefined,
        section=False,
    )


def bare(annotation: Any) -> Any:
    """The type without `| None` and `Annotated`."""
    return _bare(annotation, ())[0]


def _bare(annotation: Any, metadata: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """The same, and its bounds."""
    if get_origin(annotation) is Annotated:
        inner, *notes = get_args(annotation)
        unpacked = [part for note in notes for part in (note.metadata if isinstance(note, FieldInfo) else (note,))]
        return _bare(inner, (*unpacked, *metadata))
    if get_origin(annotation) in (Union, types.UnionType):
        inner = next(part for part in get_args(annotation) if part is not type(None))
        return _bare(inner, metadata)
    return annotation, metadata


def model_of(kind: Any) -> type[BaseModel] | None:
    """The model of a section, or of a list of sections."""
    if get_origin(kind) is tuple:
        kind, _ = _bare(get_args(kind)[0], ())
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def complete(model: type[AnyModel]) -> type[AnyModel]:
    """The same model with the keys that plug-ins add."""
    return model.complete() if issubclass(model, Model) else model


def _doc(kind: Any) -> str:
    model = model_of(kind)
    return (model.__doc__ or "").splitlines()[0] if model else ""


_TYPES: dict[Any, str] = {int: "whole number", float: "number", str: "text", date: "date", bool: "true or false", Any: "any value"}


def _type(kind: Any) -> str:
    if (model := model_of(kind)) is not None:
        return "list of tables" if get_origin(kind) is tuple else f"table ({model.__name__.lower()})"
    if get_origin(kind) is Literal:
        return " | ".join(str(choice) for choice in get_args(kind))
    if get_origin(kind) is tuple:
        item, _ = _bare(get_args(kind)[0], ())
        if get_origin(item) is Literal:
            return f"list of {_type(item)}"
        return f"list of {'text' if item is str else _TYPES[item] + 's'}"
    if get_origin(kind) is dict:
        return "table of values" if _mixed(kind) else "table of text"
    return _TYPES[kind]


def _mixed(kind: Any) -> bool:
    """True if a table holds values of several types."""
    return get_origin(get_args(kind)[1]) in (Union, types.UnionType)


def _tables(kind: Any, model: type[BaseModel]) -> str:
    names = ", ".join(field.alias or name for name, field in model.model_fields.items())
    return f"{'a list of tables' if get_origin(kind) is tuple else 'a table'} with the keys {names}"


def _allowed(kind: Any, bounds: Sequence[Any]) -> str:
    """The allowed values, in words."""
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        return f"one of {', '.join(map(str, choices))}" if len(choices) > 1 else f'only "{choices[0]}"'
    if get_origin(kind) is tuple:
        item = _allowed(*_bare(get_args(kind)[0], ()))
        empty = " that is not empty" if any(isinstance(bound, annotated_types.MinLen) for bound in bounds) else ""
        return f"a list{empty}, each item {item}"
    if get_origin(kind) is dict:
        return "a table of lines NAME = text, number or true/false" if _mixed(kind) else 'a table of lines NAME = "text"'
    return " ".join([_SINGULAR[kind], *_bounds(bounds)])


_SINGULAR: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "text",
    date: "a date such as 2026-01-31",
    bool: "true or false",
    Any: "any value",
}


def _bounds(bounds: Sequence[Any]) -> Iterator[str]:
    by_type = {type(bound): bound for bound in bounds}
    above, least = by_type.get(annotated_types.Gt), by_type.get(annotated_types.Ge)
    below, most = by_type.get(annotated_types.Lt), by_type.get(annotated_types.Le)
    low = f"above {_number(above.gt)}" if above else f"of at least {_number(least.ge)}" if least else ""
    top = most.le if most else below.lt - 1 if below and isinstance(below.lt, int) else None
    high = f"at most {_number(top)}" if top is not None else f"below {_number(below.lt)}" if below else ""
    if least and top is not None:
        yield f"from {_number(least.ge)} to {_number(top)}"
    elif low or high:
        yield " and ".join(part for part in (low, high) if part)
    if any(getattr(bound, "pattern", None) for bound in bounds):
        longest = by_type.get(annotated_types.MaxLen)
        yield f"of {f'at most {longest.max_length} ' if longest else ''}{PATTERN_WORDS}"
    elif annotated_types.MinLen in by_type:
        yield "that is not empty"


def _number(bound: Any) -> str:
    return str(int(bound)) if bound == int(bound) else str(bound)
