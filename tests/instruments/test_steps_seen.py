"""Scripts whose steps were seen wrongly: modules in the loader, optimizers in turn, closures, and what comes after the last update."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink
from fireassay.record.tables import TABLES

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


class Seen:
    """What is recorded of a script that runs in this process."""

    def __init__(self) -> None:
        from fireassay.instruments.hooks import torch_hooks
        from fireassay.instruments.hooks.steps import Attached

        self.sink, self.undo = MemorySink(), list[Callable[[], None]]()
        identity = Identity(launch=0, rank=0, workers=1, incarnation=0, seed=0, host="here")
        self.recorder = Recorder(identity, self.sink)
        self.attached = Attached(torch, self.recorder)
        torch_hooks.install(torch, self.attached, self.undo)

    def close(self) -> None:
        self.attached.close()
        self.recorder.close()
        while self.undo:
            self.undo.pop()()

    def of(self, table: str) -> list[dict[str, Any]]:
        return [dict(zip(TABLES[table].column_names, row, strict=True)) for row in self.sink.of(table)]

    def losses(self) -> list[float]:
        return [row["value"] for row in self.of("fingerprints") if row["what"] == "loss"]


@pytest.fixture
def seen() -> Iterator[Seen]:
    one = Seen()
    yield one
    one.close()


class Transformed(torch.utils.data.Dataset):  # type: ignore[misc,type-arg]
    """A data set whose samples pass through a module, as those of torchvision do."""

    def __init__(self) -> None:
        self.transform = torch.nn.Sequential(torch.nn.Flatten(0), torch.nn.BatchNorm1d(4, affine=False))

    def __len__(self) -> int:
        return 96

    def __getitem__(self, place: int) -> Any:
        return torch.nn.Flatten(0)(torch.full((4,), float(place)))


def test_modules_that_transform_samples_make_no_forward_pass_and_hide_no_model(seen: Seen) -> None:
    """24 modules a batch: more than it takes until nothing new is looked for."""
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for batch in torch.utils.data.DataLoader(Transformed(), batch_size=24):
        optimizer.zero_grad()
        model(batch).mean().backward()
        optimizer.step()
    seen.close()
    steps = seen.of("steps")
    assert len(steps) == 4
    for row in steps:
        parts = sum(row[name] or 0 for name in ("data_ns", "forward_ns", "backward_ns", "optimizer_ns", "checkpoint_ns"))
        assert parts <= row["end_ns"] - row["begin_ns"]
    assert [row["items"] for row in steps] == [24.0] * 4
    assert "parameter_hash" in {row["what"] for row in seen.of("fingerprints")}


def test_a_backward_pass_from_many_numbers_makes_a_step_without_a_loss(seen: Seen) -> None:
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for number, batch in enumerate(torch.utils.data.DataLoader(torch.ones(80, 4), batch_size=2)):  # type: ignore[arg-type,var-annotated]
        optimizer.zero_grad()
        answers = model(batch)
        if number % 2:
            answers.backward(torch.ones_like(answers))
        else:
            answers.sum().backward()
        optimizer.step()
    seen.close()
    assert len(seen.of("steps")) == 40
    lost = [row["step"] for row in seen.of("fingerprints") if row["what"] == "loss"]
    assert lost == list(range(0, 40, 2))


def test_what_hooks_cost_is_that_of_most_steps(seen: Seen) -> None:
    """One step in 16 is timed, of whatever it consists."""
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for number, batch in enumerate(torch.utils.data.DataLoader(torch.ones(1200, 4), batch_size=1)):  # type: ignore[arg-type,var-annotated]
        model(batch).sum().backward()
        if number > 400 and number % 2:
            continue
        optimizer.step()
        optimizer.zero_grad()
    unwatched, watched = seen.attached.costs.times
    assert not unwatched
    seen.close()
    cost, told = (next(row["value"] for row in seen.of("telemetry") if row["counter"] == name) for name in ("cost_per_step", "own_steps"))
    assert cost > 0
    steps = len(seen.of("steps"))
    assert steps / 16 <= len(watched) <= steps / 16 + 16
    assert 0.98 * steps <= told <= steps


def test_what_was_written_before_the_first_step_is_not_a_cost_of_steps(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that imports for 20 seconds has made 40 writes by then; they are no cost of its one short step."""
    written = [10**12]
    monkeypatch.setattr(seen.sink, "flush_cpu_ns", lambda: written[0])
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in torch.utils.data.DataLoader(torch.ones(20, 4), batch_size=1):  # type: ignore[arg-type,var-annotated]
        model(batch).sum().backward()
        optimizer.step()
        written[0] += 10**9  # in each step
    seen.close()
    cost, steps = (next(row["value"] for row in seen.of("telemetry") if row["counter"] == name) for name in ("cost_per_step", "own_steps"))
    assert steps == 20
    assert 10**9 <= cost < 1.1 * 10**9


def test_optimizers_that_are_trained_one_after_the_other_make_a_step_each_time(seen: Seen) -> None:
    """Layer by layer, as forward-forward networks are."""
    layers = [torch.nn.Linear(4, 4) for _ in range(2)]
    optimizers = [torch.optim.SGD(layer.parameters(), lr=0.01) for layer in layers]
    inputs = torch.ones(3, 4)
    for layer, optimizer in zip(layers, optimizers, strict=True):
        for _ in range(20):
            optimizer.zero_grad()
            layer(inputs).square().mean().backward()
            optimizer.step()
    seen.close()
    steps = seen.of("steps")
    assert [row["step"] for row in steps] == list(range(40))
    assert all(one["end_ns"] <= other["begin_ns"] for one, other in pairwise(steps))
    for row in steps:
        parts = [row[name] for name in ("forward_ns", "backward_ns", "optimizer_ns")]
        assert all(parts)
        assert sum(parts) + (row["checkpoint_ns"] or 0) <= row["end_ns"] - row["begin_ns"]
    assert len(seen.losses()) == 40


def test_an_actor_that_begins_late_and_steps_every_other_time_shares_its_critics_steps(seen: Seen) -> None:
    """As TD3: the critic steps 41 times, the actor after each second one, and rollouts without gradients lie between."""
    critic, actor = torch.nn.Linear(4, 1), torch.nn.Linear(4, 4)
    optimizers = [torch.optim.SGD(one.parameters(), lr=0.01) for one in (critic, actor)]
    inputs = torch.ones(3, 4)
    for number in range(41):
        with torch.no_grad():
            target = critic(actor(inputs)) * 0.9
        for one, loss in ((0, lambda t=target: (critic(inputs) - t).square().mean()), (1, lambda: -critic(actor(inputs)).mean())):
            if one == 0 or number % 2:
                optimizers[one].zero_grad()
                loss().backward()
                optimizers[one].step()
    seen.close()
    assert [row["step"] for row in seen.of("steps")] == list(range(41))


@pytest.mark.parametrize("idle", [0, 1])
def test_a_gan_without_a_loader_is_one_step_for_both_optimizers(seen: Seen, idle: int) -> None:
    """Also with a third optimizer that never steps: then the cycle is known when the first comes again."""
    critic, maker = torch.nn.Linear(4, 1), torch.nn.Linear(4, 4)
    optimizers = [torch.optim.SGD(one.parameters(), lr=0.01) for one in (critic, maker)]
    never = [torch.optim.SGD(torch.nn.Linear(2, 2).parameters(), lr=0.01) for _ in range(idle)]
    inputs, told = torch.ones(3, 4), []
    for _ in range(12):
        losses = (lambda: critic(maker(inputs).detach()).mean(), lambda: -critic(maker(inputs)).mean())
        for optimizer, loss in zip(optimizers, losses, strict=True):
            optimizer.zero_grad()
            value = loss()
            value.backward()
            told.append(value.item())
            optimizer.step()
    seen.close()
    assert len(never) == idle
    assert [row["step"] for row in seen.of("steps")] == list(range(12))
    assert seen.losses() == pytest.approx([sum(pair) for pair in zip(told[::2], told[1::2], strict=True)])


def test_samples_of_updates_that_are_told_apart_later_are_told_of_their_own_step(seen: Seen) -> None:
    """Batches that a script keeps in a list and trains two models on, one after the other."""
    data = torch.utils.data.TensorDataset(torch.arange(24.0)[:, None])
    kept = list(torch.utils.data.DataLoader(data, batch_size=4))
    models = [torch.nn.Linear(1, 1) for _ in range(2)]
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.0001) for model in models]
    for model, optimizer in zip(models, optimizers, strict=True):
        for (batch,) in kept:
            optimizer.zero_grad()
            model(batch).mean().backward()
            optimizer.step()
    seen.close()
    steps = seen.of("steps")
    assert [row["items"] for row in steps] == [4.0] * 12
    assert {row["step"]: row["ids"] for row in seen.of("samples")} == {n: list(range(4 * n, 4 * n + 4)) for n in range(6)}


def test_the_loss_of_a_step_by_a_closure_is_that_of_its_first_call(seen: Seen) -> None:
    """As `LBFGS.step` gives it back, however often it asks."""
    model = torch.nn.Linear(3, 1)
    optimizer, told = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=7), []

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (model(torch.eye(3)) - 1.0).square().mean()
        loss.backward()
        return loss

    for _ in range(4):
        told.append(float(optimizer.step(closure).detach()))
    seen.close()
    assert seen.losses() == pytest.approx(told)


@pytest.mark.parametrize("steps", [3, 40])
def test_what_a_script_does_after_its_last_update_is_no_part_of_the_last_step(seen: Seen, steps: int) -> None:
    import time

    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for (batch,) in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(2 * steps, 4)), batch_size=2):
        model(batch).mean().backward()
        optimizer.step()
    updated = time.monotonic_ns()
    torch.save(model.state_dict(), "/dev/null")
    model(torch.ones(1000, 4))
    seen.close()
    rows = seen.of("steps")
    assert len(rows) == steps
    assert rows[-1]["end_ns"] <= updated
    assert (rows[-1]["checkpoint_ns"] or 0) <= rows[-1]["end_ns"] - rows[-1]["begin_ns"]


def test_the_batches_of_accelerates_loaders_name_samples(seen: Seen) -> None:
    data_loader = pytest.importorskip("accelerate.data_loader")
    inner = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(32.0)[:, None]), batch_size=4)
    own = data_loader.BatchSamplerShard(inner.batch_sampler, num_processes=2, process_index=1)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for (batch,) in torch.utils.data.DataLoader(inner.dataset, batch_sampler=own):
        model(batch).mean().backward()
        optimizer.step()
    seen.close()
    assert [row["ids"] for row in seen.of("samples")] == [[*range(first, first + 4)] for first in (4, 12, 20, 28)]
