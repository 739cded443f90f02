"""Does every engine compute what the reference computes?  Each scores the reference's answers, token by token (teacher forcing).

After the passes, when every engine is idle; one that assay started and that is no longer up is started once more.  A text is an item's
prompt and the reference's answer to it; in a task of the method loglikelihood its prompt and each choice.  Chat templates are left out, at
every engine alike.  Folders of models are compared with whole distributions (`forced_process`), engines over HTTP with their most probable
tokens (`forced_echo`), every replica by itself.

A text that one side refuses, or reads as other tokens, is left out there; how many and why is in the record's environment.

How do engines differ from a reference, at every token of given texts?  Asked over HTTP to echo them with their most probable tokens.

Each address of an engine is asked by itself, so that replicas behind one name are compared one by one; replicas behind a foreign router
are seen as one.  Addresses are asked one after another, since an engine that assay starts may be up only while its own are asked.  A KL of
the most probable tokens is a lower bound (`fireassay.quality.scoring.likelihoods`).  The floor is the reference asked a second time.  These requests
are neither timed nor rows of `requests`.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final

import numpy as np

from fireassay import catalog, isolated
from fireassay.errors import EnvironmentLacks, Interrupted, SpecError, WorkloadError, refuse
from fireassay.quality.rows import PROPER, batch_of
from fireassay.quality.scoring.items import Item, Task
from fireassay.quality.scoring.likelihoods import METHOD, kl_at_least
from fireassay.record.declared import DIVERGENCE
from fireassay.record.folder import check_written
from fireassay.record.scratch import scratch
from fireassay.record.secrets.redact import redact
from fireassay.runners.evaluating import forced_process, likelihood
from fireassay.runners.experiment.abandoned_launches import request_batches
from fireassay.runners.experiment.context import RunContext
from fireassay.runners.load.engines import Engines, urls_of
from fireassay.runners.load.load import check_plug_ins
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import configurations, targets_of
from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support.openai_dialect import Echoed
from fireassay.traffic.parts import Backend

TOP: Final = 5  # the most that every dialect of /v1/completions gives
PATIENCE: Final = 2  # texts in a row at which an engine gives nothing within the time limit; the others are not asked


@dataclass(frozen=True, kw_only=True)
class Address:
    """One address of an engine, and what it is called there."""

    target: Target
    url: str
    model: str

    @property
    def shown(self) -> str:
        return f"the engine {self.target.name} at {redact(self.url)}"


def check_echo(address: Address) -> None:
    """Check that an engine echoes with its most probable tokens. Raises EnvironmentLacks: it does not."""
    found = scored(address, likelihood.CONTEXT, likelihood.CONTINUATION)
    if isinstance(found, str) or not found.top:
        why = found if isinstance(found, str) else "it reported no top_logprobs"
        raise EnvironmentLacks(
            f"{address.shown} cannot be compared with the reference token by token: {why}\nNo item was sent. evaluation.divergence needs "
            f"/v1/completions with echo and logprobs = {TOP}. Leave out --divergence, or name folders of models, which run in this process"
        )


def scored(address: Address, context: str, continuation: str) -> Echoed | str:
    """The tokens of a continuation as the engine scores them, or why there are none."""
    without_stops = {
        name: value for name, value in address.target.options.items() if name != "json.stop"
    }  # the echoed text is not to be cut
    target = address.target.model_copy(update={"options": {**without_stops, "body.logprobs": TOP}})
    backend: Backend = catalog.load("traffic.backends", target.backend)
    return likelihood.echo(backend, target, address.url, address.model, (context, continuation))


def echoed_sides(
    addresses: Iterable[Address], texts: Sequence[tuple[str, str]], at_once: Callable[[], AbstractContextManager[None]] = nullcontext
) -> Iterator[Mapping[str, Any]]:
    """One row for each text of each side; side 0 is the floor: the first address asked again.

    `at_once` is around the requests, which a stop ends, and not around the addresses: to give the next one, an engine may be started.
    """
    reference: list[Echoed | str] = []
    for side, address in enumerate(addresses):
        with at_once():
            reference = reference or _all(address, texts)
            found = _all(address, texts)
        for index, (before, after) in enumerate(zip(reference, found, strict=True)):
            yield {"side": side, "text": index, **_row(before, after)}


def _all(address: Address, texts: Sequence[tuple[str, str]]) -> list[Echoed | str]:
    """Every text as scored; an engine that hangs is not waited for at each of them."""
    found: list[Echoed | str] = []
    late = 0
    for text in texts:
        begin_s = monotonic()
        found.append(scored(address, *text) if late < PATIENCE else found[-1])
        if late < PATIENCE:
            late = late + 1 if isinstance(found[-1], str) and monotonic() - begin_s >= likelihood.TIMEOUT_S else 0
    return found


def _row(reference: Echoed | str, engine: Echoed | str) -> dict[str, Any]:
    for side in (reference, engine):
        if isinstance(side, str):
            return {"error": side}
    assert isinstance(reference, Echoed)
    assert isinstance(engine, Echoed)
    if reference.tokens != engine.tokens:
        return {"error": "the two engines tokenize the texts differently, so their tokens cannot be compared"}
    pairs = list(zip(_tops(reference), _tops(engine), strict=True))
    bounds = [kl_at_least(ours, theirs) for ours, theirs in pairs]
    return {
        "kl": [None if math.isnan(bound) else bound for bound in bounds],
        "same_top": [int(_best(ours) == _best(theirs)) for ours, theirs in pairs],
        "reference_logprob": list(reference.logprobs),
        "logprob": list(engine.logprobs),
    }


def _tops(echoed: Echoed) -> list[dict[str, float]]:
    """The most probable tokens of each position, and the given one."""
    tops = echoed.top or ({},) * len(echoed.tokens)
    return [{**top, token: value} for top, token, value in zip(tops, echoed.tokens, echoed.logprobs, strict=True)]


def _best(top: Mapping[str, float]) -> str:
    return max(sorted(top), key=lambda token: top[token])


IN_PROCESS: Final = "process"  # the backend
WHERE: Final = "evaluation.divergence"


@dataclass(frozen=True, kw_only=True)
class Text:
    """A text that every engine scores."""

    task: str
    item: str
    context: str
    continuation: str


def check(experiment: Experiment) -> None:
    """Check that every engine can score given texts, and that there is something to compare.

    Raises:
        SpecError: the engines are of two kinds, or only one.
        EnvironmentLacks: an engine does not report the log probabilities of a given text.
    """
    serving = experiment.serving
    assert serving is not None
    targets = targets_of(serving)
    inside = [target.name for target in targets if target.backend == IN_PROCESS]
    if inside and len(inside) < len(targets):
        raise _refused(f"folders of models and servers ({', '.join(target.name for target in targets)})", "all folders, or all servers")
    if max(len(targets), sum(_replicas(experiment, target) for target in targets)) < 2:
        raise _refused("one engine", "two or more, the first of which is the reference", "Name another --target NAME=URL.")
    check_plug_ins("loglikelihood", targets)
    for target in targets:  # those that assay starts are not up yet
        for address in _addresses(experiment, target, urls_of(experiment, target)):
            check_echo(address)


def _refused(found: str, allowed: str, fix: str = "") -> SpecError:
    return refuse(WHERE, found, allowed, fix or "Or write divergence = 0.", source="the evaluation")


def _replicas(experiment: Experiment, target: Target) -> int:
    """How many sides an engine has: its addresses."""
    return target.replicas if target.command else max(1, len(urls_of(experiment, target)))


def _addresses(experiment: Experiment, target: Target, urls: Sequence[str]) -> tuple[Address, ...]:
    assert experiment.serving is not None
    model = target.model or experiment.serving.model
    return tuple(Address(target=target, url=url, model=model) for url in urls)


def _each_up(context: RunContext, engines: Engines, targets: Sequence[Target], launches: Mapping[str, int]) -> Iterator[Address]:
    """Every address of every engine, the reference's first; an engine that assay starts is up while its own are asked."""
    for target in targets:
        yield from _addresses(context.experiment, target, engines.addresses(target.name, launches[target.name]))


def force(context: RunContext, tasks: Sequence[Task], engines: Engines) -> None:
    """Write the table `divergence` of the passes made, unless nothing was asked for. What was answered stays, if this fails."""
    evaluation, serving = context.experiment.evaluation, context.experiment.serving
    assert evaluation is not None
    assert serving is not None
    launches = _first_launches(context)
    reference = targets_of(serving)[0]
    if not evaluation.divergence or reference.name not in launches:
        return
    targets = [target for target in targets_of(serving) if target.name in launches]
    texts = _spread(list(_texts(context.record.path, launches[reference.name], tasks, serving.task)), evaluation.divergence)
    inside = reference.backend == IN_PROCESS
    sides = [(target.name, replica) for target in targets for replica in range(_replicas(context.experiment, target))]
    pairs = [(text.context, text.continuation) for text in texts]
    asked = _each_up(context, engines, targets, launches)
    try:
        found = _in_process(context, targets, pairs) if inside else list(echoed_sides(asked, pairs, context.stop.at_once))
    except Interrupted:
        return
    except WorkloadError as error:
        context.note_environment(divergence={"failed": str(error)})
        return
    for number, (name, replica) in enumerate(sides):
        rows = [row for row in found if row["side"] == number]
        side = {"launch": launches[name], "replica": replica, "side": "engine" if number else "floor", "basis": "full" if inside else "top"}
        _write(context, side, texts, rows)
    context.note_environment(divergence=_noted(len(texts), sides, found))


def _first_launches(context: RunContext) -> dict[str, int]:
    """Target -> its first successful pass."""
    names = {configuration.name: configuration.target for configuration in configurations(context.experiment)}
    done = [row for row in context.rows if row["status"] == "ok" and row["role"] == "timed"]
    return {names[row["configuration"]]: row["launch"] for row in sorted(done, key=lambda row: -row["launch"])}


def _texts(path: Path, launch: int, tasks: Sequence[Task], kind: str) -> Iterator[Text]:
    """The texts of every item that the reference answered."""
    items = {(task.name, item.id): (task, item) for task in tasks for item in task.items}
    for batch in request_batches(path, launch, "answers"):
        for row in batch.select(["task", "item", "outcome", "text"]).to_pylist():
            task, item = items[row["task"], row["item"]]
            if row["outcome"] != PROPER:
                continue
            continuations = item.choices if task.method == METHOD else (row["text"] or "",)
            for continuation in continuations:
                if continuation.strip():
                    yield Text(task=task.name, item=item.id, context=_context(item, kind), continuation=continuation)


def _context(item: Item, kind: str) -> str:
    """What precedes the answer, without a chat template."""
    talk = "\n\n".join(str(message["content"]) for message in item.messages) if item.messages else item.prompt
    return f"{talk}\n\n" if kind == "chat" else talk


def _spread(texts: Sequence[Text], most: int) -> list[Text]:
    """The texts of at most that many items, spread evenly over all."""
    items = list(dict.fromkeys((text.task, text.item) for text in texts))
    kept = {items[index] for index in np.linspace(0, len(items) - 1, min(most, len(items))).round().astype(int)} if items else set()
    return [text for text in texts if (text.task, text.item) in kept]


def _in_process(context: RunContext, targets: Sequence[Target], texts: Sequence[tuple[str, str]]) -> Sequence[Mapping[str, Any]]:
    """The rows of a helper process that holds the models."""
    serving = context.experiment.serving
    assert serving is not None
    with scratch() as folder:
        job, out, log = (folder / name for name in ("job.json", "out.jsonl", "log"))
        told = [target.model_dump(mode="json") for target in targets]
        job.write_text(json.dumps({"targets": told, "model": serving.model, "texts": texts}), encoding="utf-8")
        command = isolated.python("-m", forced_process.__name__, str(job), str(out))
        with log.open("w", encoding="utf-8") as errors, context.stop.at_once():
            process = subprocess.Popen(
                command, env=isolated.environment(os.environ), stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, cwd=context.folder
            )
            try:
                process.wait()
            finally:  # a stop too
                process.kill()
                process.wait()
        if process.returncode:
            said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
            raise WorkloadError(f"the models could not be compared ({WHERE}): {' '.join(said) or f'exit code {process.returncode}'}")
        with out.open(encoding="utf-8") as lines:
            return [*map(json.loads, lines)]


def _write(context: RunContext, side: Mapping[str, Any], texts: Sequence[Text], rows: Iterable[Mapping[str, Any]]) -> None:
    """The tokens of one side. An item's texts (its choices) follow one another."""
    columns: dict[str, list[Any]] = {name: [] for name in DIVERGENCE.column_names}
    reached: dict[tuple[str, str], int] = {}
    for row in rows:
        if "error" in row:
            continue
        text, tokens = texts[row["text"]], len(row["logprob"])
        begin = reached.get((text.task, text.item), 0)
        reached[text.task, text.item] = begin + tokens
        for name in columns:
            if name in side:
                columns[name] += [side[name]] * tokens
            elif name in row:
                columns[name] += row[name]
        columns["task"] += [text.task] * tokens
        columns["item"] += [text.item] * tokens
        columns["position"] += range(begin, begin + tokens)
    if not columns["kl"]:
        return
    writer = context.record.writer(int(side["launch"]))
    writer.append_batch("divergence", batch_of("divergence", columns))
    writer.flush()
    check_written(writer, context.record.path)


def _noted(texts: int, sides: Sequence[tuple[str, int]], found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How many texts were scored, and what each side left out."""
    refused: dict[str, Any] = {}
    for number, (name, replica) in enumerate(sides):
        errors = [row["error"] for row in found if row["side"] == number and "error" in row]
        if errors:
            refused[f"{name} {replica}"] = {"texts": len(errors), "first": errors[0]}
    return {"texts": texts, "left_out": refused}
