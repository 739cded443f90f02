"""A module that is only looked for is still waited for: hooks go in when it is executed, and not before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.limits import PROCESS_S

WAITING = """
from fireassay.instruments.hooks.import_hook import when_there
when_there(lambda module: print("hooked", module.__name__, module.VERSION), name={name!r})
"""


def printed(folder: Path, script: str, name: str = "torch") -> list[str]:
    """What a process prints that waits for a module and then runs these lines."""
    package = folder / "torch"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("VERSION = 1\n")
    (package / "inner" / "__init__.py").write_text("VERSION = 2\n")
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(folder)!r})" + WAITING.format(name=name) + script],
        capture_output=True,
        text=True,
        timeout=PROCESS_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("looks", [1, 3])
def test_a_library_that_looks_for_torch_first_does_not_keep_the_hooks_out(tmp_path: Path, looks: int) -> None:
    # as `datasets` and `transformers` do, to know whether torch is installed
    look = "import importlib.util\n" + "assert importlib.util.find_spec('torch') is not None\n" * looks
    assert printed(tmp_path, look + "import torch") == ["hooked torch 1"]


def test_hooks_go_in_once(tmp_path: Path) -> None:
    script = "import importlib, torch\nimportlib.reload(torch)\ndel sys.modules['torch']\nimport torch"
    assert printed(tmp_path, script) == ["hooked torch 1"]


def test_an_import_that_fails_is_waited_for_again(tmp_path: Path) -> None:
    script = """
(own := __import__("pathlib").Path(sys.path[0], "torch", "__init__.py")).write_text("raise ImportError('half a disk')")
try:
    import torch
except ImportError as error:
    print(error)
own.write_text("VERSION = 30")
__import__("importlib").invalidate_caches()
import torch
"""
    assert printed(tmp_path, script) == ["half a disk", "hooked torch 30"]


def test_a_module_inside_of_a_package_is_waited_for_alike(tmp_path: Path) -> None:
    script = "import importlib.util\nimportlib.util.find_spec('torch.inner')\nfrom torch import inner"
    assert printed(tmp_path, script, "torch.inner") == ["hooked torch.inner 2"]


def test_a_module_that_is_there_is_not_waited_for(tmp_path: Path) -> None:
    script = "import torch\nwhen_there(lambda module: print('at once', module.VERSION))"
    assert printed(tmp_path, script, "torch.inner") == ["at once 1"]


def test_a_module_that_is_not_installed_is_told_to_be_missing(tmp_path: Path) -> None:
    script = "import importlib.util\nprint(importlib.util.find_spec('nowhere_at_all'))"
    assert printed(tmp_path, script, "nowhere_at_all") == ["None"]


@pytest.mark.parametrize("waiting", [2, 3])
def test_several_may_wait_for_the_same_module(tmp_path: Path, waiting: int) -> None:
    more = "".join(f"when_there(lambda module: print('also', {n}), stays=True)\n" for n in range(1, waiting))
    script = "import importlib.util\nassert importlib.util.find_spec('torch')\nimport torch"
    assert sorted(printed(tmp_path, more + script)) == sorted(["hooked torch 1", *(f"also {n}" for n in range(1, waiting))])
