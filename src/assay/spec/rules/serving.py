"""Which keys of a load on engines contradict one another?

As in `assay.spec.rules.experiment`: each rule looks at the data as they were given, and says nothing of values of the wrong type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import urlsplit

from assay.errors import Problem
from assay.spec.explain import NOTHING, shown
from assay.spec.rules.given import Data, is_list, is_positive, items_of, serving_of, table_of, tables_of, task_of
from assay.spec.rules.loads import a_trace, conversations, loads_of_the_process, offline_is_counted, scenarios, search, stages
from assay.spec.rules.serving_faults import faults_fit

INSIDE: Final = "process"  # the backend that answers in the client's own process: there is nothing to connect to
WITHOUT_TEXT: Final = ("embeddings", "rerank")  # tasks that are answered with numbers
TOKEN_TIMES: Final = ("ttft_s", "ttft_visible_s", "tpot_s", "itl_s")


def _with_its_runner(data: Data) -> Iterator[Problem]:
    runner = table_of(data, "workload").get("runner", "training")
    if not isinstance(runner, str):
        return
    if data.get("serving") is not None and runner not in ("serving", "replay"):
        yield Problem(
            where="serving",
            found=f"a table, where workload.runner is {shown(runner)}",
            allowed='[serving] only with workload.runner = "serving" or "replay"',
            mend='Write runner = "serving" below [workload].',
        )
    if data.get("serving") is None and runner == "serving":
        yield Problem(
            where="serving",
            found=NOTHING,
            allowed='a table where workload.runner = "serving"',
            mend='Add [serving] with concurrency = [1, 8], and [[serving.targets]] with urls = ["http://localhost:8000"].',
        )


def _without_a_factor(data: Data) -> Iterator[Problem]:
    factor = table_of(data, "factor")
    if data.get("serving") is None or not factor or dict(factor) in ({"levels": [1]}, {"name": "workers", "levels": [1]}):
        return
    yield Problem(
        where="factor",
        found="a table",
        allowed="no [factor] where there is [serving]",
        mend="Leave it out: what a load varies is serving.concurrency or serving.rate, serving.scenarios and serving.targets.",
    )


def _an_engine(data: Data) -> Iterator[Problem]:
    if not serving_of(data):
        return
    script = table_of(data, "workload").get("script")
    named = isinstance(script, str) and script != ""
    targets = list(tables_of(serving_of(data), "targets"))
    if not named and not items_of(serving_of(data), "targets"):
        yield Problem(
            where="serving.targets",
            found=NOTHING,
            allowed="an engine: a list of tables, or its URL as workload.script",
            mend='Add [[serving.targets]] with urls = ["http://localhost:8000"], or with the command that starts it.',
        )
    if named and (not targets or any(not (one.get("urls") or one.get("command")) for _, one in targets)):
        yield from _url("workload.script", script)
    for index, target in targets:
        yield from _of_target(f"serving.targets[{index}]", target, named)


def _of_target(where: str, target: Data, named: bool) -> Iterator[Problem]:
    urls, command = items_of(target, "urls"), items_of(target, "command")
    inside = target.get("backend") == INSIDE
    if urls and command:
        yield Problem(
            where=f"{where}.urls",
            found=shown(urls),
            allowed="urls or command, not both",
            mend="Leave out urls: replicas that assay starts get ports of their own.",
        )
    if not (urls or command or named or inside) and is_list(target, "urls") and is_list(target, "command"):
        yield Problem(
            where=f"{where}.urls",
            found="nothing",
            allowed="where the engine listens, or the command that starts it",
            mend='Write urls = ["http://localhost:8000"].',
        )
    for name in ("router", "replicas"):
        if urls and (target.get(name) if name == "router" else target.get(name, 1) != 1):
            yield Problem(
                where=f"{where}.{name}",
                found=shown(target[name]),
                allowed=f"{name} only with command",
                mend="One URL for each replica says how many there are." if name == "replicas" else "Give the router's own URL.",
            )
    for place, url in enumerate(urls):
        yield from _url(f"{where}.urls[{place}]", url)


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
            where=where,
            found=shown(url),
            allowed="http://HOST:PORT or https://HOST:PORT",
            mend=f"Write {shown(f'http://{url}')} if that is meant." if bare else "",
        )


def _said_once(data: Data) -> Iterator[Problem]:
    serving = serving_of(data)
    names = [target.get("name", "server") for _, target in tables_of(serving, "targets")]
    lists = [("serving.targets", names, "every engine with a name of its own", True)]
    lists += [(f"serving.{key}", items_of(serving, key), "every one once", False) for key in ("scenarios", "concurrency", "rate")]
    for where, values, allowed, named in lists:
        plain = [value for value in values if isinstance(value, str | int | float)]
        twice = [value for value, count in Counter(plain).items() if count > 1]
        if twice:
            ending = "a name to each" if named else f"{shown(list(dict.fromkeys(plain)))}"
            yield Problem(
                where=where,
                found=shown(plain),
                allowed=allowed,
                mend=f"{', '.join(map(shown, twice))} stands there more than once. {'Give' if named else 'Write'} {ending}.",
            )


def _token_times_need_a_stream(data: Data) -> Iterator[Problem]:
    serving = serving_of(data)
    silent = serving.get("stream") is False
    if not silent and task_of(data) not in WITHOUT_TEXT:
        return
    for name in TOKEN_TIMES:
        value = table_of(serving, "objectives").get(name)
        if value is not None:
            why = "stream = false" if silent else f"task = {shown(task_of(data))}"
            yield Problem(
                where=f"serving.objectives.{name}",
                found=shown(value),
                allowed=f"none with {why}: tokens are not seen to come",
                mend="Write e2e_s, the time of the whole answer.",
            )


def _checks_of_answers(data: Data) -> Iterator[Problem]:
    serving = serving_of(data)
    checks, task = table_of(serving, "correctness"), task_of(data)
    kept = table_of(serving, "client").get("keep_text") is not False
    for name in ("canaries", "identity"):
        value = checks.get(name)
        if not is_positive(value):
            continue
        if task in WITHOUT_TEXT:
            yield Problem(
                where=f"serving.correctness.{name}",
                found=shown(value),
                allowed=f"none with task = {shown(task)}",
                mend="They compare texts. Leave it out, or ask for text.",
            )
        elif not kept:
            yield _text_needed(f"serving.correctness.{name}", value)
    answers = table_of(serving, "prompts").get("answer_field")
    if isinstance(answers, str) and answers and not kept:
        yield _text_needed("serving.prompts.answer_field", answers)
    if not is_positive(checks.get("identity")):
        yield from _without_prompts(checks)


def _text_needed(where: str, value: object) -> Problem:
    return Problem(
        where=where,
        found=f"{shown(value)} with client.keep_text = false",
        allowed="the answers' text, kept",
        mend="Leave out keep_text below [serving.client].",
    )


def _without_prompts(checks: Data) -> Iterator[Problem]:
    asked = [("needle", checks.get("needle") is True), ("grade", checks.get("grade", "none") not in ("none", None))]
    for name, given in asked:
        if given:
            yield Problem(
                where=f"serving.correctness.{name}",
                found=f"{shown(checks[name])} without prompts to compare",
                allowed="needle and grade only with identity",
                mend="Write identity = 8 below [serving.correctness].",
            )


def _transport(data: Data) -> Iterator[Problem]:
    client = table_of(serving_of(data), "client")
    proxy = client.get("proxy", "")
    if isinstance(proxy, str) and proxy:
        yield from _url("serving.client.proxy", proxy)
    for name, given in (("proxy", bool(proxy)), ("http2", client.get("http2") is True)):
        if given and (transport := client.get("transport", "auto")) in ("lean", "compiled"):
            yield Problem(
                where="serving.client.transport",
                found=f'"{transport}" with {name}',
                allowed="auto or library",
                mend="assay's own HTTP speaks HTTP/1.1 straight to the server. Leave transport out.",
            )


SERVING_RULES: tuple[Callable[[Data], Iterator[Problem]], ...] = (
    _with_its_runner,
    _without_a_factor,
    _an_engine,
    _said_once,
    loads_of_the_process,
    stages,
    a_trace,
    offline_is_counted,
    conversations,
    search,
    scenarios,
    _token_times_need_a_stream,
    _checks_of_answers,
    _transport,
    faults_fit,
)
