"""How does a user of Lightning, transformers or accelerate follow a training in the tracker that it has already, in one line?

    Trainer(callbacks=[fireassay.callbacks.lightning()], logger=...)            # PyTorch Lightning
    fireassay.callbacks.trainer(trainer)                                        # transformers: after trainer = Trainer(...)
    accelerator = fireassay.callbacks.accelerate(Accelerator(log_with="..."))   # accelerate

The tracker gets `assay_provisional/step_time_s`, `data_wait_s`, `exposed_communication_s` (in a launch by `assay run`, whose hooks see it) and
`items_per_s_of_this_rank`: medians over the steps since the last log, of one rank of one launch, without an interval, so nothing to quote.
The verdict with its intervals is made when the record is sealed: `assay export latest --to TRACKER` sends it.
The frameworks are imported by the call; `import fireassay` needs none of them.
"""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = ["accelerate", "lightning", "trainer"]
T = TypeVar("T")


def lightning() -> Any:
    """A callback for `Trainer(callbacks=[...])` of PyTorch Lightning: its loggers get step numbers every `log_every_n_steps`.

    Raises:
        ImportError: neither lightning nor pytorch_lightning is installed.
    """
    from fireassay.instruments.callbacks.lightning import AssayCallback

    return AssayCallback()


def trainer(trainer: T, /) -> T:
    """The same Trainer of transformers, whose trackers (`report_to`) get step numbers with each logged loss.

    Raises:
        ImportError: transformers is not installed.
    """
    from fireassay.instruments.callbacks.hf import followed

    return followed(trainer)


def accelerate(accelerator: T, /) -> T:
    """The same Accelerator, whose trackers (`log_with`) get step numbers with every `accelerator.log`."""
    from fireassay.instruments.callbacks.accelerate import measured

    return measured(accelerator)
