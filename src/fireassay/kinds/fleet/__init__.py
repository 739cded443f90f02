"""Is a cluster fit, and which of its nodes are not?"""

from fireassay.spec.kind import DIMENSION_QUESTIONS, STATUS_MEANINGS, Kind

KIND = Kind(
    name="fleet",
    title="a fleet of nodes",
    precedence=310,
    applies=lambda experiment: experiment.workload.runner == "fleet",
    questions={
        **DIMENSION_QUESTIONS,
        "correctness": "Was the result right?",
        "performance": "Is every node as fast as the others, and every link?",
        "cost": "What did testing cost?",
        "reliability": "Does every node answer?",
    },
    meanings={
        **STATUS_MEANINGS,
        "PASS": "no node or link is slow, and one as slow as --find would have been found",
        "FAIL": "nodes are to be drained, or links repaired",
        "INCONCLUSIVE": "none was found slow, but one as slow as --find might have been missed",
    },
    chooses=False,
    label="the fleet",
    facts=("Workload", "Launches", "Intervals", "Record", "Made"),
)
