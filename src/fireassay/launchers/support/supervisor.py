"""How is nothing left behind, whatever dies?

A small supervisor runs between the coordinator and the engine:

    coordinator --pipe--> supervisor --> engine (torchrun, ...) --> workers (each in its own session)

The supervisor holds the read end of a pipe from the coordinator: end of file means that the coordinator has died, even by SIGKILL.
It is a child subreaper (prctl(2), PR_SET_CHILD_SUBREAPER), so every orphan of the launch becomes its child, and "no child left"
(waitpid: ECHILD) means no descendant left.  The kernel signals the engine when the supervisor dies (PR_SET_PDEATHSIG).  Processes that
escape even that are found by the launch's mark in /proc/PID/environ.
The supervisor also drains the launch's output into its log: first half and last half, secrets removed.

Runs as `python -I -S supervisor.py`; standard library only, so that it starts quickly and needs none of the user's packages.
Outside Linux there is neither prctl nor /proc: it uses the engine's process group and `ps` instead.

Protocol. In, one JSON object per line: the job (see `supervisor_client.py`), then orders: {"do": "stop"}, {"do": "kill"};
{"do": "clock", "sent": n} is answered with this host's time; {"do": "put", "path": p, "text": t} writes a file, because another host's
file system may show a new one only after seconds.
Out, one JSON object per line: {"started": pid} or {"cannot_start": reason}, {"clock": n, "now": ns}, {"report": content} whenever the file
`watched` of the job changes, finally {"ended": ...} (see `_report`).
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fireassay.launchers.support.launch_log import Log

MARK = "FIREASSAY_MARK"
TORCHRUN_LOGS = "PET_LOG_DIR"  # the variable of its --log-dir
POLL_S = 0.02  # polling interval for the last processes
WATCH_S = 0.05  # polling interval of a watched file
SETTLE_S = 0.5  # for processes that end by themselves once the engine has, as Spark's virtual machine does
GIVE_UP_S = 30.0  # a process that survives SIGKILL this long hangs in the kernel
_CHUNK = 1 << 20
_IS_LINUX = sys.platform == "linux"
_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h


def marked(mark: str) -> list[int]:
    """Live processes of this user whose environment holds a mark starting with `mark`, except this one."""
    needle = f"{MARK}={mark}".encode()
    return [pid for pid in _pids() if pid != os.getpid() and _holds(pid, needle)]


def is_marked(pid: int, mark: str) -> bool:
    """True if a process is alive and belongs to the launch; True where that is unknown."""
    if not Path("/proc/self/environ").exists():
        return True
    return _holds(pid, f"{MARK}={mark}".encode())


def end_marked(mark: str) -> list[int]:
    """Kill every process with the mark and wait until they exit; returns those that could not be killed."""
    deadline = time.monotonic() + GIVE_UP_S
    alive: set[int] = set()
    while True:
        remaining = marked(mark)
        alive = {pid for pid in (*alive, *remaining) if _is_there(pid)}
        if not alive or time.monotonic() >= deadline:
            return sorted(alive)
        send(remaining, signal.SIGKILL)  # only those still marked: a process ID may have been reused
        time.sleep(POLL_S)


def _is_there(pid: int) -> bool:
    """True if a process is running or exiting: its environment goes first, its ports and files a moment later."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except (OSError, IndexError):
        return False


def descendants(of: int) -> list[int]:
    """Live descendants of a process, children first."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    pids, waiting = [], [of]
    while waiting:
        waiting = [child for parent in waiting for child in children.get(parent, [])]
        pids += waiting
    return pids


def family(of: int) -> list[int]:
    """`descendants` without scanning every process. May miss one while another exits: for metering, not for killing."""
    if not Path(f"/proc/{of}/task/{of}/children").exists():
        return descendants(of)
    pids, waiting = [], [of]
    while waiting:
        waiting = [child for parent in waiting for child in _children(parent)]
        pids += waiting
    return pids


def send(pids: Iterable[int], number: int) -> None:
    """Send a signal to every process that still exists."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _holds(pid: int, needle: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            environment = file.read()
    except OSError:
        return False  # exited, a zombie, or another user's
    return environment.startswith(needle) or b"\0" + needle in environment


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                children += [int(word) for word in file.read().split()]
    except OSError:  # it has exited meanwhile
        pass
    return children


def _parents() -> list[tuple[int, int]]:
    """(process, parent) of every process except zombies."""
    if not _IS_LINUX:
        text = subprocess.run(["ps", "-Ao", "pid=,ppid=,state="], capture_output=True, text=True, check=False).stdout
        rows = [line.split() for line in text.splitlines()]
        return [(int(row[0]), int(row[1])) for row in rows if len(row) == 3 and not row[2].startswith("Z")]
    parents = []
    for pid in _pids():
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state != b"Z":
            parents.append((pid, int(parent)))
    return parents


def prctl(option: int, value: int) -> bool:
    """prctl(2) with one argument; False where it does not exist."""
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


class Supervisor:
    """One launch, from its start until nothing of it is left."""

    def __init__(self, job: dict[str, Any], control: int, out: int, unread: bytes = b"") -> None:
        self.job, self.control, self.out, self.unread = job, control, out, unread
        self.log = _log_of(job)
        self.selector = selectors.DefaultSelector()
        self.engine: int | None = None
        self.status: int | None = None  # of waitpid
        self.end_ns = 0  # of the last process that ended by itself: how long the others take is up to us
        self.settled_at: float | None = None  # when those that the engine left are ended
        self.left_running = 0  # how many there were
        self.kill_at: float | None = None  # when graceful termination turns into SIGKILL
        self.give_up_at = float("inf")
        self.stopped_by = ""
        self.scratch = _scratch(job["scratch"]) if "scratch" in job else ""
        self.watched, self.seen = str(job.get("watched", "")), 0  # a file whose content is reported, and its last time of change

    def run(self) -> None:
        """Start the engine, wait for it to end, leave nothing behind, report."""
        prctl(_SET_CHILD_SUBREAPER, 1)
        wake_read, wake_write = os.pipe()
        for descriptor in (wake_read, wake_write, self.control):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        # Handlers instead of SIG_IGN: the engine would inherit an ignored signal.
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self.stop("a termination signal"))
        output = self._start()
        self._obey(b"")  # orders that arrived together with the job
        self.selector.register(wake_read, selectors.EVENT_READ, lambda: os.read(wake_read, 4096))
        self.selector.register(self.control, selectors.EVENT_READ, self._read_control)
        if output is not None:
            self.selector.register(output, selectors.EVENT_READ, lambda: self._read_output(output))
        while not self._is_over():
            for key, _ in self.selector.select(self._patience()):
                key.data()
            self._watch()
        while output is not None and output in self.selector.get_map() and self._read_output(output):
            pass
        self.log.close()
        self._clean_up()
        self._leave_usage()
        self._report()

    def _clean_up(self) -> None:
        """Remove what torchrun would leave in the temporary folder at every launch."""
        if self.scratch:
            import shutil

            shutil.rmtree(self.scratch, ignore_errors=True)

    def _leave_usage(self) -> None:
        """What the launch used here, for the meter of this node: the kernel tells only the process that reaped it."""
        if "usage" not in self.job:
            return
        import resource

        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        counts = [used.ru_utime + used.ru_stime, used.ru_nivcsw, used.ru_majflt, used.ru_minflt]
        try:
            Path(self.job["usage"]).parent.mkdir(parents=True, exist_ok=True)
            Path(self.job["usage"]).write_text(json.dumps(counts))
        except OSError:
            return

    def _patience(self) -> float | None:
        """Seconds until something must be looked at."""
        if self.kill_at is not None or self.settled_at is not None:
            return POLL_S
        return WATCH_S if self.watched else None

    def _watch(self) -> None:
        """Report the watched file's content if it has changed."""
        try:
            if not self.watched or (changed := os.stat(self.watched).st_mtime_ns) == self.seen:
                return
            with open(self.watched, "rb") as file:
                content = json.loads(file.read())
        except (OSError, ValueError):  # not there yet
            return
        self.seen = changed
        self._say({"report": content})

    def _start(self) -> int | None:
        read, write = os.pipe()
        _widen(read)
        started_ns = time.monotonic_ns()
        try:
            process = subprocess.Popen(
                self.job["command"],
                cwd=self.job["cwd"],
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=write,
                stderr=write,
                start_new_session=True,
                preexec_fn=_die_with(os.getpid()),
            )
        except (OSError, subprocess.SubprocessError) as error:
            self.status, self.end_ns = -1, time.monotonic_ns()
            self._say({"cannot_start": str(error)})
            return None
        finally:
            os.close(write)
        self.engine = process.pid
        process.returncode = 0  # reaped here, not by the Popen object
        os.set_blocking(read, False)
        self._say({"started": process.pid, "started_ns": started_ns})
        return read

    def _environment(self) -> dict[str, str]:
        """The job's variables; of those that it inherits, this process's own values."""
        beginnings = tuple(self.job.get("inherited", ()))
        own = {name: value for name, value in os.environ.items() if beginnings and name.startswith(beginnings)}
        logs = {TORCHRUN_LOGS: self.scratch} if self.scratch else {}
        return {
            **logs,
            **{name: value for name, value in self.job["environment"].items() if not own or not name.startswith(beginnings)},
            **own,
        }

    def stop(self, why: str) -> None:
        """Terminate the engine; kill what is left after the grace period."""
        self.stopped_by = self.stopped_by or why
        if self.kill_at is not None:
            return
        self._kill_in(float(self.job["grace_s"]))
        if self.engine is not None and self.status is None:
            try:
                os.killpg(self.engine, signal.SIGTERM)
            except (ProcessLookupError, PermissionError):
                send([self.engine], signal.SIGTERM)

    def _kill_in(self, seconds: float) -> None:
        self.kill_at = time.monotonic() + seconds
        self.give_up_at = self.kill_at + GIVE_UP_S

    def _read_control(self) -> None:
        try:
            data = os.read(self.control, _CHUNK)
        except BlockingIOError:
            return
        if not data:
            self.selector.unregister(self.control)
            self.stop("the coordinator has exited")
            return
        self._obey(data)

    def _obey(self, data: bytes) -> None:
        *lines, self.unread = (self.unread + data).split(b"\n")
        for line in lines:
            order = json.loads(line)
            if order["do"] == "clock":
                self._say({"clock": order["sent"], "now": time.monotonic_ns()})
            elif order["do"] == "put":
                _put(Path(order["path"]), order["text"])
            else:
                self.stop("requested by the coordinator")
            if order["do"] == "kill":
                self._kill_in(0.0)

    def _read_output(self, descriptor: int) -> bool:
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self.selector.unregister(descriptor)
            os.close(descriptor)
            return False
        self.log.feed(data)
        return True

    def _is_over(self) -> bool:
        children = self._reap()
        if self.kill_at is not None and time.monotonic() >= self.kill_at:
            self._send_all(signal.SIGKILL)
            if time.monotonic() > self.give_up_at:
                return True
        if self.status is None:
            return False
        remaining = children or bool(marked(self.job["mark"])) or self._group_lives()
        if remaining and self.settled_at is None:  # the engine ended by itself and left processes behind
            self.settled_at = time.monotonic() + SETTLE_S
        if remaining and self.kill_at is None and time.monotonic() >= (self.settled_at or 0.0):
            self.left_running = max(len({*descendants(os.getpid()), *marked(self.job["mark"])}), 1)
            self._kill_in(float(self.job["grace_s"]))
            self._send_all(signal.SIGTERM)
        return not remaining

    def _send_all(self, number: int) -> None:
        send([*descendants(os.getpid()), *marked(self.job["mark"])], number)
        if self._group_lives():
            os.killpg(self.engine or 0, number)

    def _group_lives(self) -> bool:
        """True if the engine's process group has members; only where orphans do not become children of the supervisor."""
        if _IS_LINUX or self.engine is None:
            return False
        try:
            os.killpg(self.engine, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _reap(self) -> bool:
        """Reap children; whether any child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if not self.left_running:
                self.end_ns = time.monotonic_ns()
            self._reaped(pid, status)

    def _reaped(self, pid: int, status: int) -> None:
        """A child has ended."""
        if pid == self.engine:
            self.status = status

    def _report(self) -> None:
        self._watch()
        code = -1 if self.engine is None or self.status is None else os.waitstatus_to_exitcode(self.status)
        self._say(
            {
                "ended": {
                    "exit_code": code if code >= 0 and self.engine is not None else None,
                    "signal": -code if code < 0 and self.engine is not None else None,
                    "stopped_by": self.stopped_by,
                    "end_ns": self.end_ns,
                    "left_running": self.left_running,
                    "bytes": self.log.bytes,
                    "lines": self.log.lines,
                    "log_error": self.log.error,
                    "left": [*descendants(os.getpid()), *marked(self.job["mark"])],
                }
            }
        )

    def _say(self, message: dict[str, Any]) -> None:
        try:
            os.write(self.out, json.dumps(message).encode() + b"\n")
        except OSError:
            return  # the coordinator has died


def _put(path: Path, text: str) -> None:
    """Write a file as a whole, or not at all."""
    hidden = path.with_name(f".{path.name}")
    try:
        hidden.write_text(text, encoding="utf-8")
        hidden.replace(path)
    except OSError as error:
        print(f"assay: {path} cannot be written here: {error}", file=sys.stderr, flush=True)


def _die_with(guard: int) -> Callable[[], None]:
    import ctypes

    libc = ctypes.CDLL(None)  # loaded before the fork

    def before_exec() -> None:
        if _IS_LINUX:
            libc.prctl(_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
            if os.getppid() != guard:  # it died before PR_SET_PDEATHSIG took effect
                os.kill(os.getpid(), signal.SIGKILL)

    return before_exec


def _scratch(name: str) -> str:
    """A folder on this node, locked while this process lives: if it is killed, `record/scratch.py` removes it."""
    import fcntl

    path = os.path.join(os.environ.get("TMPDIR") or "/tmp", name)
    try:
        os.mkdir(path, mode=0o700)
        fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # torchrun makes one of its own
        return ""
    return path


def _widen(pipe: int) -> None:
    """Let a printing script run ahead of the supervisor by a megabyte."""
    try:
        import fcntl

        fcntl.fcntl(pipe, getattr(fcntl, "F_SETPIPE_SZ", 1031), _CHUNK)
    except (ImportError, OSError):
        return


def _log_of(job: dict[str, Any]) -> Log:
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # -I leaves it out
    from fireassay.launchers.support.launch_log import Log
    from fireassay.record.secrets.redact import redact_bytes

    return Log(Path(job["log"]), int(job["log_bytes"]), lambda data: redact_bytes(data, job["secrets"]))


def first_line(control: int) -> tuple[bytes, bytes] | None:
    """The job, and what was read after it; None if the coordinator died before it sent one."""
    received = b""
    while b"\n" not in received:
        data = os.read(control, _CHUNK)
        if not data:
            return None
        received += data
    job, _, rest = received.partition(b"\n")
    return job, rest


def _main() -> None:
    control, out = 0, os.dup(1)
    os.set_inheritable(out, False)
    os.dup2(2, 1)
    if (sent := first_line(control)) is not None:
        Supervisor(json.loads(sent[0]), control, out, sent[1]).run()


if __name__ == "__main__":
    _main()
