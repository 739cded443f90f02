"""Does everything that the experiment names exist: its script, and the plug-ins for runner, launcher and faults?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fireassay import catalog
from fireassay.errors import Problem
from fireassay.spec.explain import closest, did_you_mean, shown
from fireassay.spec.rules.evaluation import scores_answers, unfit
from fireassay.spec.rules.partial import broken, right

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment

MAX_FILES_COMPARED = 5000
SCORES = "quality.scoring.metrics"
# runners of a program on the PATH, a module, an address, or nothing: checked by the runner
WITHOUT_SCRIPT = ("command", "function", "serving", "collectives", "simulated", "network", "answers", "evaluation")
_ENGINES = ("python", "python3", "torchrun", "accelerate", "deepspeed", "srun", "mpirun")


def missing_around(experiment: Experiment, folder: Path) -> Iterator[Problem]:
    """Files and plug-ins that the experiment names but that do not exist; scripts are relative to `folder`."""
    yield from broken((_missing_script,), experiment, folder)
    yield from broken((_missing_scores, _missing_plug_ins), experiment)


def _missing_plug_ins(experiment: Experiment) -> Iterator[Problem]:
    named = [
        ("workload.runner", "runners", experiment.workload.runner),
        ("launcher.kind", "launchers", experiment.launcher.kind),
        *((f"faults[{index}].kind", "faults", fault.kind) for index, fault in right(experiment.faults)),
    ]
    if (serving := experiment.serving) is not None:
        named.append(("serving.task", "traffic.tasks", serving.task))
        named += [(f"serving.targets[{index}].backend", "traffic.backends", target.backend) for index, target in right(serving.targets)]
    if (evaluation := experiment.evaluation) is not None:
        named += [("evaluation.extractor", "quality.scoring.extractors", evaluation.extractor)] if evaluation.extractor else []
        named += (
            [("evaluation.task", "quality.tasks", evaluation.task)] if evaluation.task and not evaluation.task.endswith(".toml") else []
        )
    for where, package, name in named:
        yield from broken((_missing_plug_in,), where, package, name)


def _missing_plug_in(where: str, package: str, name: str) -> Iterator[Problem]:
    known = (*catalog.names(package), *catalog.third_party(package))
    if known and name not in known:
        yield Problem(where, shown(name), f"one of {', '.join(known)}", did_you_mean(name, known))


def _missing_scores(experiment: Experiment) -> Iterator[Problem]:
    """Answer files hold texts. What a task yields is known only from its file, so here its scores need only exist."""
    metrics = experiment.evaluation.metrics if experiment.evaluation is not None else ()
    method = "generation" if scores_answers(experiment) else "loglikelihood"
    for index, name in right(metrics):
        if scores_answers(experiment) or name not in (*catalog.names(SCORES), *catalog.third_party(SCORES)):
            yield from unfit(f"evaluation.metrics[{index}]", name, method)


def _missing_script(experiment: Experiment, folder: Path) -> Iterator[Problem]:
    script, runner = experiment.workload.script, experiment.workload.runner
    if not script or "\0" in script or runner in WITHOUT_SCRIPT:
        return
    path = folder / _at_home(script)
    if path.is_file() or (path.is_dir() and runner == "replay"):  # a replay reads a folder
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
    return Problem("workload.script", state, f"a file, relative to {where_to}", remedy)


def _a_file_inside(path: Path, script: str) -> str:
    inside = sorted(file.name for file in path.glob("*.py"))
    return f"Did you mean {Path(script) / inside[0]}?" if inside else ""


def _similar(path: Path, folder: Path, script: str) -> str:
    if Path(script).name in _ENGINES:
        return f"Leave out {script}: assay starts the script itself, with the requested number of workers."
    if not path.parent.is_dir():
        return f"There is no folder {shown(str(path.parent))}."
    names = [file.name for _, file in zip(range(MAX_FILES_COMPARED), path.parent.iterdir(), strict=False)]
    match = closest(path.name, names)
    return f"Did you mean {Path(script).parent / match}?" if match else ""
