"""Do data classes with closures as methods behave as those with compiled ones?"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.limits import PROCESS_S

CLASSES = """
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace


@dataclass(frozen=True)
class Point:
    x: int
    y: float = field(default=0.5, compare=False)
    z: tuple = field(default=(), repr=False)


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Single:
    name: str


@dataclass(frozen=True)
class Wider(Point):
    more: object = None


@dataclass
class Loose:
    of: object = None


@dataclass(frozen=True)
class Empty:
    pass


class Free(Point):
    pass


def tried(act):
    try:
        return act()
    except Exception as error:
        return type(error).__name__, str(error)


a, loop, free = Point(1), Loose(), Free(1)
loop.of = loop
free.extra = 2
for shown in (
    a, Single(name="a"), Wider(1, more=a), loop, Empty(), replace(a, x=3), Point.__eq__.__qualname__, Single.__lt__.__name__, Point.__repr__.__qualname__,
    a == Point(1, 2.0), a == Point(1, z=(1,)), a == Wider(1), a != 1, Empty() == Empty(), Loose(1) == Loose(1), Point.__eq__(a, 1),
    Single(name="a") < Single(name="b"), Single(name="b") <= Single(name="a"), sorted([Single(name="b"), Single(name="a")]),
    hash(a) == hash((1, ())), hash(Single(name="a")) == hash(("a",)), hash(Empty()) == hash(()), len({a, Point(1, 9.0), Point(2)}),
    tried(lambda: hash(loop)), tried(lambda: a < a), tried(lambda: setattr(a, "x", 2)), tried(lambda: setattr(a, "w", 2)),
    tried(lambda: delattr(a, "x")), tried(lambda: setattr(Single(name="a"), "name", "b")), tried(lambda: setattr(free, "y", 1)),
    tried(lambda: delattr(free, "x")), free.extra, tried(lambda: delattr(free, "extra")), tried(lambda: free.extra), free,
):
    print(repr(shown))
"""
LEAN = "from fireassay.cli.support.lean.data_classes import compile_less\ncompile_less()\n"
IS_LEAN = "print(Point.__hash__.__module__)\n"


def printed(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=PROCESS_S)
    assert done.stderr == ""
    return done.stdout


def test_they_behave_as_compiled_ones() -> None:
    assert printed(LEAN + CLASSES) == printed(CLASSES)


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="Python compiles all methods of a class at once")
def test_the_compiler_is_replaced() -> None:
    assert printed(LEAN + CLASSES + IS_LEAN).splitlines()[-1] == "fireassay.cli.support.lean.data_classes"
