"""How is a judge asked?  Every request whose reply is not known once, several at a time, again where the server could not answer.

Requests are built, signed and read by the backend of the judge's dialect, as those of a load are.  The first goes alone: a judge that is not there, or
does not know the key or the model, refuses all of them, and nothing more is sent.  Later ones that are refused or fail have no reply, which is
no judgement; `MOST_IN_A_ROW` of them end it.  A stop does not wait for replies under way; the thread that received a reply has kept it before its next
request, so that no more are lost than were under way.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, Final, Protocol

from fireassay import catalog
from fireassay.errors import EnvironmentLacks
from fireassay.printable import one_line
from fireassay.quality.judging.cache import Reply, key_of, whole_text
from fireassay.record.secrets.redact import redact
from fireassay.runners.evaluating import likelihood
from fireassay.runners.load.load import check_plug_ins
from fireassay.spec.sections.judge import Judge
from fireassay.spec.sections.serving import Target
from fireassay.traffic.parts import Answer, Ask, Backend

Messages = tuple[Mapping[str, str], ...]
TASK: Final = "chat"
TOTAL: Final = (401, 403, 404, 405)  # refusals of whatever is asked
UNFIT: Final = (400, 404, 415, 422)  # refusals of what one request asks, as of its form
BUSY: Final = (408, 409, 425, 429)
LONGEST_WAIT_S: Final = 30.0
MOST_IN_A_ROW: Final = 20  # requests without a reply; a judge that fails in one of ten does so once in 10^20
MAX_WHY: Final = 300  # characters


class Store(Protocol):
    """Where replies are kept; used by several threads."""

    def get(self, key: str) -> Reply | None:
        """The reply to the request with this digest, if it is known."""

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply."""


@dataclass(frozen=True, kw_only=True)
class Failed:
    """A request without a reply."""

    why: str
    http_status: int | None


@dataclass(kw_only=True)
class Asked:
    """What all requests came to."""

    replies: list[Reply | Failed]  # in the order of the requests
    sent: int = 0  # requests whose reply was not known
    schema: str = "not sent"  # sent, refused, or not sent
    keys: list[str] = field(default_factory=list)


def keys_of(judge: Judge, requests: Sequence[Messages]) -> list[str]:
    """The digest of each request."""
    return [key_of(_identity(judge, messages)) for messages in requests]


def ask(
    judge: Judge, requests: Sequence[Messages], response_format: Mapping[str, Any], store: Store, keys: Sequence[str] | None = None
) -> Asked:
    """The reply to each request; equal ones are sent once. `keys`: their digests, if they are known.

    Raises:
        EnvironmentLacks: the judge is not there, stops replying, refuses every request, or its key's variable is not set.
    """
    keys = keys_of(judge, requests) if keys is None else keys
    known: dict[str, Reply | Failed] = {}
    waiting: dict[str, Messages] = {}
    for key, messages in zip(keys, requests, strict=True):
        if key in known or key in waiting:
            continue
        if (kept := store.get(key)) is not None:
            known[key] = kept
        else:
            waiting[key] = messages
    line = _Line(judge, response_format, store)
    with closing(line.all(waiting)) as coming:  # a stop elsewhere than in it must end its threads too
        known.update(coming)
    return Asked(replies=[known[key] for key in keys], sent=len(waiting), schema=line.schema_words, keys=list(keys))


def target_of(judge: Judge) -> Target:
    """The judge as an engine."""
    return Target(
        name="judge", backend=judge.backend, urls=(judge.url,), model=judge.model, api_key_env=judge.api_key_env, options=judge.options
    )


def check(judge: Judge) -> None:
    """Check its dialect and options. Raises EnvironmentLacks, SpecError: there is no such dialect, or it knows no such option."""
    check_plug_ins(TASK, (target_of(judge),))


def check_key(judge: Judge) -> None:
    """Check that its key can be read, before answers are paid for. Raises EnvironmentLacks: its variable is not set."""
    backend: Backend = catalog.load("traffic.backends", judge.backend)
    if backend.prepare is not None:
        backend.prepare(target_of(judge))


def _identity(judge: Judge, messages: Messages) -> dict[str, Any]:
    settings = {name: getattr(judge, name) for name in ("model", "backend", "temperature", "seed", "max_tokens", "json_schema", "options")}
    return {**settings, "messages": [dict(one) for one in messages]}


class _Line:
    """The connection to a judge."""

    def __init__(self, judge: Judge, response_format: Mapping[str, Any], store: Store) -> None:
        self.judge, self.form, self.store = judge, json.dumps(response_format), store
        self.backend: Backend = catalog.load("traffic.backends", judge.backend)
        self.target, self.sends_schema, self.refused_schema = target_of(judge), judge.json_schema, False
        self.sign = self.backend.prepare(self.target) if self.backend.prepare is not None else None
        self.over, self.lock, self.failed = threading.Event(), threading.Lock(), 0  # requests in a row without a reply

    @property
    def schema_words(self) -> str:
        return "refused" if self.refused_schema else "sent" if self.judge.json_schema else "not sent"

    def all(self, waiting: Mapping[str, Messages]) -> Generator[tuple[str, Reply | Failed], None, None]:
        """Every reply, as it comes."""
        names = list(waiting)
        if not names:
            return
        first = self._kept(names[0], waiting[names[0]])
        if isinstance(first, Failed) and (first.http_status is None or first.http_status in TOTAL):
            raise self._lacking(f"cannot be asked: {first.why}\nLook at --judge, --judge-model and --judge-key-env.")
        yield names[0], first
        todo: SimpleQueue[str] = SimpleQueue()
        done: SimpleQueue[tuple[str, Reply | Failed | BaseException]] = SimpleQueue()
        for name in names[1:]:
            todo.put(name)
        for _ in range(min(self.judge.concurrency, len(names) - 1)):
            threading.Thread(target=self._work, args=(todo, done, waiting), daemon=True).start()
        try:
            for _ in names[1:]:
                name, reply = done.get()
                if isinstance(reply, BaseException):
                    raise reply
                yield name, reply
                if isinstance(reply, Failed) and self.over.is_set():
                    raise self._lacking(
                        f"did not reply to {MOST_IN_A_ROW} requests in a row: {reply.why}\nReplies so far are kept: `assay resume` asks only the rest."
                    )
        finally:
            self.over.set()

    def _lacking(self, how: str) -> EnvironmentLacks:
        return EnvironmentLacks(f"the judge {self.judge.model} at {redact(self.judge.url)} {how}")

    def _work(
        self, todo: SimpleQueue[str], done: SimpleQueue[tuple[str, Reply | Failed | BaseException]], waiting: Mapping[str, Messages]
    ) -> None:
        while not self.over.is_set():
            try:
                name = todo.get_nowait()
            except Empty:
                return
            try:
                done.put((name, self._kept(name, waiting[name])))
            except BaseException as error:  # raised where replies are waited for
                done.put((name, error))

    def _kept(self, name: str, messages: Messages) -> Reply | Failed:
        reply = self._one(messages)
        if isinstance(reply, Reply):
            self.store.put(name, reply)
        with self.lock:
            self.failed = self.failed + 1 if isinstance(reply, Failed) else 0
            if self.failed >= MOST_IN_A_ROW:
                self.over.set()
        return reply

    def _one(self, messages: Messages) -> Reply | Failed:
        """One request, sent again while the server cannot answer."""
        attempt = 0
        while True:
            with_schema, begin_s = self.sends_schema, monotonic()
            answer, status, why = self._sent(messages, with_schema=with_schema)
            if answer is not None:
                return Reply(
                    text=whole_text(answer.text or ""),
                    finish_reason=whole_text(answer.finish_reason) if answer.finish_reason else None,
                    tokens_in=answer.tokens_in,
                    tokens_out=answer.tokens_out,
                    seconds=monotonic() - begin_s,
                )
            if with_schema and status in UNFIT:
                plain, status_plain, _ = self._sent(messages, with_schema=False)
                if plain is not None or status_plain not in UNFIT:
                    self.sends_schema, self.refused_schema = False, True
                    continue
            again = status is None or status in BUSY or status >= 500
            if not again or attempt >= self.judge.retries or self.over.wait(min(2.0**attempt, LONGEST_WAIT_S)):
                return Failed(why=why, http_status=status)
            attempt += 1

    def _sent(self, messages: Messages, *, with_schema: bool) -> tuple[Answer | None, int | None, str]:
        judge = self.judge
        options = {"json.response_format": self.form} if with_schema else {}
        target = self.target.model_copy(update={"options": {**self.target.options, **options}})
        request = Ask(
            task=TASK,
            model=judge.model,
            messages=tuple(dict(one) for one in messages),
            max_tokens=judge.max_tokens,
            stream=False,
            temperature=judge.temperature,
            ignore_eos=False,
            seed=judge.seed,
        )
        wire = self.backend.wire(request, target)
        reply = likelihood.sent(self.sign(wire, judge.url) if self.sign is not None else wire, judge.url, judge.timeout_s)
        answer = self.backend.read(reply, request)
        if answer.status == "ok":
            return answer, reply.http_status, ""
        said = answer.error or reply.why or answer.status
        said = said if reply.http_status is None or said.startswith("HTTP") else f"HTTP {reply.http_status}, {said}"
        return None, reply.http_status, redact(one_line(str(said)))[:MAX_WHY]
