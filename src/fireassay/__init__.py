"""Fireassay: the measuring instrument for distributed AI.

    from fireassay import probe                       # in your training script
    from fireassay import Experiment, load, run, open_record, judge

Names are imported on first use: `import fireassay` itself loads nothing heavy.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # type checkers assume true; importing `typing` takes a third of the interpreter's start-up time
if TYPE_CHECKING:
    from typing import Any

    from fireassay.cli.support.call_timing import time as time
    from fireassay.cli.support.experiment_run import run as run
    from fireassay.instruments import probe as probe
    from fireassay.record.reader import open_record as open_record
    from fireassay.spec.experiment import Experiment as Experiment
    from fireassay.spec.load import load as load
    from fireassay.verdict.judge import judge as judge

__version__ = "0.4.0"

_HOMES = {
    "probe": ("fireassay.instruments.probe", None),
    "Experiment": ("fireassay.spec.experiment", "Experiment"),
    "load": ("fireassay.spec.load", "load"),
    "run": ("fireassay.cli.support.experiment_run", "run"),
    "open_record": ("fireassay.record.reader", "open_record"),
    "judge": ("fireassay.verdict.judge", "judge"),
    "time": ("fireassay.cli.support.call_timing", "time"),
}
__all__ = ["Experiment", "__version__", "judge", "load", "open_record", "probe", "run", "time"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fireassay' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    home = importlib.import_module(module)
    return home if attribute is None else getattr(home, attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
