"""Two ranks that wait for each other at every step, as a synchronous training does; without torch, so that it starts at once.

    coupled.py FOLDER STEPS STEP_MS SAVE_MS [LOAD_S]

Each rank tells the step that it is in by the length of a file of its own; a restart begins after the last saved checkpoint, LOAD_S
seconds after the process began.  What is true of it is noted beside what the probe records: one line "what rank incarnation ns" each for
begin, first (step), step (the end of each) and asked (to end, SIGTERM).
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from fireassay import probe


def main(folder: Path, steps: int, step_ms: float, save_ms: float, load_s: float) -> None:
    begun, incarnation = time.monotonic_ns(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    with probe.start() as p:
        folder = folder / os.environ["FIREASSAY_LAUNCH"]
        folder.mkdir(parents=True, exist_ok=True)
        saved = folder / "saved"
        first = len(saved.read_bytes()) if saved.exists() else 0
        descriptor = os.open(folder / "truth", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

        def note(what: str, ns: int) -> None:
            os.write(descriptor, f"{what} {p.rank} {incarnation} {ns}\n".encode())

        def asked(*_: object) -> None:
            note("asked", time.monotonic_ns())
            os._exit(1)

        signal.signal(signal.SIGTERM, asked)
        note("begin", begun)
        if incarnation:
            time.sleep(load_s)
        own = folder / f"rank={p.rank}.{os.environ['TORCHELASTIC_RESTART_COUNT']}"
        other = folder / f"rank={1 - p.rank}.{os.environ['TORCHELASTIC_RESTART_COUNT']}"
        own.write_bytes(b"")
        for step in p.steps(range(first, steps), start=first):
            if step == first:
                note("first", time.monotonic_ns())
            until = time.process_time() + step_ms / 1e3
            with p.phase("forward"):
                while time.process_time() < until:
                    pass
            with own.open("ab") as file:
                file.write(b".")
            while not (other.exists() and len(other.read_bytes()) > step - first):
                time.sleep(0.001)
            p.log(loss=1.0 / (step + 1), items=1)
            note("step", time.monotonic_ns())
            if step % 10 == 9 and p.rank == 0:
                with p.checkpoint_save():
                    time.sleep(save_ms / 1e3)
                    fresh = saved.with_suffix(".new")
                    fresh.write_bytes(b"." * (step + 1))
                    fresh.replace(saved)  # whoever dies in between leaves the checkpoint before


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]), float((*sys.argv, "0")[5]))
