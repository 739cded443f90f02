"""How does assay keep code in the current folder out of its own processes?

`python -m` and `python -c` put the current folder before the standard library, and so does an empty element of PYTHONPATH
(`PYTHONPATH=$PYTHONPATH:/x` with PYTHONPATH unset): a json.py next to a received record would run.  A Python process that assay
starts for itself gets `-P` and `environment`; the command line calls `leave_current_folder` before it imports anything else.
The workload is not isolated: it starts as its user would start it.
Limits: cannot guard what Python imports before assay's first line, nor a folder that PYTHONPATH names.
Source: https://docs.python.org/3/using/cmdline.html#cmdoption-P
"""

import os
import sys

TYPE_CHECKING = False  # type checkers assume true; see fireassay/__init__.py
if TYPE_CHECKING:
    from collections.abc import Mapping

PATH = "PYTHONPATH"


def python(*words: str, python: str = "") -> list[str]:
    """The command line of an isolated Python process; also start it with `environment`. `python`: another interpreter than this one."""
    return [python or sys.executable, "-P", *words]


def environment(variables: "Mapping[str, str]") -> dict[str, str]:
    """The variables without the elements of PYTHONPATH that mean the current folder."""
    folders = [part for part in variables.get(PATH, "").split(os.pathsep) if part]
    others = {name: value for name, value in variables.items() if name != PATH}
    return {PATH: os.pathsep.join(folders), **others} if folders else others


def leave_current_folder() -> None:
    """Remove the current folder from this process's sys.path where it precedes the standard library, unless PYTHONPATH names it.

    Entries of an editable installation follow the library and stay.
    """
    try:
        current = os.getcwd()
    except OSError:  # the folder was removed: nothing can be imported from it
        return
    named = [os.path.abspath(part) for part in os.environ.get(PATH, "").split(os.pathsep) if part]
    if current in named:
        return
    library, home = os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    behind = sys.path.index(library) if library in sys.path else len(sys.path)
    kept = [entry for index, entry in enumerate(sys.path) if index > behind or os.path.abspath(entry or current) != current]
    sys.path[:] = kept if home != current or home in kept else [*kept, home]  # assay's own folder goes last
