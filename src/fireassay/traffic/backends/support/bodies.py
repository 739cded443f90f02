"""How is a request body built in a few microseconds, just before it is due?

The constant part (model, options, engine keys) is serialised once per target and kind of ask, and cached as bytes; each request
serialises only its own text, length and seed and appends them:

    {"model":"m","stream":true,...    cached
    ,"messages":[...]                 from the ask
    ,"max_tokens":100,"seed":7}       from the ask

Dialects that nest the varying part (`parameters`, `inferenceConfig`) merge two small objects instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support.options import body_of, omitted, option
from fireassay.traffic.parts import Ask, Wire

JSON_HEADERS: Final = (("content-type", "application/json"),)
STREAM_HEADERS: Final = (("content-type", "application/json"), ("accept", "text/event-stream"))
_MAX_HEADS = 256  # targets x kinds of ask in the cache; a client has a handful

Tree = dict[str, Any]
Path = Callable[[Ask, Target], str]
Fixed = Callable[[Ask, Target], Mapping[str, Any]]  # the constant keys of a kind of ask
WireOf = Callable[[Ask, Target], Wire]


class Head(NamedTuple):
    """The constant part of all requests of a kind."""

    target: Target
    path: str
    start: bytes  # JSON without its closing brace
    tree: Tree  # the same, as an object
    omit: frozenset[str]


Varied = Callable[[Ask, Head], bytes]  # the varying part as JSON members, each preceded by a comma
Deep = Callable[[Ask, Head], Mapping[str, Any]]  # the varying part as an object


def flat(path: Path, fixed: Fixed, varied: Varied) -> WireOf:
    """A `Backend.wire` whose cached part comes from `path` and `fixed`, and whose varying part from `varied`."""
    head_of = _heads(path, fixed)

    def wire(ask: Ask, target: Target) -> Wire:
        head = head_of(ask, target)
        rest = varied(ask, head)
        body = head.start + (rest if len(head.start) > 1 else rest[1:]) + b"}"
        return Wire(path=head.path, body=body, headers=STREAM_HEADERS if ask.stream else JSON_HEADERS)

    return wire


def deep(path: Path, fixed: Fixed, varied: Deep) -> WireOf:
    """The same for a dialect whose varying keys share objects with constant ones."""
    head_of = _heads(path, fixed)

    def wire(ask: Ask, target: Target) -> Wire:
        head = head_of(ask, target)
        body = orjson.dumps(merged(without(varied(ask, head), head.omit), head.tree), default=_plain)
        return Wire(path=head.path, body=body, headers=STREAM_HEADERS if ask.stream else JSON_HEADERS)

    return wire


def _heads(path: Path, fixed: Fixed) -> Callable[[Ask, Target], Head]:
    heads: dict[tuple[object, ...], Head] = {}

    def head_of(ask: Ask, target: Target) -> Head:
        content = (not ask.messages, not ask.query, not ask.documents)
        key = (id(target), ask.task, content, ask.model, ask.stream, ask.temperature, ask.ignore_eos, ask.logprobs)
        head = heads.get(key)
        if head is None or head.target is not target:
            if len(heads) >= _MAX_HEADS:
                heads.clear()
            omit = omitted(target)
            tree = merged(without(fixed(ask, target), omit), body_of(target))
            start = orjson.dumps(tree)[:-1]
            head = heads[key] = Head(target, option(target, "path") or path(ask, target), start, tree, omit)
        return head

    return head_of


def merged(into: Mapping[str, Any], extra: Mapping[str, Any]) -> Tree:
    """Recursive merge; where only one value is an object, or neither is, `extra` wins."""
    tree = dict(into)
    for name, value in extra.items():
        inner = tree.get(name)
        tree[name] = merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return tree


def without(tree: Mapping[str, Any], omit: frozenset[str], above: str = "") -> Tree:
    """The object without the keys in `omit`; nested keys are written with dots."""
    return {
        name: without(value, omit, f"{above}{name}.") if omit and isinstance(value, dict) else value
        for name, value in tree.items()
        if f"{above}{name}" not in omit
    }


def some(**values: Any) -> Tree:
    """An object of the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def member(name: str, value: object) -> bytes:
    """One member of a JSON object, preceded by a comma."""
    return b',"' + name.encode() + b'":' + orjson.dumps(value, default=_plain)


@lru_cache(maxsize=4096)
def numbers(*named: tuple[str, int | None]) -> bytes:
    """Members with integer values; None is left out."""
    return b"".join(b',"%s":%d' % (name.encode(), value) for name, value in named if value is not None)


def _plain(value: object) -> object:
    """Convert mappings that are not dicts, which a task may build."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def text_of(content: object) -> str:
    """The text of a message in OpenAI's format: a string, or parts of which some are text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, (list, tuple)):
        return ""
    return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping) and "text" in part)


def images_of(content: object) -> list[str]:
    """Image URLs of a message in OpenAI's format, usually data URLs."""
    if not isinstance(content, (list, tuple)):
        return []
    urls = (part.get("image_url") for part in content if isinstance(part, Mapping))
    return [str(url["url"]) if isinstance(url, Mapping) else str(url) for url in urls if url]


def data_url(url: str) -> tuple[str, str]:
    """Media type and base64 text of a data URL. Raises ValueError: it is a remote address, which these dialects do not accept."""
    kind, comma, data = url.partition(";base64,")
    if not url.startswith("data:") or not comma:
        raise ValueError("an image must be a data URL in base64 for this dialect")
    return kind.removeprefix("data:"), data
