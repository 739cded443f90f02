"""When are a step's gradients as the optimizer gets them, and in which precision were they made?

Once in a launch (`later_gradients` looks at later ones): just before they are clipped, if torch clips them, since a clipped gradient has
lost its length; else
when the first optimizer of the watched model begins its step.  By then whoever averages over ranks has done so, be it
DistributedDataParallel, a loop of all-reduces or a gradient accumulated over several passes, and a GradScaler has taken its factor off.

| what is touched, until the first step | what for |
|---|---|
| a hook before every optimizer's step | the moment; the optimizer, whose state is hashed later |
| `torch.nn.utils.clip_grad._clip_grads_with_norm_` | the moment before clipping |
| `torch.autocast.__enter__` | gradients of float32 parameters may be made in less |

Of a sharded parameter (FSDP2) each rank tells its part, and readers add them up; no rank asks another.
Cannot see: gradients that are clipped otherwise before the step, or never lie in `.grad` (`gradients.from_update` helps there), and
the flat parameters of FSDP1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from assay.instruments.fingerprints import model_hash
from assay.instruments.fingerprints.gradient_sketch import of_model
from assay.instruments.hooks.optimizer_watch import OptimizerWatch

Tell = Callable[[Iterable[tuple[str, Any]], str | None], None]  # the named gradients, and their precision if it is not their type's


class FirstGradients:
    """Waits for the first step of an optimizer that trains the model, tells its gradients, and goes away."""

    def __init__(self, torch: Any, model: Any, tell: Tell, met: Callable[[Any], object]) -> None:
        self._torch, self._model, self._tell, self._met = torch, model, tell, met
        self.told = False
        self.over = False  # nothing is waited for any more
        self._less = self._autocast()  # the model may be watched from inside of it
        self._steps, self._calls = OptimizerWatch(torch, model), OptimizerWatch(torch, model)
        self._steps.watch_steps(self._stepping)
        self._calls.watch_calls(torch.nn.utils.clip_grad, "_clip_grads_with_norm_", self._clipping)
        self._calls.watch_calls(torch.amp.autocast_mode.autocast, "__enter__", self._casting)

    def leave(self) -> None:
        """Take everything out again."""
        self.over = True
        self._calls.leave()
        self._steps.leave()

    def tell(self) -> None:
        """Now, once."""
        if not self.told:
            self.told = True
            self._tell(of_model(self._model), self._precision())

    def _stepping(self, optimizer: Any, _: Any, __: Any) -> None:
        if self.over or self._torch.compiler.is_compiling() or not self._steps.trained_by(optimizer):
            return
        self.over = True  # torch is going through the hooks: this one is taken out later
        self._calls.leave()
        self.tell()
        self._met(optimizer)

    def _clipping(self, parameters: Any, *_: Any, **__: Any) -> None:
        if not self.told and self._steps.trains([parameters] if hasattr(parameters, "grad") else parameters):
            self.tell()

    def _casting(self, autocast: Any) -> None:
        if getattr(autocast, "_enabled", False):
            self._less = str(getattr(autocast, "fast_dtype", "")).removeprefix("torch.") or None

    def _autocast(self) -> str | None:
        """The precision of an autocast that this is inside of."""
        device = model_hash.device_of(self._model) or "cpu"
        if device not in ("cpu", "cuda") or not self._torch.is_autocast_enabled(device):
            return None
        return str(self._torch.get_autocast_dtype(device)).removeprefix("torch.")

    def _precision(self) -> str | None:
        less = self._less or model_hash.computed_in(self._model)
        if less is not None:
            return less
        return "tf32" if model_hash.device_of(self._model) == "cuda" and self._shortens() else None

    def _shortens(self) -> bool:
        """Whether products of float32 numbers are made in TF32 here."""
        convolves = any("Conv" in type(module).__name__ for module in self._model.modules())
        return bool(self._torch.backends.cuda.matmul.allow_tf32 or (convolves and self._torch.backends.cudnn.allow_tf32))


def wait_for(model: Any, tell: Tell, met: Callable[[Any], object]) -> FirstGradients | None:
    """Begin to wait; None without torch."""
    torch = sys.modules.get("torch")
    return None if torch is None or not hasattr(torch, "optim") else FirstGradients(torch, model, tell, met)
