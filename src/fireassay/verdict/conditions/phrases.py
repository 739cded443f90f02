"""How is a value of a condition shown to people?"""

from __future__ import annotations

import json
from typing import Any, Final

_BREAKS: Final = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")  # str.splitlines


def text_of(value: Any) -> str:
    """A condition's value as one line: text from a record must not look like a line of the report."""
    if isinstance(value, str):
        return _in_one_line(value) or "(empty)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return _in_one_line(" ".join(value)) or "(none)"
    return json.dumps(value, default=str, sort_keys=True)


def _in_one_line(text: str) -> str:
    """Escape characters that start a new line."""
    return "".join(char if char not in _BREAKS else repr(char)[1:-1] for char in text)
