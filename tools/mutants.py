"""How many small defects would the tests notice?  A sample of mutants of some packages; each is run against the tests that reach it.

    PYTHONPATH=src:tools pytest -q -p mutants TESTS... --mutants OUT.json [--mutants-of stats,metrics,verdict] [--mutants-sample 500]

One process collects the tests, runs each once under a profiler to learn which functions it reaches (only passing ones count), then forks
once per mutant: the child exchanges the code object of one function, runs the tests that reach it, the most specific ones first, and ends at
the first failure. A mutant is killed, survives, or times out (killed); one whose function no test reaches is counted as not reached. Each is run
twice where it matters: against all tests (`make test` and `make test-all` together), and against those that are not `deep` (`make test`). The
same seed draws the same sample from the same sources. Limits: module-level statements and decorated signatures are not mutated, at most
`MAX_TESTS` tests of at most `MAX_S` seconds together are run per mutant, and a mutant that means the same as the original survives.
"""

from __future__ import annotations

import ast
import copy
import cProfile
import gc
import importlib
import itertools
import json
import os
import random
import signal
import sys
import time
import types
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

MAX_TESTS, MAX_S = 12, 3.0  # per mutant
SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.USub: ast.UAdd,
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def sites(tree: ast.AST) -> Iterator[tuple[list[str], int, ast.AST]]:
    """(qualified name, line, node) of everything that can be mutated in outermost functions and methods."""

    def within(node: ast.AST, names: list[str], line: int) -> Iterator[tuple[list[str], int, ast.AST]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (*FUNCTIONS, ast.ClassDef)) and not line:
                first = min([child.lineno, *(d.lineno for d in child.decorator_list)])
                yield from within(child, [*names, child.name], first if isinstance(child, FUNCTIONS) else 0)
            elif not isinstance(child, ast.arguments):
                if line and mutable(child):
                    yield names, line, child
                yield from within(child, names, line)

    yield from within(tree, [], 0)


def mutable(node: ast.AST) -> bool:
    """Whether one of the operators applies."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (bool, int, float))
    if isinstance(node, ast.Compare):
        return type(node.ops[0]) in SWAPS
    if isinstance(node, (ast.BinOp, ast.BoolOp, ast.UnaryOp)):
        return type(node.op) in SWAPS or isinstance(node.op, ast.Not)
    return isinstance(node, (ast.IfExp, ast.If, ast.Break, ast.Continue))


def mutate(node: Any) -> ast.AST:
    """The mutated node."""
    new = copy.copy(node)
    if isinstance(node, ast.Constant):
        new.value = not node.value if isinstance(node.value, bool) else node.value + 1
    elif isinstance(node, ast.Compare):
        new.ops = [SWAPS[type(node.ops[0])](), *node.ops[1:]]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    elif isinstance(node, (ast.BinOp, ast.BoolOp, ast.UnaryOp)):
        new.op = SWAPS[type(node.op)]()
    elif isinstance(node, (ast.IfExp, ast.If)):
        new.test = ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=node.test), node.test)
    else:
        new = ast.copy_location(ast.Pass(), node)
    return ast.copy_location(new, node)


def mutated_code(path: Path, number: int) -> tuple[int, types.CodeType]:
    """(first line, code) of the function that holds site `number` of a file, with that site mutated."""
    tree = ast.parse(path.read_text())
    names, line, target = list(sites(tree))[number]

    class Exchange(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return mutate(node) if node is target else self.generic_visit(node)

    module = compile(ast.fix_missing_locations(Exchange().visit(tree)), str(path), "exec")
    return line, next(code for code in codes(module) if code.co_name == names[-1] and code.co_firstlineno == line)


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and all within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def functions_of(files: set[str]) -> dict[tuple[str, int], list[types.FunctionType]]:
    """File and first line -> every function object made there; their modules are imported already."""
    gc.unfreeze()
    found = defaultdict(list)
    for value in gc.get_objects():
        if isinstance(value, types.FunctionType) and value.__code__.co_filename in files:
            found[value.__code__.co_filename, value.__code__.co_firstlineno].append(value)
    return found


def exchange(functions: list[types.FunctionType], code: types.CodeType) -> bool:
    """Give every one the new code."""
    alike = [function for function in functions if function.__code__.co_freevars == code.co_freevars]
    for function in alike:
        function.__code__ = code
    return bool(alike)


class Mutants:
    """The plugin: learn which tests reach which functions, then run every mutant of the sample."""

    def __init__(self, config: pytest.Config) -> None:
        self.out = Path(config.getoption("--mutants"))
        self.of = config.getoption("--mutants-of").split(",")
        self.sample = int(config.getoption("--mutants-sample"))
        self.root = next(Path(folder).resolve() for folder in sys.path if any((Path(folder) / n).is_dir() for n in ("fireassay", "assay")))
        self.failed = False
        self.reach: dict[tuple[str, int], list[tuple[int, float, int]]] = defaultdict(list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed or report.skipped

    def files(self) -> list[Path]:
        package = next(self.root / name for name in ("fireassay", "assay") if (self.root / name).is_dir())
        return sorted(path for part in self.of for path in (package / part).rglob("*.py"))

    def once(self, item: pytest.Item, following: pytest.Item | None) -> bool:
        self.failed = False
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return not self.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        wanted = {str(path) for path in self.files()}
        for path in self.files():
            importlib.import_module(".".join(path.relative_to(self.root).with_suffix("").parts).removesuffix(".__init__"))
        self.functions = functions_of(wanted)
        gc.freeze()
        for _, items in itertools.groupby(enumerate(session.items), key=lambda entry: entry[1].path):
            self.learn(list(items), wanted)
        drawn = self.draw()
        print(f"\n{sum(map(len, self.reach.values()))} reaches of {len(self.reach)} functions; {len(drawn)} mutants", flush=True)
        results = []
        for place, number in drawn:
            results.append(self.run(session, place, number))
            self.out.write_text(json.dumps(results))
            if len(results) % 50 == 0 or len(results) == len(drawn):
                print(
                    len(results),
                    *(f"{tier}: {dict(Counter(one[tier] for one in results))}" for tier in ("result", "make test")),
                    flush=True,
                )
        return True

    def learn(self, items: list[tuple[int, pytest.Item]], wanted: set[str]) -> None:
        """Run a file's tests in a child under a profiler; the child says what each reached. What fixtures reach counts for all of them."""
        read, write = os.pipe()
        if (child := os.fork()) == 0:
            os.close(read)
            self.quiet()
            self.setups: set[tuple[str, int]] = set()
            learnt = []
            for (number, item), following in itertools.zip_longest(items, (item for _, item in items[1:])):
                signal.alarm(120)
                self.profile, begin = cProfile.Profile(builtins=False), time.perf_counter()
                self.profile.enable()
                passed = self.once(item, following)
                self.profile.disable()
                if passed:
                    learnt.append((number, time.perf_counter() - begin, self.reached()))
            answer = [(number, s, [p for p in sorted(self.setups | places) if p[0] in wanted]) for number, s, places in learnt]
            with os.fdopen(write, "w") as stream:
                stream.write(json.dumps(answer))
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as stream:
            text = stream.read()
        os.waitpid(child, 0)
        for number, seconds, places in json.loads(text or "[]"):
            for place in places:
                self.reach[place[0], place[1]].append((len(places), seconds, number))

    def reached(self) -> set[tuple[str, int]]:
        return {(e.code.co_filename, e.code.co_firstlineno) for e in self.profile.getstats() if not isinstance(e.code, str)}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Iterator[Any]:
        result = yield
        if hasattr(self, "profile"):
            self.profile.disable()
            self.setups |= self.reached()
            self.profile.enable()
        return result

    def quiet(self) -> None:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)

    def draw(self) -> list[tuple[Path, int]]:
        every = [(path, number) for path in self.files() for number, _ in enumerate(sites(ast.parse(path.read_text())))]
        print(f"\n{len(every)} sites", flush=True)
        return random.Random(20261126).sample(every, min(self.sample, len(every)))

    def run(self, session: pytest.Session, path: Path, number: int) -> dict[str, Any]:
        line, code = mutated_code(path, number)
        names, _, node = list(sites(ast.parse(path.read_text())))[number]
        result = {
            "file": str(path.relative_to(self.root)),
            "function": ".".join(names),
            "line": getattr(node, "lineno", line),
            "node": ast.unparse(node)[:80],
        }
        reached = sorted(self.reach.get((str(path), line), ()))
        quick = [one for one in reached if session.items[one[2]].get_closest_marker("deep") is None]
        after_all = self.noticed(session, reached, line, code, path)
        after_test = after_all if len(quick) == len(reached) else self.noticed(session, quick, line, code, path)
        return {**result, "result": after_all, "make test": after_test, "reached": len(reached)}

    def noticed(self, session: pytest.Session, reached: list[tuple[int, float, int]], line: int, code: types.CodeType, path: Path) -> str:
        """What the most specific of these tests say of the mutant."""
        if not reached:
            return "not reached"
        chosen, total = [], 0.0
        for _, seconds, item in reached[:MAX_TESTS]:
            if chosen and total + seconds > MAX_S:
                break
            chosen.append(session.items[item])
            total += seconds
        if (child := os.fork()) == 0:
            self.quiet()
            signal.alarm(int(20 + 5 * total))
            if not exchange(self.functions.get((str(path), line), []), code):
                os._exit(3)
            os._exit(0 if all(map(self.once, chosen, [*chosen[1:], None])) else 1)
        _, status = os.waitpid(child, 0)
        return {0: "survived", 3: "not exchanged"}.get(os.waitstatus_to_exitcode(status), "killed")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options above."""
    parser.addoption("--mutants", default="")
    parser.addoption("--mutants-of", default="stats,metrics,verdict")
    parser.addoption("--mutants-sample", default="500")


def pytest_configure(config: pytest.Config) -> None:
    """Register, where asked for."""
    if config.getoption("--mutants"):
        config.pluginmanager.register(Mutants(config))
