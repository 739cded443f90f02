"""How does TraceML's summary of a run become a record of its step times?  From `final_summary.json`, schema 1.8 and later.

Its step time is the mean over the steps that all ranks have in common, and of the ranks: one trial of so many calls, and one launch a file.  The clock is
the GPU's if every step has its events, else the host's.  Where it saw no wait for input, its step time is null, and only the part inside of its
`trace_step` has a time: that is another benchmark, since it leaves the wait out.
Source: traceml-ai 0.5.0, reporting/SCHEMA.md (schema 1.9) and reporting/sections/step_time; a summary that it wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fireassay.importers.support.base import inner, is_number, text, whole
from fireassay.importers.support.documents import Place, Words
from fireassay.importers.timings.support.base import Benchmark, Figure, Timer, Timings, Trial, stated, time_of
from fireassay.importers.timings.support.training_logs import STEP

OLDEST: Final = 1.8  # before, its names were others
STEPS: Final = {STEP: "step_time_ms", f"{STEP} without the wait for input": "traced_step_time_ms"}
PHASES: Final = {
    "input_wait_ms": "wait for input",
    "h2d_ms": "copies to the device",
    "forward_ms": "forward",
    "backward_ms": "backward",
    "optimizer_ms": "optimizer",
    "residual_ms": "rest",
}


def read(source: Mapping[str, Any], place: Place) -> Timings:
    """The step times of a run. Raises SpecError."""
    schema = source.get("schema_version")
    if not is_number(schema) or not OLDEST <= schema < 2:
        raise place.at("schema_version").wrong(schema, f"{OLDEST} to below 2", "Summarise the run again with traceml-ai 0.5 or later.")
    section, at = inner(source, "step_time", "global"), place.at("step_time.global")
    window = inner(section, "window")
    steps = whole(window, "steps_analyzed", at.at("window"))
    average = inner(section, "average")
    known = {name: value for name, key in STEPS.items() if (value := average.get(key)) is not None}
    if not steps or not known:
        raise at.wrong(
            Words("no step time"), "an average over steps of all ranks", "Mark the steps with trace_step, and use `traceml run`."
        )
    return Timings(
        benchmarks=tuple(
            Benchmark(
                name=name,
                processes=((Trial(seconds=time_of(value, at.at("average"), 1e-3), calls=steps),),),
                figures=tuple(_figures(average, inner(section, "worst"), STEPS[name])),
                settings={"clock": window.get("diagnosis_clock"), "diagnosis": inner(source, "primary_diagnosis").get("kind")},
            )
            for name, value in known.items()
        ),
        begin_utc="",
        conditions=stated(inner(source, "meta"), {"world_size": "world_size", "nodes": "nodes_observed", "gpus": "gpus_observed"}),
        missing=() if STEP in known else ("the time of a whole step: it saw no wait for input (traceml_ai.init)",),
        doubts=tuple(_doubts(source, place)),
    )


def _figures(average: Mapping[str, Any], worst: Mapping[str, Any], key: str) -> Iterator[Figure]:
    phases = {words: average.get(name) for name, words in PHASES.items() if key == STEPS[STEP] or name != "input_wait_ms"}
    for name, value in {**phases, "slowest rank": inner(worst, key).get("value")}.items():
        if is_number(value):
            yield Figure(name=name, value=value / 1e3)


def _doubts(source: Mapping[str, Any], place: Place) -> Iterator[str]:
    status = text(inner(source, "run_context", "run"), "status", place, 40)
    if status and status != "completed":
        yield f"the run has ended as {status}"
    metadata = inner(source, "step_time", "metadata")
    seen, used = (metadata.get(f"global_ranks_{name}") for name in ("seen", "used"))
    if is_number(seen) and is_number(used) and used < seen:
        yield f"{used:g} of {seen:g} ranks are in its means: the others share no steps with them"


TIMER = Timer(
    name="traceml",
    title="TraceML",
    files="final_summary.json of a run",
    runs="function",
    meanings={
        "launch": "a run: one summary",
        "trial": "the same: the mean over its steps and ranks",
        "call": "a step",
        "time": "seconds of a step by the GPU's events if every step has them, else by the host's clock",
        "waits": "for the GPU's events where it uses them; by the host's clock for the return of the phases",
        "figures": "means of the phases over steps and ranks, and the slowest rank",
    },
    marks=(("schema_version",), ("analysis_window",), ("primary_diagnosis",)),
    read=read,
    trials="means",
    missing=(
        "the time of single steps, of which it reports means",
        "the machine and its state, beyond the number of nodes and GPUs",
        "which of its steps were warm-up: the first count",
    ),
)
