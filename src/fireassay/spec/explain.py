"""What is wrong with an experiment, on which line, and how can the user fix it?

Translates the validation library's errors, whose wording is never shown: the models say what is allowed (`fireassay.spec.keys`), the
found value is written as in TOML, and difflib finds the closest valid key.
The standard library's parser does not report lines, so the text is scanned again for table headers and the first key of each
line, which is how experiments are written.  A key inside braces gets the line of the key that holds the braces, one inside a
list of inline tables that of the list.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from pydantic import BaseModel, ValidationError

from fireassay.errors import Excerpt, Problem
from fireassay.errors import closest as closest
from fireassay.errors import did_you_mean as did_you_mean
from fireassay.spec.keys import Key, keys, siblings

NOTHING = "nothing"
MAX_SHOWN_LENGTH = 60
MAX_PROBLEMS = 100


def explain(model: type[BaseModel], error: ValidationError) -> tuple[Problem, ...]:
    """One problem per error, in order of the keys; a value with two errors is reported once."""
    known = keys(model)
    problems: dict[str, Problem] = {}
    details = error.errors(include_url=False, include_context=False)
    for detail in details[:MAX_PROBLEMS]:  # each is compared with every key, and nobody fixes a thousand at once
        problem = _problem(known, detail["type"], _without_choice(known, detail["loc"]), detail["input"])
        problems.setdefault(problem.where, problem)
    # A list whose items are all wrong is also reported as empty; the items are more specific.
    inner = {path[:end] for path in problems for end, mark in enumerate(path) if mark == "["}
    specific = tuple(problem for where, problem in problems.items() if where not in inner)
    rest = len(details) - MAX_PROBLEMS
    return (*specific, Problem("the rest", f"{rest:,} further problems", "none")) if rest > 0 else specific


def shown(value: object) -> str:
    """A value as in a TOML file, shortened."""
    text = _toml(value)
    return text if len(text) <= MAX_SHOWN_LENGTH else f"{text[: MAX_SHOWN_LENGTH - 4]} ..."


def path_of(location: Iterable[int | str]) -> str:
    """("factor", "levels", 1) becomes factor.levels[1]."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f"{'.' if text else ''}{part}"
    return text


def _problem(known: Mapping[str, Key], kind: str, location: tuple[int | str, ...], value: object) -> Problem:
    where = path_of(location)
    if kind == "extra_forbidden":
        return _unknown_key(known, location, value)
    key = known.get(_general(location)) or known.get(_general((*location[:-1], "*")))
    if key is None:  # the experiment itself is no table
        return Problem(where or "the experiment", shown(value), "a table of keys")
    if kind == "missing":
        return Problem(where, NOTHING, key.allowed, _add(key, where))
    return Problem(where, shown(value), key.allowed, _remedy(key, value))


def _without_choice(known: Mapping[str, Key], location: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """A union-typed value has one error per type; drop the type, which is no key, from the location."""
    table = known.get(_general((*location[:-2], "*")))
    return location[:-1] if location[-1:] and location[-1] in CHOICES and table is not None else location


CHOICES = ("str", "int", "float", "bool")


def _general(location: Iterable[int | str]) -> str:
    """The path as in the table of keys: faults[0].kind becomes faults[].kind."""
    text = ""
    for part in location:
        text += "[]" if isinstance(part, int) else f"{'.' if text else ''}{part}"
    return text


def _unknown_key(known: Mapping[str, Key], location: tuple[int | str, ...], value: object) -> Problem:
    name = str(location[-1])
    names = siblings(known, _general(location[:-1]))
    # A valid key in the wrong section, else possibly a typo.
    homes = [path for path in known if path.rpartition(".")[2] == name and "." in path]
    remedy = f"Did you mean {' or '.join(homes)}?" if homes else did_you_mean(name, names)
    section = _general(location[:-1])
    table = f"[[{section.removesuffix('[]')}]]" if section.endswith("[]") else f"[{section}]"
    return Problem(
        path_of(location),
        _unless_secret(location[-1], value),
        ", ".join(names),
        remedy,
        wrong=f"not a key of {table}" if section else "not a key of the top level",
    )


def _unless_secret(name: int | str, value: object) -> str:
    """Never echo text that may be a secret under a misspelt key: the message may end up in a log."""
    return (
        "text that is not repeated here, since it may be a secret"
        if isinstance(value, str) and SECRET_NAME.search(str(name))
        else shown(value)
    )


def _add(key: Key, where: str) -> str:
    section, _, name = where.rpartition(".")
    if key.section:
        return f"Add [{where}]. {key.description}"
    position = f" below [{section}]" if section and "[" not in section else ""
    return f"Add {name} = ...{position} ({key.description.removesuffix('.')})."


def _remedy(key: Key, value: object) -> str:
    """The line that was probably intended."""
    if key.section and isinstance(value, dict):
        return f"Write [[{key.path}]], with two brackets: there may be several."
    if key.section:
        return f"Write [{key.path}] on a line of its own and the keys below it."
    if key.type.startswith("list") and not isinstance(value, list | tuple):
        item = f'"{_toml(value)}"' if key.type == "list of text" and not isinstance(value, str) else shown(value)
        return f"Write [{item}], in brackets."
    if isinstance(value, str):
        return _text_remedy(key, value)
    if isinstance(value, bool):
        return ""
    if isinstance(value, float) and key.type == "whole number" and value.is_integer():
        return f"Write {int(value)}, without the point."
    if key.type == "text" and isinstance(value, int | float | date):
        return f'Write "{_toml(value)}", in quotes.'
    return f"Write {value:%Y-%m-%d}, without the time." if key.type == "date" and isinstance(value, date) else ""


def _text_remedy(key: Key, text: str) -> str:
    if key.type in ("whole number", "number") and _is_number(text):
        return f"Write {text.strip()}, without quotes."
    return did_you_mean(text, key.type.split(" | ")) if " | " in key.type else ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _toml(value: object) -> str:
    plain: Any = value.model_dump(by_alias=True) if isinstance(value, BaseModel) else value
    if plain is None:
        return NOTHING
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if isinstance(plain, str):
        return json.dumps(plain, ensure_ascii=False)
    if isinstance(plain, list | tuple):
        return f"[{', '.join(map(_toml, plain))}]"
    if isinstance(plain, dict):
        return f"{{{', '.join(f'{name} = {_toml(inner)}' for name, inner in plain.items())}}}"
    return str(plain)


_HEADER = re.compile(r"\s*(\[\[?)\s*([A-Za-z_\"'][^\[\]]*?)\s*\]\]?\s*(?:#.*)?")
_KEY = re.compile(r"\s*((?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*'))*)\s*=")


_VALUE = re.compile(r"""\s*((?:"(?:\\.|[^"\\])*"|'[^']*'|[^#"'])*[^#"'\s]|"(?:\\.|[^"\\])*"|'[^']*')?""")
_TEXT = re.compile(r"\"(?:\\.|[^\"\\])*\"?|'[^']*'?")  # an unclosed one too
_ITEM = re.compile(r"\[\d+\]$")
SECRET_NAME = re.compile(r"key|token|secret|passw|auth|cred", re.IGNORECASE)  # names that suggest secrets
MAX_LINE_LENGTH = 72  # of what is shown


def key_lines(text: str) -> dict[str, int]:
    """The line (from 1) of every key and section by path: launches.seed, faults[0].kind."""
    lines: dict[str, int] = {}
    seen: Counter[str] = Counter()
    section, inside_text = "", False
    for number, line in enumerate(text.split("\n"), start=1):
        if not inside_text and (header := _HEADER.fullmatch(line.rstrip("\r"))):
            section = _section(header[1], _path(header[2]), seen)
            lines.setdefault(section, number)
            lines.setdefault(section.partition("[")[0], number)
        elif not inside_text and (key := _KEY.match(line)):
            lines.setdefault(f"{section}.{_path(key[1])}" if section else _path(key[1]), number)
        if (line.count('"""') + line.count("'''")) % 2:
            inside_text = not inside_text
    return lines


def line_of(path: str, lines: dict[str, int]) -> int | None:
    """The line of a path, or of the closest enclosing key or section."""
    while path:
        if path in lines:
            return lines[path]
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return None


def excerpt_of(path: str, text: str, lines: dict[str, int], *, key_itself: bool = False) -> Excerpt | None:
    """The line of a path, with the value underlined, or the key with `key_itself`; None if no line is known."""
    number = line_of(path, lines)
    if number is None:
        return None
    line = concealed(text.split("\n")[number - 1])
    key, exact = _KEY.match(line), path in lines or _ITEM.sub("", path) in lines
    value = None if key is None or key_itself or not exact else _VALUE.match(line, key.end())
    span = value.span(1) if value and value[1] else key.span(1) if key else (len(line) - len(line.lstrip()), len(line))
    return cut(Excerpt(line=number, text=line, begin=span[0], end=span[1], exact=exact))


def concealed(line: str) -> str:
    """A line fit to be shown: no line ends, tabs as spaces, and no text next to a name that suggests a secret."""
    plain = line.rstrip("\r").replace("\t", " ").rstrip()
    return _TEXT.sub('"..."', plain) if SECRET_NAME.search(plain) else plain


def cut(excerpt: Excerpt) -> Excerpt:
    """The same without the far parts of a long line."""
    if len(excerpt.text) <= MAX_LINE_LENGTH:
        return excerpt
    start = max(0, min(excerpt.begin - MAX_LINE_LENGTH // 4, len(excerpt.text) - MAX_LINE_LENGTH))
    text = excerpt.text[start : start + MAX_LINE_LENGTH]
    begin = excerpt.begin - start
    return replace(excerpt, text=text, begin=begin, end=min(excerpt.end - start, len(text)))


def _section(brackets: str, path: str, seen: Counter[str]) -> str:
    if brackets == "[":
        return path
    seen[path] += 1
    return f"{path}[{seen[path] - 1}]"


def _path(written: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in written.split("."))
