"""A training script without training: marks steps quickly, and notes each one itself, so that the record can be checked.

    workload.py NOTES STEPS STEP_MS

Every process appends "launch rank step end_ns" to its own file in NOTES with one write per step: what the kernel took is
there, however the process ends.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from assay import probe


def main(notes: Path, steps: int, step_ms: float) -> None:
    with probe.start() as p:
        name = f"{os.environ['ASSAY_LAUNCH']}.{p.rank}.{os.getpid()}"
        descriptor = os.open(notes / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for step in p.steps(range(steps)):
            if step > 0:  # the step before has ended, and the probe has taken its row
                os.write(descriptor, f"{step - 1} {time.monotonic_ns()}\n".encode())
            time.sleep(step_ms / 1e3)
            p.log(loss=1.0 / (step + 1), items=1)
            if step % 10 == 9:
                with p.checkpoint_save():
                    pass


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
