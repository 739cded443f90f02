"""What defines a table of a record, and which columns do many tables share?"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A column: its name, the name of its Arrow type, and its meaning."""

    name: str
    type: str  # "int64" "int32" "float64" "string" "list<int64>"
    meaning: str
    nullable: bool = False


@dataclass(frozen=True)
class Table:
    """A table: its name, what one row stands for, its columns, and the columns that order its rows."""

    name: str
    row: str
    columns: tuple[Column, ...]
    order: tuple[str, ...]

    @property
    def column_names(self) -> tuple[str, ...]:
        """The column names in order."""
        return tuple(column.name for column in self.columns)


LAUNCH = Column("launch", "int32", "number of the launch in this record, from 0, in the order of starting")
RANK = Column("rank", "int32", "global rank of the worker")
INCARNATION = Column("incarnation", "int32", "0 for the first start of the workers, then one more at every restart")
