"""How are loads named, and under which conditions were they measured?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fireassay.estimates.format import count, given, percent
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.requests import CLOSED
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import Configuration, targets_of
from fireassay.spec.sections.faults import Fault
from fireassay.spec.sections.serving import Serving, Target
from fireassay.verdict.phrases import launch_words

UNCHECKED: Final = "not checked (--no-verify-tls): nothing shows that the requested engine answered"


def unit_of(serving: Serving) -> str:
    """The unit of a load."""
    return "in flight" if serving.concurrency else "req/s"


def group_of(serving: Serving, configuration: Configuration) -> str:
    """Engine and scenario of a configuration, each only if there are several."""
    engine = [configuration.target] if len(targets_of(serving)) > 1 else []
    scenario = [configuration.scenario] if len(serving.scenarios) > 1 else []
    return ", ".join((*engine, *scenario))


def load_of(serving: Serving, configuration: Configuration) -> str:
    """The load alone: "8 in flight", "5 req/s", or the arrival process if it was not varied."""
    if configuration.load is None:
        return serving.arrivals.process.replace("_", " ")
    return f"{given(configuration.load)} {unit_of(serving)}"


def conditions(measured: RecordData) -> dict[str, str]:
    """The conditions without which no number of a load may be quoted."""
    experiment, manifest = measured.experiment, measured.manifest
    serving = experiment.serving
    assert serving is not None
    return {
        "Engines": "; ".join(_engine(target) for target in targets_of(serving)),
        "Model": f"{serving.model or 'not named'}; lengths by {serving.tokenizer or 'words, no tokenizer was given'}",
        "Task": f"{serving.task}, {'streamed' if serving.stream else 'not streamed'}, temperature {given(serving.temperature)}",
        "Scenarios": ", ".join(serving.scenarios),
        "Prompts": _prompts(serving),
        "Load": _load(serving),
        "Objectives": _objectives(serving),
        **({} if serving.client.verify_tls else {"Certificates": UNCHECKED}),
        "Clock": clock_of(serving),
        "Launches": f"{launch_words(measured)}, seed {experiment.launches.seed}",
        "Intervals": f"{percent(experiment.launches.confidence, 4)} confidence; the {measured.kind.unit} is the unit of analysis",
        "Prices": _prices(experiment),
        "Energy": experiment.energy.source,
        "Faults": "; ".join(_fault(fault) for fault in experiment.faults) or "none",
        "Record": f"{manifest.get('id', 'unnamed')}, {measured.state}, {measured.seal_words}",
        "Made": f"{manifest.get('created_utc', 'unknown time')} by assay {manifest.get('assay_version', '?')}",
    }


def _engine(target: Target) -> str:
    replicas = len(target.urls) or target.replicas
    how = "started by assay" if target.command else "already running"
    shared = f", balanced {target.balance.replace('_', ' ')}" if replicas > 1 else ""
    return f"{target.name}: {target.backend}, {count(replicas, 'replicas')}, {how}{', behind a router' if target.router else shared}"


def clock_of(serving: Serving) -> str:
    """Where every latency begins."""
    if serving.arrivals.process in CLOSED:
        return "every latency begins when its request was sent: in a closed loop no request is due earlier"
    return "every latency begins when its request was due"


def _prompts(serving: Serving) -> str:
    prompts = serving.prompts
    parts = [
        prompts.source,
        *([f"{prompts.turns} turns"] if prompts.turns > 1 else []),
        *([f"{prompts.prefix_tokens} shared tokens in {count(prompts.prefixes, 'prefix texts')}"] if prompts.prefix_tokens else []),
        f"cache: {prompts.cache.replace('_', ' ')}",
    ]
    return ", ".join(parts)


def _load(serving: Serving) -> str:
    arrivals = serving.arrivals
    loads = numbers(serving.concurrency or serving.rate)
    varied = f", {loads} {'in flight' if serving.concurrency else 'requests/s'}" if loads else ""
    long = f"{arrivals.requests} requests" if arrivals.requests is not None else f"{given(arrivals.duration_s)} s"
    return f"{arrivals.process.replace('_', ' ')}{varied}; {given(arrivals.warm_up_s)} s of warm-up, then {long}"


def numbers(loads: Iterable[float]) -> str:
    """Loads as a list: "4, 8, 16"."""
    return ", ".join(given(float(load)) for load in loads)


def _objectives(serving: Serving) -> str:
    objectives = serving.objectives
    words = [f"{name} ≤ {given(limit)} s" for name, limit in objectives.limits.items()]
    return f"{', '.join(words)}, for {percent(objectives.attainment, 4)} of the requests due" if words else "none given"


def _prices(experiment: Experiment) -> str:
    prices = experiment.prices
    if prices is None:
        return "none given"
    return f"${given(prices.usd_per_worker_hour)} per replica-hour ({prices.as_of.isoformat()}, {prices.source})"


def _fault(fault: Fault) -> str:
    lasting = f", for {given(fault.for_s)} s" if fault.for_s else ""
    return f"{fault.kind}, {given(fault.at_s)} s into the measured part{lasting}"
