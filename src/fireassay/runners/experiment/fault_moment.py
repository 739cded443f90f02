"""At which step does a fault strike if the training saves no checkpoint?  In the middle of an earlier launch's steps.

Read from the progress files of launches of the same configuration, else of any other, so that a resumed experiment gets the same step.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fireassay.record.folder import RecordFolder
from fireassay.record.progress import Progress, read_progress


def middle(record: RecordFolder, configuration: str) -> int | None:
    """The middle step of an earlier launch; None if one saved a checkpoint or made fewer than two steps, or if there is none."""
    launches = [row for row in record.finished_launches() if row["status"] == "ok" and row["role"] != "sweep"]
    candidates = [row for row in launches if row["configuration"] == configuration] or launches
    ranks = [rank for row in candidates for rank in _ranks(record.launch_folder(int(row["launch"])))]
    if any(rank.checkpoints for rank in ranks):
        return None
    return max((rank.steps for rank in ranks), default=0) // 2 or None


def _ranks(folder: Path) -> Iterator[Progress]:
    for path in sorted((folder / "progress").glob("rank=*.bin")):
        progress = read_progress(path)
        if progress is not None:
            yield progress
