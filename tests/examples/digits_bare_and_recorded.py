"""Trains the digits bare and recorded in one start of torch: python -m tests.forked_ranks 2
tests.examples.digits_bare_and_recorded FOLDER ...

torch is loaded once and each training gets processes of its own, forked before torch has done anything. With one worker or two, it
leaves its weights in FOLDER/{bare,recorded}-{1,2}; what the probe wrote is in FOLDER/launch=000{1,2}.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import torch._dynamo  # noqa: F401 (an optimizer's first step would load it in every process)

from tests.instruments.corpus import meet


def train(folder: Path, name: str, workers: int, words: list[str]) -> None:
    """One rank of one training; ends the process."""
    os.environ["WORLD_SIZE"] = str(workers)
    if name == "recorded":
        launch = folder / f"launch={workers:04}"
        launch.mkdir(exist_ok=True)
        os.environ |= {"FIREASSAY_LAUNCH_DIR": str(launch), "FIREASSAY_LAUNCH": "0", "FIREASSAY_SEED": "7"}
    sys.argv = ["train.py", *words, "--scratch", str(folder / f"{name}-{workers}")]
    runpy.run_module("tests.examples.narrow_digits", run_name="__main__")
    os._exit(0)


def main(folder: Path, words: list[str]) -> None:
    """All four trainings; a rank beyond a training's workers goes on to the next."""
    for workers in (1, 2):
        for name in ("bare", "recorded"):
            if int(os.environ["RANK"]) >= workers:
                continue
            meet(folder / f"port.{name}-{workers}")
            child = os.fork()
            if not child:
                train(folder, name, workers, words)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, (name, workers)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
    os._exit(0)  # taking torch apart takes a second
