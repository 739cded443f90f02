"""The operations of a step, counted: against closed forms, and against PyTorch's own counter where that counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest

pytestmark = pytest.mark.torch


def count(step: Callable[[Any], None], *, again: int = 1) -> tuple[float | None, dict[str, Any]]:
    """What the counter says of a step, which gets a function that enters a phase."""
    import torch

    from fireassay.instruments.flops.flops import StepCounter

    counter = StepCounter(torch)
    named = counter.counted({"forward": nullcontext(), "backward": nullcontext(), "optimizer": nullcontext()})
    for _ in range(again):
        step(named.__getitem__)
    return counter.detail(None)


def trains(model: Any, *inputs: Any) -> Callable[[Any], None]:
    def step(phase: Any) -> None:
        with phase("forward"):
            loss = model(*inputs).float().sum()
        with phase("backward"):
            loss.backward()

    return step


def torchs_own(step: Callable[[Any], None]) -> int:
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        step(lambda _: nullcontext())
    return int(counter.get_total_flops())


def transformer(*, heads: int, groups: int, bias: bool, hidden: int = 64, layers: int = 2, fused: bool = True) -> Any:
    """Queries, keys, values, attention, out, and a feed-forward of 4 h, with or without biases."""
    import torch
    from torch import nn
    from torch.nn.functional import scaled_dot_product_attention

    size = hidden // heads

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.o = nn.Linear(hidden, hidden, bias=bias), nn.Linear(hidden, hidden, bias=bias)
            self.k, self.v = (nn.Linear(hidden, groups * size, bias=bias) for _ in range(2))
            self.up, self.down = nn.Linear(hidden, 4 * hidden, bias=bias), nn.Linear(4 * hidden, hidden, bias=bias)

        def forward(self, x: Any) -> Any:
            batch, length, _ = x.shape
            q = self.q(x).view(batch, length, heads, size).transpose(1, 2)
            k, v = (made(x).view(batch, length, groups, size).transpose(1, 2) for made in (self.k, self.v))
            if fused:
                seen = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=groups != heads)
            else:
                k, v = (one.repeat_interleave(heads // groups, 1) for one in (k, v))
                seen = torch.softmax(q @ k.transpose(-1, -2), -1) @ v
            x = x + self.o(seen.transpose(1, 2).reshape(batch, length, hidden))
            return x + self.down(torch.relu(self.up(x)))

    return nn.Sequential(*(Block() for _ in range(layers)))


def by_hand(*, heads: int, groups: int, batch: int, length: int, hidden: int = 64, layers: int = 2) -> int:
    """6 operations for each weight and token, and 12 h T of attention for each token and layer."""
    size = hidden // heads
    weights = layers * (2 * hidden**2 + 2 * hidden * groups * size + 8 * hidden**2)
    return batch * length * (6 * weights + 12 * layers * heads * size * length)


def inputs(batch: int, length: int, hidden: int = 64) -> Any:
    import torch

    return torch.randn(batch, length, hidden, requires_grad=True)


def test_a_multilayer_perceptron_costs_six_operations_a_weight_less_the_gradient_of_its_input() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 16))
    flops, told = count(trains(model, torch.randn(8, 32)))
    assert flops == 8 * (6 * (32 * 64 + 64 * 16) - 2 * 32 * 64)
    assert told["forward"] == 8 * 2 * (32 * 64 + 64 * 16)
    assert told["by"][0]["precision"] == "float32"
    assert told["by"][0]["device"] == "cpu"
    assert told["by"][0]["name"]


def test_a_convolution_costs_two_operations_for_each_weight_and_place() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 3, stride=2, padding=1))
    flops, _ = count(trains(model, torch.randn(2, 3, 16, 16)))
    first, second = 2 * 2 * 256 * 8 * 3 * 9, 2 * 2 * 64 * 4 * 8 * 9
    assert flops == 2 * first + 3 * second  # the first needs no gradient of its input


@pytest.mark.parametrize(("heads", "groups", "bias"), [(4, 4, False), (4, 4, True), (8, 2, False)])
def test_a_transformer_costs_what_the_convention_of_palm_says(heads: int, groups: int, bias: bool) -> None:
    """Of 2.13's own counter it is only the part outside of attention, on a processor."""
    step = trains(transformer(heads=heads, groups=groups, bias=bias), inputs(2, 32))
    flops, told = count(step)
    truth = by_hand(heads=heads, groups=groups, batch=2, length=32)
    assert flops == pytest.approx(truth, rel=0.01)
    assert told["recomputed"] == 2 * 2 * 2 * 32 * 32 * 64  # two layers' scores, once more in the fused backward pass


def test_attention_by_hand_is_counted_as_the_fused_one() -> None:
    shape: dict[str, Any] = {"heads": 4, "groups": 4, "bias": False}
    plain, told = count(trains(transformer(**shape, fused=False), inputs(2, 32)))
    fused, _ = count(trains(transformer(**shape), inputs(2, 32)))
    assert plain == fused
    assert told["recomputed"] == 0


def test_accumulating_gradients_costs_every_pass_of_the_step() -> None:
    model, x = transformer(heads=4, groups=4, bias=False), inputs(2, 32)
    flops, _ = count(trains(model, x), again=4)
    assert flops == pytest.approx(4 * by_hand(heads=4, groups=4, batch=2, length=32), rel=0.01)


def test_it_agrees_with_pytorchs_own_counter_where_that_knows_every_product() -> None:
    import torch
    from torch import nn

    convolutions = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(8 * 14 * 14, 10))
    for model, x in ((convolutions, torch.randn(4, 3, 16, 16)), (transformer(heads=4, groups=4, bias=True, fused=False), inputs(2, 16))):
        flops, _ = count(trains(model, x))
        assert flops == torchs_own(trains(model, x))


def test_activations_that_are_computed_again_are_work_of_the_hardware_and_not_of_the_model() -> None:
    import torch
    from torch.utils.checkpoint import checkpoint

    model, x = torch.nn.Linear(16, 16), torch.randn(4, 16, requires_grad=True)
    for reentrant in (False, True):
        flops, told = count(trains(lambda x, r=reentrant: checkpoint(model, x, use_reentrant=r).relu(), x))
        assert flops == 6 * 4 * 16 * 16
        assert told["recomputed"] in (0, 2 * 4 * 16 * 16)
    assert told["recomputed"] == 2 * 4 * 16 * 16


def test_autocast_tells_the_precision_of_the_products_and_not_of_the_weights() -> None:
    import torch

    model = torch.nn.Linear(16, 16)

    def forward(x: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return model(x)

    _, told = count(trains(forward, torch.randn(4, 16)))
    assert {one["precision"] for one in told["by"]} == {"bfloat16"}


def test_what_the_counter_does_not_know_is_named_instead_of_left_out() -> None:
    import torch

    model = torch.nn.LSTM(8, 8)
    flops, told = count(trains(lambda x: model(x)[0], torch.randn(2, 3, 8)))
    assert flops is None
    assert "lstm" in told["absent"] or "rnn" in told["absent"]


def test_the_cells_of_a_recurrent_layer_are_counted_by_their_products() -> None:
    """A cell of 8 by 8: input and state to 4 gates each, of a batch of 2; the input needs no gradient."""
    import torch

    cell, x = torch.nn.LSTMCell(8, 8, bias=False), torch.randn(2, 8)
    flops, _ = count(trains(lambda x: cell(x, (x, x))[0], x))
    assert flops == 2 * 2 * 2 * 32 * 8 * 2  # forward and the gradients of both weights


def test_a_compiled_model_is_left_compiled_and_not_counted() -> None:
    import torch

    model = torch.compile(torch.nn.Linear(4, 4), backend="eager")
    try:
        flops, told = count(trains(model, torch.randn(2, 4)))
    finally:
        torch._dynamo.reset()
    assert flops is None
    assert "torch.compile" in told["absent"]


@pytest.fixture
def alone() -> Iterator[None]:
    """A process group of one."""
    import torch.distributed as dist

    store: Any = dist.HashStore()  # type: ignore[attr-defined]
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        yield
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize("kind", ["ddp", "fsdp2"])
def test_a_wrapped_model_costs_what_it_costs_bare(alone: None, kind: str) -> None:
    """Both directions: gathering parameters and sending gradients multiply nothing."""
    import torch
    from torch.distributed.fsdp import fully_shard
    from torch.nn.parallel import DistributedDataParallel

    model, x = transformer(heads=4, groups=4, bias=True), inputs(2, 32)
    bare, told = count(trains(model, x))
    if kind == "ddp":
        wrapped: Any = DistributedDataParallel(model)
    else:
        mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
        for block in model:
            fully_shard(block, mesh=mesh)
        wrapped = fully_shard(model, mesh=mesh)
    found, same = count(trains(wrapped, x))
    assert same["absent"] == ""
    assert found == bare
    assert same["backward"] == told["backward"] == 2 * told["forward"]


def test_a_tensor_parallel_model_runs_and_costs_what_its_parts_cost(alone: None) -> None:
    """DTensor asks by tensors without numbers how an operation is sharded: to refuse those ended the training."""
    import torch
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    model, x = (torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 16)), torch.randn(8, 16))
    bare, _ = count(trains(model, x))
    mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
    found, told = count(trains(parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()}), x))
    assert (found, told["absent"]) == (bare, "")


def test_an_operator_of_ones_own_is_named_and_no_number_is_given() -> None:
    import torch

    schema = "(Tensor x, Tensor w) -> Tensor"
    mine = torch.library.custom_op("assay_tests::mine", lambda x, w: x @ w, mutates_args=(), schema=schema)
    mine.register_autograd(lambda ctx, grad: (grad, None), setup_context=lambda ctx, inputs, output: None)
    model, x = torch.nn.Linear(16, 16), torch.randn(4, 16)
    flops, told = count(trains(lambda x: mine(model(x), torch.eye(16)), x))
    assert flops is None
    assert told["uncounted"] == ["assay_tests.mine"]
    assert "assay_tests.mine" in told["absent"]


def test_a_forward_pass_outside_of_the_phase_gives_no_number() -> None:
    import torch

    first, second = torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)

    def step(phase: Any) -> None:
        with phase("forward"):
            x = first(torch.randn(4, 16, requires_grad=True))
        y = second(x)
        with phase("backward"):
            y.sum().backward()

    flops, told = count(step)
    assert flops is None
    assert "outside" in told["absent"]


def test_counting_changes_no_number() -> None:
    import torch

    found = []
    for counted in (False, True):
        torch.manual_seed(1)
        model, x = transformer(heads=4, groups=2, bias=True), torch.randn(2, 16, 64)
        step = trains(torch.nn.Sequential(model, torch.nn.Dropout(0.5)), x)
        if counted:
            count(step)
        else:
            step(lambda _: nullcontext())
        found.append([parameter.grad for parameter in model.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_the_measured_peak_is_operations_over_the_fastest_repetition() -> None:
    """A clock that makes every product last 1 us but those of one repetition 0.5 us."""
    import torch

    from fireassay.instruments.flops import gemm_peak

    class Clock:
        ns = 0
        calls = 0

        def __call__(self) -> int:
            return self.ns

    clock = Clock()

    class Torch:
        no_grad, float32, empty, linspace = torch.no_grad, torch.float32, torch.empty, torch.linspace
        get_num_threads = torch.get_num_threads

        @staticmethod
        def mm(left: Any, right: Any, out: Any) -> None:
            clock.calls += 1
            clock.ns += 500 if clock.calls > 100_000 else 1000

    found = gemm_peak.measure(Torch, "cpu", "float32", sizes=(64,), now=clock)
    assert found["flops_per_s"] == pytest.approx(2 * 64**3 / 0.5e-6)
    assert (found["size"], found["absent"]) == (64, "")


def test_a_real_product_has_a_speed_and_a_strange_precision_a_reason() -> None:
    import torch

    from fireassay.instruments.flops import gemm_peak

    state = torch.get_rng_state()
    assert gemm_peak.measure(torch, "cpu", "float32", sizes=(64,))["flops_per_s"] > 0
    assert torch.equal(state, torch.get_rng_state())
    assert gemm_peak.measure(torch, "cpu", "int4")["flops_per_s"] is None


class Gpu:
    """What stands for torch where a GPU is asked what it is."""

    float32 = "torch.float32"

    def __init__(self, *, capability: int = 9, hip: str | None = None, matmul: bool = True, conv: bool = True) -> None:
        from types import SimpleNamespace as Made

        self.version = Made(hip=hip)
        self.cuda = Made(
            get_device_capability=lambda _: (capability, 0),
            get_device_properties=lambda _: Made(uuid="GPU-1"),
            get_device_name=lambda _: "NVIDIA H200",
        )
        self.backends = Made(cuda=Made(matmul=Made(allow_tf32=matmul)), cudnn=Made(allow_tf32=conv, conv=Made(fp32_precision="none")))


@pytest.mark.parametrize(
    ("gpu", "matmul", "conv"),
    [
        (Gpu(), True, True),
        (Gpu(matmul=False), False, True),  # torch's default
        (Gpu(capability=7), False, False),  # a V100 is allowed to and cannot
        (Gpu(hip="6.4"), True, False),
        (Gpu(hip="6.4", matmul=False), False, False),
    ],
)
def test_float32_is_tf32_only_where_the_gpu_can_and_may_round(gpu: Gpu, matmul: bool, conv: bool) -> None:
    from fireassay.instruments.flops.flops import rounds_to_tf32

    assert rounds_to_tf32(gpu, "cuda:0", convolution=False) is matmul
    assert rounds_to_tf32(gpu, "cuda:0", convolution=True) is conv


def test_a_peak_in_a_precision_that_the_process_does_not_use_is_not_measured() -> None:
    from fireassay.instruments.flops import gemm_peak

    for gpu, asked, made in ((Gpu(matmul=False), "tf32", "float32"), (Gpu(), "float32", "tf32")):
        found = gemm_peak.measure(gpu, "cuda:0", asked)
        assert found["flops_per_s"] is None
        assert found["absent"] == f"this process computes float32 products in {made}, not in {asked}"


def test_a_gpu_is_told_by_its_number_so_that_ranks_that_share_it_are_seen() -> None:
    """Two ranks that both call it cuda:0 have one peak and not two."""
    import torch

    from fireassay.instruments.flops.flops import StepCounter

    counter = StepCounter(torch)
    counter.sums[("forward", "cuda:0", "bfloat16")] += 10
    counter._torch = Gpu()
    _, told = counter.detail(None)
    assert told["by"] == [{"device": "cuda:0", "name": "NVIDIA H200", "precision": "bfloat16", "flops": 10, "uuid": "GPU-1"}]
