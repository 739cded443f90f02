"""How does a process enter namespaces and a root of its own, and give up what it may do?"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # type checkers assume true; see fireassay/__init__.py
if TYPE_CHECKING:
    from typing import Any, Final

NOBODY: Final = 65534
NEW_USER, NEW_NS, NEW_PID, NEW_NET, NEW_IPC, NEW_UTS, NEW_CGROUP = (
    0x10000000,
    0x20000,
    0x20000000,
    0x40000000,
    0x8000000,
    0x4000000,
    0x2000000,
)
ISOLATED = NEW_NS | NEW_PID | NEW_NET | NEW_IPC | NEW_UTS | NEW_CGROUP
NO_SUID, NO_DEV, NO_EXEC, BIND, REC, PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18  # flags of mount
READ_ONLY, RECURSIVE, DETACH = 7, 0x8000, 2  # rdonly, nosuid and nodev of mount_setattr; AT_RECURSIVE; MNT_DETACH
MOUNT_SETATTR = 442  # on all common architectures
PDEATHSIG, DUMPABLE, SECCOMP, BOUND_DROP, NO_NEW_PRIVS = 1, 4, 22, 24, 38  # of prctl
DEVICES = ("null", "zero", "full", "random", "urandom")


class Kernel:
    """Calls that Python 3.11 does not offer."""

    def __init__(self) -> None:
        import ctypes

        self.ctypes = ctypes
        self.libc = ctypes.CDLL(None, use_errno=True)

    def __call__(self, name: str, *arguments: Any) -> int:
        result: int = getattr(self.libc, name)(*arguments)
        if result < 0:
            number = self.ctypes.get_errno()
            raise OSError(number, f"{name}: {os.strerror(number)}")
        return result

    def mount(self, source: str, target: str, kind: str, flags: int, data: str = "") -> None:
        """mount(2)."""
        self("mount", source.encode(), target.encode(), kind.encode(), self.ctypes.c_ulong(flags), data.encode())

    def read_only(self, target: str) -> None:
        """Make a mount and all below it read-only, without devices and without effect of set-user-id bits."""
        attributes = (self.ctypes.c_uint64 * 4)(READ_ONLY, 0, 0, 0)
        self("syscall", MOUNT_SETATTR, -100, target.encode(), RECURSIVE, attributes, self.ctypes.sizeof(attributes))


def may_become_nobody() -> bool:
    """True if this is a root that has another user to become: not so in a user namespace of one user."""
    if os.geteuid() != 0:
        return False
    with open("/proc/self/uid_map") as file:
        ranges = [[int(word) for word in line.split()] for line in file]
    return any(first <= NOBODY < first + count for first, _, count in ranges)


def isolate(kernel: Kernel) -> None:
    """Enter new namespaces: as root directly, otherwise through a user namespace."""
    uid, gid = os.geteuid(), os.getegid()
    if may_become_nobody():
        try:
            kernel("unshare", ISOLATED)
            return
        except PermissionError:
            pass
    kernel("unshare", ISOLATED | NEW_USER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{NOBODY} {uid} 1"), ("gid_map", f"{NOBODY} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def enter_root(kernel: Kernel, plan: dict[str, Any]) -> None:
    """Exchange the root for a read-only one that holds only the interpreter, the system's libraries, a few devices and an empty /tmp."""
    home = plan["staging"]
    os.umask(0o022)  # nobody must pass the folders made here
    kernel.mount("none", "/", "", REC | PRIVATE)
    kept = {path: os.open(path, os.O_PATH) for path in (*plan["binds"], *(f"/dev/{name}" for name in DEVICES)) if os.path.exists(path)}
    kernel.mount("tmpfs", home, "tmpfs", NO_SUID | NO_DEV, "size=1m,nr_inodes=512,mode=755")
    for name in ("tmp", "dev"):
        os.mkdir(home + "/" + name)
    for path, target in plan["links"]:
        os.symlink(target, home + path)
    below = [path for path in plan["binds"] if path.startswith("/tmp/")]  # a Python of one's own may lie there
    for path in plan["binds"]:
        if path not in below:
            _bind(kernel, kept[path], home + path)
    for name in DEVICES:
        os.close(os.open(f"{home}/dev/{name}", os.O_CREAT | os.O_WRONLY))
    kernel.read_only(home)
    for name in DEVICES:
        if f"/dev/{name}" in kept:
            kernel.mount(f"/proc/self/fd/{kept[f'/dev/{name}']}", f"{home}/dev/{name}", "", BIND)
    kernel.mount("tmpfs", home + "/tmp", "tmpfs", NO_SUID | NO_DEV | NO_EXEC, f"size={plan['file_mib']}m,nr_inodes=1024,mode=1777")
    for path in below:
        _bind(kernel, kept[path], home + path)
        kernel.read_only(home + path)
    for number in kept.values():
        os.close(number)
    os.chdir(home)
    kernel("pivot_root", b".", b".")  # the old root now lies above the new one
    kernel("umount2", b".", DETACH)
    os.chdir("/tmp")


def _bind(kernel: Kernel, number: int, target: str) -> None:
    """Show a folder or file that was opened; its path may be hidden by now."""
    import stat

    os.makedirs(os.path.dirname(target), exist_ok=True)
    if stat.S_ISDIR(os.fstat(number).st_mode):
        os.makedirs(target, exist_ok=True)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
    kernel.mount(f"/proc/self/fd/{number}", target, "", BIND | REC)


def drop_privileges(kernel: Kernel) -> None:
    """Become nobody, in a user namespace whose processes are counted apart, without capabilities for good."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        kernel("unshare", NEW_USER)
    for capability in range(64):
        if kernel.libc.prctl(BOUND_DROP, capability, 0, 0, 0) < 0:
            break
    header, none = (kernel.ctypes.c_uint32 * 2)(0x20080522, 0), (kernel.ctypes.c_uint32 * 6)()
    kernel("capset", header, none)
    kernel("prctl", NO_NEW_PRIVS, 1, 0, 0, 0)
    kernel("prctl", DUMPABLE, 0, 0, 0, 0)
    kernel("prctl", PDEATHSIG, 9, 0, 0, 0)


def lower_limits(kernel: Kernel, plan: dict[str, Any]) -> None:
    """Set what the worker may use."""
    import resource

    mib = 2**20
    for name, soft, hard in (
        ("CPU", plan["cpu_s"] * 5 // 4 + 1, plan["cpu_s"] * 5 // 4 + 2),  # of descendants; pid 1 watches the worker
        ("AS", plan["memory_mib"] * mib, plan["memory_mib"] * mib),
        ("NPROC", plan["processes"] + 1, plan["processes"] + 1),  # pid 1 counts
        ("FSIZE", plan["file_mib"] * mib, plan["file_mib"] * mib),
        ("NOFILE", 64, 64),
        ("CORE", 0, 0),
        ("MEMLOCK", 0, 0),
        ("MSGQUEUE", 0, 0),
    ):
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (soft, hard))


def filter_calls(kernel: Kernel, program: bytes) -> None:
    """Forbid system calls for good."""
    if program:
        c = kernel.ctypes
        rules = c.create_string_buffer(program, len(program))

        class Filter(c.Structure):  # type: ignore[name-defined, misc]  # struct sock_fprog
            _fields_ = (("length", c.c_ushort), ("rules", c.c_void_p))

        kernel("prctl", SECCOMP, 2, c.byref(Filter(len(program) // 8, c.addressof(rules))), 0, 0)
