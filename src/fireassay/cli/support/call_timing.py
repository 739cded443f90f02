"""How does timing a command or a function become a record and a result?

Shared by `assay time` and `fireassay.time`.  The function must be importable by name in a fresh process, and its arguments must be
JSON: nothing is ever pickled.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fireassay.errors import SpecError, refuse

if TYPE_CHECKING:
    from fireassay.runners.experiment.context import Advice
    from fireassay.runners.experiment.progress import RunProgress
    from fireassay.spec.experiment import Experiment


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
    """The arguments as the words of a function's experiment.

    Raises:
        SpecError: JSON cannot hold them unchanged.
    """
    try:
        texts = [json.dumps(list(args), allow_nan=False), json.dumps(kwargs, allow_nan=False)]
    except (TypeError, ValueError) as error:
        raise refuse(
            "the arguments of fireassay.time",
            str(error),
            "JSON values",
            "Create the argument inside the function, from a name, a size or a seed.",
        ) from None
    if json.loads(texts[0]) != list(args) or json.loads(texts[1]) != kwargs:
        raise refuse(
            "the arguments of fireassay.time",
            "a value that JSON changes (a tuple, or a key that is not a string)",
            "values that JSON reads back unchanged",
            "Use lists, and strings as keys.",
        )
    return texts if kwargs else texts[:1] if args else []


# ---- the experiment, its record, its judgement -----------------------------------------------------------------------


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
    from fireassay.spec.flags.experiment import NAME_LENGTH
    from fireassay.spec.load import from_mapping

    workload = {"runner": runner, "script": script, "arguments": list(arguments), "work": "calls", "environment": dict(environment)}
    fixed = {"name": name[:NAME_LENGTH], "workload": workload, "factor": {"levels": [1]}, "gates": {"efficiency": "none"}}
    return from_mapping({**sections, **fixed})


def measure(arms: Sequence[tuple[Experiment, str]], *, root: Path, on_progress: Callable[[RunProgress], None] | None = None) -> list[Path]:
    """Run one experiment, or several interleaved; returns the record paths."""
    from fireassay.runners.experiment.run import run
    from fireassay.runners.experiment.session import Member, run_together

    advice = _advice(arms)
    if len(arms) == 1:
        return [run(arms[0][0], root=root, on_progress=on_progress, advice=advice)]
    sides = [Member(experiment=spec, folder=Path.cwd(), label=label) for spec, label in arms]
    return run_together(sides, root=root, on_progress=on_progress, advice=advice)


def _advice(sides: Sequence[tuple[Experiment, str]]) -> Advice | None:
    if all(spec.launches.precision is None for spec, _ in sides):
        return None
    from fireassay.cli.support.interim_analysis import advice

    return advice()
