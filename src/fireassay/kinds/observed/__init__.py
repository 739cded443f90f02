"""What was seen of a job that assay neither started nor measured inside (`assay watch`)?"""

from fireassay.spec.kind import DIMENSION_QUESTIONS, STATUS_MEANINGS, Kind

RUNNER = "watch"

KIND = Kind(
    name="observed",
    title="a job observed from outside",
    precedence=320,
    applies=lambda experiment: experiment.workload.runner == RUNNER,
    questions={**DIMENSION_QUESTIONS, "performance": "Does a rank, a phase or a hang hold the job up?"},
    meanings={
        **STATUS_MEANINGS,
        "MEASURED": "no rank makes the others wait, as far as was seen",
        "FAIL": "a slow rank, a stall or a hang was seen",
        "INCONCLUSIVE": "too little was seen",
    },
    chooses=False,
    speeds_up=False,
    observes=True,
    label="the job",
    facts=("Record", "Made"),
)
