"""What does a worker do: answer calls of a function, or make them for a test?

Questions are marshalled: their reader trusts the parent.
"""

from __future__ import annotations

import marshal
import os
import sys

from fireassay.quality.sandbox.inside.values import Untransferable, decode, encode, text_of, written

TYPE_CHECKING = False  # type checkers assume true; see fireassay/__init__.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO


class Pipes:
    """Questions and answers of a worker."""

    def __init__(self, questions: BinaryIO, answers: int) -> None:
        self.questions = questions
        self.answers = answers

    def receive(self) -> Any:
        """The next message; the parent's end of the pipe is the end of this process."""
        try:
            return marshal.load(self.questions)
        except EOFError:
            os._exit(0)

    def send(self, message: Any) -> None:
        left = memoryview(written(message).encode() + b"\n")
        while left:
            left = left[os.write(self.answers, left) :]


def candidate(pipes: Pipes) -> None:
    """Define the function, then answer one call after another."""
    job = pipes.receive()
    try:
        module = _module("candidate")
        exec(compile(job["code"], "<candidate>", "exec"), module)
        if not callable(function := module.get(job["entry_point"])):
            raise NameError(f"the code defines no function {job['entry_point']!r}")
    except BaseException as error:
        pipes.send({"error": text_of(error)})
        return
    pipes.send({"ready": True})
    while True:
        question = pipes.receive()
        arguments, words = decode(question["args"]), decode(question["kwargs"])
        try:
            answer = {"value": encode(function(*arguments, **words))}
        except BaseException as error:
            answer = {"error": text_of(error)}
        pipes.send({"nonce": question["nonce"], **answer})


def _module(name: str) -> dict[str, Any]:
    module = type(sys)(name)
    sys.modules[name] = module
    return module.__dict__


class Gone(BaseException):
    """No test may take this for an error of the function."""


class CandidateError(Exception):
    """An error of the function that is no builtin one."""


def check(pipes: Pipes) -> None:
    """Run `check(candidate)`, where the candidate asks the other process; say how it ended."""
    job = pipes.receive()
    try:
        if "random" in job["test"]:
            import random

            random.seed(0)  # arguments drawn at random are the same in every run
        module = _module("check")
        exec(compile(job["context"], "<prompt>", "exec"), module)
        module[job["entry_point"]] = ask = _asking(pipes)
        exec(compile(job["test"], "<test>", "exec"), module)
        function = module["check"]
    except BaseException as error:
        pipes.send({"broken": text_of(error)})
        return
    try:
        function(ask)
    except Gone:
        pipes.send({"broken": ["Gone", "the candidate ended"]})
    except Untransferable as error:
        pipes.send({"broken": text_of(error)})
    except BaseException as error:
        pipes.send({"failed": text_of(error), "line": _line(error)})
    else:
        pipes.send({"passed": True})


def _asking(pipes: Pipes) -> Callable[..., Any]:
    import builtins

    def ask(*arguments: Any, **words: Any) -> Any:
        pipes.send({"args": encode(list(arguments)), "kwargs": encode(words)})
        answer = pipes.receive()
        if "value" in answer:
            return decode(answer["value"])
        if "gone" in answer:
            raise Gone
        name, text = answer["error"]
        kind = getattr(builtins, name, None)
        if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, UnicodeError | BaseExceptionGroup):
            raise kind(text)
        raise CandidateError(f"{name}: {text}")

    return ask


def _line(error: BaseException) -> int:
    """The line of the test at which it ended; 0 if unknown."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<test>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
