"""assay: the measuring instrument for distributed AI.

    from assay import probe                       # in your training script
    from assay import Experiment, load, run, open_record, judge

Names are imported on first use: `import assay` itself loads nothing heavy.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # type checkers assume true; importing `typing` takes a third of the interpreter's start-up time
if TYPE_CHECKING:
    from typing import Any

    from assay.cli.support.call_timing import time as time
    from assay.cli.support.experiment_run import run as run
    from assay.instruments import probe as probe
    from assay.record.reader import open_record as open_record
    from assay.spec.experiment import Experiment as Experiment
    from assay.spec.load import load as load
    from assay.verdict.judge import judge as judge

__version__ = "0.4.0"

_HOMES = {
    "probe": ("assay.instruments.probe", None),
    "Experiment": ("assay.spec.experiment", "Experiment"),
    "load": ("assay.spec.load", "load"),
    "run": ("assay.cli.support.experiment_run", "run"),
    "open_record": ("assay.record.reader", "open_record"),
    "judge": ("assay.verdict.judge", "judge"),
    "time": ("assay.cli.support.call_timing", "time"),
}
__all__ = ["Experiment", "__version__", "judge", "load", "open_record", "probe", "run", "time"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    home = importlib.import_module(module)
    return home if attribute is None else getattr(home, attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
