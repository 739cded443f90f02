"""What does a worker do: answer calls of a function, or make them for a test?

Questions are marshalled: their reader trusts the parent.
"""

from __future__ import annotations

import marshal
import os
import sys

from fireassay.quality.sandbox.inside.values import Untransferable, decode, encode, kinds_of, text_of, written

TYPE_CHECKING = False  # type checkers assume true; see fireassay/__init__.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO


REBUILD_S = 4  # processor seconds to rebuild one value, to the full second


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
        nonce = {"nonce": question["nonce"]}
        pipes.send({**nonce, **_answer(function, arguments, words, pipes, nonce)})


def _answer(
    function: Callable[..., Any], arguments: list[Any], words: dict[str, Any], pipes: Pipes, nonce: dict[str, Any]
) -> dict[str, Any]:
    """What it returns or raises; "kept" says why what it returned cannot cross.

    The parent learns when the function has returned, so that the cost of encoding its value is not charged to it. An iterator still computes then.
    """
    try:
        value = function(*arguments, **words)
        lazy = hasattr(type(value), "__next__")
        if not lazy:
            pipes.send({**nonce, "returned": True})
        try:
            return {"value": encode(value)}
        except Untransferable as error:
            return {"kept": str(error)}
        except MemoryError:
            if lazy:
                raise
            return {"kept": "a value that is larger than the memory to write it"}
    except BaseException as error:
        return {"error": [*text_of(error), *kinds_of(error)]}


def _module(name: str) -> dict[str, Any]:
    module = type(sys)(name)
    sys.modules[name] = module
    return module.__dict__


class Gone(BaseException):
    """No test may take this for an error of the function."""


class CandidateError(Exception):
    """An error of the function that no test can expect."""


def check(pipes: Pipes) -> None:
    """Run `check(candidate)`, where the candidate asks the other process; say how it ended."""
    job = pipes.receive()
    try:
        if "random" in job["test"]:
            import random

            random.seed(0)  # arguments drawn at random are the same in every run
        module = _module("check")
        _borrow(job["imports"], module)
        exec(compile(job["context"], "<prompt>", "exec"), module)
        module[job["entry_point"]] = ask = _asking(pipes, module, "StopIteration" in job["test"])
        exec(compile(job["test"], "<test>", "exec"), module)
        function = module["check"]
        module[job["entry_point"]] = ask  # a function that is called `check` too
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


def _borrow(lines: list[str], module: dict[str, Any]) -> None:
    """Names that the test may take from the imports of the program, as where both are one file."""
    for line in lines:
        try:
            exec(line, module)
        except Exception:
            continue


def _asking(pipes: Pipes, names: dict[str, Any], stops: bool) -> Callable[..., Any]:
    def ask(*arguments: Any, **words: Any) -> Any:
        pipes.send({"args": encode(list(arguments)), "kwargs": encode(words)})
        answer = pipes.receive()
        if "value" in answer:
            return _rebuilt(answer["value"], pipes)
        if "gone" in answer:
            raise Gone
        raise _raised(*answer["error"], names=names, stops=stops)

    return ask


def _raised(name: str, text: str, *kinds: str, names: dict[str, Any], stops: bool) -> Exception:
    """The function's error as the closest class that the test can know.

    A StopIteration would end a loop of the test without a word, so it is a RuntimeError, as in a generator (PEP 479), unless the test names it.
    """
    for kind in kinds:
        found = _known(kind, names)
        if found is None or (issubclass(found, StopIteration | StopAsyncIteration) and not stops):
            continue
        try:
            found = found if found.__name__ == name else type(name, (found,), {})
            try:
                return found(text)
            except TypeError:  # it wants more, as that of JSON
                error = found.__new__(found)
                error.args = (text,)
                return error
        except Exception:
            continue
    return (RuntimeError if name.startswith("Stop") else CandidateError)(f"{name}: {text}")


def _known(kind: str, names: dict[str, Any]) -> type[Exception] | None:
    """The error class of the standard library, as far as the test has imported it, or of the prompt."""
    module, _, name = kind.rpartition(":")
    if module == "candidate":
        found = names.get(name)
    elif module.partition(".")[0] in sys.stdlib_module_names:
        found = getattr(sys.modules.get(module), name, None)
    else:
        return None
    return found if isinstance(found, type) and issubclass(found, Exception) else None


def _rebuilt(told: Any, pipes: Pipes) -> Any:
    """The candidate's value; how long that takes the candidate has chosen, so that it has a limit of its own, whose end the parent counts
    against the candidate."""
    import resource
    import time

    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (min(int(time.process_time()) + REBUILD_S, soft), hard))
    try:
        value = decode(told)
    except (Untransferable, MemoryError, RecursionError):
        pipes.send({"unfit": True})
        raise Gone from None
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
    pipes.send({"taken": True})
    return value


def _line(error: BaseException) -> int:
    """The line of the test at which it ended; 0 if unknown."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<test>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
