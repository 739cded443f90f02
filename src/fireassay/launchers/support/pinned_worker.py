"""How is a worker bound to its processors without changing its script?

This small program is started in the script's place:

    python pinned_worker.py '{"processors": [[0, 1], [2, 3]], "memory": [[0], [0]]}' python -u script.py ARGUMENT...

It reads LOCAL_RANK, binds itself to that rank's processors and, if configured, prefers the memory of their NUMA nodes, then execs the
real command: threads and children inherit both settings.
Standard library only.  Sources: sched_setaffinity(2), set_mempolicy(2).  The memory policy is only a preference: when a node is full,
the kernel allocates elsewhere and reports it only in numastat.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import sys

PREFERRED, PREFERRED_MANY = 1, 5  # linux/mempolicy.h; MPOL_PREFERRED_MANY since Linux 5.15
# asm/unistd.h: (set_mempolicy, get_mempolicy)
SYSTEM_CALLS = {"x86_64": (238, 239), "aarch64": (237, 236), "riscv64": (237, 236), "ppc64le": (261, 260), "s390x": (270, 269)}
WORD_BITS = 8 * ctypes.sizeof(ctypes.c_ulong)


def nodemask(nodes: list[int]) -> ctypes.Array[ctypes.c_ulong]:
    """Bit mask of nodes, as unsigned longs."""
    words = (ctypes.c_ulong * (max(nodes) // WORD_BITS + 1))()
    for node in nodes:
        words[node // WORD_BITS] |= 1 << (node % WORD_BITS)
    return words


def prefer_memory(nodes: list[int]) -> None:
    """Prefer memory of these NUMA nodes for this process. Raises OSError if the kernel refuses."""
    number = SYSTEM_CALLS[platform.machine()][0]
    libc = ctypes.CDLL(None, use_errno=True)
    for mode, chosen in ((PREFERRED_MANY, nodes), (PREFERRED, nodes[:1])):
        mask = nodemask(chosen)
        bits = ctypes.c_ulong(len(mask) * WORD_BITS + 1)  # the kernel reads one bit less than maxnode
        if libc.syscall(ctypes.c_long(number), ctypes.c_long(mode), mask, bits) == 0:
            return
    error = ctypes.get_errno()
    raise OSError(error, os.strerror(error))


def may_prefer_memory() -> str:
    """Why memory cannot be preferred here; "" if it can. Only reads the current policy."""
    calls = SYSTEM_CALLS.get(platform.machine())
    if calls is None or sys.platform != "linux":
        return f"the system calls of {platform.system()} on {platform.machine()} are not known"
    libc = ctypes.CDLL(None, use_errno=True)
    mode = ctypes.c_int()
    if libc.syscall(ctypes.c_long(calls[1]), ctypes.byref(mode), None, ctypes.c_ulong(0), None, ctypes.c_ulong(0)) == 0:
        return ""
    return f"get_mempolicy: {os.strerror(ctypes.get_errno())}; containers often forbid it (docker run --cap-add SYS_NICE)"


def main(words: list[str]) -> None:
    """Bind this process and exec the command. Does not return."""
    placement, command = json.loads(words[0]), words[1:]
    rank = int(os.environ.get("LOCAL_RANK", "0"))
    os.sched_setaffinity(0, placement["processors"][rank])
    if placement.get("memory"):
        prefer_memory(placement["memory"][rank])
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
