"""How are loads named, and under which conditions were they measured?

A load that another program measured is shown with its conditions and meanings, and with the program's own numbers next to ours, computed
from the same requests by our definitions.  What the file does not state is marked so, and never shown as a default.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, given, percent, reading, show
from fireassay.estimates.price_words import price_words
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.requests import CLOSED
from fireassay.metrics.metric import Results
from fireassay.reports.view import Fact
from fireassay.reports.words import UNSAID
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import Configuration, targets_of
from fireassay.spec.sections.faults import Fault
from fireassay.spec.sections.serving import Serving, Target
from fireassay.verdict.phrases import launch_words

UNCHECKED: Final = "not checked (--no-verify-tls): nothing shows that the requested engine answered"
SECONDS: Final = {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
MEANINGS: Final = {
    "first_token": "First token",
    "end": "End of an answer",
    "tokens": "Tokens counted by",
    "connection": "Connections",
    "stamps": "Time stamps",
    "left_out": "Left out",
}
TIMES: Final = {
    "whole": "every request has its own",
    "none": "none, so that there is no measured window and no rate",
    "sampled": "of a sample of the requests only, so that there is no rate",
}
MAX_REPORTED: Final = 200  # of the program's own numbers


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
        **_stated(experiment.conditions),
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


def _stated(conditions: Mapping[str, object]) -> dict[str, str]:
    """The conditions that the experiment names, --server-engine and its kind among them."""
    return {"Stated": "; ".join(f"{name.replace('_', ' ')} {value}" for name, value in conditions.items())} if conditions else {}


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
    return price_words(prices, "replica")


def _fault(fault: Fault) -> str:
    lasting = f", for {given(fault.for_s)} s" if fault.for_s else ""
    return f"{fault.kind}, {given(fault.at_s)} s into the measured part{lasting}"


# ---- loads of other programs -----------------------------------------------------------------------------------------


def foreign_facts(measured: RecordData, results: Results) -> tuple[Fact, ...]:
    """Facts that a reader of an imported load needs besides its origin; empty for our own records."""
    foreign = measured.foreign
    return () if foreign is None else tuple(Fact(name=name, text=text) for name, text in _facts(foreign, results))


def _facts(foreign: Mapping[str, Any], results: Results) -> Iterator[tuple[str, str]]:
    yield "Clock", clock(foreign)
    yield ("Times of day", TIMES.get(str(foreign.get("times")), UNSAID) if foreign.get("requests") else "none: totals only")
    meanings = foreign.get("meanings") or {}
    yield from ((name, str(meanings[key])) for key, name in MEANINGS.items() if key in meanings)
    yield from (("" if index else "Not stated", str(words)) for index, words in enumerate(foreign.get("missing") or ()))
    yield from _reported(foreign, results)


def clock(foreign: Mapping[str, Any]) -> str:
    """Where every latency begins."""
    if foreign.get("clock") == "scheduled":
        return "every latency begins when its request was due"
    return "every latency begins when its request was sent; its due time is not stated"


def _reported(foreign: Mapping[str, Any], results: Results) -> Iterator[tuple[str, str]]:
    """The program's own numbers, each with the nearest of ours."""
    reported = [entry for entry in foreign.get("reported") or () if isinstance(entry, Mapping)]
    for entry in reported[:MAX_REPORTED]:
        yield (f"{entry.get('name')} ({entry.get('configuration')})", f"{_value(entry)} by {foreign.get('title')}{_ours(entry, results)}")
    if len(reported) > MAX_REPORTED:
        yield "Further numbers", f"{len(reported) - MAX_REPORTED:,} more are in manifest.json"


def _value(entry: Mapping[str, Any]) -> str:
    value, unit = entry.get("value"), str(entry.get("unit", ""))
    if not isinstance(value, int | float):
        return UNSAID
    if unit in SECONDS:
        return reading(value * SECONDS[unit], "s")
    if unit == "fraction":
        return percent(value)
    return f"{value:,.0f}" if unit == "count" else f"{given(value, 4)}{'/s' if unit == '1/s' else f' {unit}' if unit else ''}"


def _ours(entry: Mapping[str, Any], results: Results) -> str:
    """Our number from the same requests by the nearest definition; empty if none is near."""
    metric = str(entry.get("ours") or "")
    value = results.get(metric, {}).get(str(entry.get("configuration")))
    if isinstance(value, Estimate):
        return f"; here {metric} {show(value, work='requests').full}"
    return f"; here {metric} is unknown" if metric else ""


# ---- conditions --------------------------------------------------------------------------------------------------------


def as_stated(words: Mapping[str, str], measured: RecordData) -> dict[str, str]:
    """The conditions of a load, marked where the file does not state them; those of our own records unchanged."""
    foreign, serving = measured.foreign, measured.experiment.serving
    if foreign is None or serving is None:
        return dict(words)
    unsaid = frozenset(foreign.get("unsaid") or ())

    def stated(field: str, text: str) -> str:
        return UNSAID if field in unsaid else text

    stream = stated("serving.stream", "streamed" if serving.stream else "not streamed")
    return {
        **words,
        "Engines": f"{stated('engine.backend', targets_of(serving)[0].backend)}; replicas, flags and version {UNSAID}",
        "Model": f"{stated('serving.model', serving.model)}; lengths by {stated('serving.tokenizer', serving.tokenizer)}",
        "Task": f"{stated('serving.task', serving.task)}; stream: {stream}; temperature: {stated('serving.temperature', given(serving.temperature))}",
        "Scenarios": stated("serving.scenarios", ", ".join(serving.scenarios)),
        "Prompts": stated("serving.prompts", serving.prompts.source),
        "Load": _stated_load(serving),
        "Clock": clock(foreign),
        "Launches": f"{count(measured.table('launches').height, 'runs')} in the file, in its order",
        "Energy": "not measured",
        "Faults": UNSAID,
        "Made": f"measured {foreign.get('begin_utc') or f'at a time {UNSAID}'}; imported {words.get('Made', '')}",
    }


def _stated_load(serving: Serving) -> str:
    loads = ", ".join(given(float(load)) for load in serving.concurrency or serving.rate)
    process = serving.arrivals.process.replace("_", " ")
    return f"{process}, {loads} {'in flight' if serving.concurrency else 'requests/s'}" if loads else process
