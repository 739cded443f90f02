"""Which values leave a sandbox?

Answers are JSON, and values are rebuilt from it as exact builtin types, or as fractions, decimals, dates and durations, so no object with methods of
its own, such as an `__eq__` that is always true, reaches the other side.  A subclass crosses as the value of its base.
Cannot tell: identity and shared parts of a value, and changes that a function makes to its arguments.

What crosses of an error: its name, its text, and its classes, so that a test that expects one of them takes it for that.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers assume true; see fireassay/__init__.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

try:
    from _json import encode_basestring_ascii as quoted  # what `json` uses
except ImportError:
    from json.encoder import encode_basestring_ascii as quoted

DEPTH: Final = 64  # of nested values
TEXT: Final = 1000  # characters of an error that cross
KINDS: Final = 8  # classes of an error that cross
MAX_ITERATED: Final = 100_000  # values of an iterator, which may have no end
MAX_DIGITS: Final = 100_000  # hexadecimal digits of an integer that crosses, and letters of a decimal; of a fraction's terms a tenth
PLAIN: Final = 2**53  # integers up to here are JSON numbers; others are hexadecimal


class Untransferable(Exception):
    """A value that cannot cross, or a message that is no value."""


def encode(value: Any, depth: int = 0) -> Any:
    if depth > DEPTH:
        raise Untransferable(f"a value nested deeper than {DEPTH}")
    if value is None or value is True or value is False:
        return value
    if isinstance(value, int):
        number = int.__index__(value)
        if number.bit_length() > 4 * MAX_DIGITS:
            raise Untransferable(f"a whole number of more than {MAX_DIGITS:,} hexadecimal digits")
        return number if -PLAIN < number < PLAIN else ["i", int.__format__(number, "x")]
    if isinstance(value, float):
        real = float.__float__(value)
        return real if real - real == 0.0 else ["f", float.__repr__(real)]
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, complex):
        return ["c", encode(value.real), encode(value.imag)]
    if isinstance(value, bytes | bytearray):
        return ["b" if isinstance(value, bytes) else "B", bytes(value).hex()]
    return _container(value, depth + 1)


def _container(value: Any, depth: int) -> Any:
    kinds: tuple[tuple[str, Any], ...] = (("l", list), ("t", tuple), ("s", set), ("z", frozenset))
    for tag, kind in kinds:
        if isinstance(value, kind):
            return [tag, *(encode(part, depth) for part in kind.__iter__(value))]
    if isinstance(value, dict):
        return ["d", *([encode(key, depth), encode(part, depth)] for key, part in dict.items(value))]
    if isinstance(value, range):
        return ["r", encode(value.start), encode(value.stop), encode(value.step)]
    if hasattr(type(value), "__next__"):
        return ["n", *_iterated(value, depth)]
    for tag, kind in VIEWS:
        if isinstance(value, kind):
            return [tag, *(encode(part, depth) for part in value)]
    if type(value).__module__ == "numpy" and type(value).__name__ != "ndarray" and hasattr(value, "item"):
        return encode(value.item(), depth)  # a number
    if isinstance(value, type) and TYPES.get(name := type.__dict__["__name__"].__get__(value)) is value:
        return ["T", name]
    tag, parts = STANDARD.get((type(value).__module__, type(value).__qualname__), ("", str))
    if tag and getattr(value, "tzinfo", None) is None:
        return [tag, *(encode(part, depth) for part in parts(value))]
    raise Untransferable(f"a value of type {type(value).__name__}")


def _iterated(value: Any, depth: int) -> list[Any]:
    parts: list[Any] = []
    for part in value:
        if len(parts) == MAX_ITERATED:
            raise Untransferable(f"an iterator of more than {MAX_ITERATED:,} values")
        parts.append(encode(part, depth))
    return parts


def _standard(module: str, name: str, tag: str) -> Callable[[list[Any]], Any]:
    """A type of the standard library, imported where one is rebuilt, from parts of the only kind that `encode` writes."""

    def rebuilt(parts: list[Any]) -> Any:
        if tag in PARTS and not all(type(part) is PARTS[tag] and _small(part) for part in parts):
            raise ValueError(parts)
        return getattr(__import__(module), name)(*parts)

    return rebuilt


def _small(part: Any) -> bool:
    """True if it takes little time to rebuild a value from it: reducing a fraction, or reading a decimal, is quadratic in its digits."""
    return len(part) <= MAX_DIGITS if type(part) is str else bool(part.bit_length() <= 4 * MAX_DIGITS // 10)


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS + 1:  # and a sign
        raise ValueError(len(text))
    return int(text, 16)


TYPES: Final = {kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, list, tuple, set, frozenset, dict)}
VIEWS: Final[tuple[tuple[str, Any], ...]] = (("k", type({}.keys())), ("v", type({}.values())), ("m", type({}.items())))
# Types of the standard library by what they call themselves, with the tag and the parts of which one is rebuilt.
STANDARD: Final[dict[tuple[str, str], tuple[str, Callable[[Any], Any]]]] = {
    ("fractions", "Fraction"): ("q", lambda value: (value.numerator, value.denominator)),
    ("collections", "deque"): ("Q", lambda value: (list(value), value.maxlen)),
    ("array", "array"): ("A", lambda value: (value.typecode, list(value))),
    ("decimal", "Decimal"): ("D", lambda value: (str(value),)),
    ("datetime", "date"): ("y", lambda value: (value.year, value.month, value.day)),
    ("datetime", "datetime"): ("Y", lambda value: (*value.timetuple()[:6], value.microsecond)),
    ("datetime", "time"): ("T", lambda value: (value.hour, value.minute, value.second, value.microsecond)),
    ("datetime", "timedelta"): ("e", lambda value: (value.days, value.seconds, value.microseconds)),
}
PARTS: Final[dict[str, type]] = {"q": int, "D": str, "y": int, "Y": int, "T": int, "e": int}
ATOMS: Final[dict[str, Callable[[str], Any]]] = {
    "i": _integer,
    "f": float,
    "b": bytes.fromhex,
    "B": bytearray.fromhex,
    "T": TYPES.__getitem__,
}
CONTAINERS: Final[dict[str, Callable[[list[Any]], Any]]] = {
    "l": list,
    "t": tuple,
    "s": set,
    "z": frozenset,
    "n": iter,
    "d": lambda pairs: {key: value for key, value in pairs},  # noqa: C416 - a pair must have two parts
    "k": lambda keys: dict.fromkeys(keys).keys(),
    "v": lambda values: dict(enumerate(values)).values(),
    "m": lambda pairs: dict(pairs).items(),
    "r": lambda bounds: range(*bounds),
    "c": lambda parts: complex(*parts),
    **{tag: _standard(*type_, tag) for type_, (tag, _) in STANDARD.items()},
}


def decode(told: Any, depth: int = 0) -> Any:
    """The value of a JSON value. Raises Untransferable: `encode` writes no such thing."""
    if depth > DEPTH + 2:
        raise Untransferable("a value nested too deeply")
    if told is None or type(told) in (bool, int, float, str):
        return told
    if type(told) is not list or not told or type(told[0]) is not str:
        raise Untransferable("no value")
    tag, *parts = told
    try:
        if tag in ATOMS and len(parts) == 1 and type(parts[0]) is str:
            return ATOMS[tag](parts[0])
        if tag == "d":
            return CONTAINERS[tag]([(decode(key, depth + 1), decode(part, depth + 1)) for key, part in parts])
        return CONTAINERS[tag]([decode(part, depth + 1) for part in parts])
    except (KeyError, TypeError, ValueError, ArithmeticError):
        raise Untransferable("no value") from None


def text_of(error: BaseException) -> list[str]:
    try:
        return [type(error).__name__[:TEXT], str(error)[:TEXT]]
    except BaseException:
        return [type(error).__name__[:TEXT], ""]


def kinds_of(error: BaseException) -> list[str]:
    """The classes of an error, the closest first: "module:name"."""
    try:
        return [f"{kind.__module__}:{kind.__name__}"[:TEXT] for kind in type(error).__mro__[:KINDS]]
    except BaseException:
        return []


def written(message: Any) -> str:
    """What `encode` returns, and objects of it, as JSON."""
    if type(message) is list:
        return "[" + ",".join(map(written, message)) + "]"
    if type(message) is dict:
        return "{" + ",".join(f"{quoted(key)}:{written(part)}" for key, part in message.items()) + "}"
    if type(message) is str:
        return quoted(message)
    return {None: "null", True: "true", False: "false"}[message] if message is None or type(message) is bool else repr(message)
