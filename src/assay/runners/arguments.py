"""Do the script's arguments carry a secret?  Then nothing is started.

Arguments stand in the process list of every machine of the job, in the record and in every report.  A secret belongs into
an environment variable, which the record redacts.  A number is never a secret: `--token-dim 64` is a size.
"""

from __future__ import annotations

from assay.errors import Problem, SpecError
from assay.record.redact import redact_arguments
from assay.spec.experiment import Experiment

HARMLESS = frozenset({"true", "false", "none", "yes", "no", "on", "off", ""})


def refuse_secrets(experiment: Experiment) -> None:
    """Look at every argument.

    Raises:
        SpecError: one problem per argument that looks like a secret; its value is not repeated.
    """
    arguments = experiment.workload.arguments
    cleaned = redact_arguments(arguments)
    problems = tuple(
        Problem(
            where=f"workload.arguments[{place}]",
            found=f"what looks like a secret: {shown}",
            allowed="arguments without secrets, since they stand in the process list and in the record",
            mend="Put it into an environment variable that the script reads; the record redacts those.",
        )
        for place, (asked, shown) in enumerate(zip(arguments, cleaned, strict=True))
        if asked != shown and not _harmless(asked.rpartition("=")[2])
    )
    if problems:
        raise SpecError(problems, "the script's arguments")


def _harmless(value: str) -> bool:
    """A number, a truth value or a placeholder is a setting and no secret."""
    try:
        float(value)
    except ValueError:
        return value.lower() in HARMLESS or (value.startswith("{") and value.endswith("}"))
    return True
