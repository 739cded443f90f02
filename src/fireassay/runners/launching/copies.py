"""Did every worker of a launch print the same, in a script that asks for no rank?  Then each did the whole work.

Workers may write at the same time, so that their lines mix: characters are counted, not lines. Times that are printed differ between copies
and are left out. Cannot tell: of a script that prints nothing, or whose imported modules divide the work and print one result on every rank.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Final

from fireassay.runners.launching import watch

EVENT: Final = "same_output"
_DIVIDES = re.compile(
    r"RANK|WORLD_SIZE|MASTER_|distributed|\bMPI\b|mpi4py|horovod|deepspeed|accelerate|lightning|jax|\bray\b|socket|grpc|zmq|fireassay"
)
_TIMES = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)? ?(?:[mµun]?s\b|sec|min)|\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?")


def same_output(log: Path, script: Path, workers: int) -> int:
    """The lines that each worker printed, if all printed the same and the script divides no work by rank; else 0."""
    try:
        whole = log.stat().st_size <= watch.TAIL_BYTES
        divides = _DIVIDES.search(script.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return 0
    if not whole or divides:
        return 0
    lines = watch.script_lines(_TIMES.sub("", watch.tail(log)))
    printed = Counter("".join(lines))
    del printed[" "]
    each, rest = divmod(len(lines), workers)
    return 0 if rest or any(number % workers for number in printed.values()) else each
