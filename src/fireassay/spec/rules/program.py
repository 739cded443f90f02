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
        lambda e: e.program is not None and e.workload.runner not in (RUNNER, "replay"),
        f'[program] only with workload.runner = "{RUNNER}"',
        f'Write runner = "{RUNNER}" below [workload] (--runner {RUNNER}).',
        found="a table, where workload.runner is another",
    ),
    Demand(
        "program.any_order",
        lambda e: e.left_by_program.any_order and not e.left_by_program.result,
        "true only with program.result",
        "Name the files of the result (--result).",
    ),
    Demand(
        "program.relevant",
        lambda e: e.left_by_program.relevant != "" and not e.left_by_program.rankings,
        "a file only with program.rankings",
        "Name the file into which the program writes its rankings (--rankings).",
    ),
    Demand(
        "quality",
        lambda e: _is_program(e) and e.quality is None and bool(e.left_by_program.scores or e.left_by_program.rankings),
        "a score that decides, with program.scores or program.rankings",
        "Name it: --quality-metric accuracy, or of rankings recall_at_10, ndcg_at_10, mrr.",
        found="none",
    ),
)
