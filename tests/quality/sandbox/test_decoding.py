"""A program's answer may be made to take hours, or all memory, wherever it becomes a value again: it is the outcome of its item all the same."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, Final

import pytest

from fireassay.quality.sandbox.check import Program, check_program
from fireassay.quality.sandbox.inside.values import MAX_DIGITS, Untransferable, decode, encode
from fireassay.quality.sandbox.tiers import Limits
from tests.quality.sandbox.available import tier

# The candidate writes to its pipe itself; the nonce is in the frame of the loop that asked it.
SENDS: Final = """
import os, sys
def add(a, b):
    nonce = sys._getframe(2).f_locals["question"]["nonce"]
    def tell(text):
        left = memoryview(text.encode())
        while left:
            left = left[os.write(4, left):]
    {}
    os.read(3, 1)  # the next question
    os._exit(0)
"""
MESSAGE: Final = """tell('{"nonce": "' + nonce + '", "value": ' + VALUE + '}' + chr(10))"""
VALUES: Final = {
    "a fraction of eight million digits": """'["q",["i","' + 'f' * 3900000 + '"],["i","' + '3' * 3900000 + '"]]'""",
    "a decimal of hexadecimal digits": """'["D",["i","' + 'f' * 8000000 + '"]]'""",
    "a decimal of eight million digits": """'["D","' + '9' * 8000000 + '"]'""",
    "an integer of eight million digits": """'["i","' + 'f' * 8000000 + '"]'""",
    "many fractions": """'["l"' + (',["q",["i","' + 'f' * 9000 + '"],["i","' + 'd' * 9000 + '"]]') * 400 + ']'""",
    "sixty thousand colliding hashes": """'["s"' + ''.join(',["i","%x"]' % ((2**61 - 1) * n) for n in range(1, 60001)) + ']'""",
    "colliding keys": """'["d"' + ''.join(',[["i","%x"],1]' % ((2**61 - 1) * n) for n in range(1, 60001)) + ']'""",
    "two million empty lists": """'["l"' + ',["l"]' * 1100000 + ']'""",
    "a hundred thousand levels": "'[' * 100000 + ']' * 100000",
    "nine hundred levels": """'["l",' * 900 + '1' + ']' * 900""",
    "a lone surrogate": r"""'"' + chr(92) + 'ud800"'""",
    "forged bytes of a date": """'["Y",["b","07ea0101000000000000"]]'""",
    "a number of ten thousand digits": "'9' * 10000",
    "no number": "'NaN'",
    "nothing": "''",
}
LINES: Final = {
    "a nonce that is a lone surrogate": r"""tell('{"nonce": "' + chr(92) + 'ud800", "value": 5}' + chr(10))""",
    "a nonce that is a list": """tell('{"nonce": [], "value": 5}' + chr(10))""",
    "no value": """tell('{"nonce": "' + nonce + '"}' + chr(10))""",
    "bytes that are no text": """os.write(4, bytes([255, 254, 10]))""",
    "an error of lone surrogates": r"""tell('{"nonce": "' + nonce + '", "error": ["' + chr(92) + 'ud800", "' + chr(92) + 'udfff"]}' + chr(10))""",
}
ATTACKS: Final = {**{name: MESSAGE.replace("VALUE", value) for name, value in VALUES.items()}, **LINES}
QUICK: Final = (
    "a fraction of eight million digits",
    "a lone surrogate",
    "a nonce that is a lone surrogate",
    "forged bytes of a date",
    "nine hundred levels",
)
CATCHES: Final = """
def check(candidate):
    try:
        assert candidate(2, 3) == 5
    except Exception:
        pass
    candidate(2, 3)
"""
MEASURED: Final = """
import json, sys, time
from tests.quality.sandbox.test_decoding import judged
begin = time.monotonic()
result = judged(sys.argv[1])
told = dict(line.split(":", 1) for line in open("/proc/self/status"))  # ru_maxrss would count the parent's, too
peak = int(told["VmHWM"].split()[0]) // 1024
print(json.dumps([result.outcome, result.detail, result.score, peak, time.monotonic() - begin]))
"""


def judged(name: str) -> Any:
    program = Program(code=SENDS.replace("{}", ATTACKS[name]), entry_point="add", test=CATCHES)
    return check_program(program, Limits(), tier("unshare"))


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.deep) for name in ATTACKS])
def test_whatever_comes_back_is_the_outcome_of_one_item(name: str, record_property: Any) -> None:
    done = subprocess.run([sys.executable, "-c", MEASURED, name], capture_output=True, text=True, check=True)
    outcome, detail, score, peak_mib, seconds = json.loads(done.stdout)
    record_property("measured", f"{name}: {outcome}, {detail}; {peak_mib} MiB, {seconds:.1f} s")
    print(f"{name}: {outcome}, {detail}; {peak_mib} MiB, {seconds:.1f} s")
    assert (outcome, score) == ("crash", 0.0) or (
        name in ("an error of lone surrogates", "a lone surrogate") and outcome != "sandbox_error"
    ), detail
    assert detail
    assert peak_mib < 1000


@pytest.mark.parametrize(
    "told",
    [
        ["i", "f" * (MAX_DIGITS + 2)],
        ["q", ["i", "f" * (MAX_DIGITS // 10 + 1)], 1],
        ["q", 1.5],
        ["q", "1/3"],
        ["D", 5],
        ["D", ["i", "ff"]],
        ["D", "9" * (MAX_DIGITS + 1)],
        ["Y", ["b", "07ea0101000000000000"]],
        ["y", ["b", "07ea0101"]],
        ["T", ["b", "000000000000"]],
        ["T", True],
        ["e", 1.5],
    ],
    ids=lambda told: f"{told[0]}{str(told[1])[:8]}",
)
def test_parts_that_no_value_has_are_refused_before_they_are_computed_with(told: list[Any]) -> None:
    with pytest.raises(Untransferable):
        decode(told)


def test_an_integer_beyond_the_limit_says_so() -> None:
    assert decode(encode(16**MAX_DIGITS - 1)) == 16**MAX_DIGITS - 1
    with pytest.raises(Untransferable, match="more than 100,000 hexadecimal digits"):
        encode(16**MAX_DIGITS)
