"""How does a sandbox start, end and report?"""

from __future__ import annotations

import marshal
import os
import sys

from fireassay.quality.sandbox.inside.kernel import Kernel, drop_privileges, enter_root, filter_calls, isolate, lower_limits
from fireassay.quality.sandbox.inside.roles import Pipes, candidate, check
from fireassay.quality.sandbox.inside.values import text_of, written

TYPE_CHECKING = False  # type checkers assume true; see fireassay/__init__.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO


def examine(kernel: Kernel, plan: dict[str, Any]) -> dict[str, Any]:
    """What the worker can still do, for the probe: every value must be as `probing.SAFE` says."""
    import errno
    import socket

    def connect() -> None:
        with socket.socket() as one:
            one.settimeout(1)
            one.connect(("192.0.2.1", 9))  # reserved for documentation

    def processes() -> int:
        """How many children there can be."""
        count = 0
        try:
            while count < plan["processes"] + 8:
                if os.fork() == 0:
                    import time

                    time.sleep(60)
                count += 1
        except OSError as error:
            return count if error.errno in (errno.EAGAIN, errno.EPERM) else -1
        return count

    header, sets = (kernel.ctypes.c_uint32 * 2)(0x20080522, 0), (kernel.ctypes.c_uint32 * 6)()
    kernel("capget", header, sets)
    os.kill(1, 9)  # has no effect: otherwise nothing below is answered
    os.kill(1, 2)
    return {
        "uid": os.getuid(),
        "capabilities": any(sets),
        "parent": os.getppid(),
        "proc": os.path.exists("/proc/self"),
        "root_read_only": _refused(lambda: os.mkdir("/written")) and _refused(lambda: open(os.path.join(sys.base_prefix, "written"), "w")),
        "network": not _refused(connect),
        "mount": not _refused(lambda: kernel.mount("tmpfs", "/tmp", "tmpfs", 0)),
        "children": processes() < plan["processes"] + 8,
    }


def _refused(act: Callable[[], Any], number: int = 0) -> bool:
    """True if the kernel refuses it; with `number`, for that reason."""
    try:
        act()
    except OSError as error:
        return number in (0, error.errno)
    return False


def worker(kernel: Kernel, plan: dict[str, Any], questions: BinaryIO) -> None:
    """The process that runs what is not trusted."""
    import errno

    _, answers, status, life = plan["pipes"]
    os.close(life)
    os.setsid()
    pipes = Pipes(questions, answers)
    seen: dict[str, Any] = {}
    try:
        lower_limits(kernel, plan)
        seen = examine(kernel, plan) if plan["role"] == "look" else seen
        filter_calls(kernel, program := plan["seccomp"])
        seen |= {"filtered": _refused(lambda: os.execv("/proc/none", ["none"]), errno.EPERM)} if seen and program else {}
    except BaseException as error:
        _report(status, {"setup": text_of(error)})
        return
    os.close(status)
    sys.path.append(plan["packages"])
    if plan["role"] == "look":
        pipes.send(seen)
    else:
        {"candidate": candidate, "check": check}[plan["role"]](pipes)


def first(kernel: Kernel, plan: dict[str, Any], questions: BinaryIO) -> None:
    """Process 1 of the namespace: wait for the worker or for the parent's end, kill everything, report."""
    import resource
    import select

    _, answers, status, life = plan["pipes"]
    kernel.libc.signal(2, None)  # of SIGINT; Python's handler would let the worker end this process
    drop_privileges(kernel)
    child = os.fork()
    if child == 0:
        try:
            worker(kernel, plan, questions)
        except BaseException:
            os._exit(1)
        os._exit(0)
    questions.close()
    os.close(answers)
    ended, result = os.pidfd_open(child), 0
    ready: list[int] = []
    left_s = 1.0
    while not ready and left_s > 0.0:
        left_s = plan["cpu_s"] - _used_s(child)
        ready = select.select([ended, life], [], [], max(left_s, 0.001))[0]  # so long at least, if it has one thread
    try:  # noqa: SIM105 - contextlib takes 5 ms to import
        os.kill(-1, 9)
    except ProcessLookupError:
        pass
    try:
        while True:
            pid, code = os.wait()
            result = code if pid == child else result
    except ChildProcessError:
        pass
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    _report(status, {"status": os.waitstatus_to_exitcode(result), "cpu_s": used.ru_utime + used.ru_stime})


def _used_s(pid: int) -> float:
    """Processor time of a process by the scheduler's clock; the kernel's own limit counts ticks, up to a fifth off on a busy machine."""
    import time

    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:  # it has just ended
        return 0.0


def _report(status: int, message: dict[str, Any]) -> None:
    os.write(status, written(message).encode() + b"\n")


def main(questions: BinaryIO) -> None:
    """Launch, as the first message says."""
    plan = marshal.load(questions)
    kernel = Kernel()
    status = plan["pipes"][2]
    try:
        if not plan["isolated"]:
            isolate(kernel)
            enter_root(kernel, plan)
            child = os.fork()
            if child:
                os.closerange(3, 1024)
                os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)
        first(kernel, plan, questions)
    except BaseException as error:
        _report(status, {"setup": text_of(error)})
        os._exit(1)
    os._exit(0)
