"""Fireassay: the measuring instrument for distributed AI.

    from fireassay import probe                       # in your training script

    import fireassay                                  # in a program or a notebook
    record = fireassay.run("examples/digits.toml")    # or fireassay.open("latest")
    record.judge(), record.table("steps"), record.metrics, record.metric("speedup", workers=4), record.chart("speedup")

Names are imported on first use: `import fireassay` itself loads nothing heavy.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # type checkers assume true; importing `typing` takes a third of the interpreter's start-up time
if TYPE_CHECKING:
    from typing import Any

    from fireassay import callbacks as callbacks
    from fireassay import errors as errors
    from fireassay import probe as probe
    from fireassay import testing as testing
    from fireassay.api.chart import Chart as Chart
    from fireassay.api.comparison import Comparison as Comparison
    from fireassay.api.comparison import compare as compare
    from fireassay.api.jobs.studies import comm as comm
    from fireassay.api.jobs.studies import fleet as fleet
    from fireassay.api.jobs.studies import profile as profile
    from fireassay.api.jobs.studies import simulate as simulate
    from fireassay.api.measuring import evaluate as evaluate
    from fireassay.api.measuring import load as load
    from fireassay.api.measuring import read_experiment as read_experiment
    from fireassay.api.measuring import run as run
    from fireassay.api.measuring import score as score
    from fireassay.api.record import Record as Record
    from fireassay.api.record import open as open
    from fireassay.api.timing import time as time
    from fireassay.api.verdict import Absent as Absent
    from fireassay.api.verdict import Estimate as Estimate
    from fireassay.api.verdict import Verdict as Verdict
    from fireassay.spec.experiment import Experiment as Experiment

__version__ = "0.4.0"

_HOMES = {
    "Absent": "api.verdict",
    "Chart": "api.chart",
    "Comparison": "api.comparison",
    "Estimate": "api.verdict",
    "Experiment": "spec.experiment",
    "Record": "api.record",
    "Verdict": "api.verdict",
    "callbacks": "callbacks",
    "comm": "api.jobs.studies",
    "compare": "api.comparison",
    "errors": "errors",
    "evaluate": "api.measuring",
    "fleet": "api.jobs.studies",
    "load": "api.measuring",
    "open": "api.record",
    "probe": "probe",
    "profile": "api.jobs.studies",
    "read_experiment": "api.measuring",
    "run": "api.measuring",
    "score": "api.measuring",
    "simulate": "api.jobs.studies",
    "testing": "testing",
    "time": "api.timing",
}
__all__ = [
    "Absent",
    "Chart",
    "Comparison",
    "Estimate",
    "Experiment",
    "Record",
    "Verdict",
    "__version__",
    "callbacks",
    "comm",
    "compare",
    "errors",
    "evaluate",
    "fleet",
    "load",
    "open",
    "probe",
    "profile",
    "read_experiment",
    "run",
    "score",
    "simulate",
    "testing",
    "time",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fireassay' has no attribute {name!r}")
    try:
        home = importlib.import_module(f"fireassay.{_HOMES[name]}")
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("fireassay."):
            raise
        raise ImportError(f"fireassay.{name} needs the whole Fireassay, and only fireassay-probe is here: pip install fireassay") from error
    return home if home.__name__.endswith(f".{name}") else getattr(home, name)


def __dir__() -> list[str]:
    return sorted(__all__)
