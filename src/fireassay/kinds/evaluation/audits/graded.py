"""Does a file of answers grade them itself, or hold other answers, in fields that are not used?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fireassay.estimates.format import count
from fireassay.frames.evaluation.item_scores import deciding, item_scores, tasks
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.types import Finding

AUDITS = Audits(about=("evaluation",))
MAX_NAMED: Final = 4  # fields in a line
REMEDY: Final = "read some of these answers: another --extract or --metric may grade them as the file does, or the file is wrong"


def _unused(measured: RecordData) -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """target -> field -> both means, and on how many answers they differ; empty for another answer."""
    noted = measured.before.get("unused")
    return noted if isinstance(noted, Mapping) else {}


def unused_words(measured: RecordData) -> Iterator[str]:
    """A sentence for each field; of several files, that of the file where it differs most."""
    noted = _unused(measured)
    names = list(dict.fromkeys(name for fields in noted.values() for name in fields))
    for name in names[:MAX_NAMED]:
        target, said = max(((target, fields[name]) for target, fields in noted.items() if name in fields), key=lambda one: _differ(one[1]))
        where = f" of {target}" if len(measured.configurations) > 1 else ""
        yield f"{name}{where}: {_said(measured, said) if said else f'--answer {name} scores it'}"
    if len(names) > MAX_NAMED:
        yield f"{len(names) - MAX_NAMED} more"


def _said(measured: RecordData, said: Mapping[str, Any]) -> str:
    task = tasks(measured)[0]
    title = item_scores(measured, measured.base, task, deciding(measured, task)).metric.title
    both = count(int(said["both"]), "answers")
    apart = f"; they differ on {int(said['differ']):,} of {both}" if said.get("differ") else ""
    return f"it says {said['theirs']:.3g}, {title} {said['ours']:.3g}{apart}"


def _differ(said: Mapping[str, Any]) -> float:
    return float(said.get("differ") or 0.0)


@AUDITS.add(
    "graded_otherwise", "Does the file's own grade of an answer agree with the score?", title="answers that the file grades otherwise"
)
def examine_graded(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each configuration and field of grades, such as `correct`, that are not those of the deciding score.

    Only grades of right or wrong are compared answer by answer. Cannot tell: which of the two is wrong.
    """
    targets = {configuration.target: configuration.name for configuration in measured.varied}
    for target, fields in _unused(measured).items():
        for name, said in fields.items():
            if _differ(said) and target in targets:
                yield Finding(
                    "graded_otherwise", "warning", targets[target], f"the field {name!r} is not used: {_said(measured, said)}", REMEDY
                )
