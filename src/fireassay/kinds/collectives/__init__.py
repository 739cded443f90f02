"""How fast are collectives, and are their results right?"""

from fireassay.spec.kind import DIMENSION_QUESTIONS, STATUS_MEANINGS, Kind

KIND = Kind(
    name="collectives",
    title="collectives between workers",
    precedence=200,
    applies=lambda experiment: experiment.workload.runner == "collectives",
    questions={
        **DIMENSION_QUESTIONS,
        "correctness": "Were the data of the timed calls right?",
        "performance": "How fast are the collectives?",
        "cost": "What did measuring cost?",
    },
    meanings={
        **STATUS_MEANINGS,
        "MEASURED": "the data of every timed call were right, and every time has an interval over launches",
        "FAIL": "a collective gave wrong data",
        "INCONCLUSIVE": "something that was requested has no reliable number",
    },
    chooses=False,
    sweeps=True,
)
