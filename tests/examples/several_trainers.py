"""Runs trainers one after another in one start of torch: torchrun ... -m tests.examples.several_trainers FOLDER SCRIPT ...

Launch 0 is the good trainer on one worker, which rank 0 runs alone; launch i is the i-th script on all ranks.  Each writes its streams
where its own launch would.  The network is a narrow one.
"""

from __future__ import annotations

import functools
import os
import runpy
import sys
from pathlib import Path
from typing import Any

from assay.instruments import probe
from tests.instruments.corpus import meet

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ALIVE: list[dict[str, Any]] = []  # reducers of groups that are gone: see tests/instruments/corpus.py


def train(folder: Path, launch: int, script: Path) -> None:
    """One trainer, as its launch would run it."""
    own = folder / f"launch={launch:04d}"
    own.mkdir(parents=True, exist_ok=True)
    os.environ |= {"ASSAY_LAUNCH_DIR": str(own), "ASSAY_LAUNCH": str(launch)}
    sys.argv = [str(script), "--seed", "1", "--epochs", "1", "--scratch", str(own / "scratch")]
    sys.path[:0] = [str(EXAMPLES / "digits"), str(script.parent)]
    for name in ("train", "digits"):
        sys.modules.pop(name, None)
    good = __import__("train")
    good.network = functools.partial(good.network, 4)
    if script.parent.name == "digits":
        good.main()
    else:
        ALIVE.append(runpy.run_path(str(script), run_name="__main__"))
    probe.start().close()


def main(folder: Path, scripts: list[str]) -> None:
    """The good one alone, then all of them."""
    rank, workers = os.environ["RANK"], os.environ["WORLD_SIZE"]
    if rank == "0":
        os.environ["WORLD_SIZE"] = "1"
        meet(folder / "port.0")
        train(folder, 0, EXAMPLES / "digits" / "train.py")
        os.environ["WORLD_SIZE"] = workers
    for number, script in enumerate(scripts, start=1):
        meet(folder / f"port.{number}")
        train(folder, number, EXAMPLES / script)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
