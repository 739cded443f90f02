"""How are items of the method loglikelihood put to engines?  One request for each choice; the answer is what all of them say.

An item with a choice that failed has failed: the most probable of the remaining choices would be another question's answer.

Can these engines say how probable a given text is?  Asked before the first item, with one short text.

The request is built, signed and read as every later one.  An engine that refuses to generate nothing is asked for one token, which is then
not counted.  Probes are no requests of the load: they are neither timed nor recorded.

What is settled before an item is asked: is the margin below the score's scale, which stop strings are sent, and what identifies the items?

An answer is cut at all stop strings of its task in any case, so sending them saves tokens and time, and moves no score.  Not sent are those
of white space alone, which would end reasoning, or an answer that begins with a line break, before its first word, and those of programs, which
stand in chats too.  OpenAI takes four; what a user's option `json.stop` says is left as it is.

There is a digest of each part that decides a score, so that a difference is named.  Digests are of what was read, never of a file's bytes: the
same items in another order of keys, with other line ends or in another file are the same task.

How are programs judged?  Each in its own sandbox, by tests outside of it; what the machine did to a program is no wrong answer.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from time import monotonic, monotonic_ns
from typing import IO, Any, Final

from fireassay import catalog
from fireassay.errors import EnvironmentLacks, Interrupted, SpecError, refuse, refuse_any
from fireassay.printable import one_line
from fireassay.quality.rows import PROPER, Asked
from fireassay.quality.sandbox.check import check_all, program
from fireassay.quality.sandbox.probing import probe
from fireassay.quality.sandbox.tiers import Limits, signature
from fireassay.quality.scoring.items import Extraction, Item, Task
from fireassay.quality.scoring.likelihoods import METHOD, of_choice, of_text, right_choices, to_text
from fireassay.quality.scoring.text_metric import TextMetric
from fireassay.record.secrets.redact import redact
from fireassay.runners.load.engines import urls_of
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import targets_of
from fireassay.spec.rules.evaluation import unfit
from fireassay.spec.sections.serving import Serving, Target
from fireassay.traffic.backends.support.openai_dialect import Echoed, echoed
from fireassay.traffic.parts import Answer, Ask, Backend, Reply, Wire
from fireassay.traffic.wire.response import below
from fireassay.units import MIB

REQUEST: Final = "loglikelihood"  # the task of the load
WHOLE: Final = "whole"  # nothing is extracted from log probabilities
UNSENT: Final = "unsent"


def checked(task: Task) -> Task:
    """The task with its references as indices. Raises SpecError: an item is a conversation, or has no right choice."""
    if task.method != METHOD:
        return task
    if task.extractor != WHOLE:
        found = f"{task.extractor!r} for {task.name}, a task of the method {METHOD}"
        raise _wrong("evaluation.extractor", found, f"{WHOLE!r}: its answers are probabilities, in which nothing is found")
    talk = next((item for item in task.items if item.messages), None)
    if talk is not None:
        raise _wrong(f"item {talk.id}", "a conversation", f"a text in a task of the method {METHOD}: chat endpoints do not echo it")
    return replace(task, items=tuple(replace(item, references=right_choices(item)) for item in task.items))


def one_method(tasks: Sequence[Task], known: Sequence[str]) -> None:
    """Check that one load can put all of these tasks. Raises SpecError: a method is unknown, or they have several."""
    methods = sorted({task.method for task in tasks})
    if unknown := [method for method in methods if method not in known]:
        raise _wrong("evaluation.task", f"a task of the method {', '.join(unknown)}", f"{' or '.join(known)}, in this release")
    if len(methods) > 1:
        raise _wrong("evaluation.task", f"tasks of the methods {' and '.join(methods)}", "tasks of one method in one evaluation")


def fitting(scores: Sequence[str], method: str, what: str) -> None:
    """Check that scores read what a method gives. A score of texts reads the index of the most probable choice.

    Raises:
        SpecError: a score of log probabilities for texts, of texts for programs.
    """
    refuse_any((problem for name in scores for problem in unfit("evaluation.metrics", name, method)), f"the scores of {what}")


def chosen(text: str | None) -> Extraction | None:
    """The index of the most probable choice, by the sum over its tokens; None without an answer."""
    if text is None:
        return None
    choices = of_text(text)
    best = max(range(len(choices)), key=lambda index: choices[index].logprob)  # the first of equal ones
    return Extraction(answer=str(best), rule="most_probable", begin=0, end=len(text))


def row(item: Item, choice: int) -> dict[str, Any]:
    """A row of a load's prompts."""
    return {"prompt": item.prompt, "documents": [item.prompt, item.choices[choice]]}


def folded(sent: Sequence[Mapping[str, Any]], items: Mapping[str, Item]) -> Iterator[dict[str, Any]]:
    """One answer per item that was sent, of its requests with their `choice`: all of its log probabilities, or how the first failed."""
    by_item: dict[str, dict[int, Mapping[str, Any]]] = {}
    for row in sent:
        by_item.setdefault(row["item"], {})[row["choice"]] = row
    for key, choices in by_item.items():
        yield _answer(items[key], choices)


def _answer(item: Item, choices: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    missing = [index for index in range(len(item.choices)) if index not in choices]
    failed = [row["status"] for _, row in sorted(choices.items()) if row["status"] != PROPER]
    empty = [index for index, row in choices.items() if row["status"] == PROPER and not row["logprobs"]]
    first = choices[min(choices)]
    status = failed[0] if failed else UNSENT if missing else "malformed" if empty else PROPER
    entries = (
        [of_choice(item.prompt, item.choices[index], row["logprobs"], row["request"]) for index, row in sorted(choices.items())]
        if status == PROPER
        else None
    )
    text = None if entries is None else to_text(entries)
    return {**first, "status": status, "text": text, "finish_reason": None}


def _wrong(where: str, found: str, allowed: str, fix: str = "") -> SpecError:
    return refuse(where, found, allowed, fix, source="the evaluation")


CONTEXT: Final = "The capital of France is"
CONTINUATION: Final = " Paris, and"
OPTION: Final = "echo_tokens"
TIMEOUT_S: Final = 60.0  # a cold engine may compile first


def probed(experiment: Experiment) -> Experiment:
    """The experiment with what each engine needs to echo. Engines that assay starts itself are not up yet, and not probed.

    Raises:
        EnvironmentLacks: an engine does not report log probabilities of a given text.
    """
    serving = experiment.serving
    assert serving is not None
    targets = tuple(_settled(target, urls_of(experiment, target), target.model or serving.model) for target in targets_of(serving))
    return experiment.model_copy(update={"serving": serving.model_copy(update={"targets": targets})})


REFUSALS: Final = (400, 401, 403, 404, 405, 415, 422)  # that every item would get; a busy engine answers otherwise
PROBE_TOKENS: Final = 16
GREETING: Final = "Reply with the word yes."


def check_answering(experiment: Experiment) -> None:
    """Send one request to each engine that is up, before hundreds fail for the same reason.

    Raises:
        EnvironmentLacks: some refuse it; with the name, the address and the reason of each.
    """
    serving = experiment.serving
    assert serving is not None
    refused = [
        f"the engine {target.name} at {redact(url)} refuses a request{f' for the model {model}' if model else ''}: {why}"
        for target in targets_of(serving)
        for url in urls_of(experiment, target)
        if (why := _refusal(target, url, model := target.model or serving.model, serving))
    ]
    if refused:
        raise EnvironmentLacks(
            "\n".join((*refused, "No item was sent. Look at --model (with several engines a=NAME,b=NAME), the address and the key."))
        )


def _refusal(target: Target, url: str, model: str, serving: Serving) -> str:
    """Why the engine takes no such request; empty if it does, or if another moment may be better."""
    backend: Backend = catalog.load("traffic.backends", target.backend)
    greeting: tuple[dict[str, Any], ...] = ({"role": "user", "content": GREETING},)
    ask = Ask(
        task=serving.task, model=model, messages=greeting, prompt=GREETING, max_tokens=PROBE_TOKENS, stream=False, temperature=serving.temperature,
        ignore_eos=False,
    )  # fmt: skip
    wire = backend.wire(ask, target)
    reply = sent(backend.prepare(target)(wire, url) if backend.prepare is not None else wire, url)
    if reply.http_status not in REFUSALS:
        return ""
    return f"HTTP {reply.http_status}, {redact(one_line(reply.body.decode(errors='replace')))[:300]}"


def _settled(target: Target, urls: Sequence[str], model: str) -> Target:
    for url in urls:
        target = _echoing(target, url, model)
    return target


def _echoing(target: Target, url: str, model: str) -> Target:
    backend: Backend = catalog.load("traffic.backends", target.backend)
    errors = []
    for tokens in (target.options[OPTION],) if OPTION in target.options else (0, 1):
        trial = target.model_copy(update={"options": {**target.options, OPTION: tokens}})
        answer = _ask(backend, trial, url, model)
        if answer.status == "ok" and answer.logprobs:
            return trial
        errors.append(f"max_tokens = {tokens}: {answer.status}, {answer.error or 'no log probabilities'}")
    raise EnvironmentLacks(
        f"the engine {target.name} at {redact(url)} cannot score a given text: {redact('; '.join(errors))[:600]}\n"
        "No item was sent. A task of the method loglikelihood needs /v1/completions with echo and logprobs, which chat endpoints and "
        "`transformers serve` lack. Use such an engine, or name the model's folder as the target, which runs it in this process"
    )


def echo(backend: Backend, target: Target, url: str, model: str, texts: tuple[str, str]) -> Echoed | str:
    """A continuation's tokens as an engine scores them; `texts`: context and continuation. A text instead: why there are none."""
    reply, ask = _replied(backend, target, url, model, texts)
    answer = backend.read(reply, ask)
    if answer.status != "ok":
        return f"{answer.status}, {redact(str(answer.error))[:300]}"
    try:
        return echoed(json.loads(reply.body), *texts)
    except ValueError as error:
        return str(error)


def _ask(backend: Backend, target: Target, url: str, model: str) -> Answer:
    return backend.read(*_replied(backend, target, url, model, (CONTEXT, CONTINUATION)))


def _replied(backend: Backend, target: Target, url: str, model: str, texts: tuple[str, str]) -> tuple[Reply, Ask]:
    ask = Ask(task="loglikelihood", model=model, prompt="".join(texts), documents=texts, stream=False, ignore_eos=False, logprobs=True)
    wire = backend.wire(ask, target)
    if backend.prepare is not None:
        wire = backend.prepare(target)(wire, url)
    return sent(wire, url), ask


def sent(wire: Wire, url: str, timeout_s: float | None = None) -> Reply:
    """The reply to a request outside of a load; what fails below HTTP is a reply without a status. `timeout_s`: usually `TIMEOUT_S`."""
    timeout_s = TIMEOUT_S if timeout_s is None else timeout_s
    request = urllib.request.Request(below(url.rstrip("/"), wire.path), data=wire.body, headers=dict(wire.headers), method=wire.method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=timeout_s) as answered:
            return _reply(answered.status, _body(answered, timeout_s))
    except urllib.error.HTTPError as error:
        with error:
            return _reply(error.code, _body(error, timeout_s))
    except (OSError, http.client.HTTPException) as error:
        why = str(getattr(error, "reason", "") or error)
        return Reply(ended="refused", http_status=None, headers={}, body=b"", ns=[monotonic_ns()], why=why)


def _body(answered: IO[bytes], timeout_s: float) -> bytes:
    """What arrives within the time limit; the socket's own limit counts anew with every byte."""
    until_s, body = monotonic() + timeout_s, b""
    while len(body) < MIB and (piece := answered.read1(MIB)):  # type: ignore[attr-defined]
        body += piece
        if monotonic() > until_s:
            raise TimeoutError(f"the answer had not ended after {timeout_s:g} s")
    return body


def _reply(status: int, body: bytes) -> Reply:
    return Reply(ended="complete", http_status=status, headers={}, body=body, ends=[len(body)], ns=[monotonic_ns()])


# ---- before an item is asked -----------------------------------------------------------------------------------------


MIN_MARGIN: Final = 0.001  # of a scale wider than 1: "2%" of BLEU is 0.02 of 100 points, and 2 was meant


def check_margin(experiment: Experiment, metric: TextMetric) -> None:
    """Check the margin against the score that decides. Raises SpecError: it is as wide as the whole scale, or meant for a scale from 0 to 1."""
    lowest, highest = metric.scale
    width = highest - lowest
    least = width * MIN_MARGIN if 1.0 < width < math.inf else 0.0
    if experiment.quality is None or least <= experiment.quality.margin < width:
        return
    narrow = experiment.quality.margin < least
    allowed = f"{f'{least:g} or more' if narrow else f'less than {width:g}'}: {metric.title} goes from {lowest:g} to {highest:g}"
    result = "No answers could show that it is held" if narrow else "Quality would be held whatever is answered"
    raise refuse(
        "quality.margin",
        f"{experiment.quality.margin:g}",
        allowed,
        f"{result}. A loss of two points is {width / 50:g}.",
        source="the evaluation",
    )


MAX_STOPS: Final = 4
STOPPING: Final = ("chat", "completions", "image_chat")  # requests whose dialects know stop strings


def common_stops(tasks: Sequence[Task]) -> tuple[str, ...]:
    """The stop strings that every task of a load has, in the first one's order."""
    if any(task.method != "generation" for task in tasks):
        return ()
    return tuple(stop for stop in tasks[0].stop if stop.strip() and all(stop in task.stop for task in tasks))[:MAX_STOPS]


def sent_stops(target: Target, request: str, stops: Sequence[str]) -> tuple[str, ...]:
    """Those that this engine gets; none if its dialect knows none."""
    given = {"json.stop", "body.stop"} & target.options.keys()
    known = catalog.load("traffic.backends", target.backend).stops and request in STOPPING and not target.options.get("native")
    return tuple(stops) if known and not given else ()


def with_stops(target: Target, stops: Sequence[str]) -> Target:
    """The engine, with these in every request."""
    return target.model_copy(update={"options": {**target.options, "json.stop": json.dumps(list(stops))}}) if stops else target


def item_digests(items: Sequence[Item]) -> dict[str, str]:
    """part -> digest.

    `items` are the ids in their order, so another limit or order is another one; all other parts go by id, whatever the order.
    """
    ordered = sorted(items, key=lambda item: item.id)
    return {
        "items": f"{len(items)} items, {digest([item.id for item in items])}",
        "prompts": digest([item.prompt or json.dumps([dict(message) for message in item.messages], sort_keys=True) for item in ordered]),
        "references": _digest_of([item.references for item in ordered]),
        "choices": _digest_of([item.choices for item in ordered]),
        "clusters": _digest_of([item.cluster for item in ordered]),
        "groups": _digest_of([sorted(item.groups.items()) for item in ordered]),
        "weights": _digest_of([item.weight for item in ordered]),
        "tests": _digest_of([(item.entry_point, item.test) for item in ordered]),
    }


def _digest_of(values: Sequence[object]) -> str:
    return digest([repr(value) for value in values])


def digest(texts: Sequence[str]) -> str:
    """SHA-256 of the texts, each with its length."""
    whole = sha256()
    for text in texts:
        whole.update(len(text).to_bytes(8, "big"))
        whole.update(text.encode("utf-8", "surrogatepass"))
    return whole.hexdigest()


# ---- programs --------------------------------------------------------------------------------------------------------


CODE_METRIC: Final = "pass_at_1"


def code_signature() -> str:
    """What moves a verdict: the isolation, its limits, and the interpreter.

    Raises:
        EnvironmentLacks: code cannot be isolated on this machine.
    """
    return f"metric:{CODE_METRIC}|{signature(probe(), Limits())}"


def judged_programs(asked: Sequence[Asked]) -> tuple[list[Asked], list[float | None]]:
    """The items with the outcome of their programs, and the score of each: 1, 0, or None where nothing was judged.

    Raises:
        Interrupted: the user stopped it.
    """
    places = [index for index, one in enumerate(asked) if one.outcome == PROPER]
    programs = [program(asked[index].item, _code(asked[index])) for index in places]
    checked = check_all(programs, max(1, os.cpu_count() or 1))
    if checked.interrupted:
        raise Interrupted("the programs were not all judged")
    after: list[Asked] = list(asked)
    scores: list[float | None] = [None] * len(asked)
    for index, result in zip(places, checked.results, strict=True):
        assert result is not None
        scores[index] = result.score
        outcome = PROPER if result.score is not None else result.outcome
        judged = f"{result.outcome}: {result.detail}" if result.detail else result.outcome
        after[index] = replace(asked[index], outcome=outcome, judged=judged)
    return after, scores


def _code(one: Asked) -> str:
    return (one.extraction.answer if one.extraction is not None else None) or ""
