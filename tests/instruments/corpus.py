"""Runs unmodified scripts in this process, with the hooks and without: python -m tests.instruments.corpus FOLDER SCRIPT ...

Each script is run bare, attached, and bare again; what was recorded and the weights of every run are left in the folder.  With
`tests.forked_ranks` every rank does so, so that scripts that need several ranks cost one start of torch and not six.
"""

from __future__ import annotations

import json
import os
import random
import runpy
import socket
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

from fireassay.instruments.hooks import torch_hooks
from fireassay.instruments.hooks.steps import Attached
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink

SCRIPTS = Path(__file__).with_name("scripts")
RUNS = ("bare", "attached", "again")
ALIVE: list[object] = []  # a reducer that is taken apart after its group was destroyed may wait for ever (torch 2.13)


def attached(script: Path) -> tuple[dict[str, Any], MemorySink]:
    """The script's globals, and the rows that were recorded of it."""
    import torch  # here, since a test module takes names from this file and every worker collects it

    rank, workers = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    sink = MemorySink()
    recorder = Recorder(Identity(launch=0, rank=rank, workers=workers, incarnation=0, seed=0, host="here"), sink)
    recorder.counts_work({"FIREASSAY_FLOPS": "1"})  # as a launch does: it must change no weight either
    undo: list[Any] = []
    steps = Attached(torch, recorder)
    torch_hooks.install(torch, steps, undo)
    try:
        left = bare(script)
        steps.close()
    finally:
        while undo:
            undo.pop()()
    assert recorder.active, "a hook failed"
    recorder.close()
    return left, sink


def bare(script: Path) -> dict[str, Any]:
    """The script as it is; what stayed of the one before is forgotten."""
    import torch

    random.seed(0)
    torch.manual_seed(0)
    torch._dynamo.reset()
    left = runpy.run_path(str(script), run_name="__main__")
    ALIVE.append(left)
    return left


def meet(place: Path) -> None:
    """Let the ranks of the next script meet at a port of their own, which rank 0 tells the others by a file."""
    if os.environ.get("RANK", "0") == "0":
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        place.with_suffix(".new").write_text(str(port))
        place.with_suffix(".new").rename(place)
    while not place.exists():
        time.sleep(0.005)
    os.environ["MASTER_PORT"], os.environ["TORCHELASTIC_USE_AGENT_STORE"] = place.read_text(), "False"


def main(folder: Path, names: list[str]) -> None:
    """Run the scripts."""
    for number, (name, run) in enumerate(product(names, RUNS)):
        meet(folder / f"port.{number}")
        os.environ["WEIGHTS"] = str(folder / f"{name}.{run}")
        begin = time.monotonic_ns()
        if run == "attached":
            _, sink = attached(SCRIPTS / f"{name}.py")
            place = folder / f"{name}.rows.{os.environ.get('RANK', '0')}"
            place.write_text(json.dumps({"rows": sink.rows, "ns": time.monotonic_ns() - begin}, default=list))
        else:
            bare(SCRIPTS / f"{name}.py")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
    sys.stdout.flush()
    os._exit(0)
