"""How much work does a model need, and what is the peak of its devices?

The section [flops] of an experiment.  `NEEDS` lists the keys that each convention requires; the conventions themselves are in
`fireassay.frames.training.flops`.

What is a device's peak in the precision that was used?

From the table `peaks.toml`, never guessed.  Device names match as a whole: "NVIDIA L40S" is neither an L40 nor an L4, a laptop
card is not the desktop card, a slice of a GPU (MIG) is not the GPU.  Devices and precisions missing from the table are unknown,
without a fallback: for an L40S, torchtitan falls back to an A100's 312 TFLOP/s, and Lightning matches an L4's 121.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
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


TERA: Final = 1e12
QUANTISED: Final = ("float8", "int8", "uint8", "int4", "quint8", "qint8", "qint32")  # no MFU is defined for these
PEAKS: Final = Path(__file__).parents[1] / "peaks.toml"
_OTHER_KEYS: Final = frozenset({"device", "source", "sparse_factor"})


@dataclass(frozen=True, kw_only=True)
class Peak:
    """A device's dense peak in a precision, and its source."""

    flops_per_s: float
    precision: str
    source: str
    sparse_factor: float = 1.0  # vendor figure with sparsity over the dense one


@dataclass(frozen=True, kw_only=True)
class _Entry:
    device: re.Pattern[str]
    tflops: dict[str, float]
    source: str
    sparse_factor: float


def peak_of(device: str, precision: str) -> Peak | None:
    """The peak of a device by its reported name; None: unknown."""
    entries = [entry for entry in _entries() if entry.device.fullmatch(device.strip())]
    if len(entries) != 1 or precision not in entries[0].tflops:
        return None
    (entry,) = entries
    return Peak(flops_per_s=entry.tflops[precision] * TERA, precision=precision, source=entry.source, sparse_factor=entry.sparse_factor)


def knows(device: str) -> bool:
    """True if the table has the device."""
    return any(entry.device.fullmatch(device.strip()) for entry in _entries())


@cache
def _entries() -> tuple[_Entry, ...]:
    table = tomllib.loads(PEAKS.read_text())
    return tuple(
        _Entry(
            device=re.compile(row["device"], re.IGNORECASE),
            tflops={name: float(value) for name, value in row.items() if name not in _OTHER_KEYS},
            source=str(row["source"]),
            sparse_factor=float(row.get("sparse_factor", 1.0)),
        )
        for row in table["peak"]
    )
