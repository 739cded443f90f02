"""Does the output of a verb have exactly the shape that its document declares?"""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fireassay.reports.documents.json_object import Document


def conforming(document: type[Document], text: str) -> dict[str, Any]:
    """The parsed output, if it is strict JSON with the declared keys only, in the declared order."""
    parsed: dict[str, Any] = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    Draft202012Validator(_closed(document.json_schema())).validate(parsed)
    order = [name for name in document.json_schema()["properties"] if name in parsed]
    assert list(parsed) == order
    return parsed


def _closed(schema: Any) -> Any:
    """The schema without undeclared keys in objects whose keys are declared."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    return closed | {"additionalProperties": False} if "required" in schema and isinstance(schema["required"], list) else closed
