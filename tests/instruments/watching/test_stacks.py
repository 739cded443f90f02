"""Which phase does a stack belong to, as py-spy gives it for torch 2.13?"""

from __future__ import annotations

import pytest

from fireassay.instruments.watching.stacks import Frame, place_of

SITE = "/venv/lib/python3.11/site-packages/torch"
USER = ("main", "/home/me/train.py", 41)
LINEAR = ("Linear.forward", f"{SITE}/nn/modules/linear.py", 134)
CALL = ("Module._call_impl", f"{SITE}/nn/modules/module.py", 1789)
DDP = ("DistributedDataParallel.forward", f"{SITE}/nn/parallel/distributed.py", 1700)
ENGINE = ("_engine_run_backward", f"{SITE}/autograd/graph.py", 979)
BACKWARD = ("Tensor.backward", f"{SITE}/_tensor.py", 647)
BARRIER = ("barrier", f"{SITE}/distributed/distributed_c10d.py", 4900)
WRAPPER = ("wrapper", f"{SITE}/distributed/c10d_logger.py", 83)
FETCH = ("fetch", f"{SITE}/utils/data/_utils/fetch.py", 54)
NEXT = ("_BaseDataLoaderIter.__next__", f"{SITE}/utils/data/dataloader.py", 733)
ITEM = ("Rows.__getitem__", "/home/me/data.py", 7)
STEP = ("SGD.step", f"{SITE}/optim/sgd.py", 150)
SAVE = ("save", f"{SITE}/serialization.py", 960)
OWN_LAYER = ("Block.forward", "/home/me/model.py", 12)


@pytest.mark.parametrize(
    ("frames", "active", "phase", "waits", "call", "script"),
    [
        ((LINEAR, CALL, OWN_LAYER, CALL, DDP, USER), True, "forward", False, "", "model.py:12 (Block.forward)"),
        ((OWN_LAYER, CALL, USER), True, "forward", False, "", "model.py:12 (Block.forward)"),
        ((DDP, CALL, USER), False, "communication", True, "", "train.py:41 (main)"),
        ((ENGINE, BACKWARD, USER), True, "backward", False, "", "train.py:41 (main)"),
        ((ENGINE, BACKWARD, USER), False, "backward", True, "", "train.py:41 (main)"),
        ((BARRIER, WRAPPER, USER), False, "communication", True, "barrier", "train.py:41 (main)"),
        ((ITEM, FETCH, NEXT, USER), False, "data", False, "", "data.py:7 (Rows.__getitem__)"),
        ((STEP, USER), True, "optimizer", False, "", "train.py:41 (main)"),
        ((SAVE, USER), False, "checkpoint", False, "", "train.py:41 (main)"),
        ((USER,), False, "script", False, "", "train.py:41 (main)"),
        ((), False, "script", False, "", ""),
    ],
)
def test_the_innermost_known_part_of_torch_decides(
    frames: tuple[tuple[str, str, int], ...], active: bool, phase: str, waits: bool, call: str, script: str
) -> None:
    place = place_of([Frame(name=name, file=file, line=line) for name, file, line in frames], active)
    assert (place.phase, place.waits, place.call, place.script) == (phase, waits, call, script)
