"""Which Python runs the script?

Assay's own, or with `launcher.python` that of another environment: torch and the script's libraries are installed there, and Fireassay only where
`assay` is.  The hooks of its workers are those of this Fireassay (`instruments/injected/sitecustomize.py`), which need Python 3.11 or newer.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from functools import cache
from typing import Final

from fireassay import isolated
from fireassay.errors import EnvironmentLacks
from fireassay.record.machine import Unread, tool_output
from fireassay.spec.sections.workload import Launcher as Settings

OLDEST: Final = (3, 11)
ANSWER_S: Final = 60.0  # an interpreter on a network's file system may take seconds to start
_ASK: Final = "import importlib.util as u, sys; print(*sys.version_info[:2], int(u.find_spec('torch') is not None))"
_FOLDERS: Final = "import sys; print('', *sys.path, sep='\\n')"


def other(settings: Settings) -> str:
    """The interpreter's file; "" where it is assay's own."""
    return shutil.which(settings.python) or settings.python if settings.python else ""


def path(settings: Settings) -> str:
    """The interpreter's file."""
    return other(settings) or sys.executable


def has_torch(settings: Settings) -> bool:
    """True if the workers' Python has torch; imports nothing here.

    Raises:
        EnvironmentLacks: there is no such Python, or it is too old.
    """
    return _other(path(settings)) if settings.python else importlib.util.find_spec("torch") is not None


def modules(settings: Settings) -> tuple[str, ...] | None:
    """The folders of the other Python's modules, none if it does not start; None: it is assay's own."""
    return _folders(path(settings)) if settings.python else None


@cache
def _folders(python: str) -> tuple[str, ...]:
    try:
        return tuple(folder for folder in _answer(python, _FOLDERS).splitlines() if os.path.isabs(folder))
    except Unread:
        return ()


def _answer(python: str, question: str) -> str:
    """What it prints, with no modules from the current folder: a `torch` there is not the workers'."""
    variables = isolated.environment(os.environ) | {"PYTHONSAFEPATH": "1"}  # -P is unknown to a Python too old
    return tool_output([python, "-c", question], ANSWER_S, env=variables)


@cache
def _other(python: str) -> bool:
    try:
        *_, answer = _answer(python, _ASK).splitlines() or [""]  # the environment's own start may print too
        major, minor, torch = map(int, answer.split())
    except (Unread, ValueError) as error:
        raise EnvironmentLacks(f"{python} (--python) is no Python that starts: {error}.") from error
    if (major, minor) < OLDEST:
        raise EnvironmentLacks(
            f"{python} (--python) is Python {major}.{minor}; the hooks in its workers need {OLDEST[0]}.{OLDEST[1]} or newer."
        )
    return bool(torch)


def no_torch(settings: Settings) -> str:
    """That torch is not there, and what can be done."""
    other = "" if settings.python else ", or name the Python that has it: --python FILE"
    return f"torch is not installed for {path(settings)}. Install it there: pip install torch{other}"
