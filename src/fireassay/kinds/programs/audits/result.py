"""Is the result of more workers that of one?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.frames.results import compared
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.types import Finding

AUDITS: Final = Audits(about=("programs",))


@AUDITS.add("result", "Is the result of more workers that of the base?", title="another result")
def examine_result(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding per configuration whose result differs from the base's in a round.

    It is wrong if the base is repeatable. Otherwise either may be right, and a score has to decide.
    Where a score is named, the score decides, and the difference is a note.
    """
    for name, found in compared(measured).items():
        if not found.other:
            continue
        rounds = f"in {found.other} of {count(found.rounds, 'rounds')}"
        of_base = "is the same in all" if found.repeats else "differs from round to round too" if found.rounds > 1 else "was seen once"
        evidence = f"its result differs from that of {measured.base} {rounds}; {measured.base}'s own {of_base}"
        if measured.experiment.quality is not None:
            yield Finding("result_differs", "note", name, evidence, f"{measured.experiment.quality.metric} says whether that is worse")
        elif found.repeats:
            remedy = "if only the order of lines may differ: --any-order; if numbers may differ in their last digits, round or score them"
            yield Finding("result_differs", "fail", name, evidence, remedy)
        else:
            remedy = "fix the program's seed ({seed}), or score the result: --scores FILE --quality-metric NAME"
            yield Finding("result_not_repeatable", "warning", name, evidence, remedy)
