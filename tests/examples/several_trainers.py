"""Runs trainers one after another in one start of torch: python -m tests.forked_ranks 4 tests.examples.several_trainers FOLDER
NAME:WORKERS[:SEED] ...

A name is a script in examples/, or one of `tests/examples/tricky.py`.  Of each run as many ranks take part as it has workers; its
streams are written where its own launch would write them, in FOLDER/NAME.WORKERS[.SEED].  The network of the examples is a narrow one,
and their batches can be cut by two, three and four.  A run with a seed of its own is trained until it has learned something.
"""

from __future__ import annotations

import functools
import os
import runpy
import sys
from pathlib import Path
from typing import Any

from fireassay import probe
from tests.examples import tricky
from tests.instruments.corpus import meet

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TRAIN, BATCH = 960, 240
LEARNING = (6, 16)  # epochs and width of a run that is to learn something, otherwise
BRIEF = (1, 4)
ALIVE: list[Any] = []  # reducers of groups that are gone: see tests/instruments/corpus.py


def train(own: Path, name: str, seed: str) -> None:
    """One trainer, as its launch would run it."""
    own.mkdir(parents=True, exist_ok=True)
    os.environ |= {"FIREASSAY_LAUNCH_DIR": str(own), "FIREASSAY_LAUNCH": "0"}
    if name in tricky.TRICKY:
        ALIVE.append(tricky.train(tricky.TRICKY[name]))
    else:
        run_example(EXAMPLES / name, own / "scratch", seed)
    probe.start().close()


def run_example(script: Path, scratch: Path, seed: str) -> None:
    """A trainer of the digits, shortened."""
    epochs, width = LEARNING if seed else BRIEF
    sys.argv = [str(script), "--seed", seed or "1", "--epochs", str(epochs), "--scratch", str(scratch)]
    sys.path[:0] = [str(EXAMPLES / "digits"), str(script.parent)]
    for name in ("train", "digits"):
        sys.modules.pop(name, None)
    good: Any = __import__("train")
    good.network, good.TRAIN, good.BATCH = functools.partial(good.network, width), TRAIN, BATCH
    if script.name == "train.py":
        good.main()
    else:
        ALIVE.append(runpy.run_path(str(script), run_name="__main__"))


def main(folder: Path, runs: list[str]) -> None:
    """All of them; a rank beyond a run's workers goes on to the next."""
    rank = int(os.environ["RANK"])
    for number, run in enumerate(runs):
        name, workers, *seed = run.split(":")
        if rank < int(workers):
            os.environ["WORLD_SIZE"] = workers
            meet(folder / f"port.{number}")
            train(folder / ".".join((name.replace("/", "-"), workers, *seed)), name, "".join(seed))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
    sys.stdout.flush()
    os._exit(0)
