"""What did engines say, read by read, and what does it mean?  The golden set in tests/golden/sse, made by hand.

Each file: `name`, `what` it shows, `dialect` (a backend), `task`, `options` of the target, `ask`, `sent_ns`, how it `ended`,
`http_status`, `headers`, `reads` ([monotonic ns, text or {"base64": ...}]; what one socket read added to the body) and the
`expected` answer.  Its error is a part of what the answer's error has to say.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import accumulate
from pathlib import Path
from typing import Any

from fireassay.spec.sections.serving import Target
from fireassay.traffic.parts import Answer, Ask, Reply

FOLDER = Path(__file__).parents[1] / "golden" / "sse"


@dataclass(frozen=True)
class Transcript:
    """One answer of an engine, as it came."""

    name: str
    dialect: str
    sent_ns: int
    ask: Ask
    target: Target
    reply: Reply
    expected: Mapping[str, Any]

    def differences(self, answer: Answer) -> dict[str, tuple[object, object]]:
        """Where an answer is not the expected one: field -> (found, expected)."""
        found = {field.name: getattr(answer, field.name) for field in fields(answer) if field.name in self.expected}
        return {
            name: (found[name], expected)
            for name, expected in self.expected.items()
            if found[name] != expected and not (name == "error" and expected and expected in (found[name] or ""))
        }


def reply_of(
    reads: list[tuple[int, bytes]],
    *,
    ended: Any = "complete",
    http_status: int | None = 200,
    headers: Mapping[str, str] | None = None,
    why: str = "",
) -> Reply:
    """A reply whose body came by these reads."""
    return Reply(
        ended=ended,
        http_status=http_status,
        headers={} if headers is None else headers,
        why=why,
        body=b"".join(data for _, data in reads),
        ends=list(accumulate(len(data) for _, data in reads)),
        ns=[ns for ns, _ in reads],
        unsure=[5 if place % 2 else -3 for place in range(len(reads))],
    )


def reply_with(reply: Reply, **changed: Any) -> Reply:
    """The same reply but for what is given."""
    names = ("ended", "http_status", "headers", "body", "ends", "ns", "why", "unsure")
    return Reply(**({name: getattr(reply, name) for name in names} | changed))


def load(path: Path) -> Transcript:
    """One file of the set."""
    told = json.loads(path.read_text(encoding="utf-8"))
    reads = [(ns, data.encode() if isinstance(data, str) else base64.b64decode(data["base64"])) for ns, data in told["reads"]]
    return Transcript(
        name=told["name"],
        dialect=told["dialect"],
        sent_ns=told["sent_ns"],
        expected=told["expected"],
        ask=Ask(task=told["task"], messages=({"role": "user", "content": "?"},), prompt="?", **{"model": "m", **told["ask"]}),
        target=Target(backend=told["dialect"], options=told["options"]),
        reply=reply_of(reads, ended=told["ended"], http_status=told["http_status"], headers=told["headers"]),
    )


def load_all() -> list[Transcript]:
    """Every file of the set, by name."""
    return [load(path) for path in sorted(FOLDER.glob("*.json"))]
