"""The command line: `assay VERB`.  The only module that exits the process.

`assay --help` answers within three times an empty interpreter's start (benchmarks/startup.py).  Therefore it reads the
verbs' summaries from the text of their files and imports none of them; a verb is imported only when it runs.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from contextlib import suppress

from fireassay import catalog, isolated
from fireassay.cli.support import process
from fireassay.exit_codes import BROKEN_PIPE, DEFECT, EXIT_CODES

DEMO_TOOK = "26 to 98 s on two overloaded cores"  # measured; README, Makefile and tutorial say the same (tests/docs/test_front_page.py)

TYPE_CHECKING = False  # read by type checkers as true; see fireassay/__init__.py
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from fireassay.cli.support.verb import Parser, Verb

GROUPS = ("measure", "judge", "records", "instrument")
USAGE = "usage: assay VERB ...           assay VERB --help teaches one\n"
MORE = "more: assay help --all (collectives, timing, tuning, evaluation, import ...)"
HEAD = f"""\
{USAGE}
The measuring instrument for distributed AI: one experiment in, one sealed
record out, a verdict on correctness, performance, cost and reliability.
"""

QUESTIONS = """\
Fireassay measures distributed AI: one experiment in, one record out, a verdict.

Why is my training slow?        assay run --workers 1,2,4 -- train.py
Which of two engines?           assay load a=URL b=URL --model M \\
                                  --concurrency 8,16,32 --slo ttft=0.5
Did my change make it slower?   assay gate origin/main -- python work.py
Is a published number sound?    assay audit claim.toml
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one verb and return an exit code of `fireassay.exit_codes`."""
    if arguments is None:  # called as the command line
        isolated.leave_current_folder()
        _collect_rarely()
        process.guard()
        if "FIREASSAY_DETACHED" in os.environ:
            from fireassay.cli.support import detach

            detach.adopt()
    words = sys.argv[1:] if arguments is None else arguments
    with process.heard() as stop:
        code = _run(words, stop)
    if arguments is None and _group(words) == "judge":
        _ended.append(code)
    return code


_ended: list[int] = []  # the exit code of a verb that leaves neither a thread nor a child behind


def _collect_rarely() -> None:
    """Scanning imported modules for garbage, and freeing them one by one at exit, took a quarter of a report's time."""
    gc.set_threshold(400_000, 20, 100)
    atexit.register(_end)  # the first to be registered is the last to be called


def _end() -> None:
    gc.freeze()
    if _ended:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # closed
                stream.flush()
        os._exit(_ended[0])


def _run(words: list[str], stop: process.Stop) -> int:
    code = BROKEN_PIPE
    try:
        try:
            code = _dispatch(words)
        finally:  # also after --help, which exits
            sys.stdout.flush()
    except BrokenPipeError:
        _silence_stdout()
    except KeyboardInterrupt:
        code = _explain_stop(stop, words)
    except SystemExit as stop:
        if not isinstance(stop.__context__, BrokenPipeError):  # rich turns a broken pipe into exit 1, our FAIL
            raise
    except Exception as error:
        code = _explain(error, words)
    return code


def _dispatch(words: list[str]) -> int:
    if not words:  # an empty variable in a script must not look like success
        print(questions())
        return 2
    if words[0] in ("-h", "--help", "help"):
        return _help(words[1:])
    if words[0] in ("-V", "--version"):
        from fireassay.cli.support import installation  # deferred: it runs git, and reads the metadata of distributions

        print(installation.described())
        return 0
    if words[0] in catalog.names("cli.verbs") or words[0] in catalog.third_party("cli.verbs"):
        verb: Verb = catalog.load("cli.verbs", words[0])
        arguments = _parsed(verb, words[1:])
        if getattr(arguments, "detach", False):
            from fireassay.cli.support import detach

            return detach.start(words, several=arguments.several_records)
        if verb.tables:
            from fireassay.record.arrow_import import without_pandas  # deferred: it loads pyarrow

            without_pandas()
        return _run_and_export(verb, arguments)
    return _unknown(words[0])


def _run_and_export(verb: Verb, arguments: Namespace) -> int:
    """Run a verb; then the records that it sealed go where the user's own `export` says."""
    from fireassay.cli.support.settings import USED

    if not (asked := USED.get().export):
        return verb.run(arguments)
    from fireassay.cli.support.after import export_sealed
    from fireassay.record.folder import sealed

    before = len(sealed)
    code = verb.run(arguments)
    export_sealed(sealed[before:], asked)
    return code


def _parsed(verb: Verb, words: list[str]) -> Namespace:
    """The arguments of a verb, with the user's own defaults."""
    from fireassay.cli.support import settings

    return settings.use(settings.read(os.environ), parser(verb), words)


def parser(verb: Verb) -> Parser:
    """The parser of one verb."""
    from fireassay.cli.support.verb import Parser, add_common

    result = Parser(prog=f"assay {verb.name}", description=verb.description, verb=verb)
    verb.add_arguments(result)
    add_common(result)
    return result


def questions() -> str:
    """The output of `assay` alone: what people come for, and the command for it."""
    demo = f"Nothing at hand? `assay demo` gives a verdict,\nin {DEMO_TOOK}. "
    return f"{QUESTIONS}{demo if 'demo' in catalog.names('cli.verbs') else ''}All verbs: assay --help"


def _help(words: list[str]) -> int:
    """`assay help`, `assay help --all`, `assay help VERB`."""
    if words and words[0] != "--all":
        return _dispatch([words[0], "--help"])
    print(whole_help() if words else help_text())
    return 0


def help_text() -> str:
    """The output of `assay --help`: the verbs that most people need, each with the question it answers."""
    front = {name: card for name, card in _cards().items() if card.get("front")}
    width = max(map(len, front), default=0)
    rows = [f"  {name:<{width}}  {front[name]['summary']}" for name in sorted(front, key=lambda name: front[name]["front"])]
    return "\n".join([USAGE, *rows, "", MORE])


def whole_help() -> str:
    """The output of `assay help --all`: every verb in its group, and the exit codes."""
    cards = _cards()
    width = max(map(len, cards), default=0)
    lines = [HEAD]
    for group in GROUPS:
        members = [_row(name, card["summary"], width) for name, card in cards.items() if card["group"] == group]
        lines += [f"{group}:", *members, ""] if members else []
    return "\n".join([*lines, "exit codes:", *(_row(f"{code:>3}", meaning, 3) for code, meaning in EXIT_CODES.items())])


def _row(name: str, text: str, width: int) -> str:
    from textwrap import fill  # deferred: `assay --help` needs no regular expressions

    return fill(text, 80, initial_indent=f"  {name:<{width}}  ", subsequent_indent=" " * (width + 4), break_on_hyphens=False)


def _cards() -> dict[str, dict[str, Any]]:
    return {name: _card(name) for name in catalog.names("cli.verbs")}


def _card(name: str) -> dict[str, Any]:
    """The literals in `VERB = Verb(...)` of a verb's file, read without importing it."""
    path = os.path.join(os.path.dirname(__file__), "verbs", f"{name}.py")
    with open(path, encoding="utf-8") as file:
        _, start, rest = file.read().partition("\nVERB = ")
    tree: Any = compile(start + rest, path, "exec", flags=0x400)  # ast.PyCF_ONLY_AST, without importing ast
    return {word.arg: getattr(word.value, "value", "") for word in tree.body[0].value.keywords}


def _group(words: list[str]) -> str:
    return str(_card(words[0])["group"]) if words and words[0] in catalog.names("cli.verbs") else ""


def _unknown(word: str) -> int:
    import difflib

    known = ("--help", "--version") if word.startswith("-") else (*catalog.names("cli.verbs"), *catalog.third_party("cli.verbs"))
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    remedy = f"Did you mean `assay {close[0]}`?" if close else f"Available: {', '.join(known)}."
    if word.startswith("-"):
        return _fail(f"assay has no option {word!r}. {remedy} Options of a verb follow it. See `assay --help`.", 2)
    return _fail(f"there is no verb {word!r}. {remedy} See `assay --help`.", 2)


FULL = (28, 122)  # ENOSPC, EDQUOT: whatever writes a file first finds it out


RESUMABLE = ("resume", "reproduce")  # besides the verbs that measure: `assay resume` goes on with their records


def _explain(error: Exception, words: list[str]) -> int:
    code, text = _explained(error)
    if "`assay resume`" in text and _group(words) != "measure" and words[0] not in RESUMABLE:
        from fireassay.record.files import AGAIN, RESUME

        text = text.replace(RESUME, AGAIN)
    return (_say if code == 130 else _fail)(text, code)


def _explained(error: Exception) -> tuple[int, str]:
    """The exit code and the message. Prints where a defect is."""
    import tempfile
    from pathlib import Path

    from fireassay.errors import AssayError
    from fireassay.record.secrets.redact import redact, secret_values

    secrets = secret_values(os.environ)
    if isinstance(error, AssayError):
        return error.exit_code, redact(str(error), secrets)  # it may quote a line of a file
    if isinstance(error, OSError) and error.errno in FULL:
        from fireassay.record.files import explain

        full = explain(error, Path(error.filename or tempfile.gettempdir()), "write")
        return full.exit_code, redact(str(full), secrets)
    import traceback

    _on_stderr(redact("".join(traceback.format_exception(error)), secrets).removesuffix("\n"))
    return DEFECT, "this is a defect in assay; please report it with the lines above"


def _explain_stop(stop: process.Stop, words: list[str]) -> int:
    return _say(stop.sentence(measures=_group(words) == "measure"), 130)


def _fail(sentence: str, code: int) -> int:
    _on_stderr(f"error: {sentence}")
    return code


def _say(sentence: str, code: int) -> int:
    _on_stderr(f"assay: {sentence}")
    return code


def _on_stderr(text: str) -> None:
    from fireassay.printable import say  # deferred: an answer needs no regular expressions

    say(text, file=sys.stderr)


def _silence_stdout() -> None:
    # The reader closed the pipe (`assay list | head`): keep the interpreter from flushing at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
