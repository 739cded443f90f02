"""What in an experiment is allowed but probably not intended?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment

from fireassay.spec.rules.experiment import MIN_LAUNCHES


def notes(experiment: Experiment, today: date) -> tuple[str, ...]:
    """Warnings before the run about settings that are allowed but probably not intended."""
    return tuple(_notes(experiment, today))


def _notes(experiment: Experiment, today: date) -> Iterator[str]:
    launches = experiment.launches.per_configuration
    if experiment.evaluation is not None:
        pass  # intervals are over items, and one pass over them is a whole experiment
    elif experiment.launches.precision is not None:
        pass  # launches are added until there is an interval
    elif launches == 1:
        yield (
            "launches.per_configuration is 1: one launch gives no interval, so no gate can pass or fail. "
            f"Write at least {MIN_LAUNCHES}; 5 is the default."
        )
    elif launches < MIN_LAUNCHES:
        yield (
            f"launches.per_configuration is {launches}: intervals from so few launches carry no verdict. "
            f"Write at least {MIN_LAUNCHES}; 5 is the default."
        )
    # A file written by assay (--toml, a record's) holds the default too, which its user did not choose.
    if experiment.launches.precision is None and experiment.launches.at_most != type(experiment.launches).model_fields["at_most"].default:
        yield "launches.at_most is ignored without launches.precision: the number of launches is fixed."
    of_collectives = experiment.workload.runner == "collectives"
    quality_wanted = "correctness" in experiment.verdict.wanted
    if experiment.quality is None and quality_wanted and experiment.serving is None and not of_collectives:
        yield (
            "no quality metric is named, so nothing can be recommended: whether the result was preserved is not compared. "
            "Add [quality] with metric and margin (--quality-metric), and probe.examples(ids, scores) to the script."
        )
    if experiment.prices is not None and experiment.prices.as_of > today:
        yield f"prices.date is {experiment.prices.as_of}, after today ({today}): the price is used as written."
    if experiment.energy.modelled_watts_per_worker is not None and experiment.energy.source != "modelled":
        yield (f'energy.modelled_watts_per_worker is ignored, because energy.source is "{experiment.energy.source}" and not "modelled".')
    if experiment.serving is not None and experiment.evaluation is None and not experiment.serving.objectives.any:
        yield (
            "no objectives are given, so no load can pass or fail: latency and throughput are reported, goodput is not. "
            "Add [serving.objectives] with ttft_s and tpot_s (assay load: --slo ttft=0.2,tpot=0.05)."
        )
    if experiment.serving is not None and experiment.serving.prompts.answer_field and experiment.quality is None:
        yield (
            "reference answers are given without [quality]: no answer is scored. "
            "Add [quality] with metric and margin (assay load: --quality-metric exact_match --margin 0.01)."
        )
    yield from _open_ports(experiment)
    if experiment.scaling.base is None and min(experiment.factor.levels) > 1 and not of_collectives:
        yield f"no level has 1 worker: speedups are relative to {min(experiment.factor.levels)} workers."


def _open_ports(experiment: Experiment) -> Iterator[str]:
    """torch's stores listen on every interface without authentication."""
    launcher, workload = experiment.launcher, experiment.workload
    if launcher.nodes > 1 or launcher.hosts:
        yield (
            "the workers of several machines meet over ports that are open to the whole network, without authentication: use a "
            "network on which you trust every machine."
        )
    elif max(experiment.factor.levels) > 1 and not workload.attach and experiment.serving is None:
        yield (
            "workload.attach is false, so the port at which the workers of a PyTorch script meet is open to the network: "
            "only the attached hooks can restrict it to this machine."
        )
