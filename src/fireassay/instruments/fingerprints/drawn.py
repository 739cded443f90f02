"""Which random numbers may a loader's samples depend on?

The seed of its helper processes, or the states of the data set's own generators, or else, without helpers, of those of Python and NumPy;
torch's is hashed with the model. Reading a state does not change it.
Cannot tell: generators that are global to the script, or within transforms; whether they are used.
"""

from __future__ import annotations

import random
import sys
import zlib
from typing import Any, Final

from fireassay.instruments.fingerprints.model_hash import tensor_hash

OWN, HELPERS, GLOBAL = "own", "helpers", "global"
MAX_WRAPPED: Final = 4  # data sets within each other, such as a Subset


def drawn(iterator: Any) -> str:
    """What the samples of a DataLoader's iterator may be drawn from, and its state; "" if unknown."""
    dataset, helpers = getattr(iterator, "_dataset", None), getattr(iterator, "_num_workers", 0)
    if states := _own(dataset):
        return f"{OWN} {_digest(states)}"
    if helpers:
        seed = getattr(iterator, "_base_seed", None)
        return "" if seed is None else f"{HELPERS} {seed}"
    numpy = sys.modules.get("numpy.random")
    return f"{GLOBAL} {_digest([repr(random.getstate()), '' if numpy is None else repr(numpy.mtrand._rand.get_state()[1].tolist())])}"


def _own(dataset: Any) -> list[str]:
    states = []
    for _ in range(MAX_WRAPPED):
        states += [state for value in getattr(dataset, "__dict__", {}).values() if (state := _state(value))]
        dataset = getattr(dataset, "dataset", None)
    return states


def _state(value: Any) -> str:
    kind = type(value).__name__
    if isinstance(value, random.Random):
        return repr(value.getstate())
    if kind == "Generator" and hasattr(value, "get_state"):  # torch's
        return tensor_hash([("state", value.get_state())])
    if kind == "Generator" and hasattr(value, "bit_generator"):
        return repr({key: getattr(part, "tolist", lambda part=part: part)() for key, part in value.bit_generator.state["state"].items()})
    return repr(value.get_state()[1].tolist()) if kind == "RandomState" else ""


def _digest(states: list[str]) -> str:
    return f"{zlib.crc32(' '.join(states).encode()):08x}"
