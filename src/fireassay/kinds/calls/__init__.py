"""How long does a call of a command or a function take?"""

from fireassay.spec.kind import STATUS_MEANINGS, Kind

RUNNERS = ("command", "function")

KIND = Kind(
    name="calls",
    title="calls of a command or a function",
    precedence=400,
    applies=lambda experiment: experiment.workload.runner in RUNNERS,
    meanings={
        **STATUS_MEANINGS,
        "MEASURED": "the time has an interval over launches",
        "INCONCLUSIVE": "too few launches for a reliable interval",
    },
    chooses=False,
    label="a call",
    facts=("Workload", "Launches", "Intervals", "Record", "Made"),
    times_calls=True,
)
