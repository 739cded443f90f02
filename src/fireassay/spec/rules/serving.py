"""Which keys of a load on engines contradict each other?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from fireassay.errors import Problem
from fireassay.spec.explain import NOTHING, shown
from fireassay.spec.rules.partial import Demand, repeated, right
from fireassay.spec.sections import scenario
from fireassay.spec.sections.serving import Correctness, Serving, Target

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment

INSIDE: Final = "process"  # the backend inside the client's process: no connection
WITHOUT_TEXT: Final = ("embeddings", "rerank", "loglikelihood", "image_to_embeddings", "text_to_image", "text_to_speech")
WITHOUT_TIMES: Final = tuple(task for task in WITHOUT_TEXT if task != "text_to_speech")  # whose answer is one piece
OPEN: Final = ("constant", "poisson", "gamma", "server")
LOADS: Final[dict[str, tuple[str, ...]]] = {  # process -> keys, exactly one of which is required
    "closed": ("concurrency",),
    "users": ("concurrency", "rate"),
    **dict.fromkeys(OPEN, ("rate",)),
}
FIXED: Final = ("trace", "single_stream", "multi_stream", "offline")  # processes that define their own load
ONE_REQUEST: Final = ("trace", "multi_stream", "offline")  # processes without conversations
TOKEN_TIMES: Final = ("ttft_s", "ttft_visible_s", "tpot_s", "itl_s")


# ---- the runner and the engines ----------------------------------------------------------------------------------


def _with_its_runner(experiment: Experiment) -> Iterator[Problem]:
    runner = experiment.workload.runner
    if experiment.serving is not None and runner not in ("serving", "replay", "evaluation"):
        allowed = '[serving] only with workload.runner = "serving" or "replay"'
        yield Problem(
            "serving", f"a table, where workload.runner is {shown(runner)}", allowed, 'Write runner = "serving" below [workload].'
        )


def _hosts_have_clients(experiment: Experiment) -> Iterator[Problem]:
    """Each host sends a part of the load, and is known by its name."""
    if experiment.serving is None or not experiment.launcher.hosts:
        return
    hosts, processes = right(experiment.launcher.hosts), experiment.serving.client.processes
    if processes < len(hosts):
        fix = f"Write {len(hosts)} (assay load: --processes {len(hosts)}), or name fewer hosts."
        yield Problem("serving.client.processes", shown(processes), f"at least one for each of the {len(hosts)} hosts", fix)
    if twice := repeated(host.name for _, host in hosts):
        yield Problem("launcher.hosts", f"the name {', '.join(twice)} twice", "a unique name for each host")


def _has_a_factor(experiment: Experiment) -> bool:
    return "factor" in experiment.model_fields_set and [level for _, level in right(experiment.factor.levels)] != [1]


def _an_engine(experiment: Experiment) -> Iterator[Problem]:
    serving, script = experiment.serving, experiment.workload.script
    if serving is None or not serving.model_fields_set:
        return
    targets = right(serving.targets)
    if not script and not serving.targets:
        yield Problem(
            "serving.targets",
            NOTHING,
            "an engine: a list of tables, or its URL as workload.script",
            'Add [[serving.targets]] with urls = ["http://localhost:8000"], or with the command that starts it.',
        )
    if script and (not targets or any(not (target.urls or target.command) for _, target in targets)):
        yield from _url("workload.script", script)
    for index, target in targets:
        yield from _of_target(f"serving.targets[{index}]", target, named=bool(script))


def _of_target(where: str, target: Target, *, named: bool) -> Iterator[Problem]:
    urls, command = target.urls, target.command
    if urls and command:
        fix = "Remove urls: assay assigns the ports of the replicas that it starts."
        yield Problem(f"{where}.urls", shown(urls), "urls or command, not both", fix)
    if not (urls or command or named or target.backend == INSIDE):
        allowed = "where the engine listens, or the command that starts it"
        yield Problem(f"{where}.urls", NOTHING, allowed, 'Write urls = ["http://localhost:8000"].')
    if urls and target.router:
        yield Problem(f"{where}.router", shown(target.router), "router only with command", "Give the router's own URL.")
    if urls and target.replicas != 1:
        fix = "The number of URLs gives the number of replicas."
        yield Problem(f"{where}.replicas", shown(target.replicas), "replicas only with command", fix)
    for index, url in right(urls):
        yield from _url(f"{where}.urls[{index}]", url)


def is_address(url: str) -> bool:
    """True for http://HOST:PORT and https://HOST:PORT."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _url(where: str, url: str) -> Iterator[Problem]:
    if not is_address(url):
        bare = "://" not in url and url and not url.startswith("/")
        fix = f"Write {shown(f'http://{url}')} if that is meant." if bare else ""
        yield Problem(where, shown(url), "http://HOST:PORT or https://HOST:PORT", fix)


ENGINE_RULES = (
    _with_its_runner,
    _hosts_have_clients,
    Demand(
        "serving",
        lambda e: e.serving is None and e.workload.runner == "serving",
        'a table if workload.runner = "serving"',
        'Add [serving] with concurrency = [1, 8], and [[serving.targets]] with urls = ["http://localhost:8000"].',
    ),
    Demand(
        "factor",
        lambda e: e.serving is not None and _has_a_factor(e),
        "no [factor] together with [serving]",
        "Remove it: a load varies serving.concurrency or serving.rate, serving.scenarios and serving.targets.",
        found="a table",
    ),
    _an_engine,
)


def _no_value_twice(serving: Serving) -> Iterator[Problem]:
    names = [name for _, name in right([target.name for _, target in right(serving.targets)])]
    for where, values in (
        ("serving.targets", names),
        ("serving.scenarios", serving.scenarios),
        ("serving.concurrency", serving.concurrency),
        ("serving.rate", serving.rate),
    ):
        plain = [value for _, value in right(values)]
        if twice := repeated(plain):
            named = where == "serving.targets"
            todo = "Give each a unique name" if named else f"Write {shown(list(dict.fromkeys(plain)))}"
            allowed = "a unique name for each engine" if named else "each one once"
            yield Problem(where, shown(plain), allowed, f"{', '.join(map(shown, twice))} occurs more than once. {todo}.")


# ---- arrivals ----------------------------------------------------------------------------------------------------


def _loads_of_the_process(serving: Serving) -> Iterator[Problem]:
    process = serving.arrivals.process
    given = [key for key in ("concurrency", "rate") if getattr(serving, key)]
    required = LOADS.get(process, ())
    if required and not any(key in given for key in required):
        example = {"concurrency": "concurrency = [1, 8, 16]", "rate": "rate = [5, 10]"}[required[0]]
        meant = ' Or write process = "poisson" below [serving.arrivals].' if given == ["rate"] else ""
        allowed = f"a load where arrivals.process is {shown(process)}"
        yield Problem(f"serving.{required[0]}", NOTHING, allowed, f"Write {example} below [serving].{meant}")
    elif len(given) > 1:
        found = f"rate and concurrency, where arrivals.process is {shown(process)}"
        yield Problem("serving.rate", found, "one of them", "Make two experiments.")
    elif process in FIXED and given:
        allowed = f"none where arrivals.process is {shown(process)}"
        yield Problem(f"serving.{given[0]}", shown(getattr(serving, given[0])), allowed, f"Leave it out: {process} says its load itself.")
    elif process == "stages" and given == ["concurrency"]:
        fix = "Write rate = [...] for stages that are multiples of a rate, or leave it out."
        yield Problem("serving.concurrency", shown(serving.concurrency), 'none where arrivals.process is "stages"', fix)


def _stages(serving: Serving) -> Iterator[Problem]:
    arrivals = serving.arrivals
    stages, process = arrivals.stages, arrivals.process
    if process == "stages" and not stages:
        fix = "Add [[serving.arrivals.stages]] with duration_s = 30, rate = 5."
        yield Problem("serving.arrivals.stages", NOTHING, 'a list that is not empty if process = "stages"', fix)
    if process != "stages" and stages:
        found = f"{len(stages)} of them, where process is {shown(process)}"
        fix = 'Write process = "stages" below [serving.arrivals].'
        yield Problem("serving.arrivals.stages", found, 'none, unless process = "stages"', fix)
    if process != "stages" or not stages:
        return
    total_s = sum(stage.duration_s for stage in stages)
    if abs(total_s - arrivals.duration_s) > 1e-6 * max(total_s, 1.0):
        fix = f"Write duration_s = {total_s:g} below [serving.arrivals]."
        allowed = f"the total duration of the stages: {total_s:g}"
        yield Problem("serving.arrivals.duration_s", f"{arrivals.duration_s:g}", allowed, fix)


def _a_trace(serving: Serving) -> Iterator[Problem]:
    trace, process = serving.arrivals.trace, serving.arrivals.process
    if process == "trace" and trace == "":
        fix = 'Write trace = "FILE" below [serving.arrivals].'
        yield Problem("serving.arrivals.trace", NOTHING, 'a file if process = "trace"', fix)
    if process != "trace" and trace:
        found = f"{shown(trace)}, where process is {shown(process)}"
        fix = 'Write process = "trace" below [serving.arrivals].'
        yield Problem("serving.arrivals.trace", found, 'none, unless process = "trace"', fix)


def _conversations(serving: Serving) -> Iterator[Problem]:
    process = serving.arrivals.process
    fix = "The conversations of a trace are defined in its file, by session." if process == "trace" else "Leave it out."
    for name, value, alone in (("turns", serving.prompts.turns, 1), ("tool_steps", serving.prompts.tool_steps, 0)):
        if process in ONE_REQUEST and value > alone:
            yield Problem(f"serving.prompts.{name}", shown(value), f"{alone} where arrivals.process is {shown(process)}", fix)


# ---- what is sent and what is checked ----------------------------------------------------------------------------


def _scenarios(serving: Serving) -> Iterator[Problem]:
    given = serving.scenarios if "scenarios" in serving.model_fields_set else ()
    for index, text in right(given):
        where = f"serving.scenarios[{index}]"
        wrong = scenario.problem(text, where)
        if wrong is not None:
            yield wrong
            continue
        unsuited = scenario.unsuited(scenario.parse(text), serving.task, where)
        if unsuited is not None:
            yield unsuited
        if text == scenario.DATASET and serving.prompts.source == "synthetic":
            fix = 'Add [serving.prompts] with source = "FILE".'
            yield Problem(where, '"dataset" without a file', "dataset only with serving.prompts.source", fix)


def _token_times_need_a_stream(serving: Serving) -> Iterator[Problem]:
    silent = serving.stream is False
    if not silent and serving.task not in WITHOUT_TEXT:
        return
    for name in TOKEN_TIMES:
        if name == "ttft_s" and not silent and serving.task not in WITHOUT_TIMES:
            continue  # of speech: the first audio
        value = getattr(serving.objectives, name)
        if value is not None:
            why = "stream = false" if silent else f"task = {shown(serving.task)}"
            allowed = f"none with {why}: token times are not observable"
            yield Problem(f"serving.objectives.{name}", shown(value), allowed, "Write e2e_s, the latency of the whole answer.")


def example_objective(serving: Serving) -> tuple[str, str]:
    """An objective that this load can meet, as a key of the file and as a value of the flag --slo."""
    of_whole = serving.stream is False or serving.task in WITHOUT_TIMES
    return ("e2e_s = 10", "e2e=10s") if of_whole else ("ttft_s = 0.2", "ttft=200ms")


def _a_search_has_objectives(serving: Serving) -> Iterator[Problem]:
    if serving.search is True and not any(limit > 0 for limit in serving.objectives.limits.values()):
        fix = f"Add [serving.objectives] with {example_objective(serving)[0]} or another."
        yield Problem("serving.search", "true without an objective", "a search for the highest rate that meets objectives", fix)


def _checks_of_answers(serving: Serving) -> Iterator[Problem]:
    checks, task = serving.correctness, serving.task
    kept = serving.client.keep_text is not False
    for name, value in (("canaries", checks.canaries), ("identity", checks.identity)):
        if value > 0 and task in WITHOUT_TEXT:
            fix = "They compare texts. Remove it, or use a task that returns text."
            yield Problem(f"serving.correctness.{name}", shown(value), f"none with task = {shown(task)}", fix)
        elif value > 0 and not kept:
            yield _text_needed(f"serving.correctness.{name}", value)
    if serving.prompts.answer_field and not kept:
        yield _text_needed("serving.prompts.answer_field", serving.prompts.answer_field)
    if checks.identity <= 0:
        yield from _without_prompts(checks)


def _text_needed(where: str, value: object) -> Problem:
    fix = "Remove keep_text from [serving.client]."
    return Problem(where, f"{shown(value)} with client.keep_text = false", "the answers' text, kept", fix)


def _without_prompts(checks: Correctness) -> Iterator[Problem]:
    for name, value, off in (("needle", checks.needle, False), ("grade", checks.grade, "none")):
        if value != off:
            found = f"{shown(value)} without prompts to compare"
            fix = "Write identity = 8 below [serving.correctness]."
            yield Problem(f"serving.correctness.{name}", found, "needle and grade only with identity", fix)


def _transport(serving: Serving) -> Iterator[Problem]:
    client = serving.client
    if client.proxy:
        yield from _url("serving.client.proxy", client.proxy)
    for name, requested in (("proxy", bool(client.proxy)), ("http2", client.http2 is True)):
        if requested and client.transport in ("lean", "compiled"):
            fix = "assay's own HTTP speaks HTTP/1.1 straight to the server. Remove transport."
            yield Problem("serving.client.transport", f'"{client.transport}" with {name}', "auto or library", fix)


LOAD_RULES = (
    _no_value_twice,
    _loads_of_the_process,
    _stages,
    _a_trace,
    Demand(
        "serving.arrivals.requests",
        lambda s: s.arrivals.process == "offline" and s.arrivals.requests is None,
        'a whole number if process = "offline"',
        "All requests are due at once, so give their number: MLPerf requires requests = 24576.",
    ),
    _conversations,
    Demand(
        "serving.search",
        lambda s: s.search is True and not s.rate,
        "a search between rates",
        "Write rate = [1, 100] below [serving], and an open process such as poisson below [serving.arrivals].",
        found="true without serving.rate",
    ),
    _a_search_has_objectives,
    _scenarios,
    _token_times_need_a_stream,
    _checks_of_answers,
    _transport,
)
