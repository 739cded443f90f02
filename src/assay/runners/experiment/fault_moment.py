"""In the middle of how many steps does a fault strike whose training saves no checkpoint?  As many as a launch before it made.

Read from the progress files of the launches of the same configuration, else of any other, so that a resumed experiment finds the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.record.folder import RecordFolder
from assay.record.progress import Progress, read_progress


def middle(record: RecordFolder, configuration: str) -> int | None:
    """The middle step of a launch before; None where one saved a checkpoint, made fewer than two steps, or where there was none."""
    launches = [row for row in record.finished_launches() if row["status"] == "ok" and row["role"] != "sweep"]
    own = [row for row in launches if row["configuration"] == configuration] or launches
    ranks = [rank for row in own for rank in _ranks(record.launch_folder(int(row["launch"])))]
    if any(rank.checkpoints for rank in ranks):
        return None
    return max((rank.steps for rank in ranks), default=0) // 2 or None


def _ranks(folder: Path) -> Iterator[Progress]:
    for path in sorted((folder / "progress").glob("rank=*.bin")):
        found = read_progress(path)
        if found is not None:
            yield found
