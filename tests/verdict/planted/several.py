"""Runs trainers without marks under the hooks, one after another in one start of torch: python -m tests.verdict.planted.several FOLDER
NAME:WORKERS ...

Of each run as many ranks take part as it has workers; what each recorded is left in FOLDER/NAME.WORKERS.RANK.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tests.instruments.corpus import attached, meet

TRAINER = Path(__file__).with_name("trainer.py")


def main(folder: Path, runs: list[str]) -> None:
    """All of them; a rank beyond a run's workers goes on to the next. A name that is a path is a script of its own."""
    rank = int(os.environ["RANK"])
    for number, run in enumerate(runs):
        name, _, workers = run.rpartition(":")
        if rank >= int(workers):
            continue
        os.environ["WORLD_SIZE"] = workers
        meet(folder / f"port.{number}")
        script = Path(name) if name.endswith(".py") else TRAINER
        sys.argv = [str(script), name]
        sys.path.insert(0, str(script.parent))
        _, sink = attached(script)
        (folder / f"{Path(name).name}.{workers}.{rank}").write_text(json.dumps(sink.rows, default=list))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
    sys.stdout.flush()
    os._exit(0)
