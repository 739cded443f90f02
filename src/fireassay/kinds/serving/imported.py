"""How does a report show a load that another program measured: its conditions, meanings and reported numbers?

The program's own numbers are shown next to ours, computed from the same requests by our definitions; the meanings explain differences.
What the file does not state is marked so, and never shown as a default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, given, percent, reading, show
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.reports.view import Fact
from fireassay.reports.words import UNSAID
from fireassay.spec.plan import targets_of
from fireassay.spec.sections.serving import Serving

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
MOST_REPORTED: Final = 200  # of the program's own numbers


def facts(measured: RecordData, results: Results) -> tuple[Fact, ...]:
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
    for entry in reported[:MOST_REPORTED]:
        yield (f"{entry.get('name')} ({entry.get('configuration')})", f"{_value(entry)} by {foreign.get('title')}{_ours(entry, results)}")
    if len(reported) > MOST_REPORTED:
        yield "Further numbers", f"{len(reported) - MOST_REPORTED:,} more are in manifest.json"


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


def conditions(words: Mapping[str, str], measured: RecordData) -> dict[str, str]:
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
        "Load": _load(serving),
        "Clock": clock(foreign),
        "Launches": f"{count(measured.table('launches').height, 'runs')} in the file, in its order",
        "Energy": "not measured",
        "Faults": UNSAID,
        "Made": f"measured {foreign.get('begin_utc') or f'at a time {UNSAID}'}; imported {words.get('Made', '')}",
    }


def _load(serving: Serving) -> str:
    loads = ", ".join(given(float(load)) for load in serving.concurrency or serving.rate)
    process = serving.arrivals.process.replace("_", " ")
    return f"{process}, {loads} {'in flight' if serving.concurrency else 'requests/s'}" if loads else process
