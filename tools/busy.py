"""Does it also work on a machine that has other things to do?  Runs a command beside busy loops, and ends them with it.

    python tools/busy.py 4 pytest tests/survival

The loops have the command's own priority, so on two cores four of them leave it a third of the machine, or less.
"""

from __future__ import annotations

import subprocess
import sys

LOOP = """
import os
parent = os.getppid()
while os.getppid() == parent:  # also if this program is killed
    for _ in range(10**7): pass
"""


def main(loops: int, command: list[str]) -> int:
    """The command's exit code."""
    loop = [sys.executable, "-S", "-c", LOOP]
    busy = [subprocess.Popen(loop) for _ in range(loops)]
    try:
        return subprocess.run(command, check=False).returncode
    finally:
        for one in busy:
            one.kill()
            one.wait()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
