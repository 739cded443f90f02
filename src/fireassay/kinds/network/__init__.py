"""How fast is the path to other hosts, and does everything arrive?"""

from fireassay.spec.kind import DIMENSION_QUESTIONS, STATUS_MEANINGS, Kind

KIND = Kind(
    name="network",
    title="the network between hosts",
    precedence=300,
    applies=lambda experiment: experiment.workload.runner == "network",
    questions={
        **DIMENSION_QUESTIONS,
        "correctness": "Was the result right?",
        "performance": "How fast is the path to the other hosts?",
        "cost": "What did probing cost?",
        "reliability": "Does everything arrive?",
    },
    meanings={
        **STATUS_MEANINGS,
        "MEASURED": "every host answered, and every number has an interval over rounds",
        "FAIL": "a host never answered",
        "INCONCLUSIVE": "something that was requested has no reliable number",
    },
    chooses=False,
    label="the network",
    facts=("Workload", "Launches", "Intervals", "Record", "Made"),
)
