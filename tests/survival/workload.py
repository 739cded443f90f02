"""A training script without training: marks steps quickly, and notes each one itself, so that the record can be checked.

    workload.py NOTES STEPS STEP_MS

Every process appends "step end_ns" to its own file in NOTES with one write per step: what the kernel took is there, however the process
ends.  A thread that only sleeps notes in NOTES.late by how much, nanoseconds, it was woken too late at worst: as late may a flush be.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from fireassay import probe

TURN_S = 0.02


def lateness(file: Path) -> None:
    """Note whenever this thread was woken later than ever before."""
    worst, descriptor = 0, os.open(file, os.O_WRONLY | os.O_CREAT)
    while True:
        due = time.monotonic_ns() + int(TURN_S * 1e9)
        time.sleep(TURN_S)
        if (late := time.monotonic_ns() - due) > worst:
            worst = late
            os.pwrite(descriptor, b"%020d" % worst, 0)


def main(notes: Path, steps: int, step_ms: float) -> None:
    with probe.start() as p:
        name = f"{os.environ['FIREASSAY_LAUNCH']}.{p.rank}.{os.getpid()}"
        late = notes.with_suffix(".late")
        late.mkdir(exist_ok=True)
        threading.Thread(target=lateness, args=(late / name,), daemon=True).start()
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
