"""Sketches of gradients: against a plain loop, and against the lengths that they stand for."""

from __future__ import annotations

import math

import pytest

pytestmark = pytest.mark.torch
MASK = 2**64 - 1


def sign(place: int) -> int:
    """The sign of an element, in whole numbers: SplitMix64's two multipliers over the element's number from 1."""
    mixed = ((place + 1) * 0x9E3779B97F4A7C15) & MASK
    mixed = ((mixed ^ (mixed >> 31)) * 0xBF58476D1CE4E5B9) & MASK
    return 1 - 2 * ((mixed >> 40) & 1)


def test_a_small_gradient_is_kept_whole() -> None:
    import torch

    from fireassay.instruments.fingerprints.gradient_sketch import sketch

    small = torch.arange(251, dtype=torch.float32)
    assert sketch(small) == [float(x) for x in range(251)]
    assert sketch(torch.tensor(2.5)) == [2.5]


def test_a_large_one_is_the_signed_sums_that_a_plain_loop_makes() -> None:
    import torch

    from fireassay.instruments.fingerprints.gradient_sketch import sketch

    numbers = [float((7 * i) % 1000 - 500) for i in range(251 * 640 + 77)]  # whole numbers: no rounding in any order
    by_hand = [0.0] * 251
    for place, number in enumerate(numbers):
        by_hand[place % 251] += sign(place) * number
    assert sketch(torch.tensor(numbers, dtype=torch.float64)) == by_hand


def test_signs_are_balanced_and_do_not_repeat_with_the_columns() -> None:
    signs = [sign(place) for place in range(100_000)]
    assert abs(sum(signs)) < 4 * math.sqrt(len(signs))
    for step in (1, 2, 64, 251, 256, 1024):
        product = sum(a * b for a, b in zip(signs, signs[step:], strict=False))
        assert abs(product) < 4.5 * math.sqrt(len(signs)), step


@pytest.mark.parametrize("shape", [(4096,), (64, 256), (251, 64), (3, 7, 500)])
def test_the_length_of_the_sums_is_that_of_the_gradient_within_its_standard_deviation(shape: tuple[int, ...]) -> None:
    import torch

    from fireassay.instruments.fingerprints.gradient_sketch import norm, sketch

    numbers = torch.Generator().manual_seed(0)
    ratios = []
    for _ in range(40):
        gradient = torch.randn(*shape, generator=numbers)
        squares = sum(x * x for x in sketch(gradient))
        ratios.append(squares / norm(gradient) ** 2)
    mean = sum(ratios) / len(ratios)
    spread = math.sqrt(sum((x - mean) ** 2 for x in ratios) / 39)
    assert abs(mean - 1.0) < 4 * 0.09 / math.sqrt(40)  # sqrt(2/251) = 0.089 for one
    assert 0.05 < spread < 0.13


def test_one_column_of_a_matrix_is_spread_over_the_sums() -> None:
    import torch

    from fireassay.instruments.fingerprints.gradient_sketch import sketch

    gradient = torch.zeros(512, 256)
    gradient[:, 3] = 1.0
    assert sum(1 for x in sketch(gradient) if x != 0.0) > 100  # two or three in each sum, half of the pairs cancel


def test_kinds_of_tensors_and_the_norm() -> None:
    import torch

    from fireassay.instruments.fingerprints.gradient_sketch import norm, sketch

    dense = torch.zeros(30, 20)
    dense[2] = 3.0
    assert sketch(dense.to_sparse()) == sketch(dense)
    assert sketch(dense.t()) != sketch(dense)  # the order of the elements is the tensor's own, not the memory's
    assert sketch(dense.t().contiguous()) == sketch(dense.t())
    assert sketch(torch.tensor([1 + 2j])) == [1.0, 2.0]
    assert norm(dense) == pytest.approx(math.sqrt(20 * 9), rel=1e-15)
    half = torch.full((1000,), 2.0**-14, dtype=torch.float16)  # its squares would vanish in its own precision
    assert norm(half) == pytest.approx(2.0**-14 * math.sqrt(1000), rel=1e-12)


def test_no_random_number_is_drawn() -> None:
    import torch

    from fireassay.instruments.fingerprints.gradient_sketch import sketch

    before = torch.get_rng_state()
    sketch(torch.ones(1000))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW"])
def test_gradients_can_be_had_from_a_step_of_an_optimizer(kind: str) -> None:
    import torch

    from fireassay.instruments.fingerprints.gradient_sketch import from_adam, from_update

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2)).double()
    model(torch.randn(5, 4, dtype=torch.float64)).square().sum().backward()
    right = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    made: torch.optim.Optimizer = getattr(torch.optim, kind)(model.parameters(), lr=1.0)
    made.step()
    after = {name: p.detach() for name, p in model.named_parameters()}
    found = from_update(before, after) if kind == "SGD" else from_adam(made, model)
    assert found.keys() == right.keys()
    for name, gradient in right.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-12, atol=1e-14)


def test_a_parameter_without_a_gradient_has_neither_norm_nor_sums() -> None:
    import torch

    from fireassay.instruments.fingerprints.gradient_sketch import of_model, rows

    model = torch.nn.Linear(2, 1)
    model.bias.requires_grad_(False)
    assert list(rows(of_model(model), None)) == [("weight", 0, "", None, [], 0, 1, None)]
    model.weight.grad = torch.tensor([[3.0, 4.0]])
    assert list(rows(of_model(model), None)) == [("weight", 2, "float32", 5.0, [3.0, 4.0], 0, 1, None)]
    assert next(rows(of_model(model), "bfloat16"))[2] == "bfloat16"


def test_a_model_of_which_this_rank_has_a_part_has_no_gradients_to_compare() -> None:
    import torch

    from fireassay.instruments.fingerprints.gradient_sketch import of_model

    class FullyShardedDataParallel(torch.nn.Module):
        def __init__(self, module: torch.nn.Module) -> None:
            super().__init__()
            self.module = module

    assert list(of_model(FullyShardedDataParallel(torch.nn.Linear(2, 1)))) == []
    assert len(list(of_model(torch.nn.Linear(2, 1)))) == 2
