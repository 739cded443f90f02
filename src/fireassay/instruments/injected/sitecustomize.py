"""What does Python run before an unmodified script?

This file, since its folder comes first on PYTHONPATH. Python runs only one `sitecustomize`, so this file first runs the one that it hides.
In a worker of a launch by assay, hooks then wait for torch: apart from a small part of the standard library, nothing is imported that the
script does not import itself.  The worker's interpreter may be of an environment without Fireassay.
"""

import os
import sys


def _run_the_other() -> None:
    """Run the sitecustomize that this one hides, of the user or of the virtual environment."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    folder = os.path.dirname(os.path.abspath(__file__))
    others = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != folder]
    sys.path[:] = others
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _bring() -> None:
    """Make `import fireassay` mean the one that started this worker, whatever its environment has installed: they share a record's format.

    Nothing is added to sys.path, where it would bring packages of another environment along.
    """
    from importlib.util import find_spec, module_from_spec, spec_from_file_location

    home = os.path.abspath(__file__)
    for _ in range(3):
        home = os.path.dirname(home)
    own = os.path.join(home, "__init__.py")
    found = find_spec("fireassay")
    if found is not None and found.origin is not None and os.path.realpath(found.origin) == os.path.realpath(own):
        return
    spec = spec_from_file_location("fireassay", own, submodule_search_locations=[home])
    if spec is not None and spec.loader is not None:
        sys.modules["fireassay"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


def _arm() -> None:
    """Wait for torch, in workers only: not in the engine that starts workers, nor in a loader's helper."""
    if os.environ.get("FIREASSAY_ATTACH") != "1" or "RANK" not in os.environ:
        return
    if any(word.startswith(("from multiprocessing.", "--multiprocessing-fork")) for word in sys.orig_argv):
        return
    _bring()
    from fireassay.instruments.injected.own_job import arm

    arm()


_run_the_other()
try:
    _arm()
except Exception as error:  # the script must run as it would without assay
    print(f"assay: this worker's steps are not measured: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
