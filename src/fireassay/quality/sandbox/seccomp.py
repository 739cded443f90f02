"""Which system calls may untrusted code not make?  The filter is compiled by libseccomp, the distribution's, where it is installed.

The Python packages for it are unmaintained (pyseccomp: 2021) or a rebuilt binding; five functions of the C library are called here.
What a function of a benchmark has no use for fails with EPERM: sockets, other programs, tracing, mounts, namespaces, kernel subsystems with
a history of escapes.  A second barrier: namespaces, capabilities and limits hold without it.
"""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from typing import Final

ALLOW: Final = 0x7FFF0000
ERRNO: Final = 0x00050000
MASKED_EQUAL: Final = 7
NEW_NAMESPACES: Final = 0x7E020080  # flags of clone: time, mount, cgroup, uts, ipc, user, pid, net
DENIED: Final = (
    "socket", "connect", "bind", "listen", "accept", "accept4", "execve", "execveat",
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp",
    "mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "fsopen", "fsmount", "fsconfig", "fspick", "move_mount", "open_tree",
    "mount_setattr", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
    "keyctl", "add_key", "request_key", "open_by_handle_at", "name_to_handle_at", "fanotify_init", "init_module", "finit_module", "delete_module",
    "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "acct", "quotactl", "syslog", "personality", "iopl", "ioperm",
    "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname", "vhangup", "lookup_dcookie", "nfsservctl",
    "mbind", "move_pages", "migrate_pages", "set_mempolicy", "msgget", "semget", "shmget", "mq_open", "memfd_secret", "setpriority",
    "sched_setscheduler", "sched_setattr", "sched_setaffinity",
)  # fmt: skip
ABSENT: Final = ("clone3",)  # its flags are in memory, which a filter cannot read; with ENOSYS the C library uses clone


class _Argument(ctypes.Structure):
    _fields_ = (("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64))


@cache
def program() -> bytes:
    """The filter as the kernel's instructions; empty if libseccomp is not installed."""
    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return b""
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(ALLOW)))
    try:
        for names, number in ((DENIED, errno.EPERM), (ABSENT, errno.ENOSYS)):
            for name in names:
                _deny(library, context, name, number)
        one = _Argument(arg=0, op=MASKED_EQUAL, a=0, b=0)
        for bit in (1 << shift for shift in range(32) if NEW_NAMESPACES >> shift & 1):
            one.a, one.b = bit, bit
            _add(library, context, library.seccomp_syscall_resolve_name(b"clone"), errno.EPERM, one)
        return _exported(library, context)
    finally:
        library.seccomp_release(context)


def _deny(library: ctypes.CDLL, context: ctypes.c_void_p, name: str, number: int) -> None:
    call = library.seccomp_syscall_resolve_name(name.encode())
    if call >= 0:  # this architecture or this version of the library does not know the others
        _add(library, context, call, number)


def _add(library: ctypes.CDLL, context: ctypes.c_void_p, call: int, number: int, *arguments: _Argument) -> None:
    if code := library.seccomp_rule_add_array(context, ctypes.c_uint32(ERRNO | number), call, len(arguments), (_Argument * 1)(*arguments)):
        raise OSError(-code, "seccomp_rule_add_array")


def _exported(library: ctypes.CDLL, context: ctypes.c_void_p) -> bytes:
    with os.fdopen(os.memfd_create("filter"), "r+b") as file:
        if code := library.seccomp_export_bpf(context, file.fileno()):
            raise OSError(-code, "seccomp_export_bpf")
        file.seek(0)
        return file.read()
