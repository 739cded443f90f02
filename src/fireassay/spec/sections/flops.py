"""How much work does a model need, and what is the peak of its devices?

The section [flops] of an experiment.  `NEEDS` lists the keys that each convention requires; the conventions themselves are in
`fireassay.frames.training.flops`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import Field

from fireassay.errors import Problem
from fireassay.spec.explain import NOTHING, shown
from fireassay.spec.model import Model, Positive

Convention = Literal["counter", "palm", "torchtitan", "megatron", "megatron_2021", "none"]
Precision = Literal["float64", "float32", "tf32", "bfloat16", "float16", "float8", "int8"]
NEEDS: Final[dict[str, tuple[str, ...]]] = {  # convention -> required keys
    "palm": ("parameters", "layers", "heads", "head_dim", "sequence"),
    "torchtitan": ("parameters", "embedding_parameters", "layers", "heads", "head_dim", "sequence"),
    "megatron": ("layers", "hidden", "heads", "head_dim", "feed_forward", "vocabulary", "sequence"),
    "megatron_2021": ("layers", "hidden", "vocabulary", "sequence"),
}
_Size = Annotated[int | None, Field(ge=1, le=10**9)]


class Flops(Model):
    """The floating-point operations of a step, and the device peak that they are compared with."""

    convention: Convention = Field(
        "counter",
        description="counter: the products of the first step are counted. palm, torchtitan, megatron, megatron_2021: by the formula of "
        "that name from the keys below. none: no FLOPs. Numbers of different conventions are never compared.",
    )
    parameters: float | None = Field(
        None,
        gt=0.0,
        le=1e18,
        description="Parameters of the model, including embeddings; for a mixture of experts those that one token uses.",
    )
    embedding_parameters: float | None = Field(
        None, ge=0.0, le=1e18, description="Parameters of its embedding; 0 if it is tied to the output."
    )
    layers: _Size = Field(None, description="Layers of the transformer.")
    hidden: _Size = Field(None, description="Its hidden size.")
    heads: _Size = Field(None, description="Attention (query) heads.")
    groups: _Size = Field(None, description="Key-value heads. Default: as many as query heads.")
    head_dim: _Size = Field(None, description="Size of a head.")
    feed_forward: _Size = Field(None, description="Width of the feed-forward layer.")
    gated: bool = Field(False, description="Whether the feed-forward layer is gated (SwiGLU: three products, not two).")
    vocabulary: _Size = Field(None, description="Size of the vocabulary, including padding.")
    sequence: _Size = Field(None, description="Tokens of a sequence.")
    tokens_per_step: int | None = Field(
        None, ge=1, description="Tokens per step over all workers. Default: its items, which are sequences unless workload.work is tokens."
    )
    precision: Precision | None = Field(
        None, description="Element type of the products. Default: as the counter saw it, which needs a model that is not compiled."
    )
    peak: Literal["datasheet", "measured"] = Field(
        "datasheet",
        description="datasheet: the device's peak as its maker publishes it, dense; an unknown device has none. measured: "
        "the fastest square product on the device itself, made once after the first step.",
    )
    peak_tflops: Positive | None = Field(
        None, description="Instead: the peak of one device in the precision used, 10^12 operations per second, dense."
    )
    peak_source: str | None = Field(None, min_length=1, description="Source of peak_tflops.")


def flops_say_enough(flops: Flops) -> Iterator[Problem]:
    """Report a formula without its parameters, or a peak without its source."""
    needs = NEEDS.get(flops.convention, ())
    for name in needs:
        if getattr(flops, name) is None:
            why = f"a number, since flops.convention is {shown(flops.convention)}"
            yield Problem(f"flops.{name}", NOTHING, why, f"That formula needs {', '.join(needs)}.")
    if flops.peak_tflops is not None and flops.peak_source is None:
        fix = "Give the source of the peak: a datasheet, with its page. Use the dense peak, without sparsity."
        yield Problem("flops.peak_source", NOTHING, "text if flops.peak_tflops is given", fix)
    if flops.peak_tflops is not None and flops.peak == "measured":
        yield Problem("flops.peak", shown("measured"), "one peak", "Remove flops.peak or flops.peak_tflops.")
    heads, groups = flops.heads, flops.groups
    if heads is not None and groups is not None and groups > 0 and (groups > heads or heads % groups):
        fix = "Each group of query heads shares one key-value head."
        yield Problem("flops.groups", shown(groups), f"a divisor of flops.heads = {heads}", fix)
