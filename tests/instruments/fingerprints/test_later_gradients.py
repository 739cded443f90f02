"""What is looked at in later steps: the same steps on all ranks, what the optimizer is about to do, and nothing of the training changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.instruments.fingerprints.later_gradients import following
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink
from fireassay.record.tables import TABLES

SEEDS = st.integers(0, 2**63 - 1)


def chosen(seed: int, until: int) -> list[int]:
    steps = [following(seed, 0)]
    while (step := following(seed, steps[-1])) < until:
        steps.append(step)
    return steps


@given(SEEDS)
def test_every_half_of_a_power_of_two_has_one_chosen_step(seed: int) -> None:
    steps = chosen(seed, 4096)
    stretches = [1, 2, 3, *(begin for k in range(2, 12) for begin in (2**k, 3 * 2 ** (k - 1)))]
    ends = [*stretches[1:], 4096]
    assert [[s for s in steps if a <= s < b] for a, b in zip(stretches, ends, strict=True)] == [[s] for s in steps]


@given(SEEDS, st.integers(0, 10_000))
def test_the_next_chosen_step_is_the_same_wherever_one_begins(seed: int, step: int) -> None:
    after = following(seed, step)
    assert after > step
    assert all(following(seed, between) == after for between in range(step, min(after, step + 50)))


def test_seeds_choose_other_steps() -> None:
    assert len({tuple(chosen(seed, 1024)) for seed in range(20)}) == 20


def recorder(seed: int = 3, incarnation: int = 0) -> tuple[Recorder, MemorySink]:
    sink = MemorySink()
    return Recorder(Identity(launch=0, rank=0, workers=1, incarnation=incarnation, seed=seed, host="here"), sink), sink


def said(sink: MemorySink, what: str) -> list[tuple[int, Any]]:
    """(step, value or text) in the order of the rows."""
    return [(row[3], row[5] if row[6] is None else row[6]) for row in sink.of("fingerprints") if row[4] == what]


def network(*more: Any) -> Any:
    import torch

    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 20), *more, torch.nn.Linear(20, 2))


def train(p: Recorder, model: Any, steps: int, before: Callable[[int], None] = lambda _: None, **words: Any) -> Any:
    import torch

    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    numbers = torch.Generator().manual_seed(1)
    p.watch(model)
    for step in p.steps(range(steps)):
        optimizer.zero_grad()
        model(torch.randn(4, 3, generator=numbers)).square().mean().backward()
        before(step)
        if words.get("clip"):
            torch.nn.utils.clip_grad_norm_(model.parameters(), words["clip"])
        optimizer.step()
    p.close()
    return optimizer


@pytest.mark.torch
def test_gradients_of_later_steps_are_kept_as_norms_and_a_few_elements() -> None:
    p, sink = recorder()
    model, right = network(), {}

    def before(step: int) -> None:
        right[step] = {name: one.grad.clone() for name, one in model.named_parameters()}

    train(p, model, 16, before)
    rows = [dict(zip(TABLES["gradients"].column_names, row, strict=True)) for row in sink.of("gradients")]
    assert sorted({row["step"] for row in rows}) == [0, *chosen(3, 16)]
    for row in (row for row in rows if row["step"] > 0):
        gradient = right[row["step"]][row["parameter"]]
        assert row["norm"] == pytest.approx(float(gradient.norm()))
        stride = -(-gradient.numel() // 16)
        assert row["sums"] == gradient.reshape(-1)[::stride].double().tolist()
        assert len(row["sums"]) <= 16


@pytest.mark.torch
@pytest.mark.parametrize(("order", "said_scale"), [("clip first", True), ("unscale first", False), ("no scaler", False)])
def test_clipping_of_scaled_gradients_is_told_with_the_factor(order: str, said_scale: bool) -> None:
    import torch

    p, sink = recorder()
    model, scaler = network(), torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=order != "no scaler")
    original = torch.amp.GradScaler.step
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    p.watch(model)
    for _ in p.steps(range(4)):
        optimizer.zero_grad()
        scaler.scale(model(torch.ones(4, 3)).square().mean()).backward()
        if order == "unscale first":
            scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        scaler.step(optimizer)
        scaler.update()
    p.close()
    assert {value for _, value in said(sink, "clip_scale")} == ({1024.0} if said_scale else set())
    assert len(said(sink, "clip_norm")) == len([0, *chosen(3, 4)])
    assert torch.amp.GradScaler.step is original


@pytest.mark.torch
@pytest.mark.parametrize("foreach", [None, False])
@pytest.mark.parametrize(("order", "said_scale"), [("clip first", True), ("unscale first", False), ("no scaler", False)])
def test_clipping_by_value_is_told_with_the_largest_element_and_the_factor(order: str, said_scale: bool, foreach: bool | None) -> None:
    import torch
    from torch.nn.utils import clip_grad_value_  # bound before the model is watched

    p, sink = recorder()
    model, other = network(), network()
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=order != "no scaler")
    original = torch.nn.utils.clip_grad._group_tensors_by_device_and_dtype
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    right = []
    p.watch(model)
    for _ in p.steps(range(4)):
        optimizer.zero_grad()
        other(torch.ones(4, 3)).square().mean().backward()
        clip_grad_value_(other.parameters(), 1e-6)  # not the watched model's
        scaler.scale(model(torch.ones(4, 3)).square().mean()).backward()
        if order == "unscale first":
            scaler.unscale_(optimizer)
        right.append(max(float(one.grad.abs().max()) for one in model.parameters()))
        clip_grad_value_(model.parameters(), 0.125, foreach=foreach)
        assert max(float(one.grad.abs().max()) for one in model.parameters()) == min(right[-1], 0.125)
        scaler.step(optimizer)
        scaler.update()
    p.close()
    assert said(sink, "clip_largest") == [(step, right[step]) for step in [0, *chosen(3, 4)]]
    assert {value for _, value in said(sink, "clip_value")} == {0.125}
    assert {value for _, value in said(sink, "clip_scale")} == ({1024.0} if said_scale else set())
    assert said(sink, "clip_norm") == []
    assert torch.nn.utils.clip_grad._group_tensors_by_device_and_dtype is original


@pytest.mark.torch
def test_the_clipping_is_told_with_the_norm_that_it_found() -> None:
    p, sink = recorder()
    model, norms = network(), {}

    def before(step: int) -> None:
        norms[step] = float(sum(float(one.grad.square().sum()) for one in model.parameters()) ** 0.5)

    train(p, model, 8, before, clip=0.25)
    steps = [0, *chosen(3, 8)]
    assert [step for step, _ in said(sink, "clip_norm")] == steps
    assert [value for _, value in said(sink, "clip_norm")] == pytest.approx([norms[step] for step in steps])
    assert said(sink, "clip_limit") == [(step, 0.25) for step in steps]


@pytest.mark.torch
def test_mode_and_settings_are_those_of_the_step() -> None:
    import torch

    p, sink = recorder()
    model = network(torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(20))

    def before(step: int) -> None:
        if step == 2:
            model[2].eval()
        if step == 3:
            model.eval()

    optimizer = train(p, model, 4, before)
    assert optimizer.param_groups[0]["momentum"] == 0.9
    rows = [row for row in sink.of("fingerprints") if row[4] == "mode"]
    assert [row[6] for row in rows] == ["train", "train", "train, but for 2", "eval"]
    assert [row[5] for row in rows] == [5.0, 5.0, 4.0, 0.0]
    (group,) = json.loads(said(sink, "optimizer_settings")[0][1])
    assert (group["lr"], group["momentum"], group["nesterov"]) == (0.02, 0.9, False)


@pytest.mark.torch
def test_a_recording_that_ends_inside_of_a_step_ends_no_training() -> None:
    """torch fails if a hook goes while it goes through them; a hook of the script comes after ours."""
    import importlib

    import torch

    model, seen = network(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    hooks = importlib.import_module("torch.optim.optimizer")
    p, _ = recorder()
    first = hooks.register_optimizer_step_pre_hook(lambda *_: p.fail(ValueError("made up")))
    p.watch(model)
    last = hooks.register_optimizer_step_pre_hook(lambda *_: seen.append(1))
    model(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    first.remove()
    last.remove()
    optimizer.step()
    assert (seen, p.active) == ([1], False)


@pytest.mark.torch
def test_an_optimizer_is_hashed_before_its_first_step_also_in_a_run_that_goes_on() -> None:
    for incarnation in (0, 1):
        p, sink = recorder(incarnation=incarnation)
        train(p, network(), 3)
        assert [step for step, _ in said(sink, "optimizer_hash")] == [0, 1, 2, 3]
        assert len(sink.of("gradients")) == (0 if incarnation else 3 * 4)


@pytest.mark.torch
def test_weights_and_generators_are_what_they_are_without_a_probe() -> None:
    import torch

    def weights(*, probed: bool) -> tuple[list[Any], Any]:
        torch.manual_seed(5)
        model = network(torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(20))
        if probed:
            train(recorder()[0], model, 12, clip=0.1)
        else:
            optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
            numbers = torch.Generator().manual_seed(1)
            for _ in range(12):
                optimizer.zero_grad()
                model(torch.randn(4, 3, generator=numbers)).square().mean().backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
                optimizer.step()
        return [one.clone() for one in model.state_dict().values()], torch.get_rng_state()

    plain, probed = weights(probed=False), weights(probed=True)
    assert all(torch.equal(a, b) for a, b in zip(plain[0], probed[0], strict=True))
    assert torch.equal(plain[1], probed[1])


@pytest.mark.torch
@pytest.mark.parametrize("names", [("module",), ("_forward_module", "_original_module"), ("_orig_mod",)])
def test_a_wrapper_by_hand_is_no_part_of_the_names(names: tuple[str, ...]) -> None:
    """One worker's script often trains the module itself: the same model must have the same names and hashes."""
    import torch

    from fireassay.instruments.fingerprints import model_hash

    model, wrapper = network(), torch.nn.Module()
    for name in names:  # Fabric's holds it twice
        setattr(wrapper, name, model)
    assert model_hash.each_parameter(wrapper, named=True) == model_hash.each_parameter(model, named=True)
    assert [*model_hash.hashes(wrapper)] == [*model_hash.hashes(model)]


@pytest.mark.torch
@pytest.mark.parametrize("more", ["parameter", "module", "buffer"])
def test_a_module_that_has_more_than_the_one_inside_is_no_wrapper(more: str) -> None:
    import torch

    from fireassay.instruments.fingerprints.model_hash import unwrap

    has = {"parameter": torch.nn.Parameter(torch.ones(1)), "module": torch.nn.Linear(1, 1), "buffer": torch.nn.BatchNorm1d(1, affine=False)}
    holder = torch.nn.Module()
    holder.module, holder.more = network(), has[more]
    assert unwrap(holder) is holder


@pytest.mark.torch
def test_a_single_changed_bit_changes_the_digits_of_its_parameter_alone() -> None:
    import torch

    from fireassay.instruments.fingerprints.model_hash import each_parameter

    model = network()
    (_, before), (_, names) = each_parameter(model, named=True)
    assert names.splitlines() == ["0.weight", "0.bias", "1.weight", "1.bias"]
    with torch.no_grad():
        model[1].weight.view(torch.int32)[1, 7] ^= 1
    ((_, after),) = each_parameter(model, named=False)
    differing = [place for place in range(4) if before[8 * place :][:8] != after[8 * place :][:8]]
    assert differing == [2]


@pytest.mark.torch
def test_the_statistics_of_batch_normalisation_are_in_standard_deviations() -> None:
    import torch

    from fireassay.instruments.recorder.batch_statistics import broadcast, statistics

    model = network(torch.nn.BatchNorm1d(20))
    norm = model[1]
    norm.running_mean.fill_(3.0)
    norm.running_var.fill_(4.0)
    found = statistics(model)
    assert found is not None
    numbers = json.loads(found[1])
    assert (found[0], len(numbers)) == (40.0, 40)
    assert numbers[:20] == pytest.approx([1.5] * 20)
    assert numbers[20:] == pytest.approx([0.6931471805] * 20)
    assert statistics(network()) is None
    assert statistics(torch.nn.BatchNorm1d(4, track_running_stats=False)) is None
    assert broadcast(model) is False
    assert broadcast(network()) is None


@pytest.mark.torch
@pytest.mark.parametrize("sends", [True, False])
def test_whether_buffers_are_sent_is_known_inside_and_outside_of_the_wrapper(*, sends: bool) -> None:
    import torch

    from fireassay.instruments.recorder.batch_statistics import broadcast

    class DistributedDataParallel(torch.nn.Module):
        """A stand-in: the real one needs a process group."""

        def __init__(self, module: Any) -> None:
            super().__init__()
            self.module, self.broadcast_buffers = module, sends

    inner = network(torch.nn.BatchNorm1d(20))
    wrapped = DistributedDataParallel(inner)
    other = DistributedDataParallel(network(torch.nn.BatchNorm1d(20)))
    other.broadcast_buffers = not sends
    assert broadcast(wrapped) is broadcast(inner) is sends
