"""What do layouts of programming problems share?  One JSON object a line, some fields of which are Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from fireassay.quality.scoring.items import Item, Task
from fireassay.quality.tasks.support import files, prompts

OPTIONS: Final[Mapping[str, files.Option]] = {"max_tokens": 512}


def task(
    name: str,
    path: Path,
    given: Mapping[str, files.Option],
    item: Callable[[files.SourceRow], Item],
    *,
    stop: tuple[str, ...],
    template: str = "",
) -> Task:
    """The file's problems as one task. Raises SpecError: the file cannot be read, or a line is no problem."""
    chosen = files.checked(name, given, OPTIONS, {})
    file = files.read(path)
    items = tuple(map(item, files.json_lines(file)))
    prompts.distinct(items, file.name)
    return Task(
        name=name,
        items=items,
        metrics=("pass_at_1",),
        method="code",
        extractor="code",
        stop=stop,
        max_tokens=int(chosen["max_tokens"]),
        template=template,
        files={file.name: file.sha256},
        options=chosen,
    )


def python(row: files.SourceRow, name: str, source: str) -> str:
    """Demand that a field holds Python."""
    try:
        compile(source, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise files.wrong(row.where, f"no Python in {name!r} ({error})", "the source of the test") from None
    return source
