"""Which options does a backend accept, are a target's valid, and which headers authenticate its requests?

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
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fireassay import catalog
from fireassay.errors import EnvironmentLacks, Problem
from fireassay.record.secrets.redact import REDACTED
from fireassay.spec.sections.serving import ENVIRONMENT_VARIABLE, Target
from fireassay.traffic.parts import Backend, Option, Sign, Wire

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
    if target.api_key_env:
        headers[key_header] = Hidden(before + _variable(target.api_key_env, "api_key_env", environ))
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
