"""How far off are the offsets of hosts' clocks that assay tells, where the truth is known?

Two processes on this machine look at each other's clock as two hosts of a job do (`instruments/recorder/clock_pings.py`), the second one in a time
namespace of its own (Linux, root), whose monotonic clock the kernel shifts by a known amount; a drift of 50 ppm is put on by the process
itself.  Where there is no right to make a namespace the process shifts its clock by itself as well.  Meanwhile both processors may be busy.

    python benchmarks/clock_truth.py --seconds 5 --busy 2

Promise: every offset within its bound and within 0.2 ms.  Exits with 1 if it is broken.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

OFFSETS_S = (0.0005, -0.0005, 0.02, -1.0, 5.0, -5.0)
DRIFT = 50e-6
MIN_S = 0.0002
CLONE_NEWTIME, NOT_ALLOWED = 0x80, 77


def ask(folder: Path, seconds: float, shift_ns: int, base: int) -> None:
    """The second host: asks for so long, and leaves what it heard. Its clock drifts; what the namespace does not shift it shifts."""
    from fireassay.instruments.recorder import clock_pings

    clock_pings.REST_S = 0.1

    def now() -> int:
        true = time.monotonic_ns() + shift_ns
        return true + round((true - base) * DRIFT)

    heard: list[Any] = []
    asking = clock_pings.Asking(folder / "here.json", "127.0.0.1", lambda _, times: heard.append(times), now)
    time.sleep(seconds)
    asking.close()
    (folder / "heard.json").write_text(json.dumps(heard))


def namespace(offset_ns: int, words: list[str]) -> int:
    """Runs the words as a child, where the monotonic clock is shifted."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWTIME):
        return NOT_ALLOWED
    whole, rest = divmod(offset_ns, 1_000_000_000)
    Path("/proc/self/timens_offsets").write_text(f"monotonic {whole} {rest}\n")
    return subprocess.run(words, check=False).returncode


def one(offset_s: float, seconds: float) -> tuple[float, float, int, str]:
    """(error in the middle, bound, looks, how it was shifted) of one offset."""
    from fireassay.instruments.recorder.clock_pings import Answering
    from fireassay.stats.groups.clocks import Ping, linear_drift

    with tempfile.TemporaryDirectory() as temporary:
        folder, base = Path(temporary), time.monotonic_ns()
        answering = Answering(folder / "here.json", "a")
        there = base + round(offset_s * 1e9)
        words = [sys.executable, __file__, "--ask", temporary, "--seconds", str(seconds), "--base", str(there)]
        shift, how = str(round(offset_s * 1e9)), "by a time namespace"
        inside = [sys.executable, __file__, "--namespace", shift, *words[2:]]
        if subprocess.run(inside, check=False).returncode == NOT_ALLOWED:
            subprocess.run([*words, "--shift", shift], check=True)
            how = "by the process"
        answering.close()
        heard = json.loads((folder / "heard.json").read_text())
    line = linear_drift([Ping(t0=a, t1=b, t2=c, t3=d) for a, b, c, d in heard])
    middle = (line.begin + line.end) / 2
    found = line.at(middle)
    true = (middle + there * DRIFT) / (1.0 + DRIFT) - offset_s * 1e9  # what our clock said when theirs said `middle`
    return (middle + found.offset - true) / 1e9, found.bound / 1e9, len(heard), how


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="how long the clocks are looked at")
    parser.add_argument("--busy", type=int, default=0, help="processes that keep the processors busy meanwhile")
    for hidden in ("--ask", "--base", "--shift", "--namespace"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.namespace:
        words = [sys.executable, __file__, "--ask", asked.ask, "--seconds", str(asked.seconds), "--base", asked.base]
        return namespace(int(asked.namespace), words)
    if asked.ask:
        ask(Path(asked.ask), asked.seconds, int(asked.shift or 0), int(asked.base))
        return 0
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(asked.busy)]
    try:
        told = [(offset, *one(offset, asked.seconds)) for offset in OFFSETS_S]
    finally:
        for process in busy:
            process.kill()
            process.wait()
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, {asked.busy} busy\n"
    )
    print("| offset | shifted | looks | error | bound |\n|---|---|---|---|---|")
    for offset, error, bound, looks, how in told:
        print(f"| {offset * 1e3:g} ms | {how} | {looks} | {error * 1e6:.1f} us | {bound * 1e6:.1f} us |")
    kept = all(abs(error) <= min(bound + 1e-8, MIN_S) for _, error, bound, _, _ in told)
    print("\nkept" if kept else "\nBROKEN: an offset is off by more than its bound, or by more than 0.2 ms")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
