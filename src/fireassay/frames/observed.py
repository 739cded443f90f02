"""What did `assay watch` see of a job?  Its last finding, which it writes down as it goes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from fireassay.frames.record_data import RecordData

EVENT: Final = "watched"


def seen(measured: RecordData) -> Mapping[str, Any]:
    """The document of `assay watch`, as it last was; empty if nothing was seen."""
    rows = measured.table("events").filter(pl.col("kind") == EVENT).sort("ns", maintain_order=True)
    found = json.loads(rows["detail"][-1]) if rows.height else {}
    return found if isinstance(found, dict) else {}


def cut_off(measured: RecordData) -> str:
    """Why the finding is not the watch's last word; "" if it is."""
    if measured.state == "running":
        return "; the watch goes on"
    return "" if measured.sealed else "; then the watch was cut off"
