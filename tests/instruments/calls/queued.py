"""A torch with one device whose work ends 50 ms after it was queued, written as a package that a timed function imports."""

from __future__ import annotations

from pathlib import Path

WORK_S = 0.05
TORCH = '''
"""Stands in for torch: a queue is the moment at which its work will have ended."""
import time


class Cuda:
    def __init__(self):
        self.until, self.ready = time.monotonic(), False

    def is_initialized(self):
        return self.ready

    def is_available(self):
        return True

    def init(self):
        self.ready = True

    def device_count(self):
        return 2

    def current_device(self):
        return 0

    def memory_reserved(self, index):
        return 0

    def synchronize(self, index=0):
        assert self.ready, "only a device that is in use may be synchronised"
        assert index == 0, "a synchronisation of the other device would create a context on it"
        time.sleep(max(0.0, self.until - time.monotonic()))

    def launch(self, seconds):
        self.ready = True
        self.until = max(self.until, time.monotonic()) + seconds

    def Event(self, enable_timing):
        assert enable_timing
        return Event(self)


class Event:
    def __init__(self, cuda):
        self.cuda = cuda

    def record(self):
        self.at = max(self.cuda.until, time.monotonic())

    def elapsed_time(self, other):
        return 1e3 * (other.at - self.at)


class Mps:
    @staticmethod
    def is_available():
        return False


class Backends:
    mps = Mps


cuda, backends = Cuda(), Backends
'''
WORK = f"""
import torch

def step():
    torch.cuda.launch({WORK_S})
"""


def write_queued(folder: Path) -> None:
    """`work:step`, whose device works for `WORK_S` after it has returned, and the torch that it imports."""
    (folder / "torch.py").write_text(TORCH)
    (folder / "work.py").write_text(WORK)
