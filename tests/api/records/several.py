"""Several small records: copies of the stored ones, sealed again under other ids and dates."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from fireassay.record.seal import seal_line

STORED = Path(__file__).resolve().parents[2] / "records"


def again(stored: str, root: Path, identifier: str, day: int, **manifest: Any) -> Path:
    """A stored record as if it had been measured on a day of November 2026."""
    created = f"2026-11-{day:02d}T00:00:00+00:00"
    path = Path(shutil.copytree(STORED / stored, root / f"{stored}-202611{day:02d}T000000Z-{identifier}"))
    content = json.loads((path / "manifest.json").read_text())
    content |= {"id": identifier, "created_utc": created, "name": stored, **manifest}
    written = json.dumps(content).encode()
    (path / "manifest.json").write_bytes(written)
    (path / "SEAL").write_bytes(seal_line(written))
    return path


def broken(root: Path) -> Path:
    """A damaged record."""
    path = root / "broken"
    path.mkdir()
    (path / "manifest.json").write_text("{")
    return path
