"""How many floating-point operations does a training step require of this rank?

Counted as the first step's products are dispatched: the operations known to PyTorch's own counter (`torch.utils.flop_counter`), i.e.
matrix products, convolutions and attention, forward and backward, by their shapes; a multiply-add is 2. Element-wise work is not
counted, as in every convention. Differences from that counter:
* attention on CPUs is counted too (torch 2.13 does not know its name and counts 0);
* recomputation to save memory (activation checkpointing; the scores in the backward pass of fused attention) is separate: it is work of
  the hardware and not of the model;
* the precision and device of each product are kept, since a peak depends on both;
* no module is hooked: a dispatch mode around the forward and backward phases sees the shapes and changes no number.
Causal attention is counted in full, as in PaLM (Chowdhery et al., 2022). Only the first step is counted, which is not timed.

Cannot tell: code compiled by torch.compile (the mode would disable compilation, so nothing is counted); kernels outside torch's
dispatcher; the optimizer's own products; a forward pass outside modules and phases (then there is no number: a backward pass takes at
most twice the operations of its forward pass).
"""

from __future__ import annotations

import importlib
import sys
from collections import Counter as Sums
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from math import prod
from types import FrameType
from typing import Any, Final

CONVENTION: Final = "counter"
MAX_BACKWARD: Final = 2.01  # backward / forward operations; above it a part of the forward pass was missed
TF32_SINCE: Final = 8  # compute capability of NVIDIA's GPUs; earlier ones allow TF32 but lack it
COUNTED_PHASES: Final = ("forward", "backward")
# Namespaces whose operators move or reduce data without products, or decompose into counted operators.
_NO_PRODUCTS: Final = frozenset(
    {
        "aten",
        "prim",
        "prims",
        "c10d",
        "_c10d_functional",
        "c10d_functional",
        "_c10d_functional_autograd",
        "profiler",
        "fsdp",
        "_dtensor",
        "streams",
        "symm_mem",
    }
)
_KNOWN_TO_MULTIPLY: Final = ("rnn", "lstm", "gru", "sparse_mm", "_sparse", "int_mm", "_scaled_grouped_mm", "_grouped_mm", "_weight_int")
_LAYOUT: Final = frozenset(
    {
        "sym_is_contiguous",
        "is_contiguous",
        "is_strides_like_format",
        "is_non_overlapping_and_dense",
        "size",
        "sym_size",
        "stride",
        "sym_stride",
        "storage_offset",
        "sym_storage_offset",
        "numel",
        "sym_numel",
        "dim",
        "layout",
    }
)


class StepCounter:
    """Counts the operations of the forward and backward phases that are entered through `counted`."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._registry: Mapping[Any, Callable[..., int]] = _registry()
        self._mode = _mode(torch, self)
        self._kinds: dict[Any, str] = {}
        self._phases: list[str] = []  # active phases, innermost last
        self._counting = False
        self.sums: Sums[tuple[str, str, str]] = Sums()  # (phase or recomputed, device, precision) -> operations
        self.unknown: set[str] = set()  # operators that may multiply and are not counted
        self.trouble = ""

    def counted(self, named: Mapping[str, AbstractContextManager[None]]) -> dict[str, AbstractContextManager[None]]:
        """The same phases; computing ones are counted."""
        return {name: _Counted(phase, self, name) if name in COUNTED_PHASES else phase for name, phase in named.items()}

    def begin(self, phase: str) -> None:
        """Enter a phase."""
        self._phases.append(phase)
        if len(self._phases) > 1 or self.trouble:
            return
        if self._compiles():
            self.trouble = "torch.compile is used, and the counter cannot see inside compiled code"
            return
        self._mode.__enter__()
        self._counting = True

    def end(self) -> None:
        """Leave a phase."""
        if self._phases:
            self._phases.pop()
        if not self._phases and self._counting:
            self._counting = False
            self._mode.__exit__(None, None, None)

    def _compiles(self) -> bool:
        frames: Any = sys.modules.get("torch._dynamo.eval_frame")
        return any(map(callable, getattr(frames, "cached_backends", {}).values()))  # None: made by torch._dynamo.disable

    # ---- classifying operators

    def kind(self, function: Any) -> str:
        """The counter's class of an operator; cached."""
        if (known := self._kinds.get(function)) is None:
            known = self._kinds[function] = self._kind(function)
        return known

    def _kind(self, function: Any) -> str:
        packet, name = function._overloadpacket, str(function)
        if packet.__name__ in _LAYOUT:
            return "layout"
        if "scaled_dot_product" in name:
            return "attention"
        if packet in self._registry:
            return "product"
        multiplies = any(word in name for word in _KNOWN_TO_MULTIPLY) and "_thnn_fused" not in name  # those come after counted products
        if function.namespace not in _NO_PRODUCTS or multiplies:
            self.unknown.add(name.removesuffix(".default"))
        return "other"

    def saw(self, function: Any, kind: str, out: Any, arguments: Sequence[Any], words: Mapping[str, Any]) -> None:
        """Count a product, given its output."""
        try:
            self._saw(function, kind, out, arguments, words)
        except Exception as error:  # a shape that the formula does not expect
            self.trouble = self.trouble or f"{function}: {type(error).__name__}: {error}"

    def _saw(self, function: Any, kind: str, out: Any, arguments: Sequence[Any], words: Mapping[str, Any]) -> None:
        name = str(function)
        if kind == "attention":
            flops, again = _attention([a.shape for a in arguments if hasattr(a, "shape")], backward="backward" in name)
        else:
            flops, again = int(self._registry[function._overloadpacket](*arguments, **words, out_val=out)), 0
            if "attention_backward" in name:
                flops, again = flops * 4 // 5, flops - flops * 4 // 5
        tensor = next(_tensors(arguments), None)
        if tensor is None or tensor.device.type == "meta":
            return
        where = (str(tensor.device), self._precision(tensor, "conv" in name))
        phase = self._phases[-1] if self._phases else "backward"
        if phase == "backward" and self._torch.is_grad_enabled() and _computes_again():
            phase = "recomputed"
        self.sums[(phase, *where)] += flops
        if again:
            self.sums[("recomputed", *where)] += again

    def _precision(self, tensor: Any, convolution: bool) -> str:
        """As in `spec/peaks.toml`: the element type, but tf32 if a GPU may round the factors to it."""
        name = str(tensor.dtype).removeprefix("torch.")
        if name == "float32" and tensor.device.type == "cuda":
            return "tf32" if rounds_to_tf32(self._torch, str(tensor.device), convolution=convolution) else "float32"
        return "float8" if name.startswith("float8") else name

    # ---- results

    def detail(self, items: float | None) -> tuple[float | None, dict[str, Any]]:
        """(the model's operations, None with a reason if unknown; further details)."""
        phases: Sums[str] = Sums()
        parts: Sums[tuple[str, str]] = Sums()
        for (phase, device, precision), flops in self.sums.items():
            phases[phase] += flops
            if phase != "recomputed":
                parts[(device, precision)] += flops
        names = {device: device_name(self._torch, device) for device, _ in parts}
        same = {device: identity(self._torch, device) for device in names}
        by = [{"device": d, "name": names[d], "precision": p, "flops": flops, **same[d]} for (d, p), flops in sorted(parts.items())]
        why = self._why_absent(phases)
        result = {
            "convention": CONVENTION,
            "forward": phases["forward"],
            "backward": phases["backward"],
            "recomputed": phases["recomputed"],
            "by": by,
            "items": items,
            "uncounted": sorted(self.unknown),
            "absent": why,
        }
        return (None if why else float(phases["forward"] + phases["backward"])), result

    def _why_absent(self, phases: Mapping[str, int]) -> str:
        if self.trouble:
            return self.trouble
        if self.unknown:
            return f"it calls {', '.join(sorted(self.unknown))}, whose operations the counter does not know"
        if not phases.get("forward", 0):
            return "no matrix product was observed in a forward pass"
        if phases.get("backward", 0) > MAX_BACKWARD * phases["forward"]:
            return (
                "the backward pass has more than twice the operations of the observed forward passes: a part of the forward "
                "pass runs outside modules, or gradients are differentiated again"
            )
        return ""


class _Counted:
    """A phase whose operations are counted."""

    __slots__ = ("_counter", "_name", "_phase")

    def __init__(self, phase: AbstractContextManager[None], counter: StepCounter, name: str) -> None:
        self._phase, self._counter, self._name = phase, counter, name

    def __enter__(self) -> None:
        self._phase.__enter__()
        self._counter.begin(self._name)

    def __exit__(self, *what: Any) -> None:
        self._counter.end()
        self._phase.__exit__(*what)


def _mode(torch: Any, counter: StepCounter) -> Any:
    base: Any = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode

    plain, tensors = torch.Tensor.__torch_dispatch__, torch.Tensor

    def _is_fake(kind: Any) -> bool:
        """Fake tensors: DTensor uses them to find an operation's sharding. Nothing is computed, so nothing is counted."""
        fakes = sys.modules.get("torch._subclasses.fake_tensor")
        return fakes is not None and issubclass(kind, fakes.FakeTensor)

    def _is_made_of_others(kind: Any) -> bool:
        return issubclass(kind, tensors) and kind.__torch_dispatch__ is not plain

    class Mode(base):  # type: ignore[misc]
        supports_higher_order_operators = True

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            """Hiding from torch.compile would import it (a second); a compiled model is not counted anyway."""
            return False

        def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), words: Any = None) -> Any:
            words = words or {}
            if types and any(_is_fake(tensor_type) for tensor_type in types):
                return function(*arguments, **words)  # the subclass's own mode handles it next; the tensor itself refuses
            if isinstance(function, torch._ops.HigherOrderOperator):
                counter.unknown.add(str(function))
                return function(*arguments, **words)
            kind = counter.kind(function)
            if kind == "layout" or (types and any(_is_made_of_others(tensor_type) for tensor_type in types)):
                return NotImplemented  # the tensor subclass decomposes the operation, and the parts are counted
            out = function(*arguments, **words)
            if kind != "other":
                counter.saw(function, kind, out, arguments, words)
            return out

    return Mode()


def _registry() -> Mapping[Any, Callable[..., int]]:
    from torch.utils.flop_counter import flop_registry

    return flop_registry


def _computes_again() -> bool:
    """True if activations are being recomputed: by torch's checkpointing or a function of that name."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if "checkpoint" in code.co_filename or "recompute" in code.co_name:
            return True
        frame = frame.f_back
    return False


def _attention(shapes: Sequence[Sequence[int]], *, backward: bool) -> tuple[int, int]:
    """(operations of scaled dot-product attention, recomputed operations); keys may have fewer heads than queries.

    Forward: scores = q k^T, out = scores v. Backward: the gradients of v and of the scores, of q and of k; fused kernels recompute the
    scores. The backward pass gets the gradient of `out` before q, k and v.
    """
    query, key, value = shapes[1:4] if backward else shapes[:3]
    pairs = 2 * prod(query[:-1]) * key[-2]
    scores, out = pairs * query[-1], pairs * value[-1]
    return (2 * (scores + out), scores) if backward else (scores + out, 0)


def _tensors(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if hasattr(value, "device") and hasattr(value, "dtype") and getattr(value, "is_floating_point", lambda: True)():
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


def device_name(torch: Any, device: str) -> str:
    """A device's name; for a CPU, its model."""
    kind = device.partition(":")[0]
    try:
        if kind == "cuda":
            return str(torch.cuda.get_device_name(device))
        if kind == "cpu":
            return _processor()
        return str(getattr(torch, kind).get_device_name(device))
    except Exception:
        return kind


def rounds_to_tf32(torch: Any, device: str, *, convolution: bool) -> bool:
    """True if this GPU rounds the factors of float32 products to tf32: it needs the hardware and the setting."""
    with suppress(Exception):
        if torch.version.hip is not None and convolution:
            return False
        if torch.version.hip is None and torch.cuda.get_device_capability(device)[0] < TF32_SINCE:
            return False
    backends = torch.backends
    with suppress(Exception):  # a process must not mix the two APIs
        setting = backends.cudnn.conv.fp32_precision if convolution else backends.cuda.matmul.fp32_precision
        if setting != "none":
            return bool(setting == "tf32")
    with suppress(Exception):
        return bool(backends.cudnn.allow_tf32 if convolution else backends.cuda.matmul.allow_tf32)
    return False


def identity(torch: Any, device: str) -> dict[str, str]:
    """Identifies a GPU, so that ranks sharing it are recognised, if the driver reports it."""
    with suppress(Exception):
        if device.startswith("cuda"):
            return {"uuid": str(torch.cuda.get_device_properties(device).uuid)}
    return {}


def _processor() -> str:
    from pathlib import Path

    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    import platform

    return platform.processor() or "cpu"
