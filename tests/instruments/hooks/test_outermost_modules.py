"""Modules that a script calls itself are found, and nested ones cost nothing."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fireassay.instruments.hooks.outermost_modules import QUIET
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink
from fireassay.record.tables import TABLES

pytestmark = pytest.mark.torch


class Hooked:
    """This process with the hooks in."""

    def __init__(self) -> None:
        import torch

        from fireassay.instruments.hooks import torch_hooks
        from fireassay.instruments.hooks.passes import Passes
        from fireassay.instruments.hooks.steps import Attached

        self.torch, self.sink, self.undo = torch, MemorySink(), list[Any]()
        self.recorder = Recorder(Identity(launch=0, rank=0, workers=1, incarnation=0, seed=0, host="here"), self.sink)
        self.met: list[str] = []
        forward = Passes.forward

        def recorded(passes: Passes, module: Any, inputs: Any) -> bool:
            self.met.append(type(module).__name__)
            return forward(passes, module, inputs)

        self.undo.append(lambda: setattr(Passes, "forward", forward))
        Passes.forward = recorded  # type: ignore[method-assign, assignment]
        self.attached = Attached(torch, self.recorder)
        torch_hooks.install(torch, self.attached, self.undo)

    def close(self) -> None:
        while self.undo:
            self.undo.pop()()
        assert self.recorder.active, "a hook failed"

    def steps(self) -> list[dict[str, Any]]:
        return [dict(zip(TABLES["steps"].column_names, row, strict=True)) for row in self.sink.of("steps")]

    def train(self, loss_of: Callable[[Any], Any], parameters: Any, *, steps: int) -> None:
        optimizer = self.torch.optim.SGD(parameters, lr=1e-3)
        data = self.torch.utils.data.TensorDataset(self.torch.ones(4 * steps, 4))
        for (x,) in self.torch.utils.data.DataLoader(data, batch_size=4):
            optimizer.zero_grad()
            loss_of(x).backward()
            optimizer.step()


@pytest.fixture
def hooked() -> Iterator[Hooked]:
    import torch

    before = torch.nn.Module.__call__
    made = Hooked()
    yield made
    made.close()
    assert torch.nn.Module.__call__ is before
    assert not [cls for cls in (torch.nn.Sequential, torch.nn.Linear, torch.nn.MSELoss) if "__call__" in vars(cls)]


def nested(torch: Any, pairs: int) -> Any:
    inner = [torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()) for _ in range(pairs)]
    return torch.nn.Sequential(*inner, torch.nn.Linear(4, 1))


def mean_of(model: Any) -> Callable[[Any], Any]:
    return lambda x: model(x).mean()


def added_calls(hooked: Hooked, models: list[Any]) -> list[int]:
    """Counted, not timed: calls of Python functions in each model's forward pass, with the hooks and without."""
    x = hooked.torch.ones(4, 4)

    def calls(model: Any) -> int:
        found = [0]

        def count(_: Any, event: str, __: Any) -> None:
            found[0] += event == "call"

        sys.setprofile(count)
        try:
            model(x)
        finally:
            sys.setprofile(None)
        return found[0]

    measured = [calls(model) for model in models]
    hooked.close()
    return [one - calls(model) for one, model in zip(measured, models, strict=True)]


def test_only_the_outermost_call_is_a_forward_pass_and_all_modules_are_watched_for_a_while_only(hooked: Hooked) -> None:
    torch = hooked.torch
    before, model, loss = hooked.attached.outermost._original, nested(torch, 3), torch.nn.MSELoss()
    hooked.train(lambda x: loss(model(x), x[:, :1]), model.parameters(), steps=QUIET + 4)
    assert hooked.met == ["Sequential", "MSELoss"] * (QUIET + 4)
    assert torch.nn.Module.__call__ is before
    assert all(row["forward_ns"] for row in hooked.steps())


def test_the_calls_that_are_added_to_a_step_do_not_grow_with_the_modules(hooked: Hooked) -> None:
    torch = hooked.torch

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, pairs: int) -> None:
            super().__init__()
            self.inner = nested(torch, pairs)

        def forward(self, x: Any) -> Any:
            return self.inner(x)

    models = [Net(4), Net(40)]
    for model in models:
        hooked.train(mean_of(model), model.parameters(), steps=QUIET + 4)
    few, many = added_calls(hooked, models)
    assert few == many > 0


def test_a_module_nested_in_one_of_its_own_class_is_passed_on_by_two_more_calls(hooked: Hooked) -> None:
    """At most, of the class that the script calls itself: ours, and the question whether it is traced."""
    models = [nested(hooked.torch, pairs) for pairs in (4, 40)]
    for model in models:
        hooked.train(mean_of(model), model.parameters(), steps=QUIET + 4)
    few, many = added_calls(hooked, models)
    assert many - few <= 2 * (40 - 4)


def test_a_class_that_begins_to_be_called_later_is_found_when_gradients_come_without_a_pass(hooked: Hooked) -> None:
    torch = hooked.torch

    class Late(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(4, 1)

        def forward(self, x: Any) -> Any:
            return self.inner(x).mean()

    first, late = torch.nn.Sequential(torch.nn.Linear(4, 1)), Late()
    done = [0]

    def loss_of(x: Any) -> Any:
        done[0] += 1
        return first(x).mean() if done[0] <= QUIET + 4 else late(x)

    hooked.train(loss_of, [*first.parameters(), *late.parameters()], steps=QUIET + 10)
    passes = [row["forward_ns"] is not None for row in hooked.steps()]
    assert passes[: QUIET + 4] == [True] * (QUIET + 4)
    assert passes.count(False) == 1, "absent once, never 0"
    assert hooked.met[-5:] == ["Late"] * 5
    assert sum(row["items"] for row in hooked.steps()) == 4 * (QUIET + 10), "its batch was counted all the same"


def test_a_class_with_a_call_of_its_own_keeps_it(hooked: Hooked) -> None:
    torch = hooked.torch

    class Doubling(torch.nn.Linear):  # type: ignore[misc, name-defined]
        def __call__(self, x: Any) -> Any:
            return 2 * super().__call__(x)

    own, model = Doubling.__call__, Doubling(4, 1)
    x = torch.ones(1, 4)
    plain = 2 * torch.nn.functional.linear(x, model.weight, model.bias)
    for _ in range(3):
        assert torch.equal(model(x), plain)
    assert hooked.met == ["Doubling"] * 3
    hooked.close()
    assert Doubling.__call__ is own


def test_models_are_copied_and_pickled_as_before(hooked: Hooked) -> None:
    torch = hooked.torch
    model, x = nested(torch, 1), torch.ones(2, 4)
    wanted = model(x)
    assert "__call__" in vars(torch.nn.Sequential)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(other(x), wanted)
    assert pickle.loads(pickle.dumps(torch.nn.Sequential.__call__)) is torch.nn.Sequential.__call__


def test_a_training_without_modules_is_measured_and_keeps_no_batches(hooked: Hooked) -> None:
    torch = hooked.torch
    weight = torch.zeros(4, 1, requires_grad=True)
    hooked.train(lambda x: ((x @ weight) - 1).square().mean(), [weight], steps=30)
    rows = hooked.steps()
    assert [row["items"] for row in rows] == [4.0] * 30
    assert all(row["forward_ns"] is None and row["backward_ns"] for row in rows)
    hooked.attached.read()
    assert not list(hooked.attached.reader.order.waiting())
