"""Which program measured, what do its numbers mean, and does it name its hardware?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.conditions.condition import Read

OURS: Final[Mapping[str, str]] = {  # assay's values for what an imported record says of its tool (importers)
    "tool": "assay",
    "clock": "scheduled",
    "first_token": "the first chunk with text: content, reasoning or a tool call",
    "end": "the last chunk with text",
    "tokens": "the server's usage, else the tokenizer",
    "connection": "kept alive; a new one is set up inside of the latency",
    "stamps": "monotonic, at the socket read, before parsing",
    "left_out": "nothing",
    "environment": "recorded",
}


def meaning(key: str) -> Read:
    """The tool and the meaning of its numbers; equal for all of our own records of loads."""

    def read(measured: RecordData, _: Results) -> Any:
        foreign = measured.foreign
        if not measured.kind.sends_requests:
            return None
        if foreign is None:
            return OURS[key]
        return foreign.get(key) if key in ("tool", "clock") else (foreign.get("meanings") or {}).get(key)

    return read


def unseen(subject: str) -> Read:
    """An imported file does not name its hardware; two unknown machines never count as the same."""

    def read(measured: RecordData, _: Results) -> Any:
        foreign = measured.foreign
        if measured.kind.name != subject:
            return None
        return OURS["environment"] if foreign is None else f"not said by {foreign.get('file')} ({str(foreign.get('sha256'))[:8]})"

    return read
