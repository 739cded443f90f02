"""How does a process that mpirun started become a rank of torch.distributed?

    python -I -S mpi_rank.py HOST:PORT NODE,NODE,... COMMAND...

It takes its rank from Open MPI's variables, then runs the command in its own place: signals and exit codes are the worker's.  The kernel
kills it if Open MPI's daemon on its node dies (PR_SET_PDEATHSIG is kept by execve).  Standard library only.
"""

import ctypes
import os
import signal
import sys

NAMES = {"RANK": "RANK", "WORLD_SIZE": "SIZE", "LOCAL_RANK": "LOCAL_RANK", "LOCAL_WORLD_SIZE": "LOCAL_SIZE"}
_SET_PDEATHSIG = 1  # linux/prctl.h


def variables(environment: dict[str, str], endpoint: str, nodes: list[str]) -> dict[str, str]:
    """The variables of torchrun. `nodes`: names in the order of their ranks, each with equally many."""
    own = {name: environment[f"OMPI_COMM_WORLD_{theirs}"] for name, theirs in NAMES.items()}
    node = int(own["RANK"]) // int(own["LOCAL_WORLD_SIZE"])
    address, _, port = endpoint.rpartition(":")
    met = {"MASTER_ADDR": address, "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": environment["FIREASSAY_MARK"]}
    here = {"FIREASSAY_HOST": nodes[node], "FIREASSAY_MARK": f"{environment['FIREASSAY_MARK']}{nodes[node]}."}  # as `nodes.py` marks them
    return {**own, **met, **here, "TORCHELASTIC_RESTART_COUNT": "0", "GROUP_RANK": str(node)}


if __name__ == "__main__":
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    os.environ.update(variables(dict(os.environ), sys.argv[1], sys.argv[2].split(",")))
    os.execvp(sys.argv[3], sys.argv[3:])
