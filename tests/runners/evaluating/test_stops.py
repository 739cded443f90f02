"""Do engines get the stop strings that they can end at, and no others?"""

from __future__ import annotations

import json

import pytest

from fireassay.quality.scoring.items import Method, Task
from fireassay.runners.evaluating.likelihood import common_stops as common
from fireassay.runners.evaluating.likelihood import sent_stops as sent
from fireassay.runners.evaluating.likelihood import with_stops
from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support.bodies import body_of


def task(*stop: str, method: Method = "generation") -> Task:
    return Task(name="t", items=(), metrics=(), method=method, stop=stop)


def engine(backend: str = "vllm", **options: str | bool) -> Target:
    return Target(backend=backend, options=options)


@pytest.mark.parametrize(
    ("tasks", "stops"),
    [
        ([task("Question:", "</s>")], ("Question:", "</s>")),
        ([task("\n", "Question:")], ("Question:",)),  # would end an answer that begins with a line break
        ([task("a", "b"), task("b", "c")], ("b",)),
        ([task(*"abcdef")], tuple("abcd")),
        ([task("\ndef", method="code")], ()),
        ([task("a"), task()], ()),
    ],
)
def test_what_every_task_has_is_sent(tasks: list[Task], stops: tuple[str, ...]) -> None:
    assert common(tasks) == stops


@pytest.mark.parametrize(
    ("target", "request_", "stops"),
    [
        (engine(), "chat", ("Q:",)),
        (engine("openai"), "completions", ("Q:",)),
        (engine("transformers"), "chat", ()),  # not with continuous batching
        (engine("process"), "chat", ()),
        (engine("sglang", native=True), "completions", ()),
        (engine(), "responses", ()),
        (engine(**{"json.stop": '["END"]'}), "chat", ()),  # as the user said
    ],
)
def test_an_engine_gets_them_in_its_dialect(target: Target, request_: str, stops: tuple[str, ...]) -> None:
    assert sent(target, request_, ("Q:",)) == stops


def test_they_are_in_every_body() -> None:
    assert body_of(with_stops(engine(), ("Q:", "</s>"))) == {"stop": ["Q:", "</s>"]}
    assert with_stops(engine(), ()) == engine()
    assert json.loads(str(with_stops(engine(), ("Ü",)).options["json.stop"])) == ["Ü"]
