"""Do the running statistics of batch normalisation agree between ranks, and does anything synchronise them?

For each layer that keeps them: mean / sqrt(variance) and log(variance) / 2 per channel, both in standard deviations of the layer's
input. Up to 251 numbers are kept whole, more as signed sums (`gradient_sketch.sketch`), which preserve the norm of the difference between
two ranks.
DistributedDataParallel broadcasts rank 0's buffers at each forward pass unless `broadcast_buffers=False`; between two passes they
differ by one step of each rank's batch.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from fireassay.instruments.fingerprints import gradient_sketch, model_hash

MIN_VARIANCE = 1e-12  # of a variance


def statistics(model: Any) -> tuple[float, str] | None:
    """(count, sketch as JSON) of a model's statistics; None if it has none."""
    layers = [module for module in model_hash.unwrap(model).modules() if _keeps(module)]
    if not layers:
        return None
    torch = sys.modules["torch"]
    with torch.no_grad():
        parts = []
        for layer in layers:
            variance = layer.running_var.detach().double().clamp_min(MIN_VARIANCE)
            parts += [layer.running_mean.detach().double() / variance.sqrt(), 0.5 * variance.log()]
        values = torch.cat([part.reshape(-1) for part in parts])
        text = json.dumps([float(f"{x:.9g}") for x in gradient_sketch.sketch(values)], separators=(",", ":"))
    return float(values.numel()), text


def broadcast(model: Any) -> bool | None:
    """True if a DistributedDataParallel in or around the model broadcasts the buffers; None for a model without statistics.

    A wrapper around the model is searched among all objects of the process: once per launch, about 50 ms per million objects.
    """
    if not any(map(_keeps, model.modules())):
        return None
    model_id = id(model_hash.unwrap(model))
    wrappers = list(_wrappers(model.modules()))
    wrappers = wrappers or [
        wrapper for wrapper in _wrappers(gc.get_objects()) if any(id(module) == model_id for module in wrapper.modules())
    ]
    return bool(wrappers) and all(bool(getattr(wrapper, "broadcast_buffers", True)) for wrapper in wrappers)


def _wrappers(objects: Iterable[Any]) -> Iterator[Any]:
    return (item for item in objects if type(item).__name__ == "DistributedDataParallel")


def _keeps(module: Any) -> bool:
    buffers = (getattr(module, "running_mean", None), getattr(module, "running_var", None))
    return all(value is not None and hasattr(value, "numel") and not hasattr(value, "to_local") for value in buffers)
