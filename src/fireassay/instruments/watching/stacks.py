"""In which phase of a training step is a thread with this stack, does it wait for others there, and where in the script is that?

The innermost frame that belongs to a known part of torch decides. A collective counts as waiting, and so does an idle thread in a pass or in
the optimizer: on a CPU it is there only for the ranks that have not sent their gradients yet.
Cannot tell: on a GPU, whether a synchronising call (`.item()`) waits for its own kernels or for other ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

DATA, FORWARD, BACKWARD, OPTIMIZER = "data", "forward", "backward", "optimizer"
COMMUNICATION, CHECKPOINT, SCRIPT, START = "communication", "checkpoint", "script", "start-up"
PASSES: Final = (FORWARD, BACKWARD, OPTIMIZER)
_PARTS: Final = (  # the first part of a file's path that fits
    ("<frozen importlib", START),
    ("/torch/utils/data/", DATA),
    ("/datasets/iterable_dataset", DATA),
    ("/torch/distributed/checkpoint/", CHECKPOINT),
    ("/torch/serialization.py", CHECKPOINT),
    ("/safetensors/", CHECKPOINT),
    ("/torch/distributed/elastic/", SCRIPT),
    ("/torch/distributed/", COMMUNICATION),
    ("/torch/autograd/", BACKWARD),
    ("/torch/_tensor.py", BACKWARD),
    ("/torch/optim/", OPTIMIZER),
    ("/torch/nn/", FORWARD),
)
_LIBRARY: Final = ("/site-packages/", "/dist-packages/", "/lib/python3", "<")
_DDP: Final = "/torch/nn/parallel/distributed.py"
_COLLECTIVES: Final = "distributed_c10d.py"
_INNER: Final = ("wrapper", "_object_to_tensor", "_tensor_to_object")


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One function call of a Python stack."""

    name: str
    file: str
    line: int

    @property
    def short(self) -> str:
        """ "train.py:41 (main)"."""
        return f"{PurePath(self.file).name}:{self.line} ({self.name})"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a thread is."""

    phase: str
    waits: bool  # for other ranks
    call: str = ""  # the collective, if its function is in the stack
    script: str = ""  # the innermost line of the user's own files

    @property
    def words(self) -> str:
        """ "barrier, train.py:41 (main)"."""
        what = self.call or ("the all-reduce of its backward pass" if self.waits and self.phase == BACKWARD else self.phase)
        return f"{what}, {self.script}" if self.script else what


def place_of(frames: Sequence[Frame], active: bool) -> Place:
    """`frames`: innermost first; `active`: the thread runs or wants to."""
    phase = next(filter(None, map(_phase, frames)), SCRIPT)
    if phase == FORWARD and frames and _DDP in frames[0].file:
        phase = COMMUNICATION  # the wrapper itself: it synchronises buffers
    call = ""
    if phase == COMMUNICATION:
        named = [frame.name for frame in frames if frame.file.endswith(_COLLECTIVES) and frame.name not in _INNER]
        call = named[-1] if named else ""
    script = next((frame.short for frame in frames if not _phase(frame) and not any(part in frame.file for part in _LIBRARY)), "")
    return Place(phase=phase, waits=phase == COMMUNICATION or (phase in PASSES and not active), call=call, script=script)


def _phase(frame: Frame) -> str:
    return next((phase for part, phase in _PARTS if part in frame.file), "")
