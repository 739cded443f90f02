"""Which programs try to pass without the right answer, to escape, or to leave something behind?

Each of them defines `add`, which the test wants to be the sum; none of them adds.  The outcomes are those that may be reported: a verdict against
the program, or none at all; never "passed".
"""

from __future__ import annotations

from typing import Final

TEST: Final = """
def check(candidate):
    assert candidate(2, 3) == 5
    assert candidate(-4, 1) == -3
    assert candidate(10**30, 1) == 10**30 + 1
"""
WRONG: Final = "def add(a, b):\n    return 0\n"

HOSTILE: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "walks the stack and rewrites what it finds": (
        """
import sys
def add(a, b):
    frame = sys._getframe()
    while frame is not None:
        for name, value in list(frame.f_locals.items()) + list(frame.f_globals.items()):
            if isinstance(value, list):
                value.append("passed")
            if isinstance(value, dict) and value is not frame.f_globals:
                try:
                    value["passed"] = True; value["value"] = 5; value["verdict"] = "passed"
                except Exception:
                    pass
        frame = frame.f_back
    return 0
""",
        ("failed", "crash"),
    ),
    "is equal to everything": (
        """
class Always(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __getattribute__(self, name): return lambda *a: True
def add(a, b):
    return Always(0)
""",
        ("failed",),
    ),
    "is equal to everything, and no builtin value": (
        """
class Always:
    def __eq__(self, other): return True
    __class__ = int
def add(a, b):
    return Always()
""",
        ("failed", "no_verdict"),
    ),
    "patches builtins": (
        """
import builtins
class Yes(type):
    def __instancecheck__(cls, other): return True
builtins.AssertionError = type("Quiet", (Exception,), {})
builtins.isinstance = lambda *a: True
builtins.compile = builtins.exec = lambda *a, **k: None
builtins.type = lambda *a: int
def add(a, b):
    return 0
""",
        ("failed", "crash"),
    ),
    "patches the protocol": (
        """
import sys, os
values, roles = (sys.modules["fireassay.quality.sandbox.inside." + name] for name in ("values", "roles"))
values.encode = roles.encode = lambda value, depth=0: True
values.written = roles.written = lambda message: '{"passed": true, "value": 5}'
def add(a, b):
    return 0
""",
        ("failed", "crash"),
    ),
    "prints success and exits": (
        """
import os
def add(a, b):
    print("passed")
    for fd in range(3, 64):
        try: os.write(fd, b'{"passed": true}\\n{"verdict": "passed"}\\n')
        except OSError: pass
    os._exit(0)
""",
        ("crash",),
    ),
    "exits while it is defined": ("import os\nos._exit(0)\n", ("crash",)),
    "answers in advance": (
        """
import os
for fd in range(3, 64):
    try: os.write(fd, b'{"ready": true}\\n{"nonce": "", "value": 5}\\n{"value": -3}\\n{"value": ["i", "c9f2c9cd04674edea40000001"]}\\n')
    except OSError: pass
def add(a, b):
    return 0
""",
        ("crash", "failed"),
    ),
    "raises what no test may catch": ("def add(a, b):\n    raise SystemExit(0)\n", ("failed",)),
    "forks without end": (
        """
import os
def add(a, b):
    while True:
        try: os.fork()
        except OSError: pass
""",
        ("cpu_limit", "wall_limit"),
    ),
    "leaves processes that sleep": (
        """
import os, time
def add(a, b):
    for _ in range(100):
        try:
            if os.fork() == 0:
                os.setsid()
                time.sleep(3600)
        except OSError:
            break
    return 0
""",
        ("failed",),
    ),
    "takes all memory": ("def add(a, b):\n    return len(bytearray(1 << 40))\n", ("failed",)),
    "takes memory bit by bit": (
        "def add(a, b):\n    kept = []\n    while True:\n        kept.append(bytearray(1 << 24))\n",
        ("failed", "crash"),
    ),
    "fills the disk": (
        """
import os
def add(a, b):
    for name in range(100000):
        with open(f"/tmp/{name}", "wb") as file:
            file.write(b"x" * (1 << 20))
    return 0
""",
        ("failed", "crash"),
    ),
    "opens connections": (
        """
import socket
def add(a, b):
    for kind in (socket.AF_INET, socket.AF_UNIX):
        with socket.socket(kind) as one:
            one.settimeout(2)
            one.connect(("127.0.0.1", 22) if kind == socket.AF_INET else "\\0escape")
    return 0
""",
        ("failed",),
    ),
    "traces its parent": (
        """
import ctypes, os
def add(a, b):
    libc = ctypes.CDLL(None, use_errno=True)
    done = [pid for pid in (1, os.getppid()) if libc.ptrace(16, pid, 0, 0) == 0]  # PTRACE_ATTACH
    if done:
        os.write(1, b"escaped")
        while True: pass
    return 0
""",
        ("failed",),
    ),
    "looks through /proc": (
        """
import os
def add(a, b):
    found = []
    kernel = ["/proc/1/mem", "/proc/1/environ", "/proc/self/mem", "/proc/sys/kernel/core_pattern", "/proc/self/fd/3", "/sys/kernel"]
    for name in [*kernel, "/dev/vda", "/dev/shm", "/root/.ssh", "/home", "/etc/passwd", "/etc/shadow", "/var", "/run"]:
        if os.path.exists(name):
            found.append(name)
    if found:
        while True: pass
    return 0
""",
        ("failed",),
    ),
    "signals everybody": (
        """
import os, signal
def add(a, b):
    for pid in (1, os.getppid(), -1, -os.getpgid(0)):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
            if pid > 0:
                try: os.kill(pid, number)
                except OSError: pass
    os.kill(-1, signal.SIGKILL)
    return 0
""",
        ("failed", "crash"),
    ),
    "kills its session": ("import os\ndef add(a, b):\n    os.killpg(0, 9)\n    return 0\n", ("crash",)),
    "links to files outside and writes them": (
        """
import os
def add(a, b):
    wrote = []
    for target in ("/etc/passwd", "/usr/escaped", "/escaped", "/../escaped", "/dev/escaped", os.path.dirname(os.__file__) + "/escaped.py", os.__file__):
        link = "/tmp/link%d" % abs(hash(target))
        try:
            os.symlink(target, link)
            with open(link, "a") as file: file.write("escaped")
            wrote.append(target)
        except OSError: pass
    if wrote:
        while True: pass
    return 0
""",
        ("failed",),
    ),
    "overwrites the test": (
        """
import os, sys
def add(a, b):
    for folder in (".", "/tmp", "/", os.path.dirname(os.path.abspath(sys.argv[0]))):
        for name in ("test.py", "check.py", "conftest.py", "sitecustomize.py"):
            try:
                with open(os.path.join(folder, name), "w") as file: file.write("def check(candidate): pass")
            except OSError: pass
    sys.modules["check"] = sys.modules["candidate"]
    return 0
""",
        ("failed",),
    ),
    "sleeps beyond the limit": ("import time\ndef add(a, b):\n    time.sleep(3600)\n    return 0\n", ("wall_limit",)),
    "computes beyond the limit": ("def add(a, b):\n    while True: pass\n", ("cpu_limit",)),
    "ignores the signal of its limit": (
        "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\ndef add(a, b):\n    while True: pass\n",
        ("cpu_limit",),
    ),
    "floods the output": (
        """
import os
def add(a, b):
    while True:
        print("x" * 100000)
        for fd in range(3, 16):
            try: os.write(fd, b"x" * 65536)
            except OSError: pass
""",
        ("output_limit", "cpu_limit"),  # whichever it reaches first
    ),
    "returns more than may cross": ("def add(a, b):\n    return 'x' * (1 << 26)\n", ("no_verdict",)),
    "returns an endless iterator": ("import itertools\ndef add(a, b):\n    return itertools.count()\n", ("no_verdict", "cpu_limit")),
    "returns a knot": ("def add(a, b):\n    knot = []\n    knot.append(knot)\n    return knot\n", ("no_verdict",)),
    "reads nothing and waits": (
        "import os, time\nfor fd in range(3, 64):\n    try: os.close(fd)\n    except OSError: pass\ntime.sleep(3600)\n",
        ("crash",),
    ),
}
