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

from assay.instruments.fingerprints import gradient_sketch, model_hash

SMALLEST = 1e-12  # of a variance


def statistics(model: Any) -> tuple[float, str] | None:
    """(count, sketch as JSON) of a model's statistics; None if it has none."""
    layers = [one for one in model_hash.unwrap(model).modules() if _keeps(one)]
    if not layers:
        return None
    torch = sys.modules["torch"]
    with torch.no_grad():
        parts = []
        for layer in layers:
            variance = layer.running_var.detach().double().clamp_min(SMALLEST)
            parts += [layer.running_mean.detach().double() / variance.sqrt(), 0.5 * variance.log()]
        every = torch.cat([part.reshape(-1) for part in parts])
        text = json.dumps([float(f"{x:.9g}") for x in gradient_sketch.sketch(every)], separators=(",", ":"))
    return float(every.numel()), text


def broadcast(model: Any) -> bool | None:
    """Whether DistributedDataParallel, in the model or around it, broadcasts the buffers; None for a model without statistics.

    A wrapper around the model is searched for among all objects of the process: once per launch, some 50 ms per million objects.
    """
    if not any(map(_keeps, model.modules())):
        return None
    own = id(model_hash.unwrap(model))
    found = list(_wrappers(model.modules()))
    found = found or [one for one in _wrappers(gc.get_objects()) if any(id(module) == own for module in one.modules())]
    return bool(found) and all(bool(getattr(one, "broadcast_buffers", True)) for one in found)


def _wrappers(objects: Iterable[Any]) -> Iterator[Any]:
    return (one for one in objects if type(one).__name__ == "DistributedDataParallel")


def _keeps(module: Any) -> bool:
    own = (getattr(module, "running_mean", None), getattr(module, "running_var", None))
    return all(one is not None and hasattr(one, "numel") and not hasattr(one, "to_local") for one in own)
