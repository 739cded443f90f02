"""To which run of a tracker does a training log?  The record keeps it, and `assay export --to TRACKER` adds the verdict to that run.

An event `tracker_run` of rank 0 for each run, with this detail: `tracker` (mlflow, wandb, tensorboard), `run` (its id; of TensorBoard the
folder), `name`, `address` (without user, password and query), `project` and `entity` of W&B.
MLflow's active run and `wandb.run` are seen after the first step, and whenever a callback of `fireassay.callbacks` logs; of those callbacks'
trackers also TensorBoard's writer and Lightning's MLFlowLogger, which makes no run active.  Nothing is asked over the network.
Cannot tell: a run begun later in a script without a callback, a SummaryWriter in such a script, runs of other ranks or threads.
Standard library only: it runs in workers.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Final

KIND: Final = "tracker_run"
MOST: Final = 1_000  # characters of a text
Run = dict[str, str]


def seen(trackers: Iterable[Any] = ()) -> Iterator[Run]:
    """The active runs, and those of loggers, trackers or callbacks of a framework.  One that cannot be read is left out: the training goes on."""
    finds: list[Callable[[], Run | None]] = [_mlflow, _wandb, *(partial(_of, tracker) for tracker in trackers)]
    for find in finds:
        with suppress(Exception):  # of a library that is not ours
            if (run := find()) is not None and run["run"]:
                yield {name: value[:MOST] for name, value in run.items() if value}


def _mlflow() -> Run | None:
    active = getattr(sys.modules.get("mlflow"), "active_run", None)
    if active is None or (run := active()) is None:
        return None
    return _of_mlflow(run.info.run_id, run.info.run_name, sys.modules["mlflow"].get_tracking_uri())


def _of_mlflow(run: object, name: object, address: object) -> Run:
    return {"tracker": "mlflow", "run": str(run or ""), "name": str(name or ""), "address": plain(str(address or ""))}


def _wandb() -> Run | None:
    run = getattr(sys.modules.get("wandb"), "run", None)
    if run is None:
        return None
    about = {name: str(getattr(run, name, None) or "") for name in ("name", "project", "entity")}
    return {"tracker": "wandb", "run": str(run.id or ""), **about, "address": plain(str(run.settings.base_url or ""))}


def _of(tracker: Any) -> Run | None:
    """TensorBoard's writer in a logger (`experiment`), a tracker (`tracker`) or a callback (`tb_writer`), or Lightning's MLFlowLogger."""
    if hasattr(tracker, "_tracking_uri"):
        return _of_mlflow(getattr(tracker, "run_id", ""), getattr(tracker, "_run_name", ""), tracker._tracking_uri)
    for name in ("tb_writer", "experiment", "tracker"):
        writer = getattr(tracker, name, None)
        if hasattr(writer, "add_scalar") and (folder := getattr(writer, "log_dir", None)):
            path = os.path.abspath(folder)
            return {"tracker": "tensorboard", "run": path, "name": os.path.basename(path)}
    return None


def plain(address: str) -> str:
    """An address without user, password and query: `sqlite:///a.db` stays as it is."""
    return re.sub(r"//.*@", "//", address).partition("?")[0].partition("#")[0]
