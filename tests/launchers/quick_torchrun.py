"""How do tests of who lends the nodes start workers without torch?  Importing it takes torchrun seconds on every node of every launch.

    launcher = {"python": quick_torchrun.python(folder), ...}

A Python that is this one, except for `-m torch.distributed.run`, which is this file: workers of one or two nodes with torchrun's variables, each
in a session of its own, ended together.  They do not meet.  One test of each engine has the real one.
"""

import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

PYTHON = """#!/bin/sh
for word; do
  [ "$word" = torch.distributed.run ] && exec {python} -I -S {own} "$@"
done
exec {python} "$@"
"""


def python(folder: Path) -> str:
    """The file of such a Python, made in the folder."""
    made = folder / "quick-python"
    made.write_text(PYTHON.format(python=sys.executable, own=__file__))
    made.chmod(0o755)
    return str(made)


def main(words: list[str]) -> int:
    """Start the workers of this node, and wait for them."""
    before = words.index("--")
    said = dict(pairwise(words[:before]))
    own, world = int(said["--nproc-per-node"]), int(said["--nnodes"]) * int(said["--nproc-per-node"])
    first = 0 if said["--rdzv-conf"] == "is_host=1" else own
    workers = []
    for place in range(own):
        ranks = {"RANK": first + place, "LOCAL_RANK": place, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": own, "TORCHELASTIC_RESTART_COUNT": 0}
        variables = {**os.environ, **{name: str(number) for name, number in ranks.items()}}
        workers.append(subprocess.Popen([sys.executable, "-u", *words[before + 1 :]], env=variables, start_new_session=True))
    signal.signal(signal.SIGTERM, lambda *_: [worker.terminate() for worker in workers])
    return max(abs(worker.wait()) for worker in workers)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
