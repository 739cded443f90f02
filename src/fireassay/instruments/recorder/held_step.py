"""Which step may a failure have cut short, and when does it count?

A loop that is left early cannot tell while an exception unwinds. So the row of its last step is held back until the script goes on.
"""

from __future__ import annotations

from typing import Any

Row = tuple[Any, ...]


class HeldStep:
    """The last step of a loop that was left early, and its row."""

    def __init__(self) -> None:
        self.bounds: tuple[int, int, int] | None = None  # its number, begin and end
        self._rows: list[Row] = []

    def keeps(self, step: int, row: Row) -> bool:
        """Keep the row if it is that step's; True if it was."""
        if self.bounds is None or self.bounds[0] != step:
            return False
        self._rows.append(row)
        return True

    def release(self) -> list[Row]:
        """The step counts: returns its row."""
        rows, self._rows, self.bounds = self._rows, [], None
        return rows
