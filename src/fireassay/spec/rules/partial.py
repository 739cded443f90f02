"""What is known of an experiment in which some values are wrong?

Rules between keys run even then, so that all problems are reported at once.  A rule that uses a wrong or missing value raises
`Unknown` and says no more: that value is reported anyway.  Values stay as the user wrote them, so that messages can show them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, NoReturn, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ValidationError
from pydantic.fields import FieldInfo

from fireassay.errors import Problem
from fireassay.spec.explain import shown
from fireassay.spec.keys import bare, complete, model_of
from fireassay.spec.model import Model

AnyModel = TypeVar("AnyModel", bound=BaseModel)
AnyValue = TypeVar("AnyValue", bound=Hashable)
Location = tuple[int | str, ...]
# errors of values of the right type, which other rules may still use
OUT_OF_BOUNDS: Final = ("greater_than", "less_than", "string_too", "string_pattern", "too_", "finite_number")


class Unknown(Exception):
    """A rule used a wrong or missing value."""


class _Wrong:
    """Stands for a wrong or missing value: every use but `is` raises Unknown."""

    def _unknown(self, *_: object) -> NoReturn:
        raise Unknown

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = __bool__ = __len__ = __iter__ = __getitem__ = _unknown
    __contains__ = __str__ = __repr__ = __format__ = __getattr__ = __float__ = __int__ = __abs__ = _unknown
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __rmod__ = _unknown


WRONG: Final[Any] = _Wrong()


def right(values: Any) -> list[tuple[int, Any]]:
    """The items that are not wrong, with their indices; none of a list that is itself wrong."""
    return [] if values is WRONG else [(index, value) for index, value in enumerate(values) if value is not WRONG]


def repeated(values: Iterable[AnyValue]) -> list[AnyValue]:
    """The values that occur more than once."""
    return [value for value, count in Counter(values).items() if count > 1]


@dataclass(frozen=True)
class Demand:
    """A rule with fixed words: what is allowed where its condition is broken, and how to fix it."""

    where: str
    violated: Callable[[Any], object]
    allowed: str
    fix: str = ""
    found: str = ""  # default: the value there

    def __call__(self, subject: BaseModel) -> Iterator[Problem]:
        if self.violated(subject):
            names = self.where.split(".")
            known = names if names[0] in type(subject).model_fields else names[1:]  # of a section alone
            yield Problem(self.where, self.found or shown(reduce(getattr, known, subject)), self.allowed, self.fix)


def broken(rules: Iterable[Callable[..., Iterable[Problem]]], *subjects: object) -> Iterator[Problem]:
    """The problems that rules find, each as far as the values that it needs are known."""
    for rule in rules:
        with suppress(Unknown):
            yield from rule(*subjects)


def as_far_as_known(model: type[AnyModel], data: object, error: ValidationError | None = None) -> AnyModel:
    """The model of raw data with every value as written, and `WRONG` for those that `error` reports."""
    details = error.errors(include_url=False, include_context=False) if error is not None else ()
    wrong = {detail["loc"] for detail in details if not _usable(detail["type"], detail["input"])}
    return _table(model, data, (), wrong)


def _usable(kind: str, value: object) -> bool:
    return kind.startswith(OUT_OF_BOUNDS) or (kind == "literal_error" and isinstance(value, str))


def _table(model: type[AnyModel], data: object, at: Location, wrong: Collection[Location]) -> AnyModel:
    if isinstance(data, model):
        return data
    named = model.own_names(data) if issubclass(model, Model) else data
    given = {name: value for name, value in named.items() if value is not None} if isinstance(named, Mapping) else {}
    model, values = complete(model), dict[str, Any]()
    for name, field in model.model_fields.items():
        key = field.alias or name
        if key in given:
            values[name] = _value(field.annotation, _read(field, given[key]), (*at, key), wrong)
        elif not field.is_required():
            values[name] = field.get_default(call_default_factory=True)
        else:
            section = model_of(bare(field.annotation))
            values[name] = WRONG if section is None else _table(section, {}, (), ())
    names = {field.alias or name: name for name, field in model.model_fields.items()}
    return model.model_construct({names.get(key, key) for key in given}, **values)


def _read(field: FieldInfo, value: Any) -> Any:
    """The value as the field's own converters make it: rules are about that, for example a list of a single text."""
    for one in field.metadata:
        if isinstance(one, BeforeValidator):
            with suppress(ValueError, TypeError):
                value = cast("Callable[[Any], Any]", one.func)(value)
    return value


def _value(annotation: Any, value: Any, at: Location, wrong: Collection[Location]) -> Any:
    kind = bare(annotation)
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        if not isinstance(value, list | tuple):
            return WRONG
        tables = model_of(kind) is not None
        return tuple(
            WRONG if tables and not isinstance(part, Mapping | BaseModel) else _value(item, part, (*at, index), wrong)
            for index, part in enumerate(value)
        )
    if (section := model_of(kind)) is not None:
        return _table(section, value, at, wrong)
    if at in wrong:
        return WRONG
    if isinstance(value, Mapping):
        return {name: WRONG if (*at, name) in wrong else inner for name, inner in value.items()}
    return value
