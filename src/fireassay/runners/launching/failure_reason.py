"""Why did a launch fail, and what can the user do?  In one sentence, from the exit status and the script's last output.

torchrun prints a page after the script's error; it is dropped except for which rank ended how.
"""

from __future__ import annotations

import re
import signal
from pathlib import Path

from fireassay.launchers.support.base import Ending

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
_LIBRARY = re.compile(r"/(?:site|dist)-packages/|/lib/python3|^<")
# Terminal control sequences (colours, window titles): a script's output must not control the reader's terminal.
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.|[^\n\r\t\x20-\x7e\xa0-\U0010ffff]")
# Lines of torchrun (log records, summary, traceback) and of the profiler (Kineto: source, time, process).
_ENGINE_LINE = re.compile(r"^(?:\[?[EWI]\d{4} |={10,}|-{10,}|\*{10,}|[A-Z]+:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \d+:\d+ \w+\.cpp:\d+\] )")
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
    number, text = exceptions[-1]
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
        if line.strip() and not in_engine_traceback and not _ENGINE_LINE.match(line):
            kept.append(line)
    return kept


def _hint(output: str, how: str) -> str:
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
