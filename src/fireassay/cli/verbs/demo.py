"""`assay demo`: what does a verdict look like, on this machine and without a clone?

The example's files travel in the package (`fireassay/demo`, links into `examples/`), are copied into a folder of the user's and run there.
"""

from __future__ import annotations

import argparse
import sys
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fireassay.cli import DEMO_TOOK
from fireassay.cli.support.output import add_formats
from fireassay.cli.support.settings import USED
from fireassay.cli.support.verb import Verb
from fireassay.errors import EnvironmentLacks, RecordError
from fireassay.printable import say

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from fireassay.spec.experiment import Experiment

FOLDER: Final = Path("fireassay-demo")
SHORT, FULL = "demo.toml", "digits.toml"
FILES: Final = (SHORT, FULL, "digits/train.py", "digits/digits.csv.gz", "digits/DIGITS.md")
ABOUT: Final = {
    SHORT: "1 and 2 workers, 3 launches each or more, until it is decided",
    FULL: "1, 2 and 4 workers, 5 launches each, and a killed worker: about four minutes on two idle cores",
}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, default=FOLDER, metavar="DIR", help=f"where files and records go (default: {FOLDER})")
    parser.add_argument("--whole", action="store_true", help=f"the whole example: {ABOUT[FULL]}")
    parser.add_argument("--list", action="store_true", help="list the experiments and the files; copy and run nothing")
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.list:
        say(listing())
        return 0
    _refuse_without_torch()
    copy_missing(arguments.folder)
    from fireassay.cli.support.progress import run_and_judge
    from fireassay.spec.load import load

    chosen = FULL if arguments.whole else SHORT
    path = arguments.folder / chosen
    if not arguments.quiet:
        say(f"assay run {path}: handwritten digits, {ABOUT[chosen]}", file=sys.stderr)
    return run_and_judge(startable(load(path)), arguments, folder=arguments.folder, root=arguments.folder / "records", tables=True)


def startable(experiment: Experiment) -> Experiment:
    """The experiment without forked launches where they are not possible; a file of the user's own is refused there instead."""
    from fireassay.launchers.local import no_fork

    if experiment.launcher.start == "exec" or not (reason := no_fork()):
        return experiment
    _note(f"every launch imports torch anew, which takes longer: {reason}")
    return experiment.model_copy(update={"launcher": experiment.launcher.model_copy(update={"start": "exec"})})


def listing() -> str:
    """The experiments of the package and the files that they need, as plain text."""
    experiments = [f"{name:<12} {about}" for name, about in ABOUT.items()]
    return "\n".join([*experiments, "", *(name for name in FILES if name not in ABOUT)])


def copy_missing(folder: Path) -> None:
    """Copy the example's files; those that exist are kept, because the user may have changed them.

    Raises:
        RecordError: the folder cannot be written.
    """
    package = files("fireassay") / "demo"
    for name in FILES:
        target, content = folder / name, _content(package, name)
        try:
            if target.exists():
                if target.read_bytes() != content:
                    _note(f"{target} differs from the packaged one and is used as it is")
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        except OSError as error:
            raise RecordError(f"cannot write {target}: {error.strerror}. Choose another folder with --folder.") from error


def _note(text: str) -> None:
    if not USED.get().quiet:
        say(f"note: {text}", file=sys.stderr)


def _content(package: Traversable, name: str) -> bytes:
    return package.joinpath(name).read_bytes()


def _refuse_without_torch() -> None:
    if find_spec("torch") is None:
        raise EnvironmentLacks(
            f"the demo trains a network, and torch is not installed for {sys.executable}. Install it, then run the demo again:\n"
            f"    {sys.executable} -m pip install torch"
        )


VERB = Verb(
    name="demo",
    group="measure",
    call="fireassay.run",
    summary="a first verdict: trains an example that comes with assay",
    description=f"""Train a small network on handwritten digits with 1 and 2 workers, judge it and show the verdict. Needs torch, and
takes {DEMO_TOOK}.

    assay demo                 copies the example to ./fireassay-demo and runs it
    assay demo --whole         1, 2 and 4 workers and a killed worker: minutes
    assay demo --list          what there is

Files already in the folder are kept: change them, and run them again.""",
    add_arguments=_add_arguments,
    run=_run,
)
