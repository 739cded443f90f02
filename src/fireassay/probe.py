"""How does a training script report its steps to assay?

The public API for the user's script.

    from fireassay import probe

    with probe.start() as p:
        p.watch(model)                              # after wrapping it in DistributedDataParallel
        for epoch in range(epochs):
            for batch, ids in p.steps(loader, epoch=epoch):
                with p.phase("forward"):
                    loss = loss_of(model, batch)
                with p.phase("backward"):
                    loss.backward()
                with p.phase("optimizer"):
                    optimizer.step()
                p.samples(ids)
                p.log(loss=loss)

Outside a launch (no FIREASSAY_LAUNCH_DIR) `start` returns the `Probe` of `recorder.inactive`: its methods do nothing, and nothing is
imported. Inside a launch it returns the recording one of `recorder.recorder`. Neither touches a random number generator, synchronises
a GPU per step, or lets its own errors reach the training.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

from fireassay.instruments.recorder.inactive import Probe as Probe
from fireassay.instruments.recorder.singleton import started

if TYPE_CHECKING:
    from fireassay.instruments.recorder.recorder import Recorder


def start() -> Probe:
    """The probe of this process: recording inside a launch, inactive otherwise. Never raises."""
    probe = started()
    if probe.active or "fireassay.instruments.attach" in sys.modules:
        from fireassay.instruments import attach  # a script that marks its own steps takes precedence

        attach.mark(cast("Recorder", probe)) if probe.active else attach.detach()
    return probe


def examples(ids: Any, scores: Any, *, metric: str = "accuracy", cluster: Any = None) -> None:
    """`Probe.examples` for a script that marks nothing else: the hooks go on measuring its steps. Does nothing outside a launch."""
    started().examples(ids, scores, metric=metric, cluster=cluster)


def evaluate(step: int, score: Any, *, name: str = "accuracy", samples: float | None = None) -> None:
    """`Probe.evaluate` for a script that marks nothing else: the hooks go on measuring its steps. Does nothing outside a launch."""
    started().evaluate(step, score, name=name, samples=samples)


def __getattr__(name: str) -> Any:
    """Raises AttributeError; of a method of the probe it says how to come by one, as reports name them `probe.log` and `probe.steps`."""
    if not name.startswith("_") and hasattr(Probe, name):
        raise AttributeError(f"{name} is a method of a started probe: p = probe.start(), then p.{name}(...)")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
