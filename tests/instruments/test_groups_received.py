"""Does a script that receives messages run as before, though torch's `recv` returns a rank and no handle?"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fireassay.instruments.hooks.collective_calls import Calls
from fireassay.instruments.hooks.process_groups import functions


@pytest.mark.parametrize("returned", [3, None], ids=["the sender's rank", "nothing"])
def test_a_receive_that_waited_itself_is_over_when_it_returns(returned: int | None) -> None:
    class Group:
        group_name = "0"

        def size(self) -> int:
            return 2

    def recv(tensor: Any, source: int) -> int | None:
        return returned

    world = Group()
    distributed = SimpleNamespace(is_initialized=lambda: True, ProcessGroup=Group, group=SimpleNamespace(WORLD=world), recv=recv)
    distributed.distributed_c10d = SimpleNamespace()
    torch = SimpleNamespace(distributed=distributed, compiler=SimpleNamespace(is_compiling=lambda: False))
    calls = Calls()
    ((name, make),) = functions(torch, calls)
    tensor = SimpleNamespace(numel=lambda: 4, element_size=lambda: 4, dtype="torch.float32", is_cuda=False)
    assert name == "recv"
    assert make(recv)(tensor, 1) == returned
    (call,) = calls.taken()
    assert (call.op, call.nbytes, call.size) == ("recv", 16, 2)
    assert call.end is not None
    assert call.blocked == call.end - call.begin
