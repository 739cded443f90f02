"""How does a file become an experiment, and back?

    load       a file written by a user: checks everything, including the surroundings (script, plug-ins)
    read       a file stored by assay: the same, without the surroundings
    from_mapping, to_toml      the same without files

All problems are reported at once, with their lines.

How does an editor, or a reader of the reference, learn which keys exist?

JSON Schema 2020-12 of the TOML file (editors: Taplo, Even Better TOML) and the table of keys for the docs, both from
the models.  Cannot tell: contradictions between keys (`fireassay.spec.rules.experiment`); a schema cannot express most of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from fireassay.errors import Problem, SpecError
from fireassay.spec.experiment import Experiment
from fireassay.spec.explain import excerpt_of, key_lines, shown
from fireassay.spec.keys import Key, keys, siblings
from fireassay.spec.sections.carbon import with_hours
from fireassay.spec.sections.faults import Fault
from fireassay.spec.toml_file import parsed, text_of


def load(path: str | Path) -> Experiment:
    """An experiment from a TOML file; its script is relative to the file's folder.

    Raises:
        SpecError: the file cannot be read, is not TOML, or is no valid experiment: all problems at once.
    """
    path = Path(path)
    text = text_of(path)
    data = parsed(text, str(path))
    return checked(data, path.parent, str(path), text)


def read(path: str | Path) -> Experiment:
    """An experiment from a TOML file, without checking that its script exists (checked when it ran). Raises SpecError: as `load`."""
    text = text_of(Path(path))
    return from_mapping(parsed(text, str(path)), str(path))


def from_mapping(data: Mapping[str, Any], source: str = "") -> Experiment:
    """An experiment from nested mappings, as `tomllib` gives them.

    Raises:
        SpecError: all problems at once; `source` names the origin of the data in the message.
    """
    return checked(data, None, source)


def checked(data: Mapping[str, Any], folder: Path | None, source: str, text: str = "") -> Experiment:
    """An experiment from nested mappings; with a folder, the files and plug-ins that it names must exist.

    Args:
        text: the file that the data are from, whose lines the message shows.

    Raises:
        SpecError: all problems at once.
    """
    try:
        whole = data if folder is None else with_hours(data, folder)
        return Experiment.model_validate(whole, context=folder)
    except SpecError as error:
        raise SpecError(with_lines(error.problems, text), source) from None


def to_toml(experiment: Experiment) -> str:
    """The resolved experiment as TOML: `from_mapping` of it gives an equal experiment.

    Omits keys without a value, unless omission means a default: those read "none".
    """
    import tomli_w

    data = experiment.model_dump(by_alias=True, exclude_none=True)
    if experiment.serving is not None:
        del data["factor"]  # its loads are in [serving]
    if experiment.gates.efficiency is None:
        data["gates"]["efficiency"] = "none"
    return tomli_w.dumps(data)


def with_lines(problems: tuple[Problem, ...], text: str) -> tuple[Problem, ...]:
    """The same problems in file order, each with its line where known."""
    lines = key_lines(text)
    placed = [replace(problem, excerpt=excerpt_of(problem.where, text, lines, key_itself=bool(problem.wrong))) for problem in problems]
    return tuple(sorted(placed, key=lambda problem: problem.excerpt.line if problem.excerpt is not None else 0))


# ---- keys, for editors and the reference -----------------------------------------------------------------------------


DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """JSON Schema of an experiment file, with descriptions and defaults."""
    schema: dict[str, Any] = toml_only(Experiment.model_json_schema(by_alias=True))
    schema["$defs"]["Fault"] = toml_only(Fault.complete().model_json_schema(by_alias=True))
    efficiency = schema["$defs"]["Gates"]["properties"]["efficiency"]
    bounds = {key: efficiency.pop(key) for key in ("type", "exclusiveMinimum", "maximum") if key in efficiency}
    efficiency["anyOf"] = [bounds, {"const": "none"}]
    return {"$schema": DIALECT, **schema}


def key_table(model: type[BaseModel] = Experiment) -> tuple[tuple[str, str, str, str], ...]:
    """(key path, type, default, description) of every key that holds a value, in model order."""
    known = keys(model)
    return tuple(
        (key.path, key.type, _default(key), key.description)
        for key in known.values()
        if not key.section and not key.path.endswith(("[]", ".*"))
    )


def section_table(model: type[BaseModel] = Experiment) -> tuple[tuple[str, str, str], ...]:
    """(section, its keys, description) of every section."""
    known = keys(model)
    sections = [key for key in known.values() if key.section]
    return tuple(
        (
            f"[[{key.path}]]" if any(path.startswith(f"{key.path}[].") for path in known) else f"[{key.path}]",
            ", ".join(siblings(known, key.path) or siblings(known, f"{key.path}[]")),
            key.description,
        )
        for key in sections
    )


def flag_words(key: Key) -> str:
    """The flags that set a key, each with its verbs: "--seed (run, profile)"."""
    verbs: dict[str, list[str]] = {}
    for flag in key.flags:
        verbs.setdefault(flag.name, []).extend(flag.places)
    return ", ".join(f"{name} ({', '.join(names)})" for name, names in verbs.items())


def _default(key: Key) -> str:
    if key.required:
        return "required"
    return "not set" if key.default is None else shown(key.default)


def toml_only(schema: Any) -> Any:
    """The schema without null, which TOML lacks and editors must not offer."""
    if isinstance(schema, list):
        return [toml_only(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: toml_only(part) for name, part in schema.items() if not (name == "default" and part is None)}
    choices = [choice for choice in kept.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1 and len(kept["anyOf"]) == 2:
        kept.pop("anyOf")
        kept = {**choices[0], **kept}
    return kept
