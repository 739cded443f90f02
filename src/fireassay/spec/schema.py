"""How does an editor, or a reader of the reference, learn which keys exist?

JSON Schema 2020-12 of the TOML file (editors: Taplo, Even Better TOML) and the table of keys for the docs, both from
the models.  Cannot tell: contradictions between keys (`fireassay.spec.rules.experiment`); a schema cannot express most of them.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from fireassay.spec.experiment import Experiment
from fireassay.spec.explain import shown
from fireassay.spec.keys import Key, keys, siblings
from fireassay.spec.sections.faults import Fault

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def claim_schema() -> dict[str, Any]:
    """JSON Schema of a claim file (`fireassay.spec.claim`)."""
    from fireassay.spec.claim import Claim

    return {"$schema": DIALECT, **_toml_only(Claim.model_json_schema(by_alias=True))}


def json_schema() -> dict[str, Any]:
    """JSON Schema of an experiment file, with descriptions and defaults."""
    schema: dict[str, Any] = _toml_only(Experiment.model_json_schema(by_alias=True))
    schema["$defs"]["Fault"] = _toml_only(Fault.complete().model_json_schema(by_alias=True))
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


def _toml_only(schema: Any) -> Any:
    """The schema without null, which TOML lacks and editors must not offer."""
    if isinstance(schema, list):
        return [_toml_only(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: _toml_only(part) for name, part in schema.items() if not (name == "default" and part is None)}
    choices = [choice for choice in kept.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1 and len(kept["anyOf"]) == 2:
        kept.pop("anyOf")
        kept = {**choices[0], **kept}
    return kept
