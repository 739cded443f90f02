"""Which loads, stages, traces and conversations contradict one another?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from assay.errors import Problem
from assay.spec.explain import NOTHING, shown
from assay.spec.rules.given import (
    DURATION_S,
    Data,
    is_list,
    is_positive,
    items_of,
    number_or,
    process_of,
    serving_of,
    table_of,
    tables_of,
    task_of,
)
from assay.spec.sections import scenario

OPEN: Final = ("constant", "poisson", "gamma", "server")
LOADS: Final[dict[str, tuple[str, ...]]] = {  # process -> the keys of which exactly one is needed
    "closed": ("concurrency",),
    "users": ("concurrency", "rate"),
    **dict.fromkeys(OPEN, ("rate",)),
}
FIXED: Final = ("trace", "single_stream", "multi_stream", "offline")  # processes that say their load themselves
ONE_REQUEST: Final = ("trace", "multi_stream", "offline")  # processes that start no conversations of their own


def loads_of_the_process(data: Data) -> Iterator[Problem]:
    serving, process = serving_of(data), process_of(data)
    if not serving:
        return
    given = [key for key in ("concurrency", "rate") if items_of(serving, key)]
    wanted = LOADS.get(process, ())
    if process in LOADS and not any(key in given for key in wanted) and all(is_list(serving, key) for key in wanted):
        example = {"concurrency": "concurrency = [1, 8, 16]", "rate": "rate = [5, 10]"}[wanted[0]]
        meant = ' Or write process = "poisson" below [serving.arrivals].' if given == ["rate"] else ""
        yield Problem(
            where=f"serving.{wanted[0]}",
            found=NOTHING,
            allowed=f"a load where arrivals.process is {shown(process)}",
            mend=f"Write {example} below [serving].{meant}",
        )
    elif len(given) > 1:
        yield Problem(
            where="serving.rate",
            found=f"rate and concurrency, where arrivals.process is {shown(process)}",
            allowed="one of them",
            mend="Make two experiments.",
        )
    elif process in FIXED and given:
        yield Problem(
            where=f"serving.{given[0]}",
            found=shown(serving[given[0]]),
            allowed=f"none where arrivals.process is {shown(process)}",
            mend=f"Leave it out: {process} says its load itself.",
        )
    elif process == "stages" and given == ["concurrency"]:
        yield Problem(
            where="serving.concurrency",
            found=shown(serving["concurrency"]),
            allowed='none where arrivals.process is "stages"',
            mend="Write rate = [...] for stages that are multiples of a rate, or leave it out.",
        )


def stages(data: Data) -> Iterator[Problem]:
    arrivals = table_of(serving_of(data), "arrivals")
    stages, process = items_of(arrivals, "stages"), process_of(data)
    if process == "stages" and not stages and is_list(arrivals, "stages"):
        yield Problem(
            where="serving.arrivals.stages",
            found=NOTHING,
            allowed='a list that is not empty where process = "stages"',
            mend="Add [[serving.arrivals.stages]] with duration_s = 30, rate = 5.",
        )
    if process != "stages" and stages:
        yield Problem(
            where="serving.arrivals.stages",
            found=f"{len(stages)} of them, where process is {shown(process)}",
            allowed='none, unless process = "stages"',
            mend='Write process = "stages" below [serving.arrivals].',
        )
    lasting = [number_or(stage.get("duration_s"), 0.0) for _, stage in tables_of(arrivals, "stages")]
    duration_s = number_or(arrivals.get("duration_s"), DURATION_S)
    if process != "stages" or duration_s is None or not lasting or len(lasting) != len(stages):
        return
    total_s = sum(one for one in lasting if one is not None)
    if None not in lasting and abs(total_s - duration_s) > 1e-6 * max(total_s, 1.0):
        yield Problem(
            where="serving.arrivals.duration_s",
            found=f"{duration_s:g}",
            allowed=f"as long as the stages together: {total_s:g}",
            mend=f"Write duration_s = {total_s:g} below [serving.arrivals].",
        )


def a_trace(data: Data) -> Iterator[Problem]:
    trace, process = table_of(serving_of(data), "arrivals").get("trace", ""), process_of(data)
    if process == "trace" and trace == "":
        yield Problem(
            where="serving.arrivals.trace",
            found=NOTHING,
            allowed='a file where process = "trace"',
            mend='Write trace = "FILE" below [serving.arrivals].',
        )
    if process != "trace" and isinstance(trace, str) and trace:
        yield Problem(
            where="serving.arrivals.trace",
            found=f"{shown(trace)}, where process is {shown(process)}",
            allowed='none, unless process = "trace"',
            mend='Write process = "trace" below [serving.arrivals].',
        )


def offline_is_counted(data: Data) -> Iterator[Problem]:
    if process_of(data) == "offline" and table_of(serving_of(data), "arrivals").get("requests") is None:
        yield Problem(
            where="serving.arrivals.requests",
            found=NOTHING,
            allowed='a whole number where process = "offline"',
            mend="Everything is due at once, so say how much: requests = 24576 is what MLPerf asks for.",
        )


def conversations(data: Data) -> Iterator[Problem]:
    prompts, process = table_of(serving_of(data), "prompts"), process_of(data)
    for name, alone in (("turns", 1), ("tool_steps", 0)):
        value = prompts.get(name, alone)
        if process in ONE_REQUEST and type(value) is int and value > alone:
            yield Problem(
                where=f"serving.prompts.{name}",
                found=shown(value),
                allowed=f"{alone} where arrivals.process is {shown(process)}",
                mend="Conversations of a trace stand in its own file, as session." if process == "trace" else "Leave it out.",
            )


def search(data: Data) -> Iterator[Problem]:
    serving = serving_of(data)
    if serving.get("search") is not True:
        return
    if not items_of(serving, "rate"):
        yield Problem(
            where="serving.search",
            found="true without serving.rate",
            allowed="a search between rates",
            mend="Write rate = [1, 100] below [serving], and an open process such as poisson below [serving.arrivals].",
        )
    objectives = table_of(serving, "objectives")
    if not any(is_positive(value) for name, value in objectives.items() if name != "attainment"):
        yield Problem(
            where="serving.search",
            found="true without an objective",
            allowed="a search for the highest rate that meets objectives",
            mend="Add [serving.objectives] with ttft_s = 0.2 or another.",
        )


def scenarios(data: Data) -> Iterator[Problem]:
    serving = serving_of(data)
    for index, text in enumerate(items_of(serving, "scenarios")):
        if not isinstance(text, str):
            continue
        where = f"serving.scenarios[{index}]"
        wrong = scenario.problem(text, where)
        if wrong is not None:
            yield wrong
            continue
        unsuited = scenario.unsuited(scenario.parse(text), task_of(data), where)
        if unsuited is not None:
            yield unsuited
        if text == scenario.DATASET and table_of(serving, "prompts").get("source", "synthetic") == "synthetic":
            yield Problem(
                where=where,
                found='"dataset" without a file',
                allowed="dataset only with serving.prompts.source",
                mend='Add [serving.prompts] with source = "FILE".',
            )
