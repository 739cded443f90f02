"""Which keys of an experiment contradict each other?

A rule sees the experiment, or what is known of it (`fireassay.spec.rules.partial`), so that contradictions are reported together with
wrong values.

What in an experiment is allowed but probably not intended?

Does everything that the experiment names exist: its script, and the plug-ins for runner, launcher and faults?
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from fireassay import catalog
from fireassay.errors import Problem
from fireassay.spec.explain import NOTHING, closest, did_you_mean, shown
from fireassay.spec.model import MAX_PLAIN_OBJECTIVE_S
from fireassay.spec.rules.collectives import COLLECTIVE_RULES, times_collectives
from fireassay.spec.rules.evaluation import EVALUATION_RULES, method_of_files, scores_answers, unfit
from fireassay.spec.rules.faults import fault_problems
from fireassay.spec.rules.partial import Demand, broken, repeated, right
from fireassay.spec.rules.program import PROGRAM_RULES
from fireassay.spec.rules.serving import ENGINE_RULES, LOAD_RULES, example_objective
from fireassay.spec.sections import target
from fireassay.spec.sections.carbon import carbon_is_known
from fireassay.spec.sections.costs import flops_say_enough
from fireassay.spec.sections.energy import meters_exist
from fireassay.spec.sections.prices import prices_add_up
from fireassay.spec.sections.workload import MODULE, file_of

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment

MIN_LAUNCHES = 3  # per configuration; gates give no verdict below it (same as fireassay.verdict.gates.gate)
DEVICE = re.compile(r"auto|cpu|mps|(cuda|xpu)(:\d{1,4})?")  # of torch
TRAININGS = ("training", "replay", "simulated", "program")  # runners whose records are judged as trainings


def contradictions(experiment: Experiment) -> Iterator[Problem]:
    """Every contradiction between the keys of an experiment, which may be known in part."""
    yield from broken(RULES, experiment)
    yield from broken((flops_say_enough,), experiment.flops)
    yield from broken((meters_exist,), experiment.energy)
    if experiment.carbon is not None:
        yield from broken((carbon_is_known,), experiment.carbon)
    if experiment.prices is not None:
        yield from broken((prices_add_up,), experiment.prices)
    yield from broken((*COLLECTIVE_RULES, *EVALUATION_RULES, *ENGINE_RULES, *PROGRAM_RULES), experiment)
    if experiment.serving is not None and experiment.serving.model_fields_set:
        yield from broken(LOAD_RULES, experiment.serving)
    yield from fault_problems(experiment)


def _of_a_load(experiment: Experiment) -> Iterator[Problem]:
    """Gates on latency and throughput are of requests."""
    for name in ("latency_cap", "throughput_floor"):
        if getattr(experiment.gates, name) is not None and experiment.serving is None:
            yield Problem(
                f"gates.{name}", "a table", "only for a load on engines", "Remove it; `assay load` has it, and a file with [serving]."
            )


def _levels(experiment: Experiment) -> tuple[int, ...]:
    """The given worker counts."""
    return experiment.factor.levels if "factor" in experiment.model_fields_set else ()


def _serves(experiment: Experiment) -> bool:
    return experiment.serving is not None or experiment.workload.runner == "serving"


def _starts_a_script(experiment: Experiment) -> bool:
    """Only a load on external engines and answers in files start no script, and only they have no factor."""
    return not _serves(experiment) and not scores_answers(experiment)


def _calibrates(experiment: Experiment) -> bool:
    return experiment.workload.calibrate_communication >= 1


def _is_hooked(experiment: Experiment) -> bool:
    return experiment.workload.runner == "training" and experiment.workload.attach is not False


def _levels_once(experiment: Experiment) -> Iterator[Problem]:
    lists = [("factor.levels", _levels(experiment))]
    lists += [(f"faults[{index}].levels", fault.levels) for index, fault in right(experiment.faults)]
    for where, values in lists:
        levels = [level for _, level in right(values)]
        if twice := repeated(levels):
            yield Problem(
                where, shown(levels), "each worker count once", f"{', '.join(map(str, twice))} occurs more than once: write it once."
            )


def _first_analysis_before_the_last(experiment: Experiment) -> Iterator[Problem]:
    launches = experiment.launches
    first, most = launches.per_configuration, launches.at_most
    if launches.adaptive and most < first:
        yield Problem(
            "launches.at_most",
            shown(most),
            f"at least launches.per_configuration, the launches before the first interim analysis: {first}",
            f"Set launches.at_most to {first} or more (--at-most), or start with fewer launches (--launches).",
        )


def _among_the_levels(experiment: Experiment) -> Iterator[Problem]:
    if not (levels := _levels(experiment)):
        return
    single = [("scaling.base", experiment.scaling.base), ("gates.required_workers", experiment.gates.required_workers)]
    for index, fault in right(experiment.faults):
        single += [(f"faults[{index}].levels[{position}]", level) for position, level in right(fault.levels)]
    for where, level in single:
        if level is not None and level >= 1 and level not in levels:
            yield Problem(
                where,
                shown(level),
                f"one of the levels {', '.join(map(str, levels))}",
                f"Add {level} to the levels, or choose one of them.",
            )


_ENDPOINT = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]+):(\d{1,5})")


def _nodes_find_each_other(experiment: Experiment) -> Iterator[Problem]:
    launcher = experiment.launcher
    nodes, rank = launcher.nodes, launcher.node_rank
    if nodes < 1:
        return
    if nodes > 1 and launcher.rendezvous_endpoint is None:
        fix = 'Add rendezvous_endpoint = "host:port", the same on every node.'
        yield Problem("launcher.rendezvous_endpoint", NOTHING, f"host:port if nodes = {nodes}", fix)
    if rank >= nodes:
        yield Problem("launcher.node_rank", shown(rank), f"a number below launcher.nodes = {nodes}", "Nodes are numbered from 0.")


def _is_endpoint(text: str) -> bool:
    match = _ENDPOINT.fullmatch(text)
    return match is not None and 1 <= int(match[1]) <= 65535


def _words_can_be_passed(experiment: Experiment) -> Iterator[Problem]:
    """The operating system cannot pass a null byte, or a variable with an equals sign in its name."""
    workload = experiment.workload
    words = [("workload.script", workload.script)]
    words += [(f"workload.arguments[{index}]", word) for index, word in right(workload.arguments)]
    words += [(f"workload.environment.{name}", value) for name, value in workload.environment.items()]
    for name in workload.environment:
        if not name or "=" in name or "\0" in name:
            yield Problem("workload.environment", shown(name), "a name without = and null bytes, not empty")
    for where, word in words:
        if "\0" in word:
            yield Problem(where, shown(word), "text without null bytes")


def _fork_is_no_other_measurement(experiment: Experiment) -> Iterator[Problem]:
    """Forked workers skip their imports, and are forks of one single-threaded process on this machine."""
    launcher = experiment.launcher
    if launcher.start != "fork":
        return
    keys = {
        "launcher.kind": (launcher.kind, ("local",), '"local"'),
        "launcher.nodes": (launcher.nodes, (1,), "1"),
        "launcher.python": (launcher.python, ("",), "none: workers are forks of assay's own Python,"),
        "launcher.threads_per_worker": (launcher.threads_per_worker, (1,), "1: a pool of threads does not survive a fork"),
        "launcher.pin": (launcher.pin, ("none",), '"none"'),
        "scaling.time": (experiment.scaling.time, ("auto", "step"), '"auto" or "step": whole launches include start-up'),
    }
    for where, (value, allowed, words) in keys.items():
        if value not in allowed:
            yield Problem(where, shown(value), f'{words} with launcher.start = "fork"', 'Or set launcher.start = "exec".')
    if experiment.profile is not None:
        yield Problem("profile", "a profile", 'none with launcher.start = "fork"', 'Set launcher.start = "exec".')


RULES = (
    Demand(
        "workload.script",
        lambda e: _starts_a_script(e) and e.workload.script == "" and not times_collectives(e),
        "text that is not empty",
        "Name the script to run.",
        found=NOTHING,
    ),
    Demand(
        "factor",
        lambda e: _starts_a_script(e) and "factor" not in e.model_fields_set,
        "a table with the keys name, levels",
        "Add [factor] with levels = [1, 2, 4].",
        found=NOTHING,
    ),
    _levels_once,
    _first_analysis_before_the_last,
    _among_the_levels,
    Demand(
        "gates.budget_usd",
        lambda e: e.gates.budget_usd is not None and e.prices is None,
        "a budget only together with [prices]",
        'Add [prices] with usd_per_worker_hour = ..., date = ..., source = "...".',
    ),
    _of_a_load,
    Demand(
        "energy.modelled_watts_per_worker",
        lambda e: e.energy.source == "modelled" and e.energy.modelled_watts_per_worker is None,
        'a number above 0 if energy.source = "modelled"',
        'Add modelled_watts_per_worker = ... below [energy], or write source = "auto".',
    ),
    Demand("target.goal", lambda e: e.target is not None and not all(map(target.readable, map(str, e.target.goal))), target.ALLOWED),
    Demand(
        "target",
        lambda e: e.target is not None and e.workload.runner not in TRAININGS,
        "only for trainings",
        "Remove [target]: of other runners nothing reports a score while it runs.",
        found="a target",
    ),
    # steps without synchronisation need the training hooks and at least two workers
    Demand(
        "workload.calibrate_communication",
        lambda e: _calibrates(e) and not _is_hooked(e),
        "0, since no training is hooked",
        'Keep workload.runner = "training" and workload.attach = true, or remove the key.',
    ),
    Demand(
        "workload.calibrate_communication",
        lambda e: _calibrates(e) and _is_hooked(e) and max(_levels(e), default=2) < 2,
        "0, since no level has 2 or more workers",
        "A single worker does not communicate: add a level, or remove the key.",
    ),
    # the coordinator of a training makes the copy, next to its record
    Demand(
        "workload.keep_folders",
        lambda e: e.workload.fresh_folder is not True and e.workload.keep_folders is True,
        "true only together with workload.fresh_folder",
        "Add workload.fresh_folder = true, or remove this key.",
    ),
    Demand(
        "workload.fresh_folder",
        lambda e: e.workload.fresh_folder is True and e.workload.runner != "training",
        "false, since no training script is launched",
        'Remove it: only workload.runner = "training" copies its folder.',
    ),
    Demand(
        "workload.fresh_folder",
        lambda e: e.workload.fresh_folder is True and e.workload.runner == "training" and (e.launcher.nodes > 1 or e.launcher.hosts),
        "false, since the workers are on several machines",
        "Name the folder by {launch} in workload.arguments or workload.environment instead.",
    ),
    Demand(
        "timing.device",
        lambda e: not DEVICE.fullmatch(str(e.timing.device)),
        "auto, cpu, cuda, cuda:N, xpu, xpu:N or mps",
        "auto waits for every device that torch has initialised.",
    ),
    Demand(
        "timing.device",
        lambda e: e.timing.device != "auto" and e.workload.runner != "function",
        "auto, since no function is timed in its process",
        "Remove it: a command's process ends only when its own work has.",
    ),
    Demand(
        "launcher.python",
        lambda e: e.launcher.python != "" and e.workload.runner != "training",
        "no value, since no training script is launched",
        "Remove it; a command names its own Python.",
    ),
    Demand(
        "workload.steps",
        lambda e: e.workload.steps is not None and e.workload.runner != "training",
        "no value, since no training script is launched",
        'Remove it: only a training (workload.runner = "training") has steps.',
    ),
    # a launch ended early has steps, but neither wall time nor cost of the whole job
    Demand(
        "gates.deadline_s",
        lambda e: e.workload.steps is not None and e.gates.deadline_s is not None,
        "no value together with workload.steps",
        "Launches end before the job is done, so a whole run is not measured: remove one of the two.",
    ),
    Demand(
        "gates.budget_usd",
        lambda e: e.workload.steps is not None and e.gates.budget_usd is not None,
        "no value together with workload.steps",
        "Launches end before the job is done, so a whole run is not measured: remove one of the two.",
    ),
    Demand(
        "verdict.only",
        lambda e: e.verdict.only and (_serves(e) or e.workload.runner not in TRAININGS),
        "no value, since no training is judged",
        "Remove it: other records are always judged in all of their dimensions.",
    ),
    _nodes_find_each_other,
    _fork_is_no_other_measurement,
    # what is decided is whether more workers pay
    Demand(
        "launches.budget_s",
        lambda e: e.launches.budget_s is not None and e.launches.precision is None and (_serves(e) or e.workload.runner not in TRAININGS),
        "no value, since no training is judged",
        "Remove it; launches.precision adds launches until the intervals are narrow.",
    ),
    Demand(
        "launcher.rendezvous_endpoint",
        lambda e: e.launcher.rendezvous_endpoint is not None and not _is_endpoint(str(e.launcher.rendezvous_endpoint)),
        "host:port with a port from 1 to 65535",
        'For example "node0:29400".',
    ),
    _words_can_be_passed,
)


# ---- allowed, but probably not intended ------------------------------------------------------------------------------


def notes(experiment: Experiment, today: date) -> tuple[str, ...]:
    """Warnings before the run about settings that are allowed but probably not intended."""
    return tuple(_notes(experiment, today))


def _notes(experiment: Experiment, today: date) -> Iterator[str]:
    launches = experiment.launches.per_configuration
    if experiment.evaluation is not None:
        pass  # intervals are over items, and one pass over them is a whole experiment
    elif experiment.launches.adaptive:
        pass  # launches are added until there is an interval
    elif launches == 1:
        yield (
            f"launches.per_configuration is 1: one launch gives no interval, so no gate can pass or fail. Write at least {MIN_LAUNCHES}."
        )
    elif launches < MIN_LAUNCHES:
        yield (f"launches.per_configuration is {launches}: intervals from so few launches carry no verdict. Write at least {MIN_LAUNCHES}.")
    # A file written by assay (--toml, a record's) holds the default too, which its user did not choose.
    if not experiment.launches.adaptive and experiment.launches.at_most != type(experiment.launches).model_fields["at_most"].default:
        yield "launches.at_most is ignored without launches.precision or launches.budget_s: the number of launches is fixed."
    of_collectives = experiment.workload.runner == "collectives"
    if experiment.quality is None and "correctness" in experiment.verdict.only:
        yield (
            "no quality metric is named, so nothing can be recommended: whether the result was preserved is not compared. "
            "Add [quality] with metric and margin (--quality-metric), and probe.examples(ids, scores) to the script."
        )
    if experiment.prices is not None and experiment.prices.as_of > today:
        yield f"prices.date is {experiment.prices.as_of}, after today ({today}): the price is used as written."
    if experiment.energy.modelled_watts_per_worker is not None and experiment.energy.source != "modelled":
        yield (f'energy.modelled_watts_per_worker is ignored, because energy.source is "{experiment.energy.source}" and not "modelled".')
    yield from _notes_of_load(experiment)
    yield from _open_ports(experiment)
    if experiment.scaling.base is None and min(experiment.factor.levels) > 1 and not of_collectives:
        yield f"no level has 1 worker: speedups are relative to {min(experiment.factor.levels)} workers."


def _notes_of_load(experiment: Experiment) -> Iterator[str]:
    serving = experiment.serving
    if serving is None:
        return
    for name in ("ttft_s", "ttft_visible_s", "tpot_s", "itl_s"):
        if (limit := getattr(serving.objectives, name)) is not None and limit > MAX_PLAIN_OBJECTIVE_S:
            yield f"serving.objectives.{name} is {limit:g} seconds. If milliseconds are meant, write {limit / 1000:g}."
    gates = experiment.gates
    if experiment.evaluation is None and not (serving.objectives.any or gates.latency_cap or gates.throughput_floor):
        flag = f"--slo {example_objective(serving)[1]}"
        yield f"no objectives are given: latency and throughput are reported, and nothing can pass or fail (assay load: {flag})."
    if serving.prompts.answer_field and experiment.quality is None:
        yield (
            "reference answers are given without [quality]: no answer is scored. "
            "Add [quality] with metric and margin (assay load: --quality-metric exact_match --margin 0.01)."
        )


def _open_ports(experiment: Experiment) -> Iterator[str]:
    """torch's stores listen on every interface without authentication."""
    launcher, workload = experiment.launcher, experiment.workload
    if launcher.nodes > 1 or (launcher.hosts and experiment.serving is None):
        yield (
            "the workers of several machines meet over ports that are open to the whole network, without authentication: use a "
            "network on which you trust every machine."
        )
    elif max(experiment.factor.levels) > 1 and not workload.attach and experiment.serving is None:
        yield (
            "workload.attach is false, so the port at which the workers of a PyTorch script meet is open to the network: "
            "only the attached hooks can restrict it to this machine."
        )


MAX_FILES_COMPARED = 5000
SCORES = "quality.scoring.metrics"
# runners of a program on the PATH, a module, an address, or nothing: checked by the runner
WITHOUT_SCRIPT = ("command", "program", "function", "serving", "collectives", "simulated", "network", "fleet", "answers", "evaluation")
_ENGINE = re.compile(r"python[0-9.]*|torchrun|accelerate|deepspeed|srun|mpirun")


def missing_around(experiment: Experiment, folder: Path) -> Iterator[Problem]:
    """Files and plug-ins that the experiment names but that do not exist; scripts are relative to `folder`."""
    yield from broken((_missing_script, missing_data), experiment, folder)
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
        named += (
            [("evaluation.extractor", "quality.scoring.extractors", evaluation.extractor)]
            if evaluation.extractor and not evaluation.extractor.startswith("regex:")
            else []
        )
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
    """Answer files hold texts, or name images. What a task yields is known only from its file, so here its scores need only exist."""
    metrics = experiment.evaluation.metrics if experiment.evaluation is not None else ()
    method = method_of_files(experiment) if scores_answers(experiment) else "loglikelihood"
    for index, name in right(metrics):
        if scores_answers(experiment) or name not in (*catalog.names(SCORES), *catalog.third_party(SCORES)):
            yield from unfit(f"evaluation.metrics[{index}]", name, method)


def _missing_script(experiment: Experiment, folder: Path) -> Iterator[Problem]:
    script, runner = experiment.workload.script, experiment.workload.runner
    if not script or "\0" in script or runner in WITHOUT_SCRIPT:
        return
    if script.startswith(MODULE) and experiment.launcher.python:  # the launch looks among that Python's modules
        return
    path = file_of(script, folder) if script.startswith(MODULE) else folder / _at_home(script)
    if _ENGINE.fullmatch(Path(script).name):
        yield _script_problem(f"{shown(script)}, which starts scripts", folder, _without(script))
        return
    if path.is_file() or (path.is_dir() and runner == "replay"):  # a replay reads a folder
        return
    if path.is_dir():
        yield _script_problem(f"{shown(script)}, a folder", folder, _a_file_inside(path, script))
    else:
        yield _script_problem(f"{shown(script)}, which does not exist", folder, _similar(path, folder, script))


def missing_data(experiment: Experiment, folder: Path) -> Iterator[Problem]:
    for index, text in right(experiment.data.paths if experiment.data is not None else ()):
        if "\0" in text or not (folder / _at_home(text)).exists():
            yield Problem(
                f"data.paths[{index}]", f"{shown(text)}, which does not exist", "a file or folder, relative to the experiment's file"
            )


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


def _without(engine: str) -> str:
    other = f" To run it with that Python: --python {engine} -- SCRIPT" if "/" in engine and "python" in Path(engine).name else ""
    return f"Leave out {engine}: assay starts the script itself, with the requested number of workers.{other}"


def _similar(path: Path, folder: Path, script: str) -> str:
    if not path.parent.is_dir():
        return f"There is no folder {shown(str(path.parent))}."
    names = [file.name for _, file in zip(range(MAX_FILES_COMPARED), path.parent.iterdir(), strict=False)]
    match = closest(path.name, names)
    return f"Did you mean {Path(script).parent / match}?" if match else ""
