"""How long does a function take, for a program?"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fireassay.api import html
from fireassay.api.estimate import Absent, Estimate
from fireassay.api.record import ROOT, Record
from fireassay.printable import printable
from fireassay.spec.sections.workload import ROUNDS


@dataclass(frozen=True, kw_only=True)
class Timed:
    """The result of `fireassay.time`."""

    estimate: Estimate | Absent  # seconds per call with interval, or why there is none
    record: Record  # the sealed record
    text: str  # as `assay time` shows it

    def __str__(self) -> str:
        return printable(self.text)

    def _repr_html_(self) -> str:
        return f"<pre>{html.text(self.text)}</pre>"


def time(
    function: Callable[..., object] | str,
    *args: Any,
    launches: int = ROUNDS,
    round_s: float = 0.5,
    precision: float | None = None,
    warm_up: int = 1,
    root: str | os.PathLike[str] = ROOT,
    name: str | None = None,
    **kwargs: Any,
) -> Timed:
    """Time a function in fresh processes, each of which imports it and runs a round of trials.

    >>> import fireassay, json
    >>> result = fireassay.time(json.dumps, [1, 2, 3], launches=3, round_s=0.01)
    >>> result.estimate.unit, result.estimate.n_launches
    ('s', 3)
    >>> result.record.tables
    ('launches', 'trials', ...)

    Args:
        function: "module:function", or a module-level function.
        args, kwargs: passed to it; any JSON value.
        launches: number of fresh processes; with `precision`, before the first interim look.
        round_s: minimum seconds of counted calls per launch.
        precision: add launches until the interval is this narrow (0.02: 2 % on each side).
        warm_up: trials before the counted ones, in addition to those that calibrate the number of calls.
        root: folder for the record.
        name: record name; default: the function's.

    Raises:
        SpecError: a lambda, a function of the main script, or arguments that JSON cannot hold.
        WorkloadError: the function raised.
    """
    from fireassay.cli.support.call_timing import experiment, json_arguments, measure, search_path, target_of
    from fireassay.reports.pages.timing import summary, text

    target, folder = target_of(function)
    words = json_arguments(args, kwargs)
    spec = experiment(
        target,
        words,
        runner="function",
        name=name or target.replace(":", "."),
        sections={
            "launches": {"per_configuration": launches, **({} if precision is None else {"precision": precision})},
            "timing": {"round_s": round_s, "warm_up": warm_up},
        },
        environment=search_path(folder),
    )
    (path,) = measure([(spec, target)], root=Path(root))
    record = Record(path)
    (configuration,) = record.configurations
    shown = text(summary(record._side.measured, record._judgement, target))
    return Timed(estimate=record.metric("trial_time", configuration=configuration), record=record, text=shown)
