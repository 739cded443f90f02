"""How are the tables declared to Arrow?  The writer in a worker of a training does without."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fireassay.record.tables import TABLES

if TYPE_CHECKING:
    import pyarrow


@cache
def arrow_schema(name: str) -> pyarrow.Schema:
    import pyarrow as pa

    types = {
        "int32": pa.int32(),
        "int64": pa.int64(),
        "float64": pa.float64(),
        "string": pa.string(),
        "list<int64>": pa.list_(pa.int64()),
        "list<float64>": pa.list_(pa.float64()),
    }
    return pa.schema([pa.field(c.name, types[c.type], nullable=c.nullable) for c in TABLES[name].columns])
