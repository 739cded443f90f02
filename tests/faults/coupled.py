"""Two ranks that wait for each other at every step, as a synchronous training does; without torch, so that it starts at once.

    coupled.py FOLDER STEPS STEP_MS SAVE_MS

Each rank tells the step that it is in by the length of a file of its own; a restart begins after the last saved checkpoint.  The
waiting is told as communication, so that the others' time goes to waiting and not to training.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from assay import probe


def main(folder: Path, steps: int, step_ms: float, save_ms: float) -> None:
    with probe.start() as p:
        folder = folder / os.environ["ASSAY_LAUNCH"]
        folder.mkdir(parents=True, exist_ok=True)
        saved = folder / "saved"
        first = len(saved.read_bytes()) if saved.exists() else 0
        own = folder / f"rank={p.rank}.{os.environ['TORCHELASTIC_RESTART_COUNT']}"
        other = folder / f"rank={1 - p.rank}.{os.environ['TORCHELASTIC_RESTART_COUNT']}"
        own.write_bytes(b"")
        for step in p.steps(range(first, steps), start=first):
            until = time.process_time() + step_ms / 1e3
            with p.phase("forward"):
                while time.process_time() < until:
                    pass
            with own.open("ab") as file:
                file.write(b".")
            while not (other.exists() and len(other.read_bytes()) > step - first):
                time.sleep(0.001)
            p.log(loss=1.0 / (step + 1), items=1)
            if step % 10 == 9 and p.rank == 0:
                with p.checkpoint_save():
                    time.sleep(save_ms / 1e3)
                    saved.write_bytes(b"." * (step + 1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))
