"""How do rows that already are an Arrow batch reach the disk?  As those of `StreamWriter`, which needs no Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.secrets.batches import cleaned_batch
from fireassay.record.tables import TABLES
from fireassay.record.writer import StreamWriter

if TYPE_CHECKING:
    import pyarrow as pa


class BatchWriter(StreamWriter):
    """Takes record batches beside rows."""

    def append_batch(self, table: str, batch: pa.RecordBatch) -> None:
        """Take rows as a record batch of the table, from a caller with too many for tuples."""
        if table not in TABLES or not batch.schema.equals(arrow_schema(table)):
            self._drop(batch.num_rows, f"not a batch of the table {table}")
            return
        self.append_message(table, batch.num_rows, lambda: cleaned_batch(batch, self._secrets).serialize().to_pybytes())
