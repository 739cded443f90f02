"""Does a script run as before where a rank is not in a group, or where noting a collective goes wrong?"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from fireassay.instruments.hooks import process_groups
from fireassay.instruments.hooks.collective_calls import Calls

pytestmark = pytest.mark.torch


@pytest.fixture
def outside() -> Iterator[Any]:
    """What torch gives rank 0 of two as the group of rank 1 alone; its engine for tests asks nobody."""
    import torch.distributed as distributed
    from torch.testing._internal.distributed.fake_pg import FakeStore

    distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        yield distributed.new_group([1])
    finally:
        distributed.destroy_process_group()


def replaced(calls: Calls, name: str) -> Any:
    import torch

    make = dict(process_groups.functions(torch, calls))[name]
    return make(getattr(torch.distributed, name))


@pytest.mark.parametrize("by_name", [True, False])
def test_a_rank_outside_of_a_group_asks_for_nothing(outside: Any, by_name: bool) -> None:
    """torch warns and returns; neither an error comes of it nor a call of all ranks that was never made."""
    import torch

    calls, tensor, sums = Calls(), torch.ones(2), torch.distributed.ReduceOp.SUM
    all_reduce = replaced(calls, "all_reduce")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if by_name:
            assert all_reduce(tensor, group=outside) is None
        else:
            assert all_reduce(tensor, sums, outside) is None
    assert calls.taken(everything=True) == []
    all_reduce(tensor)
    (call,) = calls.taken(everything=True)
    assert (call.op, call.number, call.size) == ("all_reduce", 0, 2)


class Broken:
    """No tensor that anybody could measure."""

    is_cuda = False

    def element_size(self) -> int:
        raise AttributeError("no size")

    numel = element_size


def test_a_collective_that_cannot_be_noted_is_asked_for_all_the_same(outside: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    asked: list[Any] = []
    monkeypatch.setattr(torch.distributed, "broadcast", lambda *arguments: asked.append(arguments))
    calls, errors, tensor = Calls(), list[str](), Broken()
    calls.failed = lambda error: errors.append(str(error))
    replaced(calls, "broadcast")(tensor, 0)
    assert asked == [(tensor, 0)]
    assert errors == ["no size"]
    assert not calls.under_way.any


def test_an_end_that_cannot_be_noted_is_no_error_of_the_script() -> None:
    """An engine whose handle answers otherwise than torch's."""

    class Work:
        def get_future(self) -> Any:
            raise TypeError("not so")

    calls = Calls()
    call, work = calls.made("0", 2, "all_reduce", [], Work, (), {})
    process_groups.noted(None, calls, call, work)
    assert not calls.wanted, "nothing more is noted"


def test_a_collective_that_failed_is_not_kept_for_ever() -> None:
    """A script that catches the error and goes on."""

    def ask() -> None:
        raise RuntimeError("timed out")

    calls = Calls()
    with pytest.raises(RuntimeError, match="timed out"):
        calls.made("0", 2, "all_reduce", [], ask, (), {})
    assert [call.end for call in calls.taken()] == [None]
    assert not calls._open
