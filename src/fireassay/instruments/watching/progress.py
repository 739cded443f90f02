"""How many steps does the job make per second, by its log, or by assay's hooks if they are in it?

Read from the log: the last "step 120", "iteration: 120", "[120/500]" or tqdm's "120/500 [00:12<...]". Cannot tell: what a script calls a step.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fireassay.instruments.watching.processes import PROC, Worker
from fireassay.printable import one_line
from fireassay.record.live.progress import read_progress

TAIL_BYTES: Final = 1 << 14
_NAMED: Final = re.compile(r"\b(?:global[_ ])?(?:step|iter(?:ation)?|batch)s?\b\W{0,4}(\d+)", re.IGNORECASE)
_OF: Final = re.compile(r"(\d+)/\d+(?=\s*\[|\])")


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far the job is at one moment."""

    steps: int | None  # None: nothing says
    source: str = ""  # the log, or the hooks
    line: str = ""  # the log's last line


def progress_of(workers: Sequence[Worker], log: Path | None) -> Progress:
    """By the hooks of the slowest rank, else by the log."""
    hooked = [read_progress(Path(worker.launch) / "progress" / f"rank={worker.rank}.bin") for worker in workers if worker.launch]
    steps = [one.steps for one in hooked if one is not None]
    lines = _lines(log)
    last = one_line(lines[-1])[:160] if lines else ""
    if steps:
        return Progress(steps=min(steps), source="assay's hooks", line=last)
    return Progress(steps=step_in(lines), source=f"log {log}" if log else "", line=last)


def step_in(lines: Sequence[str]) -> int | None:
    """The last step that these lines name."""
    for line in reversed(lines):
        if found := _NAMED.findall(line) or _OF.findall(line):
            return int(found[-1])
    return None


def log_of(workers: Sequence[Worker]) -> Path | None:
    """The file that rank 0 writes its output into; None for a terminal or a pipe."""
    for number in (1, 2):
        for worker in workers[:1]:
            try:
                file = (PROC / str(worker.pid) / "fd" / str(number)).resolve()
                if stat.S_ISREG(file.stat().st_mode):
                    return file
            except OSError:
                continue
    return None


def _lines(log: Path | None) -> list[str]:
    if log is None:
        return []
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [line for line in re.split(r"[\r\n]+", text) if line.strip()]
