"""How is an examination shown, of the machine or of the client, and which exit code has it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

EXIT_OF = {"fit": 0, "unknown": 4, "noisy": 4, "unfit": 1}


def page(head: str, checks: Sequence[Mapping[str, Any]]) -> str:
    """A sentence, a row for each check, and what would help."""
    width = max(len(check["name"]) for check in checks)
    rows = [f"  {check['fitness']:<8} {check['name']:<{width}}  {check['evidence']}" for check in checks]
    mends = [f"  {check['name']}: {check['mend']}" for check in checks if check["mend"]]
    return "\n".join([head, "", *rows, *(["", "what would help", *mends] if mends else [])])
