"""Does every example in the API's own words run, with the output that stands below it?"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
from pathlib import Path
from typing import Any

import pytest

import fireassay
from tests.tiers import some

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
HOMES = sorted({home for home in fireassay._HOMES.values() if home.startswith("api.")})
EXAMPLES = [
    test
    for home in HOMES
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(f"fireassay.{home}"))
    if test.examples
]


class Runner(doctest.DocTestRunner):
    """Lets a skip through, which `doctest` would report as a failure."""

    def report_unexpected_exception(self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any) -> None:
        if isinstance(exc_info[1], pytest.skip.Exception):
            raise exc_info[1]
        super().report_unexpected_exception(out, test, example, exc_info)


@pytest.mark.parametrize("test", some(EXAMPLES, 8), ids=lambda test: test.name.removeprefix("fireassay.api."))
def test_every_example_gives_what_it_shows(test: doctest.DocTest, folder: Path) -> None:
    said = io.StringIO()
    with contextlib.chdir(folder):
        result = Runner(optionflags=FLAGS).run(test, out=said.write)
    assert result.failed == 0, said.getvalue()
    assert result.attempted == len(test.examples)


def test_every_public_function_and_its_result_have_an_example() -> None:
    """What only describes a result (`Timed`) is shown by the function that returns it."""
    named = {test.name for test in EXAMPLES}
    public = [name for name, home in fireassay._HOMES.items() if home.startswith("api.")]
    without = [name for name in public if f"fireassay.{fireassay._HOMES[name]}.{name}" not in named]
    methods = [name for name, value in vars(fireassay.Record).items() if not name.startswith("_") and inspect.isfunction(value)]
    without += [f"Record.{name}" for name in methods if f"fireassay.api.record.Record.{name}" not in named]
    assert without == []
