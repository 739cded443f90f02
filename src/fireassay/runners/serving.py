"""How is a load put on serving engines?  By the plan's launches in order (`fireassay.runners.experiment.launch_loop`), each metered.

A launch is one load on one engine: its schedule is generated first, then client processes send it (`fireassay.runners.load.load`).
Engines that the experiment starts live as long as it specifies (`fireassay.runners.load.engines`).
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from fireassay import catalog
from fireassay.errors import EnvironmentLacks, Problem, refuse, refuse_any
from fireassay.launchers.support.base import Launcher
from fireassay.record.machine import absent
from fireassay.runners.experiment import launch_loop
from fireassay.runners.experiment.context import Job, Made, Metered, Outcome, RunContext, Runner
from fireassay.runners.launching.node_meters import NodeMeters
from fireassay.runners.load.engines import Engines, check_faults, check_reachable, self_description
from fireassay.runners.load.load import LoadRun, check_plug_ins
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import configurations, targets_of
from fireassay.spec.sections.serving import Serving
from fireassay.traffic.arrivals import make, schedule
from fireassay.traffic.prompts.make import prompts_of
from fireassay.units import NS_PER_S


def check(experiment: Experiment, folder: Path) -> None:
    """Check that the experiment can start.

    Raises:
        SpecError: a file that it names is missing.
        EnvironmentLacks: an engine does not respond, a dialect does not exist, or an API key's variable is not set.
    """
    serving = experiment.serving
    if serving is None:
        raise refuse(
            "serving",
            "nothing",
            'a table [serving] with workload.runner = "serving"',
            "Add [serving] with concurrency = [1, 8] or rate = [5.0], or use: assay load URL --concurrency 1,8",
        )
    launcher: Launcher = catalog.load("launchers", experiment.launcher.kind)
    if launcher.allocate is not None:
        launcher.check(experiment)
    check_plug_ins(serving.task, targets_of(serving))
    check_files(experiment, folder)
    _keys_are_set(serving)
    check_faults(experiment)
    check_reachable(experiment)


def check_files(experiment: Experiment, folder: Path) -> None:
    """Read every file that the load will read, as its launches will.

    Raises:
        SpecError: one is missing or holds something else.
    """
    serving = experiment.serving
    assert serving is not None
    refuse_any(_missing_files(serving, folder), "the load")
    if not _named(serving) or experiment.evaluation is not None:  # an evaluation reads its items by its tasks
        return
    cluster = experiment.quality.cluster if experiment.quality is not None else ""
    scenarios = {configuration.scenario: configuration for configuration in configurations(experiment)}
    for configuration in scenarios.values():
        make.build(serving, configuration, experiment.launches.seed, 1, folder)
        prompts_of(serving, configuration, folder, experiment.launches.seed, cluster=cluster)


def as_replayed(experiment: Experiment, folder: Path) -> Experiment:
    """The experiment with the length of its trace, for a plan's time, where that ends before the load."""
    serving = experiment.serving
    if serving is None or serving.arrivals.process != "trace":
        return experiment
    arrivals = serving.arrivals
    load = make.build(serving, configurations(experiment)[0], experiment.launches.seed, 1, folder)
    due_ns = load.due_ns[load.phase != schedule.COLD]
    if (due_ns < 0).any():  # due after an answer
        return experiment
    seconds = max(0.0, float(due_ns.max()) / NS_PER_S - arrivals.warm_up_s)
    shorter = arrivals.model_copy(update={"duration_s": min(arrivals.duration_s, seconds)})
    return experiment.model_copy(update={"serving": serving.model_copy(update={"arrivals": shorter})})


def _named(serving: Serving) -> dict[str, str]:
    """The files that determine the requests, by key."""
    named = {"serving.tokenizer": serving.tokenizer, "serving.arrivals.trace": serving.arrivals.trace}
    if serving.prompts.source != "synthetic":
        named["serving.prompts.source"] = serving.prompts.source
    return {key: text for key, text in named.items() if text}


def digests(serving: Serving, folder: Path) -> dict[str, str]:
    """SHA-256 of these files, since equal paths with different contents are different loads."""
    digest_by_key = {}
    for key, text in _named(serving).items():
        path = folder / Path(text).expanduser()
        file = path / "tokenizer.json" if path.is_dir() else path
        if file.is_file():
            with file.open("rb") as opened:
                digest_by_key[key] = hashlib.file_digest(opened, "sha256").hexdigest()
    return digest_by_key


def _missing_files(serving: Serving, folder: Path) -> list[Problem]:
    return [
        Problem(
            where,
            f"{text!r}, which does not exist",
            "an existing path, relative to the experiment's file",
            f"The full path is {(folder / Path(text).expanduser()).resolve()}.",
        )
        for where, text in _named(serving).items()
        if not (folder / Path(text).expanduser()).exists()
    ]


def _keys_are_set(serving: Serving) -> None:
    for target in targets_of(serving):
        if target.api_key_env and not os.environ.get(target.api_key_env):
            raise EnvironmentLacks(
                f"the variable {target.api_key_env} (serving.targets, api_key_env of {target.name}) is not set. "
                "Set it in the environment; assay never stores its value."
            )


class Loads(Metered):
    """Makes the loads of an experiment."""

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        self.engines = Engines(context)
        self.hosts = None if context.agents is None else NodeMeters(context, context.agents, of_clients=True)
        assert context.experiment.serving is not None
        context.note_inputs(files=digests(context.experiment.serving, context.folder))

    def make(self, job: Job) -> Made:
        """Run one load, from its engine's start to its row."""
        load = LoadRun(self.context, job, self.engines, self.hosts)
        result = load.run(self.meter)
        if load.engine is not None:
            if not self.context.stop.count:  # a hanging engine would delay the stop
                self._describe(load.configuration.target, load.engine.urls)
            if job.planned.role == "fault":
                self.engines.end(load.configuration.target)
        return result

    def close(self) -> None:
        """Stop the engines that were started."""
        self.engines.close()

    def _describe(self, name: str, urls: tuple[str, ...]) -> None:
        """Store an engine's self-description in the record's environment, once."""
        engines = dict(((self.context.record.manifest["environment"] or {}).get("before") or {}).get("engines") or {})
        if name not in engines:
            engines[name] = self_description(urls) or absent("the engine does not describe itself")
            self.context.note_environment(engines=engines)


def run(context: RunContext) -> Outcome:
    """Make the remaining launches, and leave no engine running."""
    loads = Loads(context)
    try:
        return launch_loop.run(context, loads)
    finally:
        loads.close()


RUNNER = Runner(name="serving", check=check, run=run)
