"""How good are the answers to the items of a task?"""

from dataclasses import replace

from fireassay.spec.kind import STATUS_MEANINGS, Kind

KIND: Kind = Kind(
    variant=lambda experiment: ANSWERS if experiment.serving is None else None,
    name="evaluation",
    title="an evaluation of answers",
    precedence=50,
    applies=lambda experiment: experiment.evaluation is not None,
    questions={
        "correctness": "How good are the answers, and was quality held?",
        "performance": "How fast were the answers?",
        "cost": "What did an answer cost?",
        "reliability": "Was every item answered?",
    },
    meanings={
        **STATUS_MEANINGS,
        "PASS": "quality was held within the margin",
        "MEASURED": "every score has an interval; no margin was given, so nothing was decided",
        "FAIL": "quality was lost by more than the margin",
        "INCONCLUSIVE": "the items are too few to show that quality was held, or that it was lost",
    },
    configurations="answers",
    workers="Replicas",
    chooses=False,
    about=frozenset({"serving"}),
    sends_requests=True,
    unit="item",
    judges_quality=True,
    speeds_up=False,
    own_processes=False,
    facts=("Workload", "Intervals", "Record", "Made"),
    quality_remedy="look at the items that flipped",
)
ANSWERS: Kind = replace(KIND, about=frozenset(), sends_requests=False)  # that existed already: nothing was sent
