"""Which program do a prompt and an answer make?"""

from __future__ import annotations

import pytest

from fireassay.quality.sandbox.check import assembled, program
from fireassay.quality.scoring.items import Item

PROMPT = 'import math\n\ndef half(x):\n    return x / 2\n\n\ndef area(r):\n    """Area of a disc."""\n'


def area(source: str) -> float:
    names: dict[str, object] = {}
    exec(source, names)
    function = names["area"]
    assert callable(function)
    value = function(2.0)
    assert isinstance(value, float)
    return value


@pytest.mark.parametrize(
    "answer",
    [
        "    return math.pi * r * r\n",
        "    return _area(r)\n\ndef _area(r):\n    return math.pi * r * r\n",
        "def area(r):\n    return math.pi * 2 * half(r) * r\n",
        "from math import pi\n\ndef area(r: float) -> float:\n    return pi * r ** 2\n",
        "area = lambda r: math.pi * r * r\n",
    ],
)
def test_a_body_continues_the_prompt_and_a_function_replaces_it(answer: str) -> None:
    assert area(assembled(PROMPT, answer, "area")) == pytest.approx(12.566370614359172)


def test_a_function_stands_alone_where_the_prompt_is_words() -> None:
    answer = "def area(r):\n    return 1.0\n"
    assert assembled("Write area(r).\ndef area(r): ...\n", answer, "area") == answer
    assert area(assembled("Write a function for the area of a disc.", answer, "area")) == 1.0


@pytest.mark.parametrize(
    ("prompt", "context"), [(PROMPT, PROMPT), ("def area(r):\n", "def area(r):\n\n    pass\n"), ("Write a function, please.", "")]
)
def test_the_test_may_use_what_the_prompt_defines(prompt: str, context: str) -> None:
    item = Item(id="1", prompt=prompt, entry_point="area", test="def check(candidate): pass")
    assert program(item, "    return 0.0\n").context == context
