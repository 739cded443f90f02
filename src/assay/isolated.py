"""How does assay keep code of the current folder out of its own processes?

`python -m` and `python -c` put the current folder before the standard library, and so does an empty element of PYTHONPATH
(`PYTHONPATH=$PYTHONPATH:/x` where it was unset): a json.py beside a record that somebody sent would run.  A Python that assay
starts for itself gets `-P` and `environment`; the process of the command line calls `leave_current_folder` before it
imports anything else.  The workload is no process of assay's own: it is started as its user would start it.
Cannot help: what Python imports before assay's first line, and a folder that PYTHONPATH names.
Source: https://docs.python.org/3/using/cmdline.html#cmdoption-P
"""

import os
import sys

TYPE_CHECKING = False  # read by type checkers as true; see assay/__init__.py
if TYPE_CHECKING:
    from collections.abc import Mapping

PATH = "PYTHONPATH"


def python(*words: str) -> list[str]:
    """The command line of a Python of assay's own; start it with `environment` too."""
    return [sys.executable, "-P", *words]


def environment(variables: "Mapping[str, str]") -> dict[str, str]:
    """The variables without the elements of PYTHONPATH that mean whatever folder is current."""
    folders = [part for part in variables.get(PATH, "").split(os.pathsep) if part]
    others = {name: value for name, value in variables.items() if name != PATH}
    return {PATH: os.pathsep.join(folders), **others} if folders else others


def leave_current_folder() -> None:
    """Take the current folder out of this process's sys.path where it stands before the standard library, unless PYTHONPATH names it.

    What an editable installation added stands behind the library and stays.
    """
    try:
        here = os.getcwd()
    except OSError:  # it is gone: nothing is found there
        return
    named = [os.path.abspath(part) for part in os.environ.get(PATH, "").split(os.pathsep) if part]
    if here in named:
        return
    library, own = os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    behind = sys.path.index(library) if library in sys.path else len(sys.path)
    kept = [entry for place, entry in enumerate(sys.path) if place > behind or os.path.abspath(entry or here) != here]
    sys.path[:] = kept if own != here or own in kept else [*kept, own]  # assay's own folder, but behind all others
