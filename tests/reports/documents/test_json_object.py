"""One declaration gives a document, its JSON Schema and its reference."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from fireassay import catalog
from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.reports.documents import documents
from fireassay.reports.documents.json_object import TYPES, Document, JsonObject, Measured, key, spread
from tests.reports.documents.conforming import conforming

MEASURED = Estimate(
    value=2.0, low=1.0, high=float("inf"), unit="s", confidence=0.95, n_launches=3, n_trials=30, method="t", signature="t", launch_values=()
)
ABSENT = Absent(reason="refused", detail="too few launches")


class Item(JsonObject):
    """A number with its name."""

    name: str = key("its name")
    value: Measured = spread()


class Shelf(Document):
    """Named numbers."""

    VERB = "shelve"
    VERSION = "shelf/1"

    items: list[Item] = key("the items")
    best: Item | None = key("the best one", lambda shelf: next(iter(shelf["items"]), None))
    note: str = key("only if there is one", when=lambda shelf: "note" in shelf)


@pytest.mark.slow
def test_every_documents_schema_is_valid_and_names_its_version() -> None:
    found = documents()
    assert {"report", "verify"} <= set(found) <= set(catalog.names("cli.verbs"))
    for document in found.values():
        schema = document.json_schema()
        Draft202012Validator.check_schema(schema)
        assert schema["properties"].get("schema", {}).get("const", "") == document.VERSION


@pytest.mark.parametrize("values", [(), (MEASURED,), (ABSENT,), (MEASURED, ABSENT)])
def test_a_document_conforms_to_its_schema(values: tuple[Value, ...]) -> None:
    shelf = {"items": [Item(name="a", value=value) for value in values]}
    parsed = conforming(Shelf, Shelf.render(shelf))
    assert [item["measured"] for item in parsed["items"]] == [isinstance(value, Estimate) for value in values]
    assert parsed["best"] == (parsed["items"][0] if values else None)
    assert "note" not in parsed
    assert conforming(Shelf, Shelf.render(shelf | {"note": "x"}))["note"] == "x"


def test_an_unbounded_end_is_null() -> None:
    (item,) = Shelf.of({"items": [Item(name="a", value=MEASURED)]})["items"]
    assert (item["low"], item["high"], item["bounded"]) == (1.0, None, False)


@pytest.mark.parametrize("change", [{"schema": "shelf/2"}, {"items": [{}]}, {"items": None}, {"note": 1}])
def test_another_shape_violates_the_schema(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Draft202012Validator(Shelf.json_schema()).validate(Shelf.of({"items": []}) | change)


def test_the_reference_lists_a_repeated_shape_once() -> None:
    assert list(Shelf.fields()) == ["(top)", "items[]", "items[].dispersion"]
    assert [key for key, _, _ in Shelf.fields()["(top)"]] == ["schema", "items", "best", "note"]


def test_every_type_has_a_valid_schema() -> None:
    for schema in TYPES.values():
        Draft202012Validator.check_schema(schema)
