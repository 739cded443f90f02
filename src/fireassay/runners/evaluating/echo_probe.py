"""Can these engines say how probable a given text is?  Asked before the first item, with one short text.

The request is built, signed and read as every later one.  An engine that refuses to generate nothing is asked for one token, which is then
not counted.  Probes are no requests of the load: they are neither timed nor recorded.
"""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from time import monotonic, monotonic_ns
from typing import IO, Final

from fireassay import catalog
from fireassay.errors import EnvironmentLacks
from fireassay.record.secrets.redact import redact
from fireassay.runners.load.engines import urls_of
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import targets_of
from fireassay.spec.sections.serving import Target
from fireassay.traffic.parts import Answer, Ask, Backend, Reply, Wire
from fireassay.traffic.replies.echoed import Echoed, echoed
from fireassay.units import MIB

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
    return _sent(wire, url), ask


def _sent(wire: Wire, url: str) -> Reply:
    request = urllib.request.Request(url.rstrip("/") + wire.path, data=wire.body, headers=dict(wire.headers), method=wire.method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=TIMEOUT_S) as answered:
            return _reply(answered.status, _body(answered))
    except urllib.error.HTTPError as error:
        with error:
            return _reply(error.code, _body(error))
    except (OSError, http.client.HTTPException) as error:
        why = str(getattr(error, "reason", "") or error)
        return Reply(ended="refused", http_status=None, headers={}, body=b"", ns=[monotonic_ns()], why=why)


def _body(answered: IO[bytes]) -> bytes:
    """What arrives within the time limit; the socket's own limit counts anew with every byte."""
    until_s, body = monotonic() + TIMEOUT_S, b""
    while len(body) < MIB and (piece := answered.read1(MIB)):  # type: ignore[attr-defined]
        body += piece
        if monotonic() > until_s:
            raise TimeoutError(f"the answer had not ended after {TIMEOUT_S:g} s")
    return body


def _reply(status: int, body: bytes) -> Reply:
    return Reply(ended="complete", http_status=status, headers={}, body=body, ends=[len(body)], ns=[monotonic_ns()])
