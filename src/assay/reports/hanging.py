"""How is an item of a list set in a terminal?  Shared by the reports of all records."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text


def hanging(text: Text, mark: str = "-") -> Table:
    """A bullet whose further lines are indented below its first."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=len(mark))
    grid.add_column()
    grid.add_row(mark, text)
    return grid
