"""Which keys of a load on engines contradict each other?

As in `fireassay.spec.rules.experiment`: each rule sees the raw data and ignores values of the wrong type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import urlsplit

from fireassay.errors import Problem
from fireassay.spec.explain import NOTHING, shown
from fireassay.spec.rules.data import Data, is_list, items, number, positive, table, tables
from fireassay.spec.sections import scenario
from fireassay.spec.sections.serving import Arrivals

DURATION_S: Final[float] = Arrivals.model_fields["duration_s"].default
INSIDE: Final = "process"  # the backend inside the client's process: no connection
WITHOUT_TEXT: Final = ("embeddings", "rerank", "loglikelihood")  # tasks with numeric answers
OPEN: Final = ("constant", "poisson", "gamma", "server")
LOADS: Final[dict[str, tuple[str, ...]]] = {  # process -> keys, exactly one of which is required
    "closed": ("concurrency",),
    "users": ("concurrency", "rate"),
    **dict.fromkeys(OPEN, ("rate",)),
}
FIXED: Final = ("trace", "single_stream", "multi_stream", "offline")  # processes that define their own load
ONE_REQUEST: Final = ("trace", "multi_stream", "offline")  # processes without conversations
TOKEN_TIMES: Final = ("ttft_s", "ttft_visible_s", "tpot_s", "itl_s")


def _serving(data: Data) -> Data:
    return table(data, "serving")


def _process(data: Data) -> str:
    value = table(_serving(data), "arrivals").get("process", "closed")
    return value if isinstance(value, str) else ""


def _task(data: Data) -> str:
    value = _serving(data).get("task", "chat")
    return value if isinstance(value, str) else ""


# ---- the runner and the engines ----------------------------------------------------------------------------------


def _with_its_runner(data: Data) -> Iterator[Problem]:
    runner = table(data, "workload").get("runner", "training")
    if not isinstance(runner, str):
        return
    if data.get("serving") is not None and runner not in ("serving", "replay", "evaluation"):
        yield Problem(
            "serving",
            f"a table, where workload.runner is {shown(runner)}",
            '[serving] only with workload.runner = "serving" or "replay"',
            'Write runner = "serving" below [workload].',
        )
    if data.get("serving") is None and runner == "serving":
        yield Problem(
            "serving",
            NOTHING,
            'a table if workload.runner = "serving"',
            'Add [serving] with concurrency = [1, 8], and [[serving.targets]] with urls = ["http://localhost:8000"].',
        )


def _without_a_factor(data: Data) -> Iterator[Problem]:
    factor = table(data, "factor")
    if data.get("serving") is None or not factor or dict(factor) in ({"levels": [1]}, {"name": "workers", "levels": [1]}):
        return
    yield Problem(
        "factor",
        "a table",
        "no [factor] together with [serving]",
        "Remove it: a load varies serving.concurrency or serving.rate, serving.scenarios and serving.targets.",
    )


def _an_engine(data: Data) -> Iterator[Problem]:
    if not _serving(data):
        return
    script = table(data, "workload").get("script")
    named = isinstance(script, str) and script != ""
    targets = list(tables(_serving(data), "targets"))
    if not named and not items(_serving(data), "targets"):
        yield Problem(
            "serving.targets",
            NOTHING,
            "an engine: a list of tables, or its URL as workload.script",
            'Add [[serving.targets]] with urls = ["http://localhost:8000"], or with the command that starts it.',
        )
    if named and (not targets or any(not (entry.get("urls") or entry.get("command")) for _, entry in targets)):
        yield from _url("workload.script", script)
    for index, target in targets:
        yield from _of_target(f"serving.targets[{index}]", target, named)


def _of_target(where: str, target: Data, named: bool) -> Iterator[Problem]:
    urls, command = items(target, "urls"), items(target, "command")
    inside = target.get("backend") == INSIDE
    if urls and command:
        yield Problem(
            f"{where}.urls",
            shown(urls),
            "urls or command, not both",
            "Remove urls: assay assigns the ports of the replicas that it starts.",
        )
    if not (urls or command or named or inside) and is_list(target, "urls") and is_list(target, "command"):
        yield Problem(
            f"{where}.urls", "nothing", "where the engine listens, or the command that starts it", 'Write urls = ["http://localhost:8000"].'
        )
    for name in ("router", "replicas"):
        if urls and (target.get(name) if name == "router" else target.get(name, 1) != 1):
            yield Problem(
                f"{where}.{name}",
                shown(target[name]),
                f"{name} only with command",
                "The number of URLs gives the number of replicas." if name == "replicas" else "Give the router's own URL.",
            )
    for index, url in enumerate(urls):
        yield from _url(f"{where}.urls[{index}]", url)


def _url(where: str, url: object) -> Iterator[Problem]:
    if not isinstance(url, str):
        return
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        fine = False
    if not fine:
        bare = "://" not in url and url and not url.startswith("/")
        yield Problem(
            where, shown(url), "http://HOST:PORT or https://HOST:PORT", f"Write {shown(f'http://{url}')} if that is meant." if bare else ""
        )


def _said_once(data: Data) -> Iterator[Problem]:
    serving = _serving(data)
    names = [target.get("name", "server") for _, target in tables(serving, "targets")]
    lists = [("serving.targets", names, "a unique name for each engine", True)]
    lists += [(f"serving.{key}", items(serving, key), "each one once", False) for key in ("scenarios", "concurrency", "rate")]
    for where, values, allowed, named in lists:
        plain = [value for value in values if isinstance(value, str | int | float)]
        twice = [value for value, count in Counter(plain).items() if count > 1]
        if twice:
            ending = "each a unique name" if named else f"{shown(list(dict.fromkeys(plain)))}"
            yield Problem(
                where,
                shown(plain),
                allowed,
                f"{', '.join(map(shown, twice))} occurs more than once. {'Give' if named else 'Write'} {ending}.",
            )


# ---- arrivals ----------------------------------------------------------------------------------------------------


def _loads_of_the_process(data: Data) -> Iterator[Problem]:
    serving, process = _serving(data), _process(data)
    if not serving:
        return
    given = [key for key in ("concurrency", "rate") if items(serving, key)]
    required = LOADS.get(process, ())
    if process in LOADS and not any(key in given for key in required) and all(is_list(serving, key) for key in required):
        example = {"concurrency": "concurrency = [1, 8, 16]", "rate": "rate = [5, 10]"}[required[0]]
        meant = ' Or write process = "poisson" below [serving.arrivals].' if given == ["rate"] else ""
        yield Problem(
            f"serving.{required[0]}",
            NOTHING,
            f"a load where arrivals.process is {shown(process)}",
            f"Write {example} below [serving].{meant}",
        )
    elif len(given) > 1:
        yield Problem(
            "serving.rate", f"rate and concurrency, where arrivals.process is {shown(process)}", "one of them", "Make two experiments."
        )
    elif process in FIXED and given:
        yield Problem(
            f"serving.{given[0]}",
            shown(serving[given[0]]),
            f"none where arrivals.process is {shown(process)}",
            f"Leave it out: {process} says its load itself.",
        )
    elif process == "stages" and given == ["concurrency"]:
        yield Problem(
            "serving.concurrency",
            shown(serving["concurrency"]),
            'none where arrivals.process is "stages"',
            "Write rate = [...] for stages that are multiples of a rate, or leave it out.",
        )


def _stages(data: Data) -> Iterator[Problem]:
    arrivals = table(_serving(data), "arrivals")
    stages, process = items(arrivals, "stages"), _process(data)
    if process == "stages" and not stages and is_list(arrivals, "stages"):
        yield Problem(
            "serving.arrivals.stages",
            NOTHING,
            'a list that is not empty if process = "stages"',
            "Add [[serving.arrivals.stages]] with duration_s = 30, rate = 5.",
        )
    if process != "stages" and stages:
        yield Problem(
            "serving.arrivals.stages",
            f"{len(stages)} of them, where process is {shown(process)}",
            'none, unless process = "stages"',
            'Write process = "stages" below [serving.arrivals].',
        )
    lasting = [number(stage.get("duration_s"), 0.0) for _, stage in tables(arrivals, "stages")]
    duration_s = number(arrivals.get("duration_s"), DURATION_S)
    if process != "stages" or duration_s is None or not lasting or len(lasting) != len(stages):
        return
    total_s = sum(seconds for seconds in lasting if seconds is not None)
    if None not in lasting and abs(total_s - duration_s) > 1e-6 * max(total_s, 1.0):
        yield Problem(
            "serving.arrivals.duration_s",
            f"{duration_s:g}",
            f"the total duration of the stages: {total_s:g}",
            f"Write duration_s = {total_s:g} below [serving.arrivals].",
        )


def _a_trace(data: Data) -> Iterator[Problem]:
    trace, process = table(_serving(data), "arrivals").get("trace", ""), _process(data)
    if process == "trace" and trace == "":
        yield Problem("serving.arrivals.trace", NOTHING, 'a file if process = "trace"', 'Write trace = "FILE" below [serving.arrivals].')
    if process != "trace" and isinstance(trace, str) and trace:
        yield Problem(
            "serving.arrivals.trace",
            f"{shown(trace)}, where process is {shown(process)}",
            'none, unless process = "trace"',
            'Write process = "trace" below [serving.arrivals].',
        )


def _offline_is_counted(data: Data) -> Iterator[Problem]:
    if _process(data) == "offline" and table(_serving(data), "arrivals").get("requests") is None:
        yield Problem(
            "serving.arrivals.requests",
            NOTHING,
            'a whole number if process = "offline"',
            "All requests are due at once, so give their number: MLPerf requires requests = 24576.",
        )


def _conversations(data: Data) -> Iterator[Problem]:
    prompts, process = table(_serving(data), "prompts"), _process(data)
    for name, alone in (("turns", 1), ("tool_steps", 0)):
        value = prompts.get(name, alone)
        if process in ONE_REQUEST and type(value) is int and value > alone:
            yield Problem(
                f"serving.prompts.{name}",
                shown(value),
                f"{alone} where arrivals.process is {shown(process)}",
                "The conversations of a trace are defined in its file, by session." if process == "trace" else "Leave it out.",
            )


def _search(data: Data) -> Iterator[Problem]:
    serving = _serving(data)
    if serving.get("search") is not True:
        return
    if not items(serving, "rate"):
        yield Problem(
            "serving.search",
            "true without serving.rate",
            "a search between rates",
            "Write rate = [1, 100] below [serving], and an open process such as poisson below [serving.arrivals].",
        )
    objectives = table(serving, "objectives")
    if not any(positive(value) for name, value in objectives.items() if name != "attainment"):
        yield Problem(
            "serving.search",
            "true without an objective",
            "a search for the highest rate that meets objectives",
            "Add [serving.objectives] with ttft_s = 0.2 or another.",
        )


# ---- what is sent and what is checked ----------------------------------------------------------------------------


def _scenarios(data: Data) -> Iterator[Problem]:
    serving = _serving(data)
    for index, text in enumerate(items(serving, "scenarios")):
        if not isinstance(text, str):
            continue
        where = f"serving.scenarios[{index}]"
        wrong = scenario.problem(text, where)
        if wrong is not None:
            yield wrong
            continue
        unsuited = scenario.unsuited(scenario.parse(text), _task(data), where)
        if unsuited is not None:
            yield unsuited
        if text == scenario.DATASET and table(serving, "prompts").get("source", "synthetic") == "synthetic":
            yield Problem(
                where, '"dataset" without a file', "dataset only with serving.prompts.source", 'Add [serving.prompts] with source = "FILE".'
            )


def _token_times_need_a_stream(data: Data) -> Iterator[Problem]:
    serving = _serving(data)
    silent = serving.get("stream") is False
    if not silent and _task(data) not in WITHOUT_TEXT:
        return
    for name in TOKEN_TIMES:
        value = table(serving, "objectives").get(name)
        if value is not None:
            why = "stream = false" if silent else f"task = {shown(_task(data))}"
            yield Problem(
                f"serving.objectives.{name}",
                shown(value),
                f"none with {why}: token times are not observable",
                "Write e2e_s, the latency of the whole answer.",
            )


def _checks_of_answers(data: Data) -> Iterator[Problem]:
    serving = _serving(data)
    checks, task = table(serving, "correctness"), _task(data)
    kept = table(serving, "client").get("keep_text") is not False
    for name in ("canaries", "identity"):
        value = checks.get(name)
        if not positive(value):
            continue
        if task in WITHOUT_TEXT:
            yield Problem(
                f"serving.correctness.{name}",
                shown(value),
                f"none with task = {shown(task)}",
                "They compare texts. Remove it, or use a task that returns text.",
            )
        elif not kept:
            yield _text_needed(f"serving.correctness.{name}", value)
    answers = table(serving, "prompts").get("answer_field")
    if isinstance(answers, str) and answers and not kept:
        yield _text_needed("serving.prompts.answer_field", answers)
    if not positive(checks.get("identity")):
        yield from _without_prompts(checks)


def _text_needed(where: str, value: object) -> Problem:
    return Problem(
        where, f"{shown(value)} with client.keep_text = false", "the answers' text, kept", "Remove keep_text from [serving.client]."
    )


def _without_prompts(checks: Data) -> Iterator[Problem]:
    checked = [("needle", checks.get("needle") is True), ("grade", checks.get("grade", "none") not in ("none", None))]
    for name, enabled in checked:
        if enabled:
            yield Problem(
                f"serving.correctness.{name}",
                f"{shown(checks[name])} without prompts to compare",
                "needle and grade only with identity",
                "Write identity = 8 below [serving.correctness].",
            )


def _transport(data: Data) -> Iterator[Problem]:
    client = table(_serving(data), "client")
    proxy = client.get("proxy", "")
    if isinstance(proxy, str) and proxy:
        yield from _url("serving.client.proxy", proxy)
    for name, requested in (("proxy", bool(proxy)), ("http2", client.get("http2") is True)):
        if requested and (transport := client.get("transport", "auto")) in ("lean", "compiled"):
            yield Problem(
                "serving.client.transport",
                f'"{transport}" with {name}',
                "auto or library",
                "assay's own HTTP speaks HTTP/1.1 straight to the server. Remove transport.",
            )


SERVING_RULES: tuple[Callable[[Data], Iterator[Problem]], ...] = (
    _with_its_runner,
    _without_a_factor,
    _an_engine,
    _said_once,
    _loads_of_the_process,
    _stages,
    _a_trace,
    _offline_is_counted,
    _conversations,
    _search,
    _scenarios,
    _token_times_need_a_stream,
    _checks_of_answers,
    _transport,
)
