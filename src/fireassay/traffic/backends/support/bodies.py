"""How is a request body built in a few microseconds, just before it is due?

The constant part (model, options, engine keys) is serialised once per target and kind of ask, and cached as bytes; each request
serialises only its own text, length and seed and appends them:

    {"model":"m","stream":true,...    cached
    ,"messages":[...]                 from the ask
    ,"max_tokens":100,"seed":7}       from the ask

Dialects that nest the varying part (`parameters`, `inferenceConfig`) merge two small objects instead.

Which options does a backend accept, are a target's valid, and which headers authenticate its requests?

    [serving.targets.options]
    path = "/v2/chat"               replaces the dialect's path
    "body.top_k" = 40               adds {"top_k": 40} to every body; dots after `body.` nest objects
    "json.stop" = '["END"]'         the same for values that TOML cannot express here: the value is JSON
    omit = "temperature seed"       leaves these keys out of every body

Each backend declares its further options (`Backend.options`); others are rejected, with the closest name.

Secrets come only from the client process's environment: the API key from the variable named by `Target.api_key_env`, others through
{env:NAME} in `Target.headers`.  They are `Hidden`: sent verbatim, but shown as `[redacted]` by their `repr` and that of any object
that holds them.  No error message contains one.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson

from fireassay import catalog
from fireassay.errors import EnvironmentLacks, Problem
from fireassay.record.secrets.redact import REDACTED
from fireassay.spec.sections.serving import ENVIRONMENT_VARIABLE, Target
from fireassay.traffic.parts import Ask, Backend, Option, Sign, Wire

Headers = tuple[tuple[str, str], ...]
FRAMING: Final = frozenset({"content-length", "transfer-encoding", "connection"})  # set by the transport
PATH: Final = Option(meaning="the path of requests, instead of the dialect's; begins with a slash")
OMIT: Final = Option(meaning="keys left out of the body, separated by blanks")
NATIVE: Final = Option(meaning="use the engine's own dialect instead of OpenAI's", kind=bool)
_BODY: Final = ("body.", "json.")


class Hidden(str):
    """A text that is sent and never shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(REDACTED)


# ---- headers -----------------------------------------------------------------------------------------------------


def headers_of(
    target: Target, *, key_header: str = "authorization", before: str = "Bearer ", environ: Mapping[str, str] | None = None
) -> Headers:
    """The headers a target adds to the dialect's own: its API key and its `headers`. Names in lower case.

    Raises:
        EnvironmentLacks: a variable is unset or its value is invalid in a header; the message names the variable.
    """
    environ = os.environ if environ is None else environ
    headers: dict[str, str] = {}
    if target.key_variable:
        headers[key_header] = Hidden(before + _variable(target.key_variable, "api_key_env", environ))
    for name, value in target.headers.items():
        headers[name.lower()] = _filled(value, f"headers.{name}", environ)
    return tuple(headers.items())


def _filled(value: str, where: str, environ: Mapping[str, str]) -> str:
    if not ENVIRONMENT_VARIABLE.search(value):
        return value
    return Hidden(ENVIRONMENT_VARIABLE.sub(lambda match: _variable(match[1], where, environ), value))


def _variable(name: str, where: str, environ: Mapping[str, str]) -> str:
    value = environ.get(name, "").strip()
    if not value:
        raise EnvironmentLacks(f"the environment variable {name} is not set; the target's {where} needs it. Set it in the environment")
    if not value.isprintable() or not value.isascii():
        raise EnvironmentLacks(f"the environment variable {name} has characters that are invalid in a header. Set it to printable ASCII")
    return value


def with_headers(target: Target) -> Sign:
    """`Backend.prepare` of every dialect that authenticates by headers alone: adds `headers_of(target)` to each request."""
    return adding(headers_of(target))


def adding(extra: Headers) -> Sign:
    """Add the same headers to every request, replacing equal names."""
    if not extra:
        return lambda wire, url: wire
    merged: dict[Headers, Headers] = {}

    def add(wire: Wire, url: str) -> Wire:
        headers = merged.get(wire.headers)
        if headers is None:
            headers = merged[wire.headers] = joined(wire.headers, extra)
        return Wire(path=wire.path, body=wire.body, method=wire.method, headers=headers)

    return add


def joined(headers: Headers, extra: Headers) -> Headers:
    """The headers with `extra`, which replaces equal names."""
    names = {name for name, _ in extra}
    return (*((name, value) for name, value in headers if name not in names), *extra)


# ---- options -----------------------------------------------------------------------------------------------------


def option(target: Target, name: str, default: str = "") -> str:
    return str(target.options.get(name, default))


def flag(target: Target, name: str) -> bool:
    return bool(target.options.get(name, False))


def body_of(target: Target) -> dict[str, Any]:
    """The keys that `body.KEY` and `json.KEY` add to every body.

    Raises:
        ValueError: the value of a `json.KEY` is not JSON (`check_options` has reported it before).
    """
    body: dict[str, Any] = {}
    for name, value in target.options.items():
        if not name.startswith(_BODY):
            continue
        *outer, last = name[len(_BODY[0]) :].split(".")
        parent = body
        for key in outer:
            inner = parent.setdefault(key, {})
            parent = inner if isinstance(inner, dict) else {}
        parent[last] = json.loads(str(value)) if name.startswith("json.") else value
    return body


def omitted(target: Target) -> frozenset[str]:
    """The keys left out of every body."""
    return frozenset(option(target, "omit").replace(",", " ").split())


def check_options(target: Target, task: str = "") -> tuple[Problem, ...]:
    """Every option of a target that its backend does not support. Raises EnvironmentLacks: no such backend."""
    return tuple(problems(catalog.load("traffic.backends", target.backend), target, task))


def problems(backend: Backend, target: Target, task: str = "") -> Iterator[Problem]:
    """The same for a loaded backend."""
    where = f"targets[{target.name}]"
    for name, value in target.options.items():
        if name.startswith(_BODY):
            yield from _body_problems(backend, f"{where}.options.{name}", name, value)
        elif name not in backend.options:
            yield _unknown(backend, f"{where}.options", name)
        else:
            yield from _value_problems(backend.options[name], f"{where}.options.{name}", value)
    for name, declared in backend.options.items():
        if declared.needed and name not in target.options:
            yield Problem(f"{where}.options", f"no {name}", f"{name}: {declared.meaning}", f'{name} = "..."')
    for name in target.headers:
        if name.lower() in FRAMING:
            yield Problem(f"{where}.headers", name, "headers that do not frame the message")
    tasks = backend.native if flag(target, "native") else backend.tasks
    if task and task not in tasks:
        dialect = f"{backend.name}'s own dialect" if flag(target, "native") else backend.name
        yield Problem(f"{where}.backend", f"task {task}", f"with {dialect}: {', '.join(tasks)}")


def _body_problems(backend: Backend, where: str, name: str, value: object) -> Iterator[Problem]:
    key = name[len(_BODY[0]) :]
    if backend.own_keys is None:
        yield Problem(where, name, f"no body keys: {backend.name} sends no body")
    elif not all(key.split(".")):
        yield Problem(where, repr(name), "names between the dots")
    elif key in backend.own_keys:
        yield Problem(
            where, name, "keys that assay does not write itself", f'{key} is set by the experiment; omit = "{key}" leaves it out.'
        )
    if name.startswith("json."):
        try:
            json.loads(str(value))
        except ValueError:
            yield Problem(where, repr(value), "JSON")


def _unknown(backend: Backend, where: str, name: str) -> Problem:
    extra = () if backend.own_keys is None else ("body.KEY", "json.KEY")
    matches = difflib.get_close_matches(name, backend.options, 1)
    remedy = f"Did you mean {matches[0]}?" if matches else ""
    if not remedy and extra:
        remedy = f'"body.{name}" adds a key to every body.'
    allowed = ", ".join((*backend.options, *extra)) or "none"
    return Problem(where, name, f"options of {backend.name}: {allowed}", remedy)


def _value_problems(declared: Option, where: str, value: object) -> Iterator[Problem]:
    fits = isinstance(value, declared.kind) and (declared.kind is bool or not isinstance(value, bool))
    if declared.kind is float:
        fits = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not fits:
        yield Problem(where, repr(value), f"a {_KINDS[declared.kind]}: {declared.meaning}")
    elif declared.choices and value not in declared.choices:
        yield Problem(where, repr(value), f"one of {', '.join(declared.choices)}")
    elif declared is PATH and not str(value).startswith("/"):
        yield Problem(where, repr(value), PATH.meaning)


_KINDS: Final[Mapping[type, str]] = {str: "text", int: "whole number", float: "number", bool: "true or false"}


# ---- options ---------------------------------------------------------------------------------------------------------


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
