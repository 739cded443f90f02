"""When does a step's gradient equal what the optimizer gets, and in which precision was it computed?

Recorded once per launch (`later_gradients` covers later steps): just before clipping, if torch clips, since clipping destroys the
norm; else when the first optimizer of the watched model begins its step. By then any averaging over ranks is done, be it by
DistributedDataParallel, a loop of all-reduces or accumulation over several passes, and a GradScaler has removed its factor.

| hooked until the first step | why |
|---|---|
| a hook before every optimizer's step | the time; the optimizer, whose state is hashed later |
| `torch.nn.utils.clip_grad._clip_grads_with_norm_` | the time just before clipping |
| `torch.autocast.__enter__` | gradients of float32 parameters may be computed in lower precision |

For a sharded parameter (FSDP2) each rank records its part, and readers add them up; no communication is needed.
Cannot see: gradients clipped otherwise before the step, or never in `.grad` (use `gradient_sketch.from_update`), and the flat
parameters of FSDP1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from fireassay.instruments.fingerprints import model_hash
from fireassay.instruments.fingerprints.gradient_sketch import of_model
from fireassay.instruments.hooks.optimizer_watch import OptimizerWatch

Record = Callable[[Iterable[tuple[str, Any]], str | None], None]  # the named gradients, and their precision if it is not their type's


class FirstGradients:
    """Waits for the first step of an optimizer that trains the model, records its gradients, and removes itself."""

    def __init__(self, torch: Any, model: Any, record: Record, on_optimizer: Callable[[Any], object]) -> None:
        self._torch, self._model, self._record, self._on_optimizer = torch, model, record, on_optimizer
        self.recorded = False
        self.over = False  # no longer waiting
        self._less = self._autocast()  # the model may be watched from inside an autocast
        self._steps, self._calls = OptimizerWatch(torch, model), OptimizerWatch(torch, model)
        self._steps.watch_steps(self._stepping)
        self._calls.watch_calls(torch.nn.utils.clip_grad, "_clip_grads_with_norm_", self._clipping)
        self._calls.watch_calls(torch.amp.autocast_mode.autocast, "__enter__", self._casting)

    def leave(self) -> None:
        """Remove all hooks."""
        self.over = True
        self._calls.leave()
        self._steps.leave()

    def record(self) -> None:
        """Record the gradients now, once."""
        if not self.recorded:
            self.recorded = True
            self._record(of_model(self._model), self._precision())

    def _stepping(self, optimizer: Any, _: Any, __: Any) -> None:
        if self.over or self._torch.compiler.is_compiling() or not self._steps.trained_by(optimizer):
            return
        self.over = True  # torch is iterating over the hooks: this one is removed later
        self._calls.leave()
        self.record()
        self._on_optimizer(optimizer)

    def _clipping(self, parameters: Any, *_: Any, **__: Any) -> None:
        if not self.recorded and self._steps.trains([parameters] if hasattr(parameters, "grad") else parameters):
            self.record()

    def _casting(self, autocast: Any) -> None:
        if getattr(autocast, "_enabled", False):
            self._less = str(getattr(autocast, "fast_dtype", "")).removeprefix("torch.") or None

    def _autocast(self) -> str | None:
        """The precision of the surrounding autocast."""
        device = model_hash.device_of(self._model) or "cpu"
        if device not in ("cpu", "cuda") or not self._torch.is_autocast_enabled(device):
            return None
        return str(self._torch.get_autocast_dtype(device)).removeprefix("torch.")

    def _precision(self) -> str | None:
        reduced = self._less or model_hash.computed_in(self._model)
        if reduced is not None:
            return reduced
        return "tf32" if model_hash.device_of(self._model) == "cuda" and self._shortens() else None

    def _shortens(self) -> bool:
        """True if float32 products use TF32 here."""
        convolves = any("Conv" in type(module).__name__ for module in self._model.modules())
        return bool(self._torch.backends.cuda.matmul.allow_tf32 or (convolves and self._torch.backends.cudnn.allow_tf32))


def wait_for(model: Any, record: Record, on_optimizer: Callable[[Any], object]) -> FirstGradients | None:
    """Start waiting; None without torch."""
    torch = sys.modules.get("torch")
    return None if torch is None or not hasattr(torch, "optim") else FirstGradients(torch, model, record, on_optimizer)
