"""Is work that goes on after a return seen, and nothing else taken for it?

Processor time is set by `thread_time`, so that the cases do not depend on how busy the machine is.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from fireassay.instruments.calls import after_return
from fireassay.instruments.calls.after_return import Conclusion, Followed, Others
from tests.limits import PROCESS_S

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="threads have clocks of their own on Linux only")]

WORK = """
import asyncio, threading, time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


threads, A = ThreadPoolExecutor(2), np.ones((300, 300))
loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()
processes = None


def pool(): threads.submit(burn, 0.05)
def thread(): threading.Thread(target=burn, args=(0.05,)).start()
def waits(): threads.submit(burn, 0.02).result()
def sleeps(): time.sleep(0.01)
def blas(): return A @ A
def finished_task(): asyncio.run(task())


async def task():
    await asyncio.create_task(asyncio.sleep(0.001))


async def coroutine():
    burn(0.05)


def process():
    global processes
    processes = processes or ProcessPoolExecutor(1)
    processes.submit(burn, 0.05)


def on_a_loop():
    asyncio.run_coroutine_threadsafe(coroutine(), loop)


def each(n):
    yield from range(n)
"""
BUSY = "\nthreading.Thread(target=burn, args=(1e6,), daemon=True).start()\n"


def after(folder: Path, name: str, *, work: str = WORK) -> dict[str, Any]:
    """What a launch says of `work:NAME`, as the runner starts it."""
    (folder / "work.py").write_text(work)
    job = {"target": f"work:{name}", "args": [], "kwargs": {}, "out": str(folder / "lines"), "round_ns": 10_000_000, "trials": 2}
    job |= {"warm_up": 1, "calls": None, "device": "auto"}
    words = [
        sys.executable,
        "-c",
        "import json, sys; from fireassay.instruments.calls.function_calls import main; main(json.loads(sys.argv[1]))",
    ]
    subprocess.run([*words, json.dumps(job)], check=True, timeout=PROCESS_S, cwd=folder, capture_output=True)
    rows = [json.loads(line) for line in (folder / "lines").read_text().splitlines()]
    (after,) = [row["after"] for row in rows if "after" in row]
    return {**after, "calls": max(row["trial"]["calls"] for row in rows if not row.get("trial", {"warm_up": 1})["warm_up"])}


@pytest.mark.parametrize("name", ["pool", "thread", "process", "on_a_loop"])
def test_work_after_the_return_is_seen(tmp_path: Path, name: str) -> None:
    """Each call leaves 50 ms of processor time behind."""
    seen = after(tmp_path, name)
    assert seen["state"] == "follows"
    assert 0.02 < seen["processor_s"] < 0.075
    assert seen["calls"] <= 2  # more would leave more than 0.1 s behind, which a busy machine takes long to do


@pytest.mark.parametrize("name", ["waits", "sleeps", "finished_task"])
@pytest.mark.parametrize("beside", ["", BUSY], ids=["alone", "beside a busy thread of the module"])
def test_a_call_that_waits_for_its_own_work_is_not_accused(tmp_path: Path, name: str, beside: str) -> None:
    assert after(tmp_path, name, work=WORK + beside)["state"] == "quiet"


@pytest.mark.parametrize("beside", ["", BUSY], ids=["alone", "beside a busy thread of the module"])
def test_a_pool_that_spins_after_its_work_is_not_accused(tmp_path: Path, beside: str) -> None:
    """Threads of OpenBLAS spin for some milliseconds after a product: ten launches each, of which none is accused."""
    folders = [tmp_path / str(place) for place in range(10)]
    for folder in folders:
        folder.mkdir()
    assert {after(folder, "blas", work=WORK + beside)["state"] for folder in folders} <= {"quiet"}


@pytest.mark.parametrize("name", ["coroutine", "each"])
def test_a_call_that_only_makes_a_coroutine_or_generator_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        after(tmp_path, name)
    assert f"a call of work:{name} only makes a " in caught.value.stderr.decode()


def test_a_busy_thread_that_ends_leaves_the_rest_observable() -> None:
    """As OpenBLAS's do at a fork."""
    stop = threading.Event()
    busy = threading.Thread(target=lambda: all(not stop.is_set() for _ in iter(int, 1)))
    busy.start()
    others = Others()
    while busy.native_id not in others._busy:
        others._exclude_the_busy()  # until it had a processor
    stop.set()
    busy.join()
    assert others.follow().ns < 1e9


def test_a_thread_that_ends_between_two_looks_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the observer is given the processor late."""
    others = Others()
    go, burnt = threading.Event(), 0

    def burn() -> None:
        nonlocal burnt
        go.wait()
        while (burnt := time.thread_time_ns()) < 20_000_000:
            pass

    thread = threading.Thread(target=burn)

    def late(_: float) -> None:
        go.set()
        thread.join()

    thread.start()
    monkeypatch.setattr(after_return.time, "sleep", late)
    followed = others.follow()
    assert followed.python_ns >= 15_000_000


SPINS = """
import sys, threading, time
import numpy as np
from fireassay.instruments.calls.after_return import Others

def burn():
    while True: pass

for _ in range(3): threading.Thread(target=burn, daemon=True).start()
others, a = Others(), np.ones((300, 300))
while len(others._busy) < 3:
    others._exclude_the_busy()
for _ in range(20):
    a @ a
    print(others.follow().python_ns)
"""


def test_native_threads_are_never_taken_for_python() -> None:
    """Three threads that hold the interpreter by turns keep the observer waiting between two clocks, while a pool spins."""
    printed = subprocess.run([sys.executable, "-c", SPINS], check=True, timeout=PROCESS_S, capture_output=True, text=True).stdout
    assert len(printed.split()) == 20
    assert max(map(int, printed.split())) == 0


# ---- the conclusion, from readings that are set ----


class Readings(Others):
    """Answers that were written down, one for each wait."""

    def __init__(self, *answers: Followed) -> None:
        self.answers = iter(answers)

    def follow(self, limit_s: float = 0.0) -> Followed:
        return next(self.answers)


def ms(after_ms: float, *, python: float = 0.0, quiet: bool = True) -> Followed:
    return Followed(round(after_ms * 1e6), round(python * 1e6), quiet)


@pytest.mark.parametrize(
    ("readings", "state", "processor_s"),
    [
        ([*[ms(20)] * 5, ms(5), ms(19), ms(20)], "quiet", 0.0),  # spinning: eight calls leave no more than one
        ([*[ms(20)] * 6, *[ms(160), ms(20)] * 2, ms(158), ms(20), ms(162), ms(20), *[ms(160), ms(20)] * 2], "follows", 0.020),  # 160 / 8
        ([*[ms(20)] * 6, ms(160), ms(20), ms(39), ms(20)], "quiet", 0.0),  # less than twice the most of one
        ([*[ms(0)] * 6, ms(9), ms(9)], "quiet", 0.0),  # the pool was given no processor before, and now it is
        ([ms(20, python=20), ms(21, python=20), ms(19, python=20)], "follows", 0.020),
        ([ms(0), *[ms(20, python=20)] * 2, ms(0), *[ms(20, python=20)] * 2], "follows", 0.020),  # two ended before the caller came back
        ([ms(20, python=20), *[ms(20)] * 5, ms(5), ms(20)], "quiet", 0.0),
        ([ms(2000, quiet=False)] * 3, "unfinished", 2.0),
    ],
)
def test_what_grows_with_the_calls_is_their_work(readings: list[Followed], state: str, processor_s: float) -> None:
    seen = after_return.examine(Readings(*readings), lambda calls: 1e-4 * calls, 1e-4)
    assert (seen.state, seen.processor_s) == (state, pytest.approx(processor_s))


def test_a_slow_call_is_not_repeated_for_it() -> None:
    assert after_return.examine(Readings(), lambda _: pytest.fail("it was called"), 1.5) == Conclusion("unexamined", 0.0, 1.5)


def test_a_pool_that_spins_by_request_is_not_observed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    assert after_return.observer() is None
