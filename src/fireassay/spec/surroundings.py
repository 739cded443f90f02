"""Does everything that the experiment names exist: its script, and the plug-ins for runner, launcher and faults?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fireassay import catalog
from fireassay.errors import Problem
from fireassay.spec.explain import closest, did_you_mean, shown
from fireassay.spec.rules.evaluation import scores_answers
from fireassay.spec.rules.quality import unfit

MOST_FILES_COMPARED = 5000
_ENGINES = ("python", "python3", "torchrun", "accelerate", "deepspeed", "srun", "mpirun")


def missing_around(data: Mapping[str, Any], folder: Path) -> tuple[Problem, ...]:
    """Files and plug-ins that the experiment names but that do not exist. Wrong types are reported elsewhere.

    Args:
        data: the experiment as nested mappings, possibly invalid.
        folder: base of the script's path.
    """
    return (*_missing_script(data, folder), *_missing_plug_ins(data))


def _missing_plug_ins(data: Mapping[str, Any]) -> Iterator[Problem]:
    named: list[tuple[str, str, object]] = [
        ("workload.runner", "runners", _at(data, "workload", "runner")),
        ("launcher.kind", "launchers", _at(data, "launcher", "kind")),
    ]
    faults = data.get("faults")
    for index, fault in enumerate(faults if isinstance(faults, list | tuple) else ()):
        if isinstance(fault, Mapping):
            named.append((f"faults[{index}].kind", "faults", fault.get("kind")))
    named += [*_of_serving(data), *_of_evaluation(data)]
    yield from _scores(data)
    for where, package, name in named:
        known = (*catalog.names(package), *catalog.third_party(package))
        if known and isinstance(name, str) and name not in known:
            allowed = f"one of {', '.join(known)}"
            yield Problem(where=where, found=shown(name), allowed=allowed, fix=did_you_mean(name, known))


def _of_serving(data: Mapping[str, Any]) -> Iterator[tuple[str, str, object]]:
    yield "serving.task", "traffic.tasks", _at(data, "serving", "task")
    targets = _at(data, "serving", "targets")
    for index, target in enumerate(targets if isinstance(targets, list | tuple) else ()):
        if isinstance(target, Mapping):
            yield f"serving.targets[{index}].backend", "traffic.backends", target.get("backend")


def _of_evaluation(data: Mapping[str, Any]) -> Iterator[tuple[str, str, object]]:
    if extractor := _at(data, "evaluation", "extractor"):
        yield "evaluation.extractor", "quality.scoring.extractors", extractor
    task = _at(data, "evaluation", "task")
    if isinstance(task, str) and task and not task.endswith(".toml"):
        yield "evaluation.task", "quality.tasks", task


def _scores(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Files hold texts; of a task only its file says what it gives, so a score has but to exist here."""
    metrics = _at(data, "evaluation", "metrics")
    for index, name in enumerate(metrics if isinstance(metrics, list | tuple) else ()):
        exists = name in (*catalog.names("quality.scoring.metrics"), *catalog.third_party("quality.scoring.metrics"))
        if isinstance(name, str) and (scores_answers(data) or not exists):
            yield from unfit(f"evaluation.metrics[{index}]", name, "generation" if scores_answers(data) else "loglikelihood")


def _missing_script(data: Mapping[str, Any], folder: Path) -> Iterator[Problem]:
    script = _at(data, "workload", "script")
    if not isinstance(script, str) or not script or "\0" in script:
        return
    if _at(data, "workload", "runner") in (
        "command",
        "function",
        "serving",
        "collectives",
        "simulated",
        "network",
        "answers",
        "evaluation",
    ):
        return  # a program on the PATH, a module, an address, or nothing: checked by its runner
    path = folder / _at_home(script)
    # A replay reads a folder; everything else starts a file.
    wants_file = _at(data, "workload", "runner") != "replay"
    if path.is_file() or (path.is_dir() and not wants_file):
        return
    if path.is_dir():
        yield _script_problem(f"{shown(script)}, a folder", folder, _a_file_inside(path, script))
    else:
        yield _script_problem(f"{shown(script)}, which does not exist", folder, _similar(path, folder, script))


def _at_home(script: str) -> Path:
    try:
        return Path(script).expanduser()
    except RuntimeError:  # ~nobody
        return Path(script)


def _script_problem(state: str, folder: Path, remedy: str) -> Problem:
    where_to = f"the folder {shown(str(folder))}" if str(folder) not in ("", ".") else "this folder"
    return Problem(where="workload.script", found=state, allowed=f"a file, relative to {where_to}", fix=remedy)


def _a_file_inside(path: Path, script: str) -> str:
    inside = sorted(file.name for file in path.glob("*.py"))
    return f"Did you mean {Path(script) / inside[0]}?" if inside else ""


def _similar(path: Path, folder: Path, script: str) -> str:
    if Path(script).name in _ENGINES:
        return f"Leave out {script}: assay starts the script itself, with the requested number of workers."
    if not path.parent.is_dir():
        return f"There is no folder {shown(str(path.parent))}."
    names = [file.name for _, file in zip(range(MOST_FILES_COMPARED), path.parent.iterdir(), strict=False)]
    match = closest(path.name, names)
    return f"Did you mean {Path(script).parent / match}?" if match else ""


def _at(data: Mapping[str, Any], section: str, name: str) -> object:
    inner = data.get(section)
    return inner.get(name) if isinstance(inner, Mapping) else None
