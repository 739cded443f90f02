"""Parameter hashes on real tensors."""

from __future__ import annotations

import hashlib
import json
import struct

import pytest

from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink

pytestmark = pytest.mark.torch


def recorder() -> tuple[Recorder, MemorySink]:
    sink = MemorySink()
    return Recorder(Identity(launch=0, rank=0, workers=1, incarnation=0, seed=0, host="here"), sink), sink


def test_the_hash_is_blake2b_over_name_shape_type_and_raw_bytes() -> None:
    import torch

    from fireassay.instruments.fingerprints.model_hash import tensor_hash

    by_hand = hashlib.blake2b(b"w|(2,)|torch.float32\n" + struct.pack("<2f", 1.0, -2.5), digest_size=16).hexdigest()
    assert tensor_hash([("w", torch.tensor([1.0, -2.5]))]) == by_hand


def test_every_bit_of_every_type_counts_and_memory_layout_does_not() -> None:
    import torch

    from fireassay.instruments.fingerprints.model_hash import tensor_hash

    for dtype in (torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.bool):
        ones = torch.ones(3, 4, dtype=dtype)
        other = ones.clone()
        other[1, 2] = 0
        assert tensor_hash([("w", ones)]) != tensor_hash([("w", other)])
        assert tensor_hash([("w", other)]) == tensor_hash([("w", other.t().contiguous().t())])
    assert tensor_hash([("w", torch.tensor([0.0]))]) != tensor_hash([("w", torch.tensor([-0.0]))])
    assert tensor_hash([("a", torch.zeros(0))]) != tensor_hash([("b", torch.zeros(0))])


def test_wrappers_do_not_change_the_hash_and_buffers_are_hashed_apart() -> None:
    import torch

    from fireassay.instruments.fingerprints.model_hash import hashes

    class DistributedDataParallel(torch.nn.Module):
        def __init__(self, module: torch.nn.Module) -> None:
            super().__init__()
            self.module = module

    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    plain = dict(hashes(model))
    assert dict(hashes(DistributedDataParallel(model))) == plain
    model(torch.randn(4, 2))  # moves the running statistics only
    moved = dict(hashes(model))
    assert moved["parameter_hash"] == plain["parameter_hash"]
    assert moved["buffer_hash"] != plain["buffer_hash"]


def test_the_model_is_hashed_at_powers_of_two_from_step_zero_and_at_the_end() -> None:
    import torch

    model = torch.nn.Linear(2, 2)
    p, sink = recorder()
    p.watch(model)
    for _ in p.steps(range(11)):
        with torch.no_grad():
            model.weight += 1
    p.close()
    hashes = {row[3]: row[5 + 1] for row in sink.of("fingerprints") if row[4] == "parameter_hash"}
    assert list(hashes) == [0, 1, 2, 4, 8, 11]
    assert len(set(hashes.values())) == 6
    assert [row[5] for row in sink.of("fingerprints") if row[4] == "parameters"] == [6.0]


def test_a_reloaded_run_is_hashed_at_the_step_at_which_it_goes_on() -> None:
    import torch

    p, sink = recorder()
    p.watch(torch.nn.Linear(2, 2))
    for _ in p.steps(range(10), start=40):
        pass
    p.close()
    assert [row[3] for row in sink.of("fingerprints") if row[4] == "parameter_hash"] == [40, 50]


def test_a_model_that_cannot_be_hashed_is_said_to_be_so_and_the_steps_are_still_recorded(capfd: pytest.CaptureFixture[str]) -> None:
    import torch

    p, sink = recorder()
    p.watch(torch.nn.Linear(2, 2, device="meta"))
    for _ in p.steps(range(3)):
        pass
    p.close()
    assert capfd.readouterr().err.count("not compared between replicas") == 1
    assert len(sink.of("steps")) == 3


def test_tensors_are_taken_as_losses_ids_scores_and_batches() -> None:
    import torch

    p, sink = recorder()
    for batch in p.steps([(torch.zeros(6, 2), torch.zeros(6))]):
        p.samples(torch.tensor([4, 2]))
        p.log(loss=torch.tensor(0.25, requires_grad=True) * batch[0].shape[1])
    p.examples(torch.tensor([1, 2]), torch.tensor([True, False]), predictions=torch.tensor([3, 4]))
    assert list(sink.of("samples")[0][-1]) == [4, 2]
    assert [row[5] for row in sink.of("fingerprints") if row[4] == "loss"] == [0.5]
    assert sink.of("steps")[0][12] == 6.0
    assert [row[4:] for row in sink.of("examples")] == [("1", "3", None, 1.0, None), ("2", "4", None, 0.0, None)]


def test_sample_ids_are_whole_numbers_copied_from_whatever_holds_them() -> None:
    import numpy
    import torch

    from fireassay.instruments.recorder.values import as_ids
    from fireassay.record.streams import to_batch

    tensor = torch.tensor([[5, 6], [7, 8]], dtype=torch.int32)
    kept = as_ids(tensor)
    tensor[0, 0] = 99  # the script goes on with its tensor
    given = [kept, as_ids(numpy.array([5, 6, 7, 8])), as_ids(range(5, 9)), as_ids([numpy.int64(5), torch.tensor(6), 7, 8])]
    batch = to_batch("samples", [(0, 0, 0, 0, step, ids) for step, ids in enumerate(given)])
    assert batch is not None
    assert batch.column("ids").to_pylist() == [[5, 6, 7, 8]] * 4
    for wrong in (torch.tensor([0.5]), [0.5], ["a"]):
        with pytest.raises((TypeError, ValueError)):
            as_ids(wrong)


@pytest.mark.parametrize("wrong", [-5, float("nan"), float("inf"), "many"])
def test_a_number_of_things_is_finite_and_not_below_0(wrong: object) -> None:
    from fireassay.instruments.recorder.values import as_count

    with pytest.raises(ValueError, match="items|many"):
        as_count("items", wrong)
    assert [as_count("items", right) for right in (0, 2, 2.5)] == [0.0, 2.0, 2.5]


def test_layers_that_look_at_all_ranks_or_at_nothing_give_the_gradient_of_one_worker() -> None:
    from torch import nn

    from fireassay.instruments.fingerprints.model_hash import layers

    class FrozenBatchNorm2d(nn.Module):
        """torchvision's: fixed numbers."""

    model = nn.Sequential(nn.BatchNorm1d(4), nn.SyncBatchNorm(4), FrozenBatchNorm2d(), nn.Dropout(0.1), nn.Dropout(0.0))
    assert layers(model) == (1, 1)


def test_the_precision_that_a_wrapper_computes_in_is_found() -> None:
    import torch
    from torch import nn

    from fireassay.instruments.fingerprints.model_hash import computed_in

    class Wrapped(nn.Module):
        """What DistributedDataParallel and FSDP2 say of themselves."""

        def __init__(self, **said: object) -> None:
            super().__init__()
            self.inner = nn.Linear(2, 2)
            vars(self).update(said)

    class Policy:
        param_dtype = torch.bfloat16

    class State:
        _mp_policy = Policy()

    assert computed_in(Wrapped(mixed_precision=Policy())) == "bfloat16"
    assert computed_in(Wrapped(_get_fsdp_state=State)) == "bfloat16"
    assert computed_in(Wrapped(mixed_precision=None)) is None


@pytest.mark.parametrize("staged", [True, False])
def test_a_stage_of_a_pipeline_is_nobodys_replica_though_its_parameters_have_the_names_of_another(staged: bool) -> None:
    """Stages cut from like layers are called alike; they were told to begin with different parameters, and the experiment failed."""
    import torch

    probe, sink = recorder()
    model, caller = torch.nn.Linear(2, 2), "torch.distributed.pipelining.stage" if staged else "train"
    exec("def call(watch, model): watch(model)", names := {"__name__": caller})
    names["call"](probe.watch, model)  # type: ignore[operator]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in probe.steps([1, 2]):
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    probe.close()
    kinds = {row[4] for row in sink.of("fingerprints") if row[4].startswith(("parameter_", "buffer_", "optimizer_"))}
    assert ("parameter_shard_hash" in kinds, "parameter_hash" in kinds) == (staged, not staged)
    assert "optimizer_hash" not in kinds or not staged
    assert (sink.of("gradients") == []) == staged


@pytest.mark.torch
def test_a_frozen_average_of_each_ranks_own_beginning_is_nobodys_replica() -> None:
    """As timm's task holds one beside the model, copied before DistributedDataParallel makes the ranks equal."""
    import torch

    from fireassay.instruments.fingerprints.model_hash import Watch

    def watched(seed: int) -> Watch:
        torch.manual_seed(seed)
        average = torch.nn.Linear(2, 2).requires_grad_(False)
        torch.manual_seed(5)
        return Watch(torch.nn.ModuleDict({"model": torch.nn.Linear(2, 2), "average": average}))

    one, other = (dict(watched(seed).hashes(0)) for seed in (0, 1))
    assert one["parameter_hash"] == other["parameter_hash"]
    assert one["parameter_names"] == "model.weight\nmodel.bias"


@pytest.mark.torch
def test_beside_a_reduced_model_what_no_optimizer_holds_is_nobodys_replica() -> None:
    """timm's average is not frozen; a head that is trained beside the reduced part is a replica that somebody forgot to wrap."""
    import torch

    from fireassay.instruments.fingerprints.model_hash import Watch

    class DistributedDataParallel(torch.nn.Module):
        """As torch's, which would want a process group."""

        def __init__(self) -> None:
            super().__init__()
            self.module = torch.nn.Linear(2, 2)
            self._module_parameters = list(self.module.parameters())

    parts = {"model": DistributedDataParallel(), "head": torch.nn.Linear(2, 2), "average": torch.nn.Linear(2, 2)}
    model = torch.nn.ModuleDict(parts)
    optimizer = torch.optim.SGD([*parts["model"].parameters(), *parts["head"].parameters()], lr=0.1)
    expected = {"model.module.weight", "model.module.bias", "head.weight", "head.bias"}
    assert Watch(model, optimizers=[optimizer]).kept == expected
    whole = torch.nn.ModuleDict({"model": torch.nn.Linear(2, 2), "average": torch.nn.Linear(2, 2)})
    optimizer = torch.optim.SGD(whole["model"].parameters(), lr=0.1)
    assert len(Watch(whole, optimizers=[optimizer]).kept) == 4, "another rank's optimizer may hold it (ZeRO by hand)"


def test_a_marked_loop_leaves_digests_of_the_batches_that_it_gets() -> None:
    import torch

    p, sink = recorder()
    for _ in p.steps([(torch.ones(2, 3) * step, torch.zeros(2)) for step in range(6)]):
        pass
    p.close()
    told = [(row[3], json.loads(row[6])) for table, row in sink.rows if table == "fingerprints" and row[4] == "batch_contents"]
    assert [step for step, _ in told] == [0, 1, 2, 4]
    assert len({tuple(batch["tensors"][0]) for _, batch in told}) == 4
    assert len({tuple(batch["tensors"][1]) for _, batch in told}) == 1


@pytest.mark.torch
def test_the_names_that_an_optimizer_holds_are_told_beside_those_of_the_model() -> None:
    import torch

    from fireassay.instruments.fingerprints.model_hash import Watch

    whole = torch.nn.ModuleDict({"model": torch.nn.Linear(2, 2), "average": torch.nn.Linear(2, 2)})
    told = dict(Watch(whole, optimizers=[torch.optim.SGD(whole["model"].parameters(), lr=0.1)]).hashes(0))
    assert told["optimizer_names"].splitlines() == ["model.weight", "model.bias"]
    assert "optimizer_names" not in dict(Watch(whole).hashes(0))
