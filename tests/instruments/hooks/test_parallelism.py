"""What one rank tells of its parallelism, without other ranks."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from fireassay.instruments.fingerprints import model_hash
from fireassay.instruments.hooks.parallelism import Evidence, point_to_point

pytestmark = pytest.mark.torch


def evidence() -> Evidence:
    import torch

    return Evidence(torch)


def test_without_a_group_nobody_met() -> None:
    own = evidence()
    own.note_ranks(0)
    assert own.detail(None, [])["group"] == 0


def test_an_engine_that_does_not_count_tells_the_group_all_the_same() -> None:
    def refuses() -> int:
        raise RuntimeError("no sequence numbers")

    world = SimpleNamespace(_get_sequence_number_for_group=refuses)
    distributed = SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: True, get_world_size=lambda: 4, group=SimpleNamespace(WORLD=world)
    )
    own = Evidence(SimpleNamespace(distributed=distributed))
    own.note_ranks(0)
    assert own.detail(None, []) | {"group": 4, "engine": []} == own.detail(None, [])


@pytest.mark.parametrize("name", ["num_replicas", "num_processes"])
def test_a_sampler_that_shares_the_data_out_is_seen(name: str) -> None:
    own = evidence()
    own.opened(SimpleNamespace(sampler=object(), batch_sampler=SimpleNamespace(**{name: 3})))
    own.opened(SimpleNamespace())  # no loader that is known
    assert own.detail(None, [])["sharing"] == 3


def test_of_a_model_the_trained_bytes_and_the_shapes_are_told() -> None:
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 2))
    model[1].requires_grad_(False)
    found = evidence().detail(model_hash.Watch(model), [])
    assert found["bytes"] == 4 * (3 * 2 + 2)
    other = evidence().detail(model_hash.Watch(torch.nn.Sequential(torch.nn.Linear(3, 3))), [])
    assert found["shapes"] != other["shapes"]
    assert (found["fsdp"], found["dtensor"], found["stage"]) == (0, 0, False)


def wrapper(left: set[str], **more: Any) -> SimpleNamespace:
    """A DistributedDataParallel of 4 ranks over a layer and a frozen normalisation, that leaves these names alone."""
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    model[1].requires_grad_(False)
    return SimpleNamespace(module=model, process_group=SimpleNamespace(size=lambda: 4), parameters_to_ignore=left, **more)


def test_a_wrapper_tells_its_group_its_hooks_and_what_it_leaves_alone() -> None:
    def compress(state: Any, bucket: Any) -> None:
        """A comm hook."""

    found = evidence().detail(None, [wrapper({"0.weight"}, _comm_hooks=[(compress, None)])])
    assert (found["ddp"], found["ddp_ignored"]) == ([4], 1)
    assert found["ddp_hooks"][0].endswith("compress")


@pytest.mark.parametrize("left", ["1.running_mean", "1.weight", "freqs_cis"], ids=["a buffer", "a frozen parameter", "a name of nothing"])
def test_what_is_not_trained_is_nothing_that_a_rank_trains_alone(left: str) -> None:
    """karpathy/llama2.c leaves out "freqs_cis", TRL every boolean buffer: replicas all the same."""
    assert evidence().detail(None, [wrapper({left})])["ddp_ignored"] == 0


def test_what_cannot_be_told_costs_nothing_else() -> None:
    found = evidence().detail(None, [SimpleNamespace()])
    assert "ddp" not in found
    assert found["group"] == 0


def test_batches_of_point_to_point_calls_are_counted_by_step() -> None:
    import torch

    own = evidence()
    steps = iter([0, 0, 1, None])
    ((name, make),) = point_to_point(torch, own, lambda: next(steps))
    assert name == "batch_isend_irecv"
    called: Callable[..., Any] = make(lambda *arguments: arguments)
    assert [called("ops") for _ in range(4)] == [("ops",)] * 4
    assert own.detail(None, [])["p2p_steps"] == 2


def test_isend_and_irecv_stay_what_they_are() -> None:
    """torch tells them by identity: another function in their place ends the training."""
    import torch

    assert {name for name, _ in point_to_point(torch, evidence(), lambda: 0)} == {"batch_isend_irecv"}


def test_a_model_that_nobody_can_hash_is_told_all_the_same() -> None:
    import torch

    own = evidence()
    own.trains(torch.nn.Linear(3, 2))
    assert own.detail(None, [])["bytes"] == 4 * (3 * 2 + 2)
