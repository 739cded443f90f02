"""How far are the workers, and which have ended?  Reads their progress files and holds a pidfd on each.

A pidfd becomes readable the moment the process ends, zombie or not (pidfd_open(2), Linux 5.3).  Without pidfds,
psutil is polled.

Why did a launch fail, and what can the user do?  In one sentence, from the exit status and the script's last output.

torchrun prints a page after the script's error; it is dropped except for which rank ended how.
"""

from __future__ import annotations

import os
import re
import select
import signal
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fireassay.launchers.support.base import Ending, ready
from fireassay.record.live.progress import Progress, read_progress

TAIL_BYTES = 1 << 16
BY_SIGNAL = " was ended by signal "  # in the reason of a launch that did not end by itself
# Modules whose distributions have other names.
DISTRIBUTIONS = {
    "sklearn": "scikit-learn",
    "cv2": "opencv-python",
    "PIL": "pillow",
    "yaml": "pyyaml",
    "skimage": "scikit-image",
    "bs4": "beautifulsoup4",
    "google.protobuf": "protobuf",
    "fireassay": "fireassay",
    "assay": "fireassay",  # before it was called Fireassay
    "pynvml": "nvidia-ml-py",
}
_MISSING = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_ENGINE_EXIT = re.compile(r"exitcode\s*:\s*(-?\d+)")
_ENGINE_RANK = re.compile(r"rank\s*:\s*(\d+) \(local_rank")
_EXCEPTION = re.compile(r"^(?:\[rank\d+\]: ?)?((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Fault|Warning)(?:: .*)?)$")
_EXPLAINED = re.compile(r"^(?:[^\s:]+:\d+: )?" + _EXCEPTION.pattern.removeprefix("^"))  # with the file and line of `_raised_at`
_FRAME = re.compile(r"^(?:\[rank\d+\]: ?)?\s*File \"([^\"]+)\", line (\d+)")
_LIBRARY = re.compile(rf"/(?:site|dist)-packages/|/lib/python3|^<|^{re.escape(str(Path(__file__).parents[2]))}/")
_LEFT_BY_A_PEER = re.compile(r"Connection (?:closed|reset) by peer|[Rr]emote worker|Broken pipe")  # another rank failed before
# Terminal control sequences (colours, window titles): a script's output must not control the reader's terminal.
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.|[^\n\r\t\x20-\x7e\xa0-\U0010ffff]")
# Lines of torchrun (log records, summary, traceback) and of the profiler (Kineto: source, time, process).
_ENGINE_LINE = re.compile(r"^(?:\[?[EWI]\d{4} |={10,}|-{10,}|\*{10,}|[A-Z]+:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \d+:\d+ \w+\.cpp:\d+\] )")
_LOG_OF_A_NODE = re.compile(r"^assay: node .+ ended with -?\d+; it said:$")  # `launchers/support/node_group.py`
_LOST_NODE = re.compile(r"^assay: (node .+ was lost: .+)$", re.MULTILINE)
_ENGINE_BEGINS = re.compile(r"torch[./]distributed[./](?:run|launcher|elastic)|ChildFailedError|<frozen runpy>")


def tail(log: Path, size: int = TAIL_BYTES) -> str:
    """The end of a log as text without terminal controls; undecodable bytes become U+FFFD. Empty if unreadable."""
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - size))
            return plain(file.read().decode("utf-8", "replace"))
    except OSError:
        return ""


def plain(text: str) -> str:
    """The text without terminal control sequences."""
    return _CONTROL.sub("", text)


def why_failed(ending: Ending, output: str, log: str) -> str:
    """One sentence: how it ended, the explaining line of the output, what to do."""
    if ending.trouble:
        return f"{ending.trouble}."
    if missing := _MISSING.findall(output):
        module = missing[-1]
        name = DISTRIBUTIONS.get(module, DISTRIBUTIONS.get(module.split(".")[0], module.split(".")[0]))
        return f"the script needs a missing package (No module named '{module}'): pip install {name}"
    if lost := _LOST_NODE.findall(output):
        return f"{lost[-1]} (all of its output: {log})"  # what the others print follows from it
    how = how_it_ended(ending, output)
    line = explaining_line(output)
    hint = _hint(output, how)
    output_clause = f"; its last output was: {line}" if line else ", and printed nothing"
    output_clause = f": {line}" if _EXPLAINED.match(line) else output_clause
    return f"{how}{output_clause}{hint} (all of its output: {log})"


def how_it_ended(ending: Ending, output: str) -> str:
    """The exit code or signal; the worker's, if torchrun's output names it."""
    code = -ending.signal if ending.signal is not None else ending.exit_code
    subject = "the script"
    if (exit_codes := _ENGINE_EXIT.findall(output)) and ending.exit_code is not None:
        code = int(exit_codes[-1])
        ranks = _ENGINE_RANK.findall(output)
        subject = f"rank {ranks[-1]} of the script" if ranks else subject
    if code is not None and code > 128 and _signal_name(code - 128) != "unknown":
        code = 128 - code  # 128 + signal, as shells and the plain launcher report it
    if code is not None and code < 0:
        return f"{subject}{BY_SIGNAL}{-code} ({_signal_name(-code)})"
    return f"{subject} exited with code {code}"


def explaining_line(output: str) -> str:
    """The line that explains a failure: the last exception of the script, with file and line if they are known, else its last line."""
    lines = script_lines(output)
    exceptions = [(number, match[1]) for number, line in enumerate(lines) if (match := _EXCEPTION.match(line.strip()))]
    if not exceptions:
        return _shortened(lines[-1].strip() if lines else "")
    number, text = ([one for one in exceptions if not _LEFT_BY_A_PEER.search(one[1])] or exceptions)[-1]
    return _shortened(f"{_raised_at(lines[:number])}{text}")


def _raised_at(lines: list[str]) -> str:
    """ "train.py:41: ", the last line of the user's own files in a traceback; "" if there is no traceback."""
    frames: list[tuple[str, str]] = []
    for line in reversed(lines):
        if match := _FRAME.match(line):
            frames.append((match[1], match[2]))
        elif "Traceback (most recent call last)" in line:
            break
    own = next((frame for frame in frames if not _LIBRARY.search(frame[0])), None)
    return f"{Path(own[0]).name}:{own[1]}: " if own else ""


def _shortened(line: str) -> str:
    return line if len(line) <= 300 else f"{line[:297]}..."


def script_lines(output: str) -> list[str]:
    """The script's non-empty lines, without those of torchrun."""
    kept: list[str] = []
    in_engine_traceback = False
    lines = output.splitlines()
    for at, line in enumerate(lines):
        if line.startswith("Traceback (most recent call last)"):
            in_engine_traceback = any(_ENGINE_BEGINS.search(later) for later in lines[at + 1 : at + 4])
        elif _LOG_OF_A_NODE.match(line):
            in_engine_traceback = False
        if line.strip() and not in_engine_traceback and not _ENGINE_LINE.match(line):
            kept.append(line)
    return kept


OWN_RANKS = (
    "the script starts ranks of its own (torch.multiprocessing) inside each of assay's workers. Let assay start them: where RANK is set, call the "
    'training function with int(os.environ["RANK"]) and int(os.environ["WORLD_SIZE"]) instead of spawning. Or time it as a command: '
    "assay time -- python SCRIPT"
)
_SPAWNED = re.compile(r"/multiprocessing/(?:spawn|process|popen_\w+)\.py")
_MEETING = re.compile(r"EADDRINUSE|[Aa]ddress already in use|init_process_group")


def _hint(output: str, how: str) -> str:
    if _SPAWNED.search(output) and _MEETING.search(output):
        return f"; {OWN_RANKS}"
    if "No space left on device" in output:
        return "; free disk space and run it again"
    if "out of memory" in output.lower() or "MemoryError" in output:
        return "; use a smaller batch or model, or fewer workers"
    if "SIGKILL" in how:
        return "; if nobody sent it, the machine probably ran out of memory: see dmesg"
    return ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


RATE_WINDOW_NS = 5_000_000_000


@dataclass(frozen=True, kw_only=True)
class Worker:
    """One process of one rank."""

    rank: int
    incarnation: int
    pid: int
    node: int = 0  # as in its progress


class Watch:
    """The workers of one launch."""

    def __init__(self, folder: Path, workers: int, here: Callable[[Worker], bool] = lambda _: True) -> None:
        """`here`: whether the end of a new process is to be observed from this machine."""
        self._here = here
        self.ranks: dict[int, Progress] = {}  # as last read
        self._files = [folder / "progress" / f"rank={rank}.bin" for rank in range(workers)]
        self._alive: dict[Worker, int | None] = {}  # -> pidfd
        self._seen: set[Worker] = set()
        self._history: deque[tuple[int, int]] = deque()

    @property
    def incarnation(self) -> int:
        """The highest incarnation: how often the launcher restarted the workers."""
        return max((worker.incarnation for worker in self._seen), default=0)

    @property
    def steps(self) -> int:
        """Steps finished by every rank that has reported."""
        return min((rank.steps for rank in self.ranks.values()), default=0)

    def poll(self) -> None:
        """Read the progress of all ranks and register new processes."""
        for rank, file in enumerate(self._files):
            progress = read_progress(file)
            if progress is None:
                continue
            self.ranks[rank] = progress
            worker = Worker(rank=rank, incarnation=progress.incarnation, pid=progress.pid, node=progress.node)
            if worker not in self._seen:
                self._seen.add(worker)
                if self._here(worker):
                    self._alive[worker] = _pidfd(worker.pid)

    def vanished(self) -> list[Worker]:
        """The workers that have ended since the last call."""
        gone = [worker for worker, pidfd in self._alive.items() if _has_ended(worker.pid, pidfd)]
        for worker in gone:
            _close(self._alive.pop(worker))
        return gone

    def steps_per_s(self, now_ns: int) -> float | None:
        """The rate over the last seconds; None before two steps, and after a restart."""
        if self._history and self.steps < self._history[-1][1]:
            self._history.clear()
        if self.steps == 0:
            return None  # the time before the first step is start-up
        if not self._history or self.steps != self._history[-1][1]:
            self._history.append((now_ns, self.steps))
        while len(self._history) > 2 and now_ns - self._history[0][0] > RATE_WINDOW_NS:
            self._history.popleft()
        (first_ns, first), (last_ns, last) = self._history[0], self._history[-1]
        return (last - first) / (last_ns - first_ns) * 1e9 if last_ns > first_ns else None

    def close(self) -> None:
        for pidfd in self._alive.values():
            _close(pidfd)
        self._alive = {}


def _pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):
        return None


def _has_ended(pid: int, pidfd: int | None) -> bool:
    if pidfd is not None:
        return ready(pidfd, select.POLLIN, 0.0)
    import psutil

    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def _close(pidfd: int | None) -> None:
    if pidfd is not None:
        os.close(pidfd)
