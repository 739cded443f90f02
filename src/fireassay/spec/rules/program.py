"""Which keys of [program] contradict each other, or another section?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fireassay.spec.rules.partial import Demand

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment

RUNNER = "program"


def _is_program(experiment: Experiment) -> bool:
    return experiment.workload.runner == RUNNER


PROGRAM_RULES = (
    Demand(
        "program",
        lambda e: bool(e.program.model_fields_set) and not _is_program(e),
        f'[program] only with workload.runner = "{RUNNER}"',
        f'Write runner = "{RUNNER}" below [workload] (--runner {RUNNER}).',
        found="a table, where workload.runner is another",
    ),
    Demand(
        "program.any_order",
        lambda e: e.program.any_order and not e.program.result,
        "true only with program.result",
        "Name the files of the result (--result).",
    ),
    Demand(
        "program.relevant",
        lambda e: e.program.relevant != "" and not e.program.rankings,
        "a file only with program.rankings",
        "Name the file into which the program writes its rankings (--rankings).",
    ),
    Demand(
        "quality",
        lambda e: _is_program(e) and e.quality is None and bool(e.program.scores or e.program.rankings),
        "a score that decides, with program.scores or program.rankings",
        "Name it: --quality-metric accuracy, or of rankings recall_at_10, ndcg_at_10, mrr.",
        found="none",
    ),
)
