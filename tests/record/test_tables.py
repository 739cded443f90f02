"""The one definition of the tables is sound, and its reference page says all of it."""

from __future__ import annotations

from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.tables import TABLES, reference


def test_every_table_begins_with_the_launch_and_is_ordered_by_its_own_columns() -> None:
    for table in TABLES.values():
        assert table.column_names[0] == table.order[0] == "launch"
        assert set(table.order) <= set(table.column_names)
        assert len(set(table.column_names)) == len(table.column_names)


def test_times_are_integers_and_say_their_unit() -> None:
    for table in TABLES.values():
        for column in table.columns:
            if column.name.endswith("ns"):
                assert column.type in ("int64", "list<int64>"), f"{table.name}.{column.name}"


def test_the_arrow_schema_has_the_columns_in_order_with_their_nullability() -> None:
    for name, table in TABLES.items():
        schema = arrow_schema(name)
        assert tuple(schema.names) == table.column_names
        assert [field.nullable for field in schema] == [column.nullable for column in table.columns]


def test_the_reference_page_names_every_table_column_and_format() -> None:
    page = reference()
    for table in TABLES.values():
        section = page.split(f"### `{table.name}`")[1].split("###")[0]
        for column in table.columns:
            assert f"| `{column.name}` | {column.type}{', may be null' if column.nullable else ''} | {column.meaning} |" in section
    assert "* **1** (assay 0.1.0) first format" in page.split("## Format history")[1]
