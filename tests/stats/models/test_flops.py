"""Operations per token by four conventions, against what their authors published."""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.frames.training.flops import Attention, FeedForward, megatron, megatron_2021, palm, torchtitan

A100, H100, TPU_V4 = 312e12, 989e12, 275e12
LLAMA3_8B = 8_030_261_248  # parameters; its embedding has 128,256 x 4,096 of them
LLAMA3_70B = 70_553_706_496
LLAMA2_13B = 13_015_864_320
EMBEDDING_8B = 128_256 * 4_096


def test_palm_540b_reaches_the_mfu_of_its_paper() -> None:
    """238.3 thousand tokens per second on 6,144 TPU v4: 46.2 %, and 45.7 % without attention (PaLM, section 4.1)."""
    size: dict[str, Any] = {"layers": 118, "heads": 48, "head_dim": 256}
    with_attention = palm(parameters=540e9, sequence=2048, **size) * 238.3e3 / (6144 * TPU_V4)
    without = palm(parameters=540e9, sequence=0, **size) * 238.3e3 / (6144 * TPU_V4)
    assert round(with_attention, 3) == 0.462
    assert round(without, 3) == 0.457


@pytest.mark.parametrize(("gpus", "seconds", "tflops"), [(2240, 60.1, 126), (2800, 50.2, 121), (3360, 44.4, 113)])
def test_megatron_turing_nlg_reaches_the_operations_of_its_paper(gpus: int, seconds: float, tflops: float) -> None:
    """Smith et al., arXiv 2201.11990, section 2.4: 1,920 sequences of 2,048 tokens a step, all activations computed again."""
    flops = megatron_2021(layers=105, hidden=20480, vocabulary=50272, sequence=2048, recomputed=True)
    assert flops * 1920 * 2048 / (gpus * seconds) / 1e12 == pytest.approx(tflops, abs=0.75)


def test_the_same_training_uses_less_of_the_device_for_the_model_than_with_what_it_computes_again() -> None:
    """PaLM, table 3 and section 4.1, of those 2,240 A100: 30.2 % for the model, 29.7 % without attention; 40 % with recomputation."""
    tokens_per_s = 1920 * 2048 / 60.1
    size: dict[str, Any] = {"parameters": 530e9, "layers": 105, "heads": 128, "head_dim": 160}
    assert palm(sequence=2048, **size) * tokens_per_s / (2240 * A100) == pytest.approx(0.302, abs=0.001)
    assert palm(sequence=0, **size) * tokens_per_s / (2240 * A100) == pytest.approx(0.297, abs=0.001)
    hardware = megatron_2021(layers=105, hidden=20480, vocabulary=50272, sequence=2048, recomputed=True)
    assert hardware * tokens_per_s / (2240 * A100) == pytest.approx(0.40, abs=0.005)


@pytest.mark.parametrize(
    ("parameters", "layers", "heads", "sequence", "tokens_per_s", "mfu"),
    [
        (LLAMA3_8B, 32, 32, 8192, 2904, 0.568),
        (LLAMA3_8B, 32, 32, 8192, 2973, 0.582),
        (LLAMA3_70B, 80, 64, 8192, 331, 0.517),
        (LLAMA2_13B, 40, 40, 4096, 2162, 0.611),
        (LLAMA2_13B, 40, 40, 4096, 1914, 0.541),
    ],
)
def test_the_table_of_torchtitan_of_2024_is_palms_convention(
    parameters: int, layers: int, heads: int, sequence: int, tokens_per_s: float, mfu: float
) -> None:
    """torchtitan, docs/performance.md of 2024: tokens per second and MFU of each of 64 A100."""
    flops = palm(parameters=parameters, layers=layers, heads=heads, head_dim=128, sequence=sequence)
    assert flops * tokens_per_s / A100 == pytest.approx(mfu, abs=0.001)


def test_torchtitan_today_leaves_the_embedding_out() -> None:
    """pytorch/torchtitan#1884 logs for Llama 3 8B: tps 5,615, tflops 325.20, mfu 32.88 %."""
    flops = torchtitan(parameters=LLAMA3_8B, embedding_parameters=EMBEDDING_8B, layers=32, heads=32, sequence=8192, qk_dim=128, v_dim=128)
    assert flops * 5615 / 1e12 == pytest.approx(325.20, abs=0.03)
    assert flops * 5615 / H100 == pytest.approx(0.3288, abs=0.0001)


def test_only_the_experts_that_a_token_uses_are_counted() -> None:
    """Mixtral 8x7B, 2 of 8 experts (arXiv 2401.04088): 13 of 47 billion parameters by hand from its sizes, so that all would be 3.6
    times.
    """
    hidden, layers, width, experts, used, vocabulary = 4096, 32, 14336, 8, 2, 32000
    attention = 2 * hidden * hidden + 2 * hidden * 1024  # queries and out; keys and values of 8 groups of 128
    rest = layers * (attention + hidden * experts) + 2 * vocabulary * hidden
    every, active = (rest + layers * 3 * hidden * width * one for one in (experts, used))
    assert every == pytest.approx(47e9, rel=0.01)
    assert active == pytest.approx(13e9, rel=0.01)
    shape: dict[str, Any] = {"layers": layers, "heads": 32, "head_dim": 128, "sequence": 0}
    assert palm(parameters=every, **shape) / palm(parameters=active, **shape) == pytest.approx(3.63, abs=0.01)


def test_torchtitan_without_an_embedding_is_palm() -> None:
    size: dict[str, Any] = {"parameters": 7e9, "layers": 32, "heads": 32, "sequence": 4096}
    assert torchtitan(embedding_parameters=0.0, qk_dim=128, v_dim=128, **size) == palm(head_dim=128, **size)


@pytest.mark.parametrize(("gpus", "tflops", "days"), [(384, 144, 90), (384, 153, 84), (768, 149, 43), (1536, 141, 23)])
def test_the_days_of_the_paper_of_2021_follow_from_its_operations(gpus: int, tflops: float, days: int) -> None:
    """GPT-3 of 174.6 billion parameters, 300 billion tokens (arXiv 2104.04473, table 2)."""
    flops = megatron_2021(layers=96, hidden=12288, vocabulary=51200, sequence=2048, recomputed=True)
    assert flops * 300e9 / (gpus * tflops * 1e12) / 86400 == pytest.approx(days, abs=1.0)


def test_computing_all_activations_again_costs_another_forward_pass() -> None:
    """4 passes' worth instead of 3, but for the logits, which are not computed again: 72/12 = 96/16."""
    size: dict[str, Any] = {"layers": 96, "hidden": 12288, "sequence": 2048}
    once, twice = (megatron_2021(vocabulary=0, recomputed=again, **size) for again in (False, True))
    assert twice / once == pytest.approx(4 / 3)
    logits = [
        megatron_2021(vocabulary=51200, recomputed=again, **size) - megatron_2021(vocabulary=0, recomputed=again, **size)
        for again in (False, True)
    ]
    assert logits[0] == pytest.approx(logits[1])
    assert logits[0] == pytest.approx(6 * 12288 * 51200)


def test_megatron_counts_half_of_the_attention_and_else_what_it_did_in_2021() -> None:
    size: dict[str, Any] = {"layers": 96, "hidden": 12288, "vocabulary": 51200}
    attention, feed_forward = Attention(heads=96, head_dim=128, groups=96), FeedForward(width=4 * 12288, gated=False)
    shape: dict[str, Any] = {"attention": attention, "feed_forward": feed_forward}
    assert megatron(sequence=0, **size, **shape) == pytest.approx(megatron_2021(sequence=0, **size))
    now = megatron(sequence=2048, **size, **shape) - megatron(sequence=0, **size, **shape)
    then = megatron_2021(sequence=2048, **size) - megatron_2021(sequence=0, **size)
    assert now == pytest.approx(then / 2)


def test_megatron_without_attention_is_six_times_the_weights_of_its_products() -> None:
    """Llama 3 8B by hand: q and out 4096^2 each, k and v 1024 x 4096 each, three of 14,336 x 4096, logits 128,256 x 4096."""
    attention, feed_forward = Attention(heads=32, head_dim=128, groups=8), FeedForward(width=14336, gated=True)
    flops = megatron(layers=32, hidden=4096, attention=attention, feed_forward=feed_forward, vocabulary=128256, sequence=0)
    weights = 32 * (2 * 4096**2 + 2 * 1024 * 4096 + 3 * 14336 * 4096) + 128256 * 4096
    assert flops == pytest.approx(6 * weights)
