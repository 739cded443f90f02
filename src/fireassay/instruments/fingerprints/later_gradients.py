"""What does a rank train with after its first step?

Sampled in a few later steps, just before the optimizer steps: 1, 2, 3 and, from 4 on, one in each half of [2^k, 2^(k+1)). They follow
from the launch's seed, so they are equal on all ranks and in all launches of a block. The script's generators are not used.

| recorded | content | table |
|---|---|---|
| `mode` | modules in training mode; text: train or eval, and the exceptions | fingerprints |
| `optimizer_settings` | learning rate and other numbers of every parameter group | fingerprints |
| `clip_norm`, `clip_limit` | of every call of `clip_grad_norm_` since the last step: the norm before clipping and the limit | fingerprints |
| `clip_largest`, `clip_value` | of every call of `clip_grad_value_`: the largest element before clipping and the limit | fingerprints |
| `clip_scale` | of a GradScaler, where the gradients were clipped before it had divided them by its factor: that factor | fingerprints |
| gradients | norm and up to 16 elements of each parameter, as the optimizer got them | gradients |

`first_gradients` records the first step's gradients in full.
Cannot see: clipping by hand; the norm and the largest element of sharded gradients, which no single rank has;
gradients that are never in `.grad`; optimizers stepped under torch.compile.
"""

from __future__ import annotations

import hashlib
import json
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final

from fireassay.instruments.fingerprints import model_hash
from fireassay.instruments.fingerprints.shards import share
from fireassay.instruments.hooks.optimizer_watch import OptimizerWatch

ELEMENTS: Final = 16  # of a gradient, evenly spaced
CLIPS: Final = 8  # calls per step
GROUPS: Final = 16  # an optimizer's parameter groups
MODULES: Final = 3  # listed by name
NEVER: Final = sys.maxsize
NORM: Final = ("clip_norm", "clip_limit")  # what is recorded of a clipping
VALUE: Final = ("clip_largest", "clip_value")
Clip = tuple[tuple[str, str], float, float]  # NORM or VALUE, what it found, limit


def following(seed: int, step: int) -> int:
    """The first chosen step after this one."""
    begin, length = _stretch(step + 1)
    chosen = _chosen(seed, begin)
    return chosen if chosen > step else _chosen(seed, begin + length)


def _stretch(step: int) -> tuple[int, int]:
    """(begin, length) of a step's stretch, in which one step is chosen: 1, 2, 3, 4-5, 6-7, 8-11, 12-15, ..."""
    power = 1 << (step.bit_length() - 1)
    half = power // 2
    if half == 0:
        return 1, 1
    return (power, half) if step < power + half else (power + half, half)


def _chosen(seed: int, step: int) -> int:
    begin, length = _stretch(step)
    digest = hashlib.blake2b(f"{seed}:{begin}".encode(), digest_size=8).digest()
    return begin + int.from_bytes(digest, "little") % length


class LaterSteps:
    """Waits, in chosen steps, for an optimizer that trains the model."""

    def __init__(self, torch: Any, model: Any, seed: int, examine: Callable[[Any, list[Clip], float | None], None]) -> None:
        """`examine(optimizer, clips, scale)` is called just before the optimizer steps; `scale`: of gradients that were clipped while scaled."""
        self.next = NEVER  # the next chosen step
        self.gradients_since: int | None = None  # the step of the first gradients; later ones are recorded too
        self._seed, self._examine, self._model = seed, examine, weakref.ref(model)  # a script may drop it
        self.armed = True
        self._clips: list[Clip] = []
        self._scale: float | None = None
        self._watch = OptimizerWatch(torch, model)
        self._compiling = getattr(torch.compiler, "is_dynamo_compiling", torch.compiler.is_compiling)  # saves a call
        self._watch.watch_steps(self._stepping)
        self._watch.watch_calls(torch.nn.utils.clip_grad, "_clip_grads_with_norm_", self._clipping)
        self._watch.watch_calls(torch.nn.utils.clip_grad, "_group_tensors_by_device_and_dtype", self._clipping_values)
        self._watch.watch_calls(torch.amp.GradScaler, "step", self._unscaling)

    def leave(self) -> None:
        """Remove all hooks."""
        self.armed, self.next = False, NEVER
        self._watch.leave()

    def arm(self) -> None:
        """A chosen step begins."""
        self.armed, self.next = True, NEVER
        self._clips, self._scale = [], None

    def examined(self, step: int) -> None:
        """The current step was sampled."""
        self.armed = False
        self.next = following(self._seed, step)

    def _stepping(self, optimizer: Any, _: Any, __: Any) -> None:
        if self._compiling() or not self.armed or not self._watch.trained_by(optimizer):
            return
        clips, scale, self._clips, self._scale = self._clips, self._scale, [], None
        self._examine(optimizer, clips, scale)

    def _unscaling(self, scaler: Any, optimizer: Any, *_: Any, **__: Any) -> None:
        """A scaler is about to step: gradients that it still has to divide were clipped by a limit for divided ones."""
        if not self.armed or not self._clips or not scaler.is_enabled() or not self._watch.trained_by(optimizer):
            return
        state = getattr(scaler, "_per_optimizer_states", {}).get(id(optimizer)) or {}
        divided = getattr(state.get("stage"), "name", "READY") != "READY"
        self._scale = None if divided else float(scaler.get_scale())

    def _clipping(self, parameters: Any, max_norm: Any = None, total_norm: Any = None, *_: Any, **__: Any) -> None:
        if not self.armed or len(self._clips) >= CLIPS or hasattr(total_norm, "to_local"):
            return
        if self._watch.trains([parameters] if hasattr(parameters, "grad") else parameters):
            self._clips.append((NORM, float(total_norm), float(max_norm)))

    def _clipping_values(self, lists: Any, *_: Any, **__: Any) -> None:
        """torch groups gradients; if `clip_grad_value_` asked, which a script may hold under any name, its frame knows the limit."""
        caller = sys._getframe(2)  # behind the observed function
        if caller.f_code.co_name != "clip_grad_value_" or not self.armed or len(self._clips) >= CLIPS:
            return
        model = self._model()
        own = {id(parameter.grad) for parameter in model.parameters() if parameter.grad is not None} if model is not None else {}
        found = [one for one in lists[0] if id(one) in own and one.numel()]
        if found and not any(hasattr(one, "to_local") for one in found):
            largest = max(float(one.detach().abs().max()) for one in found)
            self._clips.append((VALUE, largest, float(caller.f_locals["clip_value"])))


def wait_for(model: Any, seed: int, examine: Callable[[Any, list[Clip], float | None], None]) -> LaterSteps | None:
    """Start waiting; None without torch."""
    torch = sys.modules.get("torch")
    return None if torch is None or not hasattr(torch, "optim") else LaterSteps(torch, model, seed, examine)


# ---- recorded values


def mode_of(model: Any) -> tuple[float, str]:
    """(number of modules in training mode, the model's mode and the outermost modules in the other mode)."""
    plain = model_hash.unwrap(model)
    training = 0
    others: list[str] = []
    for name, module in plain.named_modules():
        training += bool(module.training)
        parent = name.rpartition(".")[0]
        if module.training != plain.training and not any(parent == outer or parent.startswith(f"{outer}.") for outer in others):
            others.append(name)
    more = f" and {len(others) - MODULES} more" if len(others) > MODULES else ""
    exceptions = f", but for {', '.join(others[:MODULES])}{more}" if others else ""
    return float(training), f"{'train' if plain.training else 'eval'}{exceptions}"


def settings_of(optimizer: Any) -> str:
    """JSON: the numeric settings of each parameter group."""
    groups = optimizer.param_groups[:GROUPS]
    return json.dumps([dict(_numbers(group)) for group in groups], separators=(",", ":"))


def _numbers(group: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key in sorted(group):
        value = group[key]
        if key == "params" or key.startswith("initial_"):
            continue
        if isinstance(value, bool | int | float):
            yield key, value
        elif isinstance(value, tuple) and all(isinstance(number, int | float) for number in value):
            yield key, list(value)
        elif hasattr(value, "item") and getattr(value, "numel", lambda: 0)() == 1 and not hasattr(value, "to_local"):
            yield key, float(value.item())


def gradient_rows(model: Any, optimizer: Any) -> Iterator[tuple[Any, ...]]:
    """Columns of `gradients` for every parameter that the optimizer trains.

    (parameter, size, precision, norm, elements, part, parts, None)
    """
    if model_hash.is_flat(model):
        return
    trained = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    for name, parameter in model_hash.unwrap(model).named_parameters():
        if parameter.requires_grad and id(parameter) in trained:
            yield (name, *_row(parameter.grad))


def _row(gradient: Any) -> tuple[Any, ...]:
    if gradient is None:
        return 0, "", None, [], 0, 1, None
    torch = sys.modules["torch"]
    with torch.no_grad():
        shard = share(gradient)
        plain = shard.local
        plain = plain.to_dense() if plain.layout is not torch.strided else plain
        plain = torch.view_as_real(plain) if plain.is_complex() else plain
        flat = plain.reshape(-1)
        size = int(flat.numel())
        precision = str(gradient.dtype).removeprefix("torch.")
        if size == 0:
            return 0, precision, 0.0, [], shard.part, shard.parts, None
        wide = flat.float() if flat.element_size() < 4 else flat
        norm = float(torch.linalg.vector_norm(wide))
        elements = flat[:: max(1, -(-size // ELEMENTS))].double().tolist()
    return size, precision, norm, elements, shard.part, shard.parts, None
