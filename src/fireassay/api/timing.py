"""How long does a function take?  And how does timing a command or a function become a record, for `assay time` too?

The function must be importable by name in a fresh process, and its arguments must be JSON: nothing is ever pickled.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fireassay.api import torch_measurements
from fireassay.api.experiment_run import Progress
from fireassay.api.interim_analysis import advice
from fireassay.api.record import ROOT, Record
from fireassay.api.sides import Watch, side, unwatched
from fireassay.api.verdict import Absent, Estimate
from fireassay.errors import SpecError, WorkloadError, refuse
from fireassay.printable import printable
from fireassay.reports import fragments as html
from fireassay.reports.pages.timing import Summary, summary, text
from fireassay.runners.experiment import run
from fireassay.runners.experiment import run as runner
from fireassay.spec.experiment import Experiment
from fireassay.spec.flags.experiment import NAME_LENGTH
from fireassay.spec.load import from_mapping
from fireassay.spec.sections.workload import ROUNDS
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.types import Comparison


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
    function: Callable[..., object] | str | Any,
    *args: Any,
    launches: int = ROUNDS,
    round_s: float = 0.5,
    precision: float | None = None,
    warm_up: int = 1,
    device: str = "auto",
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
        function: "module:function", or a module-level function; or a Measurement of torch.utils.benchmark, whose times become a record of
            one launch, or its Timer, which is run here for `round_s`.
        args, kwargs: passed to it; any JSON value.
        launches: number of fresh processes; with `precision`, before the first interim look.
        round_s: minimum seconds of counted calls per launch.
        precision: add launches until the interval is this narrow (0.02: 2 % on each side).
        warm_up: trials before the counted ones, in addition to those that calibrate the number of calls.
        device: whose queue each trial waits for: "auto" (every device that torch has initialised), "cpu" (none), "cuda", "cuda:1", "xpu",
            "mps". Time by device events is in the record as `trial_device_time`.
        root: folder for the record.
        name: record name; default: the function's.

    Raises:
        SpecError: a lambda, a function of the main script, or arguments that JSON cannot hold.
        WorkloadError: the function raised, only makes a coroutine or generator, or its process has no such device.
    """
    if torch_measurements.is_torchs(function):
        if args or kwargs or precision is not None or device != "auto":
            found = f"arguments, precision or device for a {type(function).__name__} of torch.utils.benchmark"
            raise refuse("fireassay.time", found, "none: it was timed, or is timed, as it was made", "Pass a function to choose them.")
        path, target = torch_measurements.record_of(function, root=Path(root), name=name, round_s=round_s)
        return _timed(Record(path), target)
    sections: dict[str, dict[str, Any]] = {
        "launches": {"per_configuration": launches, **({} if precision is None else {"precision": precision})},
        "timing": {"round_s": round_s, "warm_up": warm_up, "device": device},
    }
    spec, target = of_function(function, args, kwargs, name=name, sections=sections)
    (path,) = measure([(spec, target)], root=Path(root))
    return _timed(Record(path), target)


def _timed(record: Record, target: str) -> Timed:
    (configuration,) = record.configurations
    shown = text(summary(record._side.measured, record._judgement, target))
    return Timed(estimate=record.metric("trial_time", configuration=configuration), record=record, text=shown)


def of_function(
    function: Callable[..., object] | str,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] = MappingProxyType({}),
    *,
    name: str | None = None,
    sections: Mapping[str, Mapping[str, Any]],
) -> tuple[Experiment, str]:
    """The timing of a function as an experiment, and its label, "module:function". Raises SpecError as `time`."""
    target, folder = target_of(function)
    name = name or target.replace(":", ".")
    words = json_arguments(args, dict(kwargs))
    return experiment(target, words, runner="function", name=name, sections=sections, environment=search_path(folder)), target


# ---- the function's name -------------------------------------------------------------------------------------------


def target_of(function: Callable[..., object] | str) -> tuple[str, Path | None]:
    """ "module:function" and the folder to import its module from; None if every process finds it.

    Raises:
        SpecError: it cannot be imported by name in a fresh process.
    """
    if isinstance(function, str):
        return function, None
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if module is None or name is None:
        raise _refused(repr(function), "It has no name. Pass a function, or its name as a string.")
    if inspect.ismethod(function) and not isinstance(function.__self__, type):
        remedy = f"Write a function that creates the {type(function.__self__).__name__} and calls {name}."
        raise _refused(f"{name} of an object, which a fresh process does not have", remedy)
    if module == "__main__":
        raise _refused(f"{name} of the main script", _main_script_fix(name))
    if not all(part.isidentifier() for part in name.split(".")):
        raise _refused(f"{name} of {module}", "Define it with def step(): ... at the top level of a module.")
    _refuse_another_object(function, module, name)
    return f"{module}:{name}", _folder_of(module)


def _main_script_fix(name: str) -> str:
    if not name.isidentifier():  # a lambda or a nested function
        return "Define it with def step(): ... at the top level of a module next to the script."
    return f'Move it into a module next to the script, for example work.py, and write fireassay.time("work:{name}").'


def _refused(problem: str, remedy: str) -> SpecError:
    return refuse("fireassay.time", problem, "a function that a fresh process can import by name", remedy)


def _refuse_another_object(function: Callable[..., object], module: str, name: str) -> None:
    value: Any = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part, None)
    if value is not function and getattr(value, "__func__", value) is not getattr(function, "__func__", function):
        raise _refused(f"{name} of {module}, where this name refers to another object", "Time the object that the module defines.")


def _folder_of(module: str) -> Path | None:
    """The sys.path entry of the module's top-level package, unless every interpreter has it."""
    package = module.partition(".")[0]
    file = getattr(sys.modules.get(package), "__file__", None)
    if file is None:
        return None
    path = Path(file).resolve()
    folder = path.parent.parent if path.name == "__init__.py" else path.parent
    library = Path(inspect.getfile(os)).resolve().parent
    everywhere = folder.is_relative_to(library) or folder.name in ("site-packages", "dist-packages", "lib-dynload")
    return None if everywhere else folder


def search_path(folder: Path | None) -> dict[str, str]:
    """The environment in which a process finds modules of this folder."""
    if folder is None:
        return {}
    outer = os.environ.get("PYTHONPATH", "")
    return {"PYTHONPATH": os.pathsep.join(part for part in (str(folder), outer) if part)}


def json_arguments(args: Sequence[Any], kwargs: dict[str, Any]) -> list[str]:
    """The arguments as the words of a function's experiment. Raises SpecError: JSON cannot hold them unchanged."""
    where = "the arguments of fireassay.time"
    try:
        texts = [json.dumps(list(args), allow_nan=False), json.dumps(kwargs, allow_nan=False)]
    except (TypeError, ValueError) as error:
        fix = "Create the argument inside the function, from a name, a size or a seed."
        raise refuse(where, str(error), "JSON values", fix) from None
    if json.loads(texts[0]) != list(args) or json.loads(texts[1]) != kwargs:
        found = "a value that JSON changes (a tuple, or a key that is not a string)"
        raise refuse(where, found, "values that JSON reads back unchanged", "Use lists, and strings as keys.")
    return texts if kwargs else texts[:1] if args else []


# ---- the experiment and its records -----------------------------------------------------------------------


def experiment(
    script: str,
    arguments: Sequence[str],
    *,
    runner: str,
    name: str,
    sections: Mapping[str, Mapping[str, Any]],
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Experiment:
    """A timing as an experiment: one level, no gates."""
    workload = {"runner": runner, "script": script, "arguments": list(arguments), "work": "calls", "environment": dict(environment)}
    fixed = {"name": name[:NAME_LENGTH], "workload": workload, "factor": {"levels": [1]}, "gates": {"efficiency": "none"}}
    return from_mapping({**sections, **fixed})


def measure(sides: Sequence[tuple[Experiment, str]], *, root: Path, on_progress: Progress | None = None) -> list[Path]:
    """Run one labelled experiment, or several interleaved; returns the record paths."""
    judging = advice() if any(spec.launches.precision is not None for spec, _ in sides) else None
    if len(sides) == 1:
        return [runner.run(sides[0][0], root=root, on_progress=on_progress, advice=judging)]
    members = [run.Member(experiment=spec, folder=Path.cwd(), label=label) for spec, label in sides]
    return run.run_together(members, root=root, on_progress=on_progress, advice=judging)


def timed(paths: Sequence[Path], labels: Sequence[str], watch: Watch = unwatched) -> tuple[list[tuple[Summary, str]], Comparison | None]:
    """The judged timings with their records, and every one against the first; None for a single one.

    Raises:
        WorkloadError: a round failed: in a session, a command that fails after good rounds still ends as complete.
    """
    sides = [side(path, label, watch) for path, label in zip(paths, labels, strict=True)]
    for one in sides:
        launches = one.measured.table("launches")
        failures = launches.filter(launches["status"].is_in(["failed", "timeout"]))
        if failures.height:
            raise WorkloadError(f"{one.label}: round {failures['block'][0] + 1}: {failures['reason'][0]}")
    summaries = [(summary(one.measured, one.judgement, one.label), str(path)) for one, path in zip(sides, paths, strict=True)]
    return summaries, compare(sides, varying=("workload",), primary="trial_time") if len(sides) > 1 else None
