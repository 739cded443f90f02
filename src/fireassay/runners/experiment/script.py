"""Has the script changed since the record began, and are the redacted secrets available?

Of a program that may be an interpreter (`-- python job.py`), the files among its arguments are as much what is run as it is; those of a
training (`--config c.yaml`) configure it. A file that the run itself writes, such as a checkpoint, is neither.

Do the script's arguments or the conditions hold a secret or non-UTF-8 bytes?  If so, nothing is started.

Arguments appear in the process list of every machine of the job, in the record and in every report.  A secret belongs in
an environment variable, which the record redacts.  Numbers are never secrets: `--token-dim 64` is a size.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from fireassay.errors import EnvironmentLacks, Problem, refuse_any
from fireassay.launchers.support import interpreter
from fireassay.record.seal import plan_signature
from fireassay.record.secrets.redact import MIN_SECRET_LENGTH, REDACTED, declare, redact, redact_arguments, redact_environment
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import targets_of
from fireassay.spec.sections.workload import MODULE, file_of
from fireassay.units import MIB

ON_THE_PATH = ("command", "program")  # runners of a program that may be named without its folder
WITH_FILES = (*ON_THE_PATH, "training")  # whose arguments may name what is run, or a configuration
MAX_READ = 64 * MIB  # of a file among the arguments; a larger one is known by its size


def script_path(experiment: Experiment, folder: Path) -> Path:
    """The script's path; `~` is expanded. A command without a slash is searched on the PATH.

    A command's links are kept: the python of a virtual environment is a link, and its target another environment.
    """
    if experiment.workload.runner in ON_THE_PATH and "/" not in experiment.workload.script:
        return Path(shutil.which(experiment.workload.script) or folder / experiment.workload.script).absolute()
    script = experiment.workload.script
    path = file_of(script, folder, interpreter.modules(experiment.launcher) if script.startswith(MODULE) else None)
    return Path(os.path.abspath(path)) if experiment.workload.runner in ON_THE_PATH else path.resolve()


def script_identity(experiment: Experiment, folder: Path) -> dict[str, Any]:
    """What `resume` needs to locate the script and to detect changes."""
    script = script_path(experiment, folder)
    files = argument_files(experiment, folder) if experiment.workload.runner in WITH_FILES else {}
    return {"folder": str(folder), "path": str(script), "sha256": _digest(script), **({"files": files} if files else {})}


def argument_files(experiment: Experiment, folder: Path) -> dict[str, str]:
    """Name as given -> digest, of the files among the arguments; also in `--key=FILE`, `-m MODULE` and a shell's line.

    Not those in which a program leaves its result: they change by themselves.
    """
    left = experiment.left_by_program
    written = [folder / name for name in (*left.result, left.numbers, left.scores, left.rankings) if name]
    found: dict[str, str] = {}
    for before, argument in pairwise(("", *experiment.workload.arguments)):
        paths = {word: folder / word for part in (argument, *argument.split()) for word in (part, part.partition("=")[2]) if word}
        if before == MODULE.strip():
            paths[argument] = file_of(MODULE + argument, folder, ())
        for name, path in paths.items():
            is_left = any(path.match(str(one)) or one in path.parents for one in written)
            if not is_left and (digest := _digest(path, MAX_READ)):
                found[name] = digest
    return found


def changed_file(environment: Mapping[str, Any] | None, now: Mapping[str, Any]) -> str:
    """The first file among a recorded script's arguments that is another one now, or gone, but was not changed by the run; "" if none is."""
    then, after = _files(environment, "before"), _files(environment, "after")
    files = now.get("files") or {}
    return next((name for name, digest in then.items() if files.get(name) != digest and after.get(name, digest) == digest), "")


def _files(environment: Any, when: str) -> Mapping[str, Any]:
    for key in (when, "script", "files"):
        environment = environment.get(key) if isinstance(environment, Mapping) else None
    return environment if isinstance(environment, Mapping) else {}


def _digest(path: Path, most: float = math.inf) -> str | None:
    """SHA-256 of a file; the size alone of one larger than `most` bytes; None: no file, or not readable."""
    with suppress(OSError, ValueError):  # a name that is too long, or holds a zero byte
        if path.is_file():
            if (size := path.stat().st_size) > most:
                return f"{size} bytes"
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    return None


def refuse_changes(experiment: Experiment, manifest: Mapping[str, Any], before: Mapping[str, Any], folder: Path) -> None:
    remedy = "Measure the new state as a new experiment: assay run. To continue anyway: assay resume --force."
    problems = []
    if plan_signature(experiment) != manifest["plan_signature"]:
        found = "changes since the record began"
        problems.append(Problem("experiment.toml", found, "the unchanged experiment", remedy))
    then, now = before.get("script"), script_identity(experiment, folder)
    if then is not None and (changed := then["path"] if now["sha256"] != then["sha256"] else changed_file(manifest["environment"], now)):
        found, allowed = f"{changed}, changed since the record began", "the unchanged script, so that all launches measure the same"
        problems.append(Problem("workload.script", found, allowed, remedy))
    refuse_any(problems, "the record to resume")


def with_secrets(experiment: Experiment) -> Experiment:
    """The experiment with redacted variables restored from this process's environment."""
    environment = dict(experiment.workload.environment)
    redacted = [name for name, value in environment.items() if REDACTED in value]
    if missing := [name for name in redacted if name not in os.environ]:
        raise EnvironmentLacks(f"the record has no secret value for {', '.join(missing)}. Set it in the environment and resume again.")
    environment |= {name: os.environ[name] for name in redacted}
    return experiment.model_copy(update={"workload": experiment.workload.model_copy(update={"environment": environment})})


HARMLESS = frozenset({"true", "false", "none", "yes", "no", "on", "off", ""})


def refuse_secrets(experiment: Experiment) -> None:
    """Check every argument. Raises SpecError: one problem per argument that looks like a secret, without its value."""
    declare(experiment.secret_variables)  # redacted from here on
    arguments = experiment.workload.arguments
    cleaned = redact_arguments(arguments)
    problems = tuple(
        Problem(
            f"workload.arguments[{index}]",
            f"an apparent secret: {shown}",
            "arguments without secrets, since the process list and the record show them",
            "Put it into an environment variable that the script reads; the record redacts those.",
        )
        for index, (argument, shown) in enumerate(zip(arguments, cleaned, strict=True))
        if argument != shown and not _harmless(argument.rpartition("=")[2])
    )
    problems += tuple(_conditions(experiment))
    problems += tuple(_targets(experiment))
    refuse_any(problems, "the experiment")


def _conditions(experiment: Experiment) -> Iterator[Problem]:
    """Problems of the conditions, which the record, reports and comparisons show."""
    texts = {"name": experiment.name} | {f"conditions.{name}": str(value) for name, value in experiment.conditions.items()}
    if experiment.data is not None:
        texts |= {"data.version": experiment.data.version or "", "data.split": experiment.data.split or ""}
    if experiment.prices is not None:
        texts["prices.source"] = experiment.prices.source
    cleaned = redact_environment(texts)
    for where, text in texts.items():
        if cleaned[where] != text and not _harmless(text):
            yield Problem(
                redact(where),
                "an apparent secret",
                "public text, since the record and every report show it",
                "Leave it out, or use a name without the secret.",
            )


def _targets(experiment: Experiment) -> Iterator[Problem]:
    """Problems of the targets: their settings enter the record verbatim, and their commands the process list."""
    serving = experiment.serving
    if serving is None:
        return
    for index, target in enumerate(targets_of(serving)):
        where = f"serving.targets[{index}]"
        named = {**target.headers, **target.environment, **{name: str(value) for name, value in target.options.items()}}
        cleaned = redact_environment(named)
        cleaned |= {name: _header(name, cleaned[name]) for name in target.headers}
        secret = [name for name, text in named.items() if cleaned[name] != text and not (_harmless(text) or _names_its_variable(text))]
        words = dict(enumerate(target.command)) | {"urls": " ".join(target.urls), "proxy": serving.client.proxy}
        shown = redact_arguments(target.command)
        plain = [str(name) for name, text in words.items() if redact(text) != text]
        plain += [f"command[{i}]" for i, (a, b) in enumerate(zip(target.command, shown, strict=True)) if a != b and not _harmless(a)]
        for name in (*secret, *plain):
            yield Problem(
                f"{where}: {redact(name)}",
                "an apparent secret",
                "public text, since the record shows it",
                'Name the environment variable that holds it: api_key_env = "NAME", or {env:NAME} in a header. '
                "An engine that assay starts inherits assay's own environment.",
            )


def _header(name: str, text: str) -> str:
    """A header's text, redacted as a variable of its name: X-Gateway-Key holds a key."""
    return redact_environment({name.upper().replace("-", "_"): text})[name.upper().replace("-", "_")]


def _names_its_variable(text: str) -> bool:
    """True if a header only refers to a variable, as `Bearer {env:KEY}`, and so holds no secret."""
    rest = re.sub(r"\{env:\w+\}", "", text)
    return rest != text and len(rest.split()[-1] if rest.split() else "") < MIN_SECRET_LENGTH


def refuse_bytes(experiment: Experiment) -> None:
    """Refuse non-UTF-8 arguments: a record holds text, so they could be neither kept nor repeated.

    Raises:
        SpecError: one problem per word of the command that is not UTF-8.
    """
    words = {"workload.script": experiment.workload.script} | {
        f"workload.arguments[{index}]": word for index, word in enumerate(experiment.workload.arguments)
    }
    problems = tuple(
        Problem(
            where,
            ascii(word),
            "UTF-8 text, since the record keeps every word of the command",
            "Write a script that contains these bytes, and time the script.",
        )
        for where, word in words.items()
        if any("\ud800" <= letter <= "\udfff" for letter in word)  # surrogateescape: bytes that are not UTF-8
    )
    refuse_any(problems, "the script's arguments")


def _harmless(value: str) -> bool:
    """True if it is a number, a Boolean or a placeholder: a setting, not a secret."""
    try:
        float(value)
    except ValueError:
        return value.lower() in HARMLESS or (value.startswith("{") and value.endswith("}"))
    return True
